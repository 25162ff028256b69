import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { composeTask } from '../data/terminal-composer/compose/compose-task.ts'
import type { Task } from '../src/core/task.ts'
import { saveTaskDraft } from '../src/formats/harbor-task/draft.ts'
import { loadTask } from '../src/formats/harbor-task/load.ts'
import { makeAgent, sandboxAlternatives } from '../src/plugins/make.ts'
import { checkTasks } from '../src/run/check/check-tasks.ts'
import local from '../src/sandboxes/local/index.ts'
import type { Row } from './lib/rows.ts'

const count = 48
const atOnce = 8

/** Composed tasks through the verification spine in local sandboxes: eight at once compared with one at a time. */
export default {
  name: 'spine',
  async run(): Promise<Row[]> {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-bench-'))
    try {
      const tasks = await composeTasks(join(dir, 'tasks'))
      const alone = await check(tasks, 1, join(dir, 'alone'))
      const together = await check(tasks, atOnce, join(dir, 'together'))
      const ok = together.accepted === count && alone.accepted === count
      return [
        { name: `tasks proven sound of ${count}`, value: together.accepted, unit: 'tasks', goal: `${count}`, ok },
        { name: `${atOnce} at once: tasks checked, five trials each`, value: together.perMin, unit: 'tasks/min' },
        { name: 'one at a time: the same tasks', value: alone.perMin, unit: 'tasks/min' },
        { name: 'times faster', value: together.perMin / alone.perMin, unit: 'x' },
      ]
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
}

async function composeTasks(dir: string): Promise<Task[]> {
  const tasks: Task[] = []
  for (let index = 0; index < count; index++)
    tasks.push(await loadTask(await saveTaskDraft(composeTask({ seed: 7, index }), dir)))
  return tasks
}

/** Each run has its own caches, so that the second does not profit from what the first built. */
async function check(tasks: readonly Task[], concurrency: number, dir: string) {
  const provider = local.make(local.options.parse({}), { env: process.env, stateDir: join(dir, 'state') })
  await provider.preflight()
  const start = performance.now()
  const reports = await checkTasks(tasks, {
    ...{ provider, makeAgent, concurrency, alternatives: sandboxAlternatives },
    ...{ sandboxOptions: {}, hostEnv: {}, repeats: 2, lintOnly: false, keep: false },
    signal: new AbortController().signal,
    workDir: join(dir, 'trials'),
    onReport: () => {},
  })
  const perMin = tasks.length / ((performance.now() - start) / 60_000)
  return { perMin, accepted: reports.filter(({ verdict }) => verdict === 'accepted').length }
}
