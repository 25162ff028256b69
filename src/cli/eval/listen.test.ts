import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { makeJob, trialOf } from '../../../test/registry/jobs.ts'
import { runCommand } from '../../app/flags/command.ts'
import { loadClusterFile } from '../../app/launch/clusters.ts'
import { launchesOf } from '../../app/listen/evaluate-by-launch.ts'
import { evaluationJob, evaluationName } from '../../app/registry/evaluate-by-command.ts'
import { findLeaders } from '../../app/registry/query.ts'
import { defaultAgent, defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { registerModel } from '../../registry/entities.ts'
import { openRegistry } from '../../registry/open.ts'
import { sql } from '../../registry/sql.ts'
import { saveLaunch } from '../../run/launch/journal.ts'
import { createJobDir } from '../../store/job-dir.ts'
import listen from './listen.ts'

let dir: string
let registry: string
beforeEach(async () => {
  dir = await makeTempDir()
  registry = join(dir, 'registry.db')
  vi.stubEnv('OT_AGENT_REGISTRY', registry)
  vi.stubEnv('XDG_CACHE_HOME', join(dir, 'cache'))
  await using database = await openRegistry(registry)
  await database.transaction(async (queries) => {
    for (const name of ['org/one', 'org/$(touch hacked)']) await registerModel(queries, name, false)
    await queries.run(sql`UPDATE models SET training_status = 'finished'`)
  })
})

async function run(...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(
    listen,
    ['ot-agent', 'eval', 'listen'],
    ['--once', '--backoff-sec', '0', '-o', join(dir, 'jobs'), ...argv],
  )
  return printed()
}

test('the command runs once for each model without a shell, results are registered, and what it left running is stopped', async () => {
  const made = await makeJob(join(dir, 'made'), { id: 'made', records: [trialOf({ task: 'a' })] })
  const script = `sleep 1000 & echo $! >> ${dir}/pids; cp -r ${made} ${dir}/jobs/$0`
  const counts = await run('--benchmark', 'bench@1', '--run', `env MODEL={model} sh -c '${script}' {job}`)
  expect(counts).toBe('2 done, 0 running, 0 waiting, 0 failed\n')
  expect((await findLeaders({ registry })).map(({ model_name }) => model_name).sort()).toEqual([
    'org/$(touch hacked)',
    'org/one',
  ])
  expect(existsSync('hacked')).toBe(false)
  const pids = readFileSync(join(dir, 'pids'), 'utf8').trim().split('\n').map(Number)
  expect(pids).toHaveLength(2)
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('a command that fails is tried again, and its output is kept', async () => {
  const run3 = run(
    '--benchmark',
    'bench',
    '--max-attempts',
    '2',
    '--run',
    "sh -c 'echo out of memory; exit 7' {model} {job}",
  )
  expect(await run3).toBe('0 done, 0 running, 0 waiting, 2 failed\n')
  const logs = readdirSync(join(dir, 'jobs')).filter((name) => /^bench-org-one-[0-9a-f]{6}-2\.log$/.test(name))
  expect(logs.map((name) => readFileSync(join(dir, 'jobs', name), 'utf8'))).toEqual(['out of memory\n'])
})

test('a job that was begun under an older name is resumed, if it is of exactly this model', async () => {
  const jobs = join(dir, 'jobs')
  const made = async (name: string, model: string) => {
    const config = defaultJobConfig({ jobName: name, jobsDir: jobs, agents: [{ ...defaultAgent(), modelName: model }] })
    const startedAt = '2026-11-15T00:00:00.000000Z'
    const lock = { createdAt: startedAt, invocation: [], nConcurrentTrials: 1, retry: config.retry, trials: [] }
    await createJobDir(join(jobs, name), { id: name, identity: {}, startedAt, layout: 'harbor', config, lock })
  }
  mkdirSync(jobs)
  await made('bench-org-a-b-1', 'org/a-b')
  const nameOf = (model: string, end: string) => evaluationJob(jobs, { benchmark: 'bench', model }, end)
  const marked = (model: string, end: string) => `${evaluationName({ benchmark: 'bench', model })}${end}`
  expect(await nameOf('org/a-b', '-1')).toBe('bench-org-a-b-1')
  expect(await nameOf('org-a/b', '-1')).toBe(marked('org-a/b', '-1'))
  expect(await nameOf('org/a-b', '-2')).toBe(marked('org/a-b', '-2'))
  await made(marked('org/a-b', '-1'), 'org/a-b')
  expect(await nameOf('org/a-b', '-1')).toBe(marked('org/a-b', '-1'))
  const names = `sh -c 'echo $0 >> ${dir}/names; exit 1' {job} {model}`
  await made('bench-org-one-1', 'org/one')
  await run('--benchmark', 'bench', '--max-attempts', '1', '--run', names)
  expect(readFileSync(join(dir, 'names'), 'utf8').split('\n')).toContain('bench-org-one-1')
})

test('a directory of launches under an older name is used, if all were of exactly this model', async () => {
  const cluster = (await loadClusterFile('clusters/local.yaml')).cluster
  const launched = async (id: string, model: string) => {
    const place = { id, experimentsDir: join(dir, 'bench-org-a-b'), jobType: 'eval' as const, cluster }
    const settings = [{ name: 'eval_model', value: model, origin: 'request' }]
    const facts = { createdAt: '2026-11-15T00:00:00.000000Z', scheduler: 'local', command: [], settings }
    await saveLaunch({ ...place, jobs: [], files: {}, dependency: null }, new Map(), facts)
  }
  const dirOf = (model: string) => launchesOf(dir, { benchmark: 'bench', model })
  const marked = (model: string) => join(dir, evaluationName({ benchmark: 'bench', model }))
  expect(await dirOf('org/a-b')).toBe(marked('org/a-b'))
  await launched('first', 'org/a-b')
  expect(await dirOf('org/a-b')).toBe(join(dir, 'bench-org-a-b'))
  expect(await dirOf('org-a/b')).toBe(marked('org-a/b'))
  await launched('second', 'org-a/b')
  expect(await dirOf('org/a-b')).toBe(marked('org/a-b'))
})

test('models whose names differ by a sign only have jobs of their own', () => {
  const names = ['org/a-b', 'org-a/b', 'org/a/b'].map((model) => evaluationName({ benchmark: 'bench', model }))
  expect(names.map((name) => name.replace(/-[0-9a-f]{6}$/, ''))).toEqual(Array(3).fill('bench-org-a-b'))
  expect(new Set(names).size).toBe(3)
})

test.each([
  [['--run', 'true {model}'], '{job}'],
  [['--run', "true '{model} {job}"], 'close all quotes'],
  [['--benchmark', 'a@', '--run', 'true {model} {job}'], 'NAME@VERSION'],
  [[], 'expected one of --here, --launch and --run'],
  [['--here', '--run', 'true {model} {job}'], 'expected one of'],
  [['--run', 'true {model} {job}', '--server', 'x'], '--server works only with --here'],
  [['--run', 'true {model} {job}', '--', '-k', '3'], '-k works only with --here'],
  [['--here', '--', '-m', 'x'], 'the listener sets them'],
  [['--here', '--', '--no-such'], '--no-such'],
  [['--here', '--server', 'x', '--', '--api-base', 'http://localhost:1'], 'expected --server alone'],
])('%j is refused', async (argv, message) => {
  const error: unknown = await run('--benchmark', 'bench', ...argv).catch((error) => error)
  expect(`${String(error)} ${Object(error).hint}`).toContain(message)
  expect(error).toMatchObject({ name: 'UserError' })
})
