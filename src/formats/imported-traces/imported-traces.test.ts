import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { TraceRow } from '../traces/row.ts'
import { type ReadSession, readSessions } from './read-sessions.ts'
import { tracesOfSession } from './to-traces.ts'

/** Creates a folder of files modelled on what the tools really write. */
async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await makeTempDir()
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), text)
  }
  return dir
}

async function read(path: string): Promise<ReadSession[]> {
  const all: ReadSession[] = []
  for await (const each of readSessions(path, { format: null, maxBytes: 1 << 20 })) all.push(each)
  return all
}

async function rowsOf(name: string, text: string): Promise<TraceRow[]> {
  const sessions = await read(join(await folder({ [name]: text }), name))
  return sessions.flatMap((each) => {
    if ('problem' in each) throw new Error(`${each.where}: ${each.problem.detail}`)
    return [...tracesOfSession(each.session, { source: 'test', where: each.where })].flatMap((trace) =>
      'row' in trace ? [trace.row] : [],
    )
  })
}

const lines = (...items: readonly object[]) => items.map((item) => `${JSON.stringify(item)}\n`).join('')
const roles = (row: TraceRow | undefined) => row?.conversations.map(({ role }) => role).join(' ')
const toolCall = (id: string, command: string) => ({
  id,
  type: 'function',
  function: { name: 'bash', arguments: JSON.stringify({ command }) },
})

test('a history of SWE-agent becomes a trace that ends with the model’s last reply', async () => {
  const [row] = await rowsOf(
    'repo__pkg-1.traj',
    JSON.stringify({
      history: [
        { role: 'system', content: 'You are a programmer.', agent: 'main' },
        { role: 'user', content: [{ type: 'text', text: 'Fix the issue.' }], agent: 'main' },
        { role: 'assistant', content: 'Look.', action: 'ls', agent: 'main', tool_calls: [toolCall('c1', 'ls')] },
        { role: 'tool', content: 'a.py', agent: 'main', tool_call_ids: ['c1'] },
        { role: 'assistant', content: 'Not this one.', agent: 'judge' },
        { role: 'assistant', content: 'Done.', agent: 'main', tool_calls: [toolCall('c2', 'submit')] },
        { role: 'tool', content: 'submitted', agent: 'main', tool_call_ids: ['c2'] },
      ],
      info: { exit_status: 'submitted (exit_cost)', model_stats: { tokens_sent: 900, tokens_received: 40 } },
      replay_config: JSON.stringify({ agent: { model: { name: 'openai/gpt-4o' } } }),
    }),
  )
  expect(roles(row)).toBe('system user assistant tool assistant')
  expect(row).toMatchObject({
    agent: 'swe-agent',
    model: 'gpt-4o',
    model_provider: 'openai',
    task: 'repo__pkg-1',
    exit: 'cost',
    turns: 2,
    reward: null,
    input_tokens: 900,
    tool_calls: [
      { message: 2, id: 'c1', name: 'bash', arguments: '{"command":"ls"}' },
      { message: 4, id: 'c2' },
    ],
    tool_results: [{ message: 3, id: 'c1' }],
  })
})

const codex = (type: string, payload: object) => ({ timestamp: '2026-01-02T03:04:05Z', type, payload })
const item = (payload: object) => codex('response_item', payload)
const codexText = (role: string, text: string) =>
  item({ type: 'message', role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] })

const codexSession = [
  codex('session_meta', { id: 's-1', timestamp: '2026-01-02T03:04:05Z', base_instructions: { text: 'You code.' } }),
  codexText('developer', 'Be brief.'),
  codexText('user', '<environment_context>\n<cwd>/app</cwd></environment_context>'),
  codex('turn_context', { model: 'gpt-5.5' }),
  codexText('user', 'List the files.'),
  codex('event_msg', { type: 'user_message', message: 'List the files.' }),
  item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'I look.' }], encrypted_content: 'x' }),
  codexText('assistant', 'One moment.'),
  item({ type: 'function_call', name: 'exec_command', arguments: '{"cmd":"ls"}', call_id: 'c1' }),
  item({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch', call_id: 'c2' }),
  item({ type: 'function_call_output', call_id: 'c1', output: '{"output":"a.txt","metadata":{"exit_code":0}}' }),
  item({ type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'output_text', text: 'Done!' }] }),
  codex('event_msg', { type: 'agent_message', message: 'There is a.txt.' }),
  codexText('assistant', 'There is a.txt.'),
  codex('event_msg', { type: 'token_count', info: { total_token_usage: { input_tokens: 70, output_tokens: 9 } } }),
]

test('a rollout of Codex becomes a trace: thoughts, texts and calls of one reply are one message', async () => {
  const [row] = await rowsOf('rollout-1.jsonl', lines(...codexSession))
  expect(roles(row)).toBe('system user user assistant tool tool assistant')
  expect(row).toMatchObject({
    agent: 'codex',
    model: 'gpt-5.5',
    run_id: 's-1',
    instruction: 'List the files.',
    turns: 2,
    reasoning: [{ message: 3, content: 'I look.' }],
    tool_calls: [
      { message: 3, id: 'c1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
      { message: 3, id: 'c2', name: 'apply_patch' },
    ],
    tool_results: [
      { message: 4, id: 'c1' },
      { message: 5, id: 'c2' },
    ],
    input_tokens: 70,
  })
  expect(row?.conversations.map(({ content }) => content)).toMatchObject({
    0: 'You code.\n\nBe brief.',
    3: 'One moment.',
    4: 'a.txt',
    5: 'Done!',
  })
})

test('after a compaction of Codex a new trace begins with the summary', async () => {
  const rows = await rowsOf(
    'rollout-2.jsonl',
    lines(
      ...codexSession,
      codex('compacted', { message: 'Files were listed.' }),
      codexText('user', 'Now delete it.'),
      codexText('assistant', 'Deleted.'),
    ),
  )
  expect(rows).toHaveLength(2)
  expect(rows[0]?.turn_marks).toEqual([{ message: 6, mark: 'before-handoff' }])
  expect(rows[1]).toMatchObject({ turns: 3, episode: 'episode-2' })
  expect(rows[1]?.conversations.map(({ content }) => content)).toEqual([
    'You code.\n\nBe brief.',
    '<environment_context>\n<cwd>/app</cwd></environment_context>',
    'List the files.',
    'Files were listed.',
    'Now delete it.',
    'Deleted.',
  ])
})

let claudeLines = 0
const claude = (uuid: string, parentUuid: string | null, message: object, more = {}) => ({
  type: 'model' in message ? 'assistant' : 'user',
  uuid,
  parentUuid,
  isSidechain: false,
  sessionId: 's-2',
  timestamp: `2026-01-02T03:04:${String(++claudeLines).padStart(2, '0')}Z`,
  message: { role: 'model' in message ? 'assistant' : 'user', ...message },
  ...more,
})
const said = (id: string, ...content: readonly object[]) => ({
  id,
  model: 'claude-x',
  content,
  usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 3 },
})
const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: id } })
const result = (id: string, content: unknown) => ({ content: [{ type: 'tool_result', tool_use_id: id, content }] })

test('a session of Claude Code is the path to its last reply, with the results of calls that ran at once', async () => {
  const [row, other, ...more] = await rowsOf(
    'session.jsonl',
    lines(
      { type: 'summary', summary: 'Files', leafUuid: 'a4' },
      claude('u1', null, { content: 'Look around.' }),
      claude('x1', 'u1', said('m0', { type: 'text', text: 'A reply that was rewound.' })),
      claude('a1', 'u1', said('m1', { type: 'thinking', thinking: 'Two calls.' })),
      claude('a2', 'a1', said('m1', toolUse('t1'))),
      claude('a3', 'a2', said('m1', toolUse('t2'))),
      claude('r1', 'a2', result('t1', 'one')),
      claude('s1', null, { content: 'Search.' }, { isSidechain: true, agentId: 'z9' }),
      claude('s2', 's1', said('m9', { type: 'text', text: 'Found.' }), { isSidechain: true, agentId: 'z9' }),
      claude('r2', 'a3', result('t2', [{ type: 'text', text: 'two' }])),
      claude('e1', 'r2', { ...said('m2', { type: 'text', text: 'API Error' }), model: '<synthetic>' }),
      claude('a4', 'r2', said('m3', { type: 'text', text: 'Done.' })),
      claude('u2', 'a4', { content: 'Thanks.' }),
    ),
  )
  expect(more).toEqual([])
  expect(row?.conversations.map(({ role, content }) => `${role} ${content}`)).toEqual([
    'user Look around.',
    'assistant ',
    'tool one',
    'tool two',
    'assistant Done.',
  ])
  expect(row).toMatchObject({
    agent: 'claude-code',
    model: 'claude-x',
    run_id: 's-2',
    instruction: 'Look around.',
    tool_calls: [{ id: 't1' }, { id: 't2' }],
    reasoning: [{ message: 1, content: 'Two calls.' }],
  })
  expect(other).toMatchObject({ trace_source: 'subagent-z9', turns: 1 })
})

test('a session of Claude Code whose lines do not refer to each other is read in their order', async () => {
  const [row] = await rowsOf(
    'session.jsonl',
    lines(
      claude('u1', null, { content: 'Begin.' }),
      claude('a1', null, said('m1', { type: 'text', text: 'Begun.' })),
      claude('u2', 'elsewhere', { content: 'Go on.' }),
      claude('a2', null, said('m2', { type: 'text', text: 'Done.' })),
    ),
  )
  expect(row?.conversations.map(({ content }) => content)).toEqual(['Begin.', 'Begun.', 'Go on.', 'Done.'])
})

test('a compaction of Claude Code ends one trace and begins another', async () => {
  const rows = await rowsOf(
    'session.jsonl',
    lines(
      claude('u1', null, { content: 'Begin.' }),
      claude('a1', 'u1', said('m1', { type: 'text', text: 'Begun.' })),
      { type: 'system', subtype: 'compact_boundary', uuid: 'c1', parentUuid: null, logicalParentUuid: 'a1' },
      claude('u2', 'c1', { content: 'Summary: it was begun.' }, { isCompactSummary: true }),
      claude('a2', 'u2', said('m2', { type: 'text', text: 'Ended.' })),
    ),
  )
  expect(rows.map((row) => row.conversations.map(({ content }) => content))).toEqual([
    ['Begin.', 'Begun.'],
    ['Summary: it was begun.', 'Ended.'],
  ])
  expect(rows[0]?.turn_marks).toEqual([{ message: 1, mark: 'before-handoff' }])
})

const response = {
  id: 'r1',
  model: 'qwen',
  choices: [
    { message: { role: 'assistant', content: 'Two.', tool_calls: [toolCall('c1', 'ls'), toolCall('c2', 'id')] } },
  ],
}
const olderEvents = [
  {
    id: 0,
    source: 'agent',
    action: 'system',
    args: { content: 'You are OpenHands.', tools: [{ function: { name: 'bash' } }] },
  },
  { id: 1, source: 'user', action: 'message', args: { content: 'Fix it.' } },
  { id: 2, source: 'environment', observation: 'agent_state_changed', content: '' },
  {
    id: 3,
    source: 'agent',
    action: 'run',
    args: { command: 'ls' },
    tool_call_metadata: { tool_call_id: 'c1', model_response: response },
  },
  { id: 4, source: 'agent', observation: 'run', content: 'a.py', cause: 3, tool_call_metadata: { tool_call_id: 'c1' } },
  {
    id: 5,
    source: 'agent',
    action: 'run',
    args: { command: 'id' },
    tool_call_metadata: { tool_call_id: 'c2', model_response: response },
  },
  { id: 6, source: 'agent', observation: 'run', content: 'root', cause: 5, tool_call_metadata: { tool_call_id: 'c2' } },
  { id: 7, source: 'agent', action: 'edit', args: { path: 'a.py', content: 'x', thought: 'I write it.' } },
  { id: 8, source: 'agent', observation: 'edit', content: 'written', cause: 7 },
  { id: 9, source: 'agent', action: 'finish', args: { thought: 'Done.' } },
]

test('events of OpenHands become a trace, with the model’s own reply where the file has it', async () => {
  const row = {
    instance_id: 'django__django-1',
    metadata: { llm_config: { model: 'litellm/qwen3' } },
    history: olderEvents,
    report: { resolved: true },
  }
  const [trace] = await rowsOf('output.jsonl', lines(row))
  expect(roles(trace)).toBe('system user assistant tool tool assistant tool assistant')
  expect(trace).toMatchObject({
    agent: 'openhands',
    model: 'qwen3',
    task: 'django__django-1',
    reward: 1,
    result: '1.0',
    tool_definitions: expect.stringContaining('bash'),
    tool_calls: [
      { message: 2, id: 'c1' },
      { message: 2, id: 'c2' },
      { message: 5, id: 'event-7', name: 'edit', arguments: '{"path":"a.py","content":"x"}' },
      { message: 7, name: 'finish' },
    ],
    tool_results: [
      { message: 3, id: 'c1' },
      { message: 4, id: 'c2' },
      { message: 6, id: 'event-7' },
    ],
  })
  const [bare] = await rowsOf('trajectory.json', JSON.stringify(olderEvents))
  expect(bare?.conversations).toEqual(trace?.conversations)
})

test('events of the OpenHands SDK are read from a file each, in the order of their numbers', async () => {
  const content = (text: string) => [{ type: 'text', text }]
  const action = (id: string) => ({
    kind: 'ActionEvent',
    source: 'agent',
    thought: content('Look.'),
    tool_name: 'terminal',
    tool_call_id: id,
    tool_call: { id, name: 'terminal', arguments: '{"command":"ls"}' },
    llm_response_id: 'r1',
  })
  const events: object[] = [
    { kind: 'SystemPromptEvent', source: 'agent', system_prompt: { type: 'text', text: 'System.' }, tools: [] },
    { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: content('Go.') } },
    action('c1'),
    action('c2'),
    { kind: 'ObservationEvent', tool_call_id: 'c1', observation: { content: content('a') } },
    { kind: 'AgentErrorEvent', tool_call_id: 'c2', error: 'no such tool' },
    ...Array.from({ length: 5 }, () => ({ kind: 'ConversationStateUpdateEvent' })),
    { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content: content('Done.') } },
  ]
  const files = Object.fromEntries(events.map((event, i) => [`run/events/event-${i}-x.json`, JSON.stringify(event)]))
  const [found] = await read(await folder(files))
  if (!found || 'problem' in found) throw new Error('expected a session')
  const [trace] = tracesOfSession(found.session, { source: 'test', where: found.where })
  const row = trace && 'row' in trace ? trace.row : undefined
  expect(roles(row)).toBe('system user assistant tool tool assistant')
  expect(row).toMatchObject({ tool_calls: [{ id: 'c1' }, { id: 'c2' }], trial_name: 'run/events' })
})

test('rows of messages keep what their dataset says about them', async () => {
  const rows = await rowsOf(
    'rows.jsonl',
    lines(
      {
        conversations: [
          { from: 'human', value: 'Count.' },
          { from: 'function_call', value: '{"name":"bash","arguments":{"command":"wc"}}' },
          { from: 'observation', value: '3' },
          { from: 'gpt', value: 'Three.' },
        ],
      },
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'Ho', reasoning_content: 'hm' },
        ],
        model: 'a/b',
        resolved: false,
        id: 'r-2',
      },
      {
        instance_id: 'i-3',
        model_name: 'm',
        target: true,
        exit_status: 'submitted (exit_cost)',
        trajectory: [
          { role: 'system', text: null, system_prompt: 'S' },
          { role: 'user', text: 'U' },
          { role: 'ai', text: 'A' },
        ],
      },
    ),
  )
  expect(rows).toMatchObject([
    { tool_calls: [{ message: 1, name: 'bash' }], tool_results: [{ message: 2 }], turns: 2, reward: null },
    { model: 'b', model_provider: 'a', reward: 0, task: 'r-2', reasoning: [{ message: 1, content: 'hm' }] },
    {
      task: 'i-3',
      model: 'm',
      reward: 1,
      exit: 'cost',
      conversations: [{ role: 'system', content: 'S' }, {}, { role: 'assistant' }],
    },
  ])
})

test('unusable input is named, and everything else is read', async () => {
  const good = {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Ho' },
    ],
  }
  const dir = await folder({
    'a.jsonl': `${lines(good)}{"messages": [\n${lines(good)}`,
    'b.traj': '{"history": ',
    'c.json': '{"something": "else"}',
    'd-rollout.jsonl': `${lines(...codexSession)}{"timestamp":"2026`,
    'e.jsonl': lines(
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      { messages: [{ role: 'alien', content: 'x' }] },
    ),
    'f.json': JSON.stringify([
      { source: 'user', action: 'message', args: { content: 'x' } },
      { source: 'agent', action: 'condensation', args: {} },
    ]),
    'g.traj': JSON.stringify({ history: 'x'.repeat(2 << 20) }),
    'readme.txt': 'not read',
  })
  const found = (await read(dir)).map((each) => [each.where, 'problem' in each ? each.problem.reason : 'session'])
  expect(found).toEqual([
    ['a.jsonl#1', 'session'],
    ['a.jsonl#2', 'unreadable-line'],
    ['a.jsonl#3', 'session'],
    ['b.traj', 'unreadable-line'],
    ['c.json', 'unknown-format'],
    ['d-rollout.jsonl:16', 'unreadable-line'],
    ['d-rollout.jsonl', 'session'],
    ['e.jsonl#1', 'images'],
    ['e.jsonl#2', 'unknown-role'],
    ['f.json', 'condensed'],
    ['g.traj', 'too-large'],
  ])
  await expect(read('/nonexistent')).rejects.toMatchObject({ name: 'UserError' })
  await expect(read(await folder({ 'x.txt': '' }))).rejects.toThrow('found none')
})
