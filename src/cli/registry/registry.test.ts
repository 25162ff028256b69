import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { makeJob, trialOf } from '../../../test/registry/jobs.ts'
import { evaluate } from '../../app/evaluate.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import edit from './edit.ts'
import exportCommand from './export.ts'
import gc from './gc.ts'
import importCommand from './import.ts'
import ingest from './ingest.ts'
import lineage from './lineage.ts'
import remove from './remove.ts'
import search from './search.ts'
import sql from './sql.ts'

let dir: string
beforeEach(async () => {
  dir = await makeTempDir()
  vi.stubEnv('OT_AGENT_REGISTRY', join(dir, 'state', 'registry.db'))
})

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'registry'], argv)
  return printed()
}

test('a job is ingested, found, ranked, exported to CSV and counted', async () => {
  const job = await makeJob(join(dir, 'job'), {
    id: 'one',
    records: [trialOf({ task: 'a' }), trialOf({ task: 'b', reward: 0 }), trialOf({ task: '=cmd()', reward: 1 })],
  })
  expect(await run(ingest, job)).toBe('job job: 3 of 3 trials are new; org/student on bench: 66.7 %\n')
  expect(await run(search, '--csv')).toMatch(
    /^job_id,model_id,model_name,accuracy,std,job_name,.*\n[\w-]+,[\w-]+,org\/student,0\.66/,
  )
  expect(await run(search, 'student', '--view', 'matrix')).toMatch(
    /^model +bench\norg\/student \(terminus-2\) +0\.667 ± 0\.333 \(SE\)\n$/,
  )
  expect(await run(search, '--view', 'matrix', '--csv')).toMatch(/^model,bench\norg\/student \(terminus-2\),0\.66/)
  expect(JSON.parse(await run(search, '--view', 'leaderboard', '--json'))).toMatchObject({ runs: [{ runs: 1 }] })
  expect(await run(search, 'none')).toBe('no matching runs\n')
  expect(await run(search, 'student', 'bench', '--exclude', 'other', '--csv')).toContain('org/student')
  expect(await run(search, 'student', '--exclude', 'other', '-x', 'bench')).toBe('no matching runs\n')
  expect(await run(search, '--view', 'matrix', '--exclude', 'student', '--csv')).toBe('model\n')
  expect(await run(edit, 'model', 'org/student', '--set', 'description=a student')).toBe('changed model org/student\n')
  expect(await run(sql, 'SELECT description FROM models', '--json')).toBe('{"description":"a student"}\n')
  expect(await run(sql, 'SELECT count(*) AS n FROM sandbox_trials', '--json')).toBe('{"n":3}\n')
  expect(await run(sql, 'SELECT name FROM sandbox_tasks WHERE 1 = 0')).toBe('no rows\n')
  expect(await run(gc, '--dry-run')).toBe('would be removed: 0 runs, 0 trials, 0 tasks\n')
  expect(await run(lineage, 'org/student')).toBe('model org/student\n  training status: external\n')
  await run(exportCommand, join(dir, 'out.jsonl'))
  expect(await run(importCommand, join(dir, 'out.jsonl'), '--registry', join(dir, 'copy.db'))).toMatch(
    /^(\d+) of \1 rows are new\n$/,
  )
  await run(exportCommand, join(dir, 'csv'), '--csv')
  expect(readFileSync(join(dir, 'csv', 'sandbox_trials.csv'), 'utf8')).toContain(",'=cmd()__0,")
  expect(await run(remove, 'run', 'job', '--dry-run')).toBe('would remove run job, 3 trials\n')
  expect(await run(remove, 'run', 'job')).toBe('removed run job, 3 trials\n')
  expect(await run(search)).toBe('no matching runs\n')
})

test('addresses that cannot be used are refused without showing a secret', async () => {
  const cases: [string[], RegExp][] = [
    [['--registry', 'postgres://me:hidden@db/x'], /without a password/],
    [['--registry', 'postgres://me@db/x?password=hidden'], /without a password/],
    [['--registry', 'mysql://me:hidden@db/x'], /begins with mysql:/],
    [['--registry', ''], /empty/],
    [['--registry-env', 'NO_SUCH_VARIABLE'], /NO_SUCH_VARIABLE/],
    [['--registry', 'a.db', '--registry-env', 'B'], /got both/],
    [['--registry', join(dir, 'none.db')], /nothing there/],
  ]
  for (const [argv, message] of cases) {
    const error = await run(search, ...argv).catch((error: unknown) => error)
    expect(error, argv.join(' ')).toMatchObject({ name: 'UserError', message: expect.stringMatching(message) })
    expect(JSON.stringify([String(error), Object(error).hint])).not.toContain('hidden')
  }
  const variables: [string, RegExp][] = [
    ['postgres://me:hidden@127.0.0.1:1/x', /cannot use the PostgreSQL database of the registry: ECONNREFUSED/],
    ['postgres://me:100%hidden@127.0.0.1:1/x', /a stray %/],
    ['mysql://me:hidden@db/x', /MY_REGISTRY: .* begins with mysql:/],
    ['postgresql+asyncpg://me:hidden@db/x', /begins with postgresql\+asyncpg:/],
  ]
  for (const [address, message] of variables) {
    vi.stubEnv('MY_REGISTRY', address)
    const error = await run(search, '--registry-env', 'MY_REGISTRY').catch((error: unknown) => error)
    expect(error, address).toMatchObject({ name: 'UserError', message: expect.stringMatching(message) })
    expect(JSON.stringify([String(error), Object(error).hint])).not.toContain('hidden')
  }
})

test('what is no registry and what cannot be ingested is refused, and nothing is made', async () => {
  const readme = join(process.cwd(), 'README.md')
  await expect(run(search, '--registry', readme)).rejects.toThrow('a file that SQLite cannot open')
  await expect(run(ingest, dir)).rejects.toThrow('a directory without any of them')
  await expect(run(ingest, join(dir, 'nowhere'))).rejects.toThrow('nothing there')
  await expect(run(sql, 'DROP TABLE models')).rejects.toThrow('expected a SELECT')
  expect(existsSync(join(dir, 'state'))).toBe(false)
  expect(readFileSync(readme, 'utf8')).toContain('ot-agent')
})

test('of several rewards the first counts, as in eval report, where none is called reward', async () => {
  const several = (task: string, tests: number) => {
    const record = trialOf({ task, reward: 1 })
    return { ...record, end: { ...record.end, rewards: { tests, style: 0.5 } } } as typeof record
  }
  const job = await makeJob(join(dir, 'job'), { id: 'one', records: [several('a', 1), several('b', 0)] })
  expect(await run(ingest, job)).toContain('org/student on bench: 50.0 %')
  const { runs } = await evaluate(job)
  expect(runs.map(({ accuracy }) => accuracy?.mean)).toEqual([0.5])
})

test('a job that has not begun keeps no other of its directory out', async () => {
  mkdirSync(join(dir, 'jobs', 'a-new'), { recursive: true })
  writeFileSync(join(dir, 'jobs', 'a-new', 'config.json'), '{}')
  await makeJob(join(dir, 'jobs', 'done'), { id: 'one', records: [trialOf({ task: 'a', reward: 1 })] })
  expect(await run(ingest, join(dir, 'jobs'))).toContain('job done: 1 of 1 trials are new')
  expect(process.exitCode).toBe(3)
  process.exitCode = 0
  await expect(run(ingest, join(dir, 'jobs', 'a-new'))).rejects.toThrow('one that has not started')
})

test('an export to a place that cannot be written is refused in two lines', async () => {
  await run(ingest, await makeJob(join(dir, 'job'), { id: 'one', records: [trialOf({ task: 'a' })] }))
  writeFileSync(join(dir, 'file'), '')
  for (const csv of [[], ['--csv']])
    await expect(run(exportCommand, join(dir, 'file', 'x'), ...csv)).rejects.toMatchObject({ name: 'UserError' })
})

test('a trained model is registered with its weights and its run', async () => {
  const summary = join(dir, 'run_summary.json')
  const link = 'https://wandb.ai/team/agents/runs/a1'
  writeFileSync(summary, JSON.stringify({ model_name: 'mine', weights_location: '/ckpt/mine', wandb_link: link }))
  expect(await run(ingest, summary)).toBe(`model mine; weights: /ckpt/mine; run: ${link}\n`)
  expect(await run(ingest, summary, '--weights', 'org/mine')).toBe(`model mine; weights: org/mine; run: ${link}\n`)
  expect(await run(lineage, 'mine')).toContain(`  weights location: org/mine\n  wandb link: ${link}\n`)
  for (const secret of ['https://hf_token@host/x', 'https://me:pw@host/x', 's3://me:pw@host/x'])
    await expect(run(ingest, summary, '--weights', secret), secret).rejects.toThrow('without a user or password')
  await expect(run(ingest, summary, '--traces', 'https://hf_token@host/x')).rejects.not.toThrow('hf_token')
  expect(await run(ingest, summary, '--weights', 'ssh://me@host/x')).toContain('weights: ssh://me@host/x')
})
