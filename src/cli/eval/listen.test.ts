import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { makeJob, trialOf } from '../../../test/registry/jobs.ts'
import { runCommand } from '../../app/flags/command.ts'
import { evaluationName } from '../../app/registry/evaluate-by-command.ts'
import { findLeaders } from '../../app/registry/query.ts'
import { registerModel } from '../../registry/entities.ts'
import { openRegistry } from '../../registry/open.ts'
import { sql } from '../../registry/sql.ts'
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

test('models whose names differ by a sign only have jobs of their own', () => {
  const names = ['org/a-b', 'org-a/b', 'org/a/b'].map((model) => evaluationName('bench', model))
  expect(names.map((name) => name.replace(/-[0-9a-f]{6}$/, ''))).toEqual(Array(3).fill('bench-org-a-b'))
  expect(new Set(names).size).toBe(3)
})

test.each([
  [['--run', 'true {model}'], '{job}'],
  [['--run', "true '{model} {job}"], 'close every quote'],
  [['--benchmark', 'a@', '--run', 'true {model} {job}'], 'NAME@VERSION'],
  [[], 'expected one of --here, --launch and --run'],
  [['--here', '--run', 'true {model} {job}'], 'expected one of'],
  [['--run', 'true {model} {job}', '--server', 'x'], '--server is for --here'],
  [['--run', 'true {model} {job}', '--', '-k', '3'], '-k is for --here'],
  [['--here', '--', '-m', 'x'], 'the listener fills them in'],
  [['--here', '--', '--no-such'], '--no-such'],
  [['--here', '--server', 'x', '--', '--api-base', 'http://localhost:1'], 'beside --server'],
])('%j is refused', async (argv, message) => {
  const error: unknown = await run('--benchmark', 'bench', ...argv).catch((error) => error)
  expect(`${String(error)} ${Object(error).hint}`).toContain(message)
  expect(error).toMatchObject({ name: 'UserError' })
})
