import { loadClusterFile } from '../src/app/launch/clusters.ts'
import { clusterSettings, makeLaunch } from '../src/app/launch/make-launch.ts'
import { renderPlan } from '../src/app/launch/plan-launch.ts'
import { settingSpecs } from '../src/app/launch/schema.ts'
import { renderLaunch } from '../src/cli/launch/print-launch.ts'
import type { ScheduledState } from '../src/core/launch.ts'
import { Settings } from '../src/run/launch/settings.ts'
import { jobsOf, unitsOf } from '../src/run/launch/status.ts'
import { parseQueue } from '../src/schedulers/slurm/index.ts'
import { percentile } from './lib/rows.ts'

const shards = 500
const goalMs = 300
const runs = 20

/** Planning and rendering a launch of 500 shards; the states of 1,000 jobs from one squeue output. */
export default {
  name: 'launch',
  async run() {
    const plan: number[] = []
    for (let i = 0; i < runs; i++) {
      const start = performance.now()
      await planned()
      plan.push(performance.now() - start)
    }
    const status = Array.from({ length: runs }, () => timeStatus(1000))
    const p50 = percentile(plan, 0.5)
    return [
      { name: `plan and render ${shards} shards, p50`, value: p50, unit: 'ms', goal: `${goalMs}`, ok: p50 <= goalMs },
      { name: 'the slowest of them', value: Math.max(...plan), unit: 'ms' },
      { name: 'states of 1,000 jobs from one query, p50', value: percentile(status, 0.5), unit: 'ms' },
    ]
  },
}

async function planned(): Promise<string> {
  const { cluster } = await loadClusterFile('clusters/vista.yaml')
  const values = {
    ...{ job_type: 'datagen', datagen_script: 'data/nl2bash/generate.ts', datagen_target_repo: 'org/tasks' },
    ...{ datagen_engine: 'vllm_local', enable_trace_gen: true, trace_target_repo: 'org/traces' },
    ...{ chunk_size: 10, datagen_extra_args: `--limit ${shards * 10}`, experiments_dir: '/exp' },
  }
  const layers = [
    { origin: 'cluster', values: clusterSettings(cluster) },
    { origin: 'flag', values },
  ]
  const place = { cluster, stamp: '1', cwd: '/work', program: ['node', '/opt/ot-agent.js'], secretsFile: null }
  const { launch, notes } = await makeLaunch(new Settings(settingSpecs, layers), place)
  if (launch.jobs.find(({ name }) => name === 'traces')?.array?.size !== shards)
    throw new Error('expected an array of all shards')
  return renderLaunch(await renderPlan({ launch, notes }))
}

function timeStatus(count: number): number {
  const text = Array.from({ length: count }, (_, i) => `7|${i}|${i % 3 === 0 ? 'RUNNING' : 'PENDING'}|None`).join('\n')
  const start = performance.now()
  const scheduled: ScheduledState[] = parseQueue(text)
  const job = { name: 'traces', array: { size: count, throttle: 3 } }
  const stored = { launch: { jobs: [job] }, submissions: [{ job: 'traces', link: 0, id: '7', tasks: null }] }
  const units = unitsOf(stored as never, new Map(), scheduled)
  const [summed] = jobsOf(units)
  if (summed?.units.running === undefined) throw new Error('expected running units')
  return performance.now() - start
}
