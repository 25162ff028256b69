import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseTrajectory } from '../../../test/parse-trajectory.ts'
import { failed } from '../../../test/records.ts'
import {
  agentRecord,
  fixtureFiles,
  fixtureRows,
  fixtureTrial,
  someTrajectory,
  trialFile,
} from '../../../test/traces.ts'
import type { Drop, TrialFile } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { renderTrajectory } from '../atif/journal.ts'
import { limitOfFile, makeTraces, refuseTrial, type TraceOptions } from './make-traces.ts'
import type { TraceRow } from './row.ts'

const defaults: TraceOptions = {
  form: 'readable',
  reasoning: 'column',
  episodes: 'last',
  filter: 'all',
  subagents: 'separate',
  turns: 'alternate',
  sharegpt: false,
}

function traces(files: readonly TrialFile[], over: Partial<TraceOptions> = {}, record: TrialRecord = agentRecord()) {
  const made = [...makeTraces({ job: 'some-job', record, files }, { ...defaults, ...over })]
  const rows: TraceRow[] = made.flatMap((trace) => ('row' in trace ? [trace.row] : []))
  const drops: Drop[] = made.flatMap((trace) => ('drop' in trace ? [trace.drop] : []))
  return { rows, drops }
}

function trajectoryOf(steps: readonly object[], over: object = {}): TrialFile[] {
  const numbered = steps.map((step, i) => ({ step_id: i + 1, ...step }))
  return [trialFile('trajectory.json', someTrajectory({ steps: numbered, ...over }))]
}

const said = (rows: readonly TraceRow[]) => rows.map(({ conversations }) => conversations.map(({ content }) => content))

test('a plain trial gives one row for each turn of the agent, as written down by hand', () => {
  const { rows, drops } = traces(fixtureFiles('plain'), { episodes: 'all' })
  expect(rows).toMatchObject(fixtureRows('plain'))
  expect(drops).toEqual([])
})

test('a trajectory as our agents write it is read', () => {
  const trajectory = parseTrajectory(JSON.stringify(someTrajectory({ notes: 'n', extra: { a: 1.5 } })))
  const { rows } = traces([trialFile('trajectory.json', renderTrajectory(trajectory))])
  expect(said(rows)).toEqual([['Do it.', 'Done.']])
})

test('a journal without its trajectory is recognized', () => {
  expect(limitOfFile('agent', 'trajectory.jsonl')).toBe(0)
  const { drops } = traces([trialFile('trajectory.jsonl', '', { size: 100 })])
  expect(drops).toMatchObject([{ reason: 'no-trajectory', detail: expect.stringContaining('trajectory.jsonl') }])
})

test('the last episode is the whole conversation', () => {
  const { rows } = traces(fixtureFiles('plain'))
  expect(rows).toMatchObject(fixtureRows('plain').slice(-1))
})

test('tools, a system message and an orphaned think tag come out as written down by hand', () => {
  expect(traces(fixtureFiles('tools')).rows).toMatchObject(fixtureRows('tools'))
})

test('continuations and subagents come out as written down by hand', () => {
  const { rows, drops } = traces(fixtureFiles('summarized'), { episodes: 'all' })
  expect(rows).toMatchObject(fixtureRows('summarized'))
  expect(drops).toEqual([])
})

test('a row names where it comes from', () => {
  const record = agentRecord({ attempt: 2 })
  const [row] = traces(fixtureFiles('plain'), {}, record).rows
  expect(row).toMatchObject({
    model_provider: 'openai',
    date: record.startedAt,
    task: 'org/hello',
    run_id: record.config.jobId,
    trial_name: record.name,
    result: '1.0',
    task_digest: record.task.digest,
    task_checksum: record.task.checksum,
    prompt_digest: createHash('sha256').update(row!.conversations[0]!.content).digest('hex'),
    attempt: 2,
    reward: 1,
    end: 'scored',
    exit: 'finished',
    boundary: null,
    input_tokens: 1200,
    output_tokens: 80,
    cost_usd: 0.0125,
    job: 'some-job',
    source: 'tasks',
    schema: 'trace/1',
  })
})

test('counts that are not integers are unknown, and exclude nothing', () => {
  const usage = { inputTokens: 1.5, cacheTokens: null, outputTokens: 1e300, costUsd: -0.5 }
  const [row] = traces(fixtureFiles('tools'), {}, agentRecord({ attempt: 2 ** 40, usage })).rows
  expect(row).toMatchObject({ attempt: null, input_tokens: null, output_tokens: null, cost_usd: -0.5 })
})

test('without tokens in the record, those of the trajectory count', () => {
  const [row] = traces(fixtureFiles('summarized'), {}, agentRecord({ usage: null })).rows
  expect(row).toMatchObject({ input_tokens: 10, output_tokens: 5, cost_usd: null })
})

test.each([
  [
    'a reward',
    agentRecord({ end: { kind: 'scored', rewards: { reward: 0.5 }, exit: { kind: 'finished' } } }),
    '0.5',
    0.5,
  ],
  [
    'the only reward',
    agentRecord({ end: { kind: 'scored', rewards: { style: 0 }, exit: { kind: 'finished' } } }),
    '0.0',
    0,
  ],
  [
    'a time limit after a reward',
    agentRecord({ end: { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } } }),
    'AgentTimeoutError',
    1,
  ],
  [
    'a failure',
    agentRecord({ end: failed({ boundary: 'model', code: 'ApiRateLimitError' }) }),
    'ApiRateLimitError',
    null,
  ],
  ['nothing verified', agentRecord({ end: { kind: 'scored', rewards: null, exit: { kind: 'finished' } } }), null, null],
  ['cancelled', agentRecord({ end: { kind: 'cancelled' } }), 'CancelledError', null],
])('the result of %s', (_, record, result, reward) => {
  expect(traces(fixtureFiles('plain'), {}, record).rows).toMatchObject([{ result, reward }])
})

test.each([
  ['success', { reward: 1 }, 'finished', true],
  ['success', { reward: 0 }, 'finished', false],
  ['success', { reward: 1 }, 'time', false],
  ['failure', { reward: 0 }, 'finished', true],
  ['failure', { reward: 1 }, 'time', true],
  ['failure', { reward: 0.5 }, 'finished', false],
  ['all', { reward: 0 }, 'finished', true],
] as const)('filter %s with %o after %s keeps: %s', (filter, rewards, exit, kept) => {
  const record = agentRecord({
    end: { kind: 'scored', rewards, exit: exit === 'time' ? { kind: 'limit', limit: 'time' } : { kind: exit } },
  })
  expect(refuseTrial(record, { filter }) === null).toBe(kept)
  if (!kept) expect(refuseTrial(record, { filter })?.reason).toBe('filtered-by-result')
})

test('a trial whose agent never received a valid reply gives no trace, whatever is asked for', () => {
  const scored = { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'turns' } } as const
  const record = agentRecord({ end: scored, metadata: { no_valid_reply: true } })
  for (const filter of ['all', 'failure'] as const)
    expect(refuseTrial(record, { filter })?.reason).toBe('no-valid-reply')
})

test('dropped subagents are counted by name', () => {
  const { rows, drops } = traces(fixtureFiles('summarized'), { subagents: 'drop' })
  expect(rows.map((row) => row.trace_source)).toEqual(['main'])
  expect(drops.map(({ reason, traceSource }) => [reason, traceSource])).toEqual([
    ['subagent-left-out', 'summarization-1-answers'],
    ['subagent-left-out', 'summarization-1-summary'],
  ])
})

test('inlined subagents speak under their names, roles still alternate, and what they were handed is not repeated', () => {
  const files = trajectoryOf([
    { source: 'user', message: 'Do it.' },
    { source: 'agent', message: 'First.', observation: { results: [{ content: 'seen' }] } },
    {
      source: 'system',
      message: 'Handed over.',
      observation: {
        results: [{ subagent_trajectory_ref: [{ trajectory_path: 'trajectory.summarization-1-summary.json' }] }],
      },
    },
    { source: 'agent', message: 'Second.' },
  ])
  const subagents = fixtureFiles('summarized').filter(({ name }) => name.includes('summarization'))
  const { rows, drops } = traces([...files, ...subagents], { subagents: 'inline' })
  expect(rows).toHaveLength(1)
  expect(rows[0]!.conversations).toEqual([
    { role: 'user', content: 'Do it.' },
    { role: 'assistant', content: 'First.' },
    { role: 'user', content: 'seen\n\nHanded over.\n\n[subagent:summarization-1-summary] USER: Summarise.' },
    { role: 'assistant', content: '[subagent:summarization-1-summary] ASSISTANT: One step was made.\n\nSecond.' },
  ])
  expect(drops).toMatchObject([{ reason: 'subagent-left-out', traceSource: 'summarization-1-answers' }])
})

test('subagents inside the trajectory are rows of their own too', () => {
  const inner = someTrajectory({
    trajectory_id: 'critic-1',
    steps: [
      { source: 'user', message: 'Judge.' },
      { source: 'agent', message: 'Fine.' },
    ],
  })
  const { rows } = traces(
    trajectoryOf(
      [
        { source: 'user', message: 'a' },
        { source: 'agent', message: 'b' },
      ],
      { subagent_trajectories: [inner] },
    ),
  )
  expect(rows.map((row) => [row.trace_source, row.conversations.at(-1)?.content])).toEqual([
    ['main', 'b'],
    ['critic-1', 'Fine.'],
  ])
})

test('recorded turns are left message by message', () => {
  const [row] = traces(fixtureFiles('tools'), { turns: 'recorded' }).rows
  expect(row!.conversations.map(({ role }) => role)).toEqual([
    'user',
    'user',
    'assistant',
    'assistant',
    'user',
    'assistant',
  ])
})

test('copied turns are never what a row ends with', () => {
  const steps = [
    { source: 'user', message: 'a', is_copied_context: true },
    { source: 'agent', message: 'b', is_copied_context: true },
  ]
  expect(traces(trajectoryOf(steps), { episodes: 'all' })).toMatchObject({
    rows: [],
    drops: [{ reason: 'no-agent-turn' }],
  })
  const { rows } = traces(
    trajectoryOf([...steps, { source: 'user', message: 'c' }, { source: 'agent', message: 'd' }]),
    { episodes: 'all' },
  )
  expect(said(rows)).toEqual([['a', 'b', 'c', 'd']])
})

test('ShareGPT columns say the same in the other spelling', () => {
  const [row] = traces(
    trajectoryOf([
      { source: 'user', message: 'a' },
      { source: 'agent', message: 'b' },
    ]),
    { sharegpt: true },
  ).rows
  expect(row!.conversations_sharegpt).toEqual([
    { from: 'human', value: 'a' },
    { from: 'gpt', value: 'b' },
  ])
})

test.each([
  ['no-trajectory', []],
  ['trajectory-unreadable', [trialFile('trajectory.json', '{"schema_version": "ATIF-v1.7", "steps": [')]],
  ['trajectory-unreadable', [trialFile('trajectory.json', '[]')]],
  ['trajectory-unreadable', [trialFile('trajectory.json', someTrajectory({ schema_version: 'ATIF-v9.0' }))]],
  [
    'trajectory-unreadable',
    [trialFile('trajectory.json', someTrajectory({ continued_trajectory_ref: 'trajectory.cont-1.json' }))],
  ],
  [
    'trajectory-unreadable',
    [trialFile('trajectory.json', someTrajectory({ continued_trajectory_ref: 'trajectory.json' }))],
  ],
  [
    'trajectory-unreadable',
    [trialFile('trajectory.json', someTrajectory({ continued_trajectory_ref: '../../x.json' }))],
  ],
  ['trajectory-too-large', [trialFile('trajectory.json', someTrajectory(), { size: 1e9 })]],
  ['no-agent-turn', trajectoryOf([{ source: 'user', message: 'Do it.' }])],
  ['no-user-turn', trajectoryOf([{ source: 'agent', message: 'Done.' }])],
] as const)('%s is told and gives no row', (reason, files) => {
  const { rows, drops } = traces(files)
  expect(rows).toEqual([])
  expect(drops.map((drop) => drop.reason)).toEqual([reason])
  expect(drops[0]!.detail).not.toBe('')
})

test.each(['message', 'observation'])('an image in a %s keeps the trial out', (where) => {
  const parts = [
    { type: 'text', text: 'see' },
    { type: 'image', source: { media_type: 'image/png', path: 'a.png' } },
  ]
  const agent = {
    source: 'agent',
    message: 'b',
    observation: { results: [{ content: where === 'observation' ? parts : 'x' }] },
  }
  const { rows, drops } = traces(trajectoryOf([{ source: 'user', message: where === 'message' ? parts : 'a' }, agent]))
  expect(rows).toEqual([])
  expect(drops).toMatchObject([{ reason: 'images', traceSource: null }])
})

test('text in parts is text', () => {
  const message = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ]
  expect(
    said(
      traces(
        trajectoryOf([
          { source: 'user', message },
          { source: 'agent', message: 'b' },
        ]),
      ).rows,
    ),
  ).toEqual([['one\ntwo', 'b']])
})

test('halves of surrogate pairs become spaces everywhere, also inside tool calls and names', () => {
  const steps = [
    { source: 'user', message: 'a\ud800b' },
    {
      source: 'agent',
      message: '\udc00',
      tool_calls: [{ function_name: 'f\ud801', arguments: { 'k\ud802': ['v\ud803', '😀'] } }],
    },
  ]
  const agent = { name: 'x\udfff', version: '1' }
  const [row] = traces(trajectoryOf(steps, { agent })).rows
  expect(row!.agent).toBe('x ')
  expect(said([row!])).toEqual([
    ['a b', ' \n<tool_call>\n{"name": "f ", "arguments": {"k ": ["v ", "😀"]}}\n</tool_call>'],
  ])
})

test('the shell’s complaint about job control goes, wherever a line of it stands', () => {
  const noise =
    'bash: cannot set terminal process group (12): Inappropriate ioctl for device\nbash: no job control in this shell\n'
  const steps = [
    { source: 'user', message: `${noise}$ ` },
    {
      source: 'agent',
      message: 'I see "no job control in this shell".',
      observation: { results: [{ content: `a\nbash: no job control in this shell` }] },
    },
    { source: 'agent', message: 'b' },
  ]
  expect(said(traces(trajectoryOf(steps)).rows)).toEqual([['$ ', 'I see "no job control in this shell".', 'a\n', 'b']])
})

test('each step of a multi-step trial has its own rows', () => {
  const base = agentRecord()
  const step = {
    name: 'one',
    rewards: null,
    exit: null,
    failure: null,
    usage: { inputTokens: 10, cacheTokens: 2, outputTokens: 3, costUsd: 0.5 },
    metadata: null,
    agentExecution: null,
    verifier: null,
  }
  const record = {
    ...base,
    usage: null,
    steps: [step, { ...step, name: 'two' }, { ...step, name: 'three', usage: null }],
  }
  const files = [
    trialFile('trajectory.json', someTrajectory(), { step: 'one' }),
    trialFile('trajectory.json', someTrajectory(), { step: 'two' }),
    trialFile('test-stdout.txt', 'passed', { step: 'two', folder: 'verifier' }),
  ]
  const { rows, drops } = traces(files, {}, record)
  expect(rows.map((row) => [row.step, row.verifier_output])).toEqual([
    ['one', null],
    ['two', 'passed'],
  ])
  const ofTheTrial = { input_tokens: 20, output_tokens: 6, cost_usd: 1 }
  expect(rows).toMatchObject([ofTheTrial, ofTheTrial])
  expect(drops).toMatchObject([{ step: 'three', reason: 'no-trajectory' }])
})

test('more verifier output than was read ends in a line that says so', () => {
  const files = [...fixtureTrial('tools').files, trialFile('test-stdout.txt', 'abc', { folder: 'verifier', size: 10 })]
  expect(traces(files).rows[0]!.verifier_output).toBe('abc\n[... 7 more bytes ...]\n')
})
