import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { failed } from '../../../test/records.ts'
import { agentRecord, storeJob, type TrialToStore } from '../../../test/traces.ts'
import type { JobsReport } from '../../app/analysis/analyze-jobs.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import type { TrialRecord } from '../../core/trial.ts'
import best from './best.ts'
import report from './report.ts'

let dir: string
beforeEach(async () => {
  dir = await makeTempDir()
})

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'jobs'], argv)
  return printed()
}

const call = (keystrokes: string) => ({ function_name: 'bash_command', arguments: { keystrokes, duration: 1 } })

interface Turn {
  readonly does?: string
  readonly sees?: string
}

/** A trial whose agent took these turns and `sec` seconds. */
function trial(name: string, turns: readonly Turn[], over: Partial<TrialRecord> = {}, sec = 60): TrialToStore {
  const [task = name] = name.split('__')
  const base = agentRecord({ name, ...over })
  const at = (seconds: number) => new Date(Date.parse('2026-11-15T00:00:00Z') + seconds * 1000).toISOString()
  const span = (from: number, to: number) => ({ startedAt: at(from), finishedAt: at(to) })
  const record = {
    ...base,
    task: { ...base.task, name: task, checksum: task },
    startedAt: at(0),
    finishedAt: at(sec),
    spans: {
      environmentSetup: span(0, 5),
      agentSetup: null,
      agentExecution: span(5, sec - 2),
      verifier: span(sec - 2, sec),
    },
  }
  const steps = [
    { step_id: 1, source: 'user', message: 'Do it.' },
    ...turns.map(({ does, sees }, i) => ({
      step_id: i + 2,
      source: 'agent',
      message: 'I work.',
      ...(does !== undefined && { tool_calls: [{ tool_call_id: `c${i}`, ...call(does) }] }),
      ...(sees !== undefined && { observation: { results: [{ content: sees }] } }),
      metrics: { prompt_tokens: 100 * (i + 1), completion_tokens: 10 },
    })),
  ]
  return {
    record,
    files: (to) => {
      mkdirSync(join(to, 'agent'), { recursive: true })
      mkdirSync(join(to, 'verifier'), { recursive: true })
      const trajectory = { schema_version: 'ATIF-v1.6', agent: { name: 'terminus-2', version: '2' }, steps }
      writeFileSync(join(to, 'agent', 'trajectory.json'), JSON.stringify(trajectory))
      writeFileSync(join(to, 'verifier', 'test-stdout.txt'), 'FAILED test_a.py::test_b - assert 1 == 2\n')
    },
  }
}

const unsolved = { end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } } } as const
const stopped = { end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'time' } } } as const

const trials = () => [
  trial('a__1', [{ does: 'cd /app && make\n', sees: 'ok' }, { does: 'ls\n' }]),
  trial('a__2', Array(6).fill({ does: 'make\n', sees: 'make: *** no rule' }), stopped, 500),
  trial('b__1', [{ does: 'curl x\n', sees: 'curl: (6) Could not resolve host: x\n' }], unsolved, 30),
  trial('b__2', [{ does: 'C-c' }, { does: 'ls\n' }, {}, {}], unsolved, 20),
  trial('c__1', [{}], { end: failed({ code: 'SandboxLostError' }) }, 10),
]

test.each(['harbor', 'packed'] as const)(
  'a %s job is reported: times, turns, commands and failures',
  async (layout) => {
    await storeJob(join(dir, 'job'), trials(), layout)
    const found: JobsReport = JSON.parse(await run(report, dir, '--slowest', '2', '--json'))
    expect(found).toMatchObject({ schema: 'jobs-report/1', trials: 5, solved: 1 })
    const { runtime, turns, commands, failures } = found
    expect(runtime?.slowest.map(({ trial, slowestPart, totalSec }) => [trial, slowestPart, totalSec])).toEqual([
      ['a__2', 'agentExecution', 500],
      ['a__1', 'agentExecution', 60],
    ])
    expect(runtime?.seconds).toMatchObject({
      total: { count: 5, p50: 30, max: 500 },
      agentSetup: null,
      other: { max: 0 },
    })
    expect(runtime?.exceptions.map(({ type, trials }) => [type, trials])).toEqual([
      ['AgentTimeoutError', 1],
      ['SandboxLostError', 1],
    ])
    expect(turns?.perTrial.turns).toMatchObject({ count: 5, max: 6, sum: 14 })
    expect(turns?.perTurn['input tokens']).toMatchObject({ max: 600 })
    const uses = Object.fromEntries(commands?.programs.map(({ name, uses, trials }) => [name, [uses, trials]]) ?? [])
    expect(uses).toEqual({ make: [7, 2], ls: [2, 2], cd: [1, 1], curl: [1, 1], 'key C-c': [1, 1] })
    expect(commands?.tools).toEqual([{ name: 'bash_command', uses: 11, trials: 4, solved: 1 }])
    const modes = Object.fromEntries(failures?.modes.map(({ mode, main, trials }) => [mode, [main, trials]]) ?? [])
    expect(modes).toMatchObject({
      'infrastructure failure': [1, 1],
      'repeats itself': [1, 1],
      'no network': [1, 1],
      'tests failed': [1, 4],
    })
    const network = failures?.modes.find(({ mode }) => mode === 'no network')
    expect(network?.examples).toEqual([{ job: 'job', trial: 'b__1', quote: 'curl: (6) Could not resolve host: x' }])
  },
)

test('only some sections, a page, and the labels of each unsolved trial', async () => {
  await storeJob(join(dir, 'job'), trials())
  const runtime: JobsReport = JSON.parse(await run(report, join(dir, 'job'), '--only', 'runtime', '--json'))
  expect([runtime.turns, runtime.commands, runtime.failures]).toEqual([null, null, null])
  const files = [join(dir, 'labels.jsonl'), join(dir, 'page.html')] as const
  const text = await run(report, join(dir, 'job'), '--labels', files[0], '--html', files[1])
  expect(text).toContain('5 trials of 1 job, 1 solved.')
  expect(text).toMatch(/agent execution +5 /)
  const lines = readFileSync(files[0], 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ trial, labels }) => [trial, labels[0].mode]).sort()).toEqual([
    ['a__2', 'repeats itself'],
    ['b__1', 'no network'],
    ['b__2', 'tests failed'],
    ['c__1', 'infrastructure failure'],
  ])
  expect(readFileSync(files[1], 'utf8')).toContain('<svg')
  const refused = run(report, dir, '--only', 'runtime', '--labels', files[0])
  await expect(refused).rejects.toThrow('--labels needs the section failures')
  await expect(run(report, join(dir, 'none'))).rejects.toThrow('found nothing there')
})

test('a job of Harbor and a folder of jobs are read, and a broken trajectory costs only itself', async () => {
  await storeJob(join(dir, 'one'), trials().slice(0, 1))
  await storeJob(join(dir, 'two'), [
    { record: agentRecord({ name: 'x__1', ...unsolved }), files: (to) => writeBad(to) },
  ])
  const found: JobsReport = JSON.parse(await run(report, dir, 'test/fixtures/harbor-job', '--recursive', '--json'))
  expect(found.trials).toBeGreaterThan(2)
  expect(found.turns?.withoutTrajectory).toBeGreaterThan(0)
})

function writeBad(to: string): void {
  mkdirSync(join(to, 'agent'), { recursive: true })
  writeFileSync(join(to, 'agent', 'trajectory.json'), '{"schema_version": "ATIF-v1.6", "steps": [')
}

test('the best trial of each task is copied, and the copy can be read', async () => {
  const long = { usage: { inputTokens: 1, cacheTokens: 0, outputTokens: 999, costUsd: null } }
  await storeJob(join(dir, 'jobs/one'), [...trials(), trial('a__3', [{ does: 'ls\n' }], long)])
  await storeJob(join(dir, 'jobs/two'), [trial('b__9', [{ does: 'pwd\n' }])], 'packed')
  const all = JSON.parse(await run(best, join(dir, 'jobs'), '--out', join(dir, 'all'), '--json'))
  expect(all.trials).toEqual([
    { task: 'a', job: 'one', trial: 'a__1', reward: 1, of: 3 },
    { task: 'b', job: 'two', trial: 'b__9', reward: 1, of: 3 },
    { task: 'c', job: 'one', trial: 'c__1', reward: null, of: 1 },
  ])
  const table = await run(best, join(dir, 'jobs'), '--out', join(dir, 'solved'), '--solved')
  expect(table.split('\n')).toHaveLength(4)
  expect(readdirSync(join(dir, 'solved')).sort()).toEqual(['a__1', 'b__9', 'best-trials.json'])
  const read: JobsReport = JSON.parse(await run(report, join(dir, 'solved'), '--json'))
  expect(read).toMatchObject({ trials: 2, solved: 2 })
  await expect(run(best, join(dir, 'jobs'), '--out', join(dir, 'all'))).rejects.toThrow('expected a new directory')
  const { record, files } = trial('a__1', [])
  const renamed = { ...record, task: { ...record.task, name: 'z', checksum: 'z' } }
  await storeJob(join(dir, 'jobs/three'), [{ record: renamed, files }])
  const doubled = run(best, join(dir, 'jobs'), '--out', join(dir, 'none'))
  await expect(doubled).rejects.toThrow('expected trials with different names, found a__1')
  expect(existsSync(join(dir, 'none'))).toBe(false)
})
