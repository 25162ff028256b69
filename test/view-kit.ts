import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TrialRecord } from '../src/core/trial.ts'
import { packJob } from '../src/store/packed/pack-job.ts'
import { failed, someRecord } from './records.ts'
import { finishJob } from './registry/jobs.ts'
import { storeJob, type TrialToStore } from './traces.ts'

/** Texts that must be displayed as plain text. */
export const hostile = {
  script: '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">',
  link: '[click](javascript:window.hacked=3) javascript:alert(1) data:text/html,<script>1</script>',
  escapes: '\u001b]0;title\u0007\u001b[31mred\u001b[0m \u202ereversed\u202c \u0000 zero \u0007 bell',
}

const at = (second: number) => `2026-11-15T00:01:${String(second).padStart(2, '0')}.000000Z`

/** Writes a folder of jobs for a viewer: one with hostile trials, two to compare, one packed, one made by Harbor. */
export async function makeViewJobs(dir: string): Promise<string> {
  await storeFinished(join(dir, 'hostile'), [
    { record: trialNamed('alpha__aaaaaaa'), files: writeHostile },
    {
      record: trialNamed('beta__bbbbbbb', {
        end: failed({ message: `cannot start ${hostile.script} ${hostile.escapes}` }),
      }),
      files: () => {},
    },
    { record: trialNamed('gamma__ccccccc', { end: { kind: 'cancelled' } }), files: () => {} },
  ])
  const solved = (name: string, reward: number, attempt: number) =>
    trialNamed(`${name}__${attempt}`, {
      attempt,
      end: { kind: 'scored', rewards: { reward }, exit: { kind: 'finished' } },
    })
  const tasks = Array.from({ length: 10 }, (_, i) => `task-${i}`)
  const run = (reward: (i: number) => number) =>
    tasks.flatMap((name, i) =>
      [0, 1].map((attempt) => ({ record: solved(name, reward(i), attempt), files: writeTurns })),
    )
  await storeFinished(
    join(dir, 'better'),
    run(() => 1),
  )
  await storeFinished(
    join(dir, 'worse'),
    run((i) => (i < 2 ? 1 : 0)),
  )
  cpSync(join(dir, 'better'), join(dir, 'packed'), { recursive: true })
  await packJob(join(dir, 'packed'))
  cpSync('test/fixtures/harbor-job/made-by-harbor', join(dir, 'harbor'), { recursive: true })
  return dir
}

async function storeFinished(dir: string, trials: readonly TrialToStore[]): Promise<void> {
  mkdirSync(dirname(dir), { recursive: true })
  await storeJob(dir, trials)
  await finishJob(dir, '6856a1de-0000-4000-8000-000000000001', trials.length, at(0))
}

function trialNamed(name: string, over: Partial<TrialRecord> = {}): TrialRecord {
  const task = name.split('__')[0] ?? name
  const usage = { inputTokens: 1200, cacheTokens: 0, outputTokens: 80, costUsd: 0.01 }
  const agent = { name: 'terminus-2', version: '2.0.0', model: 'openai/gpt-x' }
  return someRecord({ name, id: name, task: { ...someRecord().task, name: task }, agent, usage, ...over })
}

const calls = (...keys: string[]) =>
  keys.map((keystrokes) => ({ function_name: 'bash_command', arguments: { keystrokes, duration: 0.1 } }))

function writeTurns(dir: string): void {
  makeFolders(dir)
  const steps = [
    { step_id: 1, source: 'user', message: 'Do it.', timestamp: at(1) },
    turn(2, 'Analysis: Nothing is there.\nPlan: Look.', 'ls -la\n', 'total 0'),
    turn(3, 'Analysis: Done.\nPlan: Stop.', 'echo done\n', 'done'),
  ]
  writeFileSync(join(dir, 'agent', 'trajectory.json'), trajectory(steps))
}

function turn(n: number, message: string, keys: string, seen: string): object {
  const observation = { results: [{ content: seen }] }
  const metrics = { prompt_tokens: 100 * n, completion_tokens: n }
  return { step_id: n, source: 'agent', timestamp: at(n), message, tool_calls: calls(keys), observation, metrics }
}

function trajectory(steps: readonly object[], over: object = {}): string {
  const agent = { name: 'terminus-2', version: '2.0.0', model_name: 'openai/gpt-x' }
  return JSON.stringify({ schema_version: 'ATIF-v1.7', agent, steps, ...over })
}

/** A subagent stored in its agent's file, optionally with a nested one. */
function inner(id: string, message: string, deeper?: string): object {
  const results = deeper === undefined ? [] : [{ subagent_trajectory_ref: [{ trajectory_id: deeper }] }]
  const within = deeper === undefined ? {} : { subagent_trajectories: [inner(deeper, 'the innermost speaks')] }
  const steps = [{ step_id: 1, source: 'agent', message, observation: { results } }]
  return { ...(JSON.parse(trajectory(steps)) as object), trajectory_id: id, ...within }
}

function makeFolders(dir: string): void {
  for (const name of ['agent', 'verifier', 'artifacts']) mkdirSync(join(dir, name), { recursive: true })
}

function writeHostile(dir: string): void {
  makeFolders(dir)
  const { script, link, escapes } = hostile
  const agent = join(dir, 'agent')
  const steps = [
    { step_id: 1, source: 'user', message: `Task ${script} ${link}`, timestamp: at(1) },
    turn(2, `Analysis: ${script}\nPlan: ${link}`, `echo '${script}'\n`, `${escapes}\n${script}`),
    turn(3, `free text ${script}`, 'cat big\n', 'x'.repeat(5_000_000)),
    {
      ...turn(4, 'with a helper', 'true\n', ''),
      observation: {
        results: [
          {
            content: 'asked',
            subagent_trajectory_ref: [
              { trajectory_path: 'trajectory.helper-1.json' },
              { trajectory_id: `in #${script}` },
              { trajectory_id: 'missing' },
            ],
          },
        ],
      },
    },
  ]
  writeFileSync(
    join(agent, 'trajectory.json'),
    trajectory(steps, {
      continued_trajectory_ref: 'trajectory.cont-1.json',
      subagent_trajectories: [
        inner('other', 'not this one'),
        inner(`in #${script}`, 'the inner helper speaks', 'deep'),
      ],
    }),
  )
  writeFileSync(
    join(agent, 'trajectory.cont-1.json'),
    trajectory([turn(5, 'the continuation', 'exit\n', 'bye')], { continued_trajectory_ref: 'trajectory.json' }),
  )
  writeFileSync(
    join(agent, 'trajectory.helper-1.json'),
    trajectory([{ step_id: 1, source: 'agent', message: 'the helper speaks' }]),
  )
  const cast = [
    { version: 2, width: 100, height: 30, timestamp: 1_794_700_861 },
    [0.1, 'o', '$ '],
    [1, 'i', `echo '${script}'\n`],
    [1.1, 'o', `\u001b[32m${script}\u001b[0m\r\n$ `],
    [60, 'i', 'cat big\n'],
    [60.1, 'o', 'big output\r\n\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007'],
  ]
  writeFileSync(join(agent, 'recording.cast'), cast.map((line) => JSON.stringify(line)).join('\n'))
  const reply = {
    text: `reply ${script}`,
    reasoning: null,
    toolCalls: [],
    finish: 'stop',
    costUsd: null,
    latencyMs: 900,
  }
  const exchanges = [
    { schema: 'exchanges/1', model: { contextTokens: 1000, outputTokens: null } },
    {
      ...{ call: 1, timestamp: at(1), thread: 1, conversation: 'main', keep: 0 },
      messages: [{ role: 'user', content: `sent ${script}` }],
      reply: { ...reply, usage: { inputTokens: 200, cacheTokens: 0, outputTokens: 2 } },
    },
  ]
  writeFileSync(join(agent, 'exchanges.jsonl'), `${exchanges.map((line) => JSON.stringify(line)).join('\n')}\n`)
  const tests = [
    { name: 'test_good', status: 'passed', duration: 12 },
    { name: `test_bad ${script}`, status: 'failed', duration: 1, message: `expected 1 ${script}` },
  ]
  writeFileSync(join(dir, 'verifier', 'ctrf.json'), JSON.stringify({ results: { tests } }))
  writeFileSync(join(dir, 'verifier', 'test-stdout.txt'), `${escapes}\n${script}\n`)
  writeFileSync(join(dir, 'agent', 'broken.log'), Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0x0a, 0x62]))
  writeFileSync(join(dir, 'agent', 'one-line.log'), 'y'.repeat(5_000_000))
  writeFileSync(join(dir, 'artifacts', 'page.html'), script)
  symlinkSync('/etc/passwd', join(dir, 'artifacts', 'link'))
  symlinkSync('/etc', join(dir, 'artifacts', 'etc'))
}
