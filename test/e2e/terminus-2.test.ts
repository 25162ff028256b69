import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import terminus2 from '../../src/agents/terminus-2/index.ts'
import { jsonDialect } from '../../src/agents/terminus-2/parse-json.ts'
import { xmlDialect } from '../../src/agents/terminus-2/parse-xml.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import { journalName } from '../../src/core/task-paths.ts'
import { renderTrialResult } from '../../src/formats/harbor-job/trial-result.ts'
import { makeTraces } from '../../src/formats/traces/make-traces.ts'
import { makeAgent } from '../../src/plugins/make.ts'
import { agentConfig } from '../fakes/configs.ts'
import { faultyProvider } from '../fakes/faulty-provider.ts'
import { type Part, playedClient } from '../fakes/model-client.ts'
import type { TaskFiles } from '../fakes/tasks.ts'
import { holdLongTimers, longSec } from '../hold-long-timers.ts'
import { parseTrajectory } from '../parse-trajectory.ts'
import { trialFile } from '../traces.ts'
import { leftovers, playTrial, provider, stateDir, withSandboxes } from './kit.ts'

interface Told {
  readonly commands?: readonly (string | { keystrokes: string; duration: number })[]
  readonly done?: boolean
}

/** A reply in JSON; its commands have a long wait, which ends when the shell is idle. */
function says({ commands = [], done = false }: Told): string {
  const list = commands.map((item) => (typeof item === 'string' ? { keystrokes: `${item}\n`, duration: 50 } : item))
  return JSON.stringify({ analysis: 'a', plan: 'p', commands: list, ...(done && { task_complete: true }) })
}
const solves = says({ commands: ['echo 42 > /answer'] })
const done = says({ done: true })
const inXml = (inner: string) => `<response>\n<analysis>a</analysis>\n<plan>p</plan>\n${inner}\n</response>`
const xmlSolves = inXml('<commands>\n<keystrokes duration="50">echo 42 > /answer\n</keystrokes>\n</commands>')
const xmlDone = inXml('<commands></commands>\n<task_complete>true</task_complete>')

interface Run {
  readonly options?: Readonly<Record<string, unknown>>
  readonly task?: TaskFiles
  readonly timeoutSec?: number
  readonly contextTokens?: number
  readonly sandboxes?: SandboxProvider
  readonly env?: Readonly<Record<string, string>>
}

async function run(
  parts: readonly Part[],
  { options = {}, task, timeoutSec, contextTokens, sandboxes = provider, env = {} }: Run = {},
) {
  const client = playedClient(parts, contextTokens === undefined ? {} : { contextTokens })
  const agent = terminus2.make(terminus2.options.parse(options), { env: {}, stateDir })
  const config = {
    agent: agentConfig({ name: 'terminus-2', overrideTimeoutSec: timeoutSec ?? null, modelName: client.model, env }),
  }
  const { record, dir } = await playTrial({ agent, client, config, provider: sandboxes, ...(task && { task }) })
  const read = (path: string) => readFileSync(join(dir, 'agent', path), 'utf8')
  const prompt = (call: number) => client.requests[call]?.messages.at(-1)?.content ?? ''
  return {
    record,
    dir,
    client,
    read,
    prompt,
    trajectory: (file = 'trajectory.json') => parseTrajectory(read(file), file),
  }
}

withSandboxes('terminus-2', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('a model that talks but never in the right form is scored with a mark; one that says nothing has failed', async () => {
    const talks = await run(['hello', 'hello', 'hello'], { options: { max_parse_errors: 3 } })
    expect(talks.record.end).toMatchObject({ kind: 'scored', rewards: { reward: 0 } })
    expect(talks.record.metadata).toMatchObject({ no_valid_reply: true, stop_reason: 'parse-errors' })
    const silent = await run(['', '', ''], { options: { max_parse_errors: 3 } })
    expect(silent.record.end).toMatchObject({
      kind: 'failed',
      failure: { boundary: 'model', code: 'EmptyReplyError', retryable: true },
    })
    const fellSilent = await run([solves, '', '', ''], { options: { max_parse_errors: 3 } })
    expect(fellSilent.record.end).toMatchObject({ kind: 'failed', failure: { code: 'EmptyReplyError' } })
    const tried = await run([solves, 'hello', 'hello', 'hello'], { options: { max_parse_errors: 3 } })
    expect(tried.record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(tried.record.metadata).not.toHaveProperty('no_valid_reply')
  })

  test('keeps no secret of its trial in what it writes of the conversation', async () => {
    const secret = 'hunter22-and-more'
    const parts = [says({ commands: ['echo $API_TOKEN'] }), says({ commands: [`echo ${secret}`] }), done, done]
    const { record, prompt, read } = await run(parts, {
      env: { API_TOKEN: secret },
      options: { store_all_messages: true },
    })
    expect(prompt(1)).toContain(secret)
    const kept = [read('episode-1/prompt.txt'), read('episode-1/response.txt'), JSON.stringify(record.metadata)]
    for (const text of kept) {
      expect(text).toContain('****')
      expect(text).not.toContain(secret)
    }
    expect(read('episode-1/debug.json')).not.toContain(secret)
  })

  test('keeps no secret of its trial in what it records of the terminal', async () => {
    const secret = 'hunter22-and-more'
    // Typed past the edge of the screen, printed in two pieces, and partly in color.
    const commands = [
      `: ${'x'.repeat(60)} ${secret} ${secret} ${secret} ${secret}`,
      'printf %.9s "$API_TOKEN"; sleep 0.5; echo "$API_TOKEN" | cut -c 10-',
      'printf "\\033[1m%.9s\\033[0m" "$API_TOKEN"; echo "$API_TOKEN" | cut -c 10-; echo end of it',
    ]
    const { read } = await run([says({ commands }), done, done], {
      env: { API_TOKEN: secret },
      options: { tmux_pane_width: 100 },
    })
    const events: [number, string, string][] = read('recording.cast')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line))
    const of = (kind: string) => events.flatMap(([, is, data]) => (is === kind ? data : [])).join('')
    // Colors and line breaks must not hide a secret.
    const plain = (text: string) => stripVTControlCharacters(text).replace(/ ?\r|\n/g, '')
    for (const text of [of('o'), of('i'), read('terminus_2.pane')]) {
      expect(text).toContain('****')
      expect(text).toContain('end of it')
      expect(plain(text)).not.toContain(secret)
    }
    const times = events.map(([at]) => at)
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  test('solves a task, says twice that it is done, and leaves its files', async () => {
    const { record, dir, client, read, prompt, trajectory } = await run([solves, done, done])
    expect(record.end).toEqual({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'finished' } })
    expect(record.usage).toMatchObject({ costUsd: 0.003, cacheTokens: 0 })
    expect(record.metadata).toMatchObject({
      n_episodes: 3,
      summarization_count: 0,
      stop_reason: 'task-complete',
      api_request_times_msec: [1, 1, 1],
    })
    expect(client.requests[0]?.messages).toHaveLength(1)
    expect(Object.keys(client.requests[0] ?? {})).toEqual(['messages'])
    expect(client.requests[2]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ])
    expect(prompt(0)).toMatch(
      /Task Description:\nWrite 42 to \/answer\.\n+Current terminal state:\nCurrent Terminal Screen:\n/,
    )
    expect(prompt(1)).toMatch(/^New Terminal Output:\n.*echo 42 > \/answer\n/)
    expect(prompt(2)).toMatch(
      /^Current terminal state:\nNew Terminal Output:\n\n\S+#\n[\s\S]*Are you sure[\s\S]*"task_complete": true in your JSON response again\.$/,
    )
    expect(read('episode-1/prompt.txt')).toBe(prompt(1))
    expect(read('episode-1/response.txt')).toBe(done)
    expect(JSON.parse(read('episode-1/debug.json'))).toMatchObject({
      model: 'fake/played',
      messages: 3,
      reply: { finish: 'stop' },
    })
    expect(read('recording.cast')).toContain('"i","echo 42 > /answer\\n"')
    expect(read('terminus_2.pane')).toContain('echo 42 > /answer')
    expect(existsSync(join(dir, 'agent', journalName))).toBe(false)
    expect(trajectory()).toMatchObject({
      schema_version: 'ATIF-v1.7',
      agent: {
        name: 'terminus-2',
        version: '2.0.0',
        model_name: 'fake/played',
        extra: { parser: 'json' },
      },
      final_metrics: { total_cost_usd: 0.003, total_prompt_tokens: record.usage?.inputTokens },
    })
    expect(trajectory().steps).toMatchObject([
      { step_id: 1, source: 'user', message: prompt(0) },
      {
        step_id: 2,
        source: 'agent',
        message: 'Analysis: a\nPlan: p',
        tool_calls: [
          {
            tool_call_id: 'call_0_1',
            function_name: 'bash_command',
            arguments: { keystrokes: 'echo 42 > /answer\n', duration: 50 },
          },
        ],
        observation: { results: [{ content: prompt(1) }] },
        metrics: { cost_usd: 0.001 },
      },
      {
        step_id: 3,
        tool_calls: [{ tool_call_id: 'call_1_task_complete', function_name: 'mark_task_complete', arguments: {} }],
        observation: { results: [{ content: prompt(2) }] },
      },
      { step_id: 4, observation: { results: [{ content: expect.stringMatching(/^New Terminal Output:/) }] } },
    ])
  })

  test.each([
    ['json', ['hello', solves, done, done], jsonDialect],
    ['xml', ['hello', xmlSolves, xmlDone, xmlDone], xmlDialect],
  ] as const)(
    'its trace in %s is what the model was sent and said, with the reply that could not be read',
    async (parser, replies, dialect) => {
      const { record, dir, client, prompt } = await run([...replies], { options: { parser_name: parser } })
      const names = ['exchanges.jsonl', 'trajectory.json']
      const files = names.map((name) => trialFile(name, readFileSync(join(dir, 'agent', name))))
      const options = {
        episodes: 'last',
        filter: 'all',
        subagents: 'separate',
        turns: 'alternate',
        sharegpt: false,
      } as const
      const traces = [...makeTraces({ job: 'job', record, files }, { form: 'exact', reasoning: 'column', ...options })]
      expect(traces).toHaveLength(1)
      const [trace] = traces
      const row = trace && 'row' in trace ? trace.row : null
      const last = client.requests.at(-1)?.messages ?? []
      expect(row?.conversations).toEqual([...last, { role: 'assistant', content: replies[3] }])
      expect(row?.conversations[1]?.content).toBe('hello')
      expect(row?.conversations[2]?.content).toBe(prompt(1))
      expect(row?.turn_marks).toEqual([{ message: 1, mark: 'unparsed' }])
      const said = row?.conversations.filter(({ role }) => role === 'assistant').map(({ content }) => content) ?? []
      expect(said.map((reply) => dialect.parse(reply).error === '')).toEqual([false, true, true, true])
    },
  )

  test('withdraws a completion when the next reply continues the work', async () => {
    const { record } = await run([done, solves, done, done])
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, metadata: { n_episodes: 4 } })
  })

  test('runs the commands of a reply that says it is done, and a bad reply between the two does not matter', async () => {
    const { record, prompt } = await run([says({ commands: ['echo 42 > /answer'], done: true }), 'well', done])
    expect(prompt(2)).toContain('ERROR: No valid JSON found in response')
    expect(record).toMatchObject({
      end: { rewards: { reward: 1 }, exit: { kind: 'finished' } },
      metadata: { n_episodes: 3 },
    })
  })

  test('tells the model what is wrong with its reply, and continues', async () => {
    const { record, prompt, trajectory } = await run(['hello', `Sure: ${solves}`, done, done])
    expect(prompt(1)).toBe(
      'Previous response had parsing errors:\nERROR: No valid JSON found in response\nWARNINGS: - A reply is one object in braces\n\nPlease fix these issues and provide a proper JSON response.',
    )
    expect(prompt(2)).toMatch(
      /^Previous response had warnings:\nWARNINGS: - Text before the JSON object was ignored\n\nNew Terminal Output:\n/,
    )
    expect(trajectory().steps[1]).toMatchObject({
      message: 'hello',
      observation: { results: [{ content: prompt(1) }] },
    })
    expect(record.end).toMatchObject({ rewards: { reward: 1 } })
  })

  test('gives up after several unreadable replies in a row', async () => {
    const { record, client, trajectory } = await run(['no', solves, 'no'], { options: { max_parse_errors: 3 } })
    expect(record.end).toEqual({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'turns' } })
    expect(record.metadata).toMatchObject({ stop_reason: 'parse-errors', n_episodes: 5 })
    expect(client.requests).toHaveLength(5)
    expect(trajectory().steps).toHaveLength(6)
  })

  test('speaks XML', async () => {
    const xml = (commands: string, complete = '') =>
      `<response><analysis>a</analysis><plan>p</plan><commands>${commands}</commands>${complete}</response>`
    const yes = '<task_complete>true</task_complete>'
    const { record, prompt } = await run(
      [xml('<keystrokes duration="50">echo 42 > /answer\n</keystrokes>'), 'what?', xml('', yes), xml('', yes)],
      { options: { parser_name: 'xml' } },
    )
    expect(prompt(0)).toContain('<keystrokes duration="0.1">')
    expect(prompt(2)).toBe(
      'Previous response had parsing errors:\nERROR: No <response> tag found\n\nPlease fix these issues and provide a proper response.',
    )
    expect(prompt(3)).toContain('<task_complete>true</task_complete> in your response again.')
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, metadata: { stop_reason: 'task-complete' } })
  })

  test('stops after its turns and says so', async () => {
    for (const name of ['max_turns', 'max_episodes', 'episodes']) {
      const { record, client } = await run([solves], { options: { [name]: 2 } })
      expect(record.end).toMatchObject({ rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'turns' } })
      expect(record.metadata).toMatchObject({ stop_reason: 'max-turns', n_episodes: 2 })
      expect(client.requests).toHaveLength(2)
      expect(JSON.parse(renderTrialResult(record)).agent_result.metadata).toMatchObject({
        stopped_by: 'turns',
        n_episodes: 2,
      })
    }
  })

  test('tells the model that its reply was cut off; what it cost is counted', async () => {
    const cut = { text: solves.slice(0, 40), finish: 'length' } as const
    const { record, prompt, trajectory, client } = await run([cut, cut, solves, done, done], {
      options: { model_info: { max_output_tokens: 77 } },
    })
    expect(prompt(1)).toMatch(
      /^ERROR!! NONE of the actions you just requested were performed because you exceeded 77 tokens/,
    )
    expect(client.requests[2]?.messages.map(({ content }) => content)).toContain(cut.text)
    expect(trajectory().steps[1]).toMatchObject({
      message: cut.text,
      extra: { finish_reason: 'length' },
      metrics: { completion_tokens: 10 },
    })
    expect(record).toMatchObject({
      end: { rewards: { reward: 1 } },
      usage: { costUsd: 0.005 },
      metadata: { n_episodes: 5 },
    })
  })

  test('takes a reply that was whole before it was cut off', async () => {
    const { record } = await run([{ text: `${solves} and so`, finish: 'length' }, done, done])
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, metadata: { n_episodes: 3 } })
  })

  test('gives up when replies are cut off again and again, or at once if so configured', async () => {
    const cut = { text: 'x', finish: 'length' } as const
    const often = await run([cut], { options: { max_length_recoveries: 2 } })
    expect(often.record).toMatchObject({
      end: { exit: { limit: 'turns' } },
      metadata: { stop_reason: 'output-length', n_episodes: 2 },
    })
    const once = await run([cut], { options: { response_length_exceeded_policy: 'abort' } })
    expect(once.record.metadata).toMatchObject({ stop_reason: 'output-length', n_episodes: 1 })
  })

  test('continues after a content filter, with no empty turn in the conversation, and eventually gives up', async () => {
    const filtered = { text: '', finish: 'content-filter' } as const
    const { record, client, prompt } = await run([filtered, solves, filtered], { options: { max_content_filters: 2 } })
    expect(record).toMatchObject({
      end: { rewards: { reward: 1 } },
      metadata: { stop_reason: 'content-filter', n_episodes: 4 },
    })
    expect(client.requests[1]?.messages).toHaveLength(1)
    expect(prompt(1)).toMatch(/Task Description:[\s\S]*content filter/)
    expect(client.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })

  test('runs out of time, is verified, and its trajectory is whole', async () => {
    const timeIsUp = holdLongTimers()
    const hang = (): Part => {
      timeIsUp()
      return 'hang'
    }
    const { record, trajectory } = await run([solves, hang], { timeoutSec: longSec })
    expect(record.end).toEqual({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } })
    expect(record.metadata).toMatchObject({ stop_reason: 'time', n_episodes: 1 })
    expect(trajectory().steps).toHaveLength(2)
    expect(trajectory().notes).toBeUndefined()
    expect(JSON.parse(renderTrialResult(record)).exception_info.exception_type).toBe('AgentTimeoutError')
  })

  test('runs out of time while a command runs', async () => {
    const timeIsUp = holdLongTimers()
    const watched = faultyProvider(provider, {
      inside: (real) => ({
        async openTerminal(options) {
          const terminal = await real.openTerminal(options)
          void (async () => {
            while ((await real.exec(['test', '-s', '/answer'])).exitCode !== 0);
            timeIsUp()
          })()
          return terminal
        },
      }),
    })
    const { record, trajectory } = await run([says({ commands: ['echo 42 > /answer', 'sleep 3600'] })], {
      timeoutSec: longSec,
      sandboxes: watched,
    })
    expect(record.end).toEqual({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } })
    expect(trajectory().steps[1]?.observation).toBeUndefined()
  })

  test('is told how much time is left, if asked for', async () => {
    const { prompt } = await run([done, done], { timeoutSec: 3000, options: { tell_deadline: true } })
    expect(prompt(0)).toMatch(/Time left for this task: [23]\d\d\d seconds\.$/)
    expect(prompt(1)).toMatch(/Time left for this task: [23]\d\d\d seconds\.$/)
  })

  test('stops when the budget is spent', async () => {
    const { record } = await run([solves, { kind: 'budget-exceeded', budget: 'costUsd' }])
    expect(record).toMatchObject({
      end: { rewards: { reward: 1 }, exit: { limit: 'cost' } },
      metadata: { stop_reason: 'cost' },
    })
  })

  test('ends when its shell does', async () => {
    const { record } = await run([says({ commands: ['echo 42 > /answer; exit'] })])
    expect(record).toMatchObject({
      end: { rewards: { reward: 1 }, exit: { kind: 'finished' } },
      metadata: { stop_reason: 'terminal-closed' },
    })
  })

  test('fails with the model when the model fails, and keeps what there was', async () => {
    const broken = () => {
      throw new Error('gone')
    }
    const { record, trajectory } = await run([solves, broken])
    expect(record.end).toMatchObject({ kind: 'failed', failure: { boundary: 'agent', message: 'gone' } })
    expect(record.metadata).toMatchObject({ stop_reason: 'error', n_episodes: 1 })
    expect(trajectory().steps).toHaveLength(2)
  })

  test('without a model fails with two lines', async () => {
    const agent = terminus2.make(terminus2.options.parse({}), { env: {}, stateDir })
    expect((await playTrial({ agent })).record.end).toMatchObject({
      failure: { boundary: 'agent', retryable: false, message: expect.stringContaining('needs a model') },
    })
  })

  test('shows long output by its two ends', async () => {
    const long = says({ commands: ['seq 1000000 1001800'] })
    const cut = (omitted: string) =>
      new RegExp(
        `^New Terminal Output:\\n[\\s\\S]*\\n\\[\\.\\.\\. output limited to 10000 bytes; ${omitted} interior bytes omitted \\.\\.\\.\\]\\n[\\s\\S]*\\n1001800\\n`,
      )
    const { prompt } = await run([says({ commands: ['pwd'] }), long, done, done])
    // Like Harbor, cuts the output twice and reports only what the second cut omits, about the length of the first
    // note.
    expect(prompt(2)).toMatch(cut('7\\d'))
    expect(Buffer.byteLength(prompt(2))).toBeLessThan(10_200)
    const lines = await run([says({ commands: ['pwd'] }), long, done, done], { options: { observations: 'lines' } })
    expect(lines.prompt(2)).toMatch(cut('4\\d{3}'))
  })

  test('leaves out empty rows when observations are to be compact', async () => {
    const { prompt } = await run([says({ commands: ['pwd'] }), says({}), done, done], {
      options: { observations: 'compact' },
    })
    expect(prompt(1)).toMatch(/^New Terminal Output:\n\S+# pwd\n\/\n\S+#$/)
    expect(prompt(2)).toMatch(/^New Terminal Output:\n\S+#$/)
  })

  test('presses keys by their names and waits as long as asked', async () => {
    const keys = says({
      commands: [
        { keystrokes: 'cat > /answer\n', duration: 0.2 },
        { keystrokes: '42\n', duration: 0.2 },
        { keystrokes: 'C-d', duration: 20 },
      ],
    })
    for (const wait of ['idle', 'full']) {
      const options = wait === 'full' ? { wait, max_turns: 1 } : { wait }
      const parts = wait === 'full' ? [keys.replace('20}', '0.5}')] : [keys, done, done]
      expect((await run(parts, { options })).record.end).toMatchObject({ rewards: { reward: 1 } })
    }
  })

  test('keeps raw replies when asked to', async () => {
    const { trajectory } = await run([{ text: solves, reasoning: 'hm' }, done, done], {
      options: { trajectory_config: { raw_content: true } },
    })
    expect(trajectory().steps[1]).toMatchObject({ message: solves, reasoning_content: 'hm' })
    expect(trajectory().steps.some((step) => step.tool_calls)).toBe(false)
  })

  test('collects token ids, one entry per call', async () => {
    const tokens = { promptIds: [1, 2, 3], completionIds: [4], logprobs: [-0.5] }
    const { record, client, trajectory } = await run([{ text: solves, tokens }, done, { text: done, tokens }], {
      options: { collect_rollout_details: true },
    })
    expect(client.requests[0]?.tokenDetails).toBe(true)
    const { agent_result } = JSON.parse(renderTrialResult(record))
    expect(agent_result.rollout_details).toEqual([
      {
        prompt_token_ids: [[1, 2, 3], [], [1, 2, 3]],
        completion_token_ids: [[4], [], [4]],
        logprobs: [[-0.5], [], [-0.5]],
      },
    ])
    expect(agent_result.metadata).not.toHaveProperty('rollout_details')
    expect(trajectory().steps[1]?.metrics).toMatchObject({
      prompt_token_ids: [1, 2, 3],
      completion_token_ids: [4],
      logprobs: [-0.5],
    })
  })

  test('starts afresh for every step of a task', async () => {
    const step = (name: string) => ({
      [`steps/${name}/instruction.md`]: `do ${name}`,
      [`steps/${name}/tests/test.sh`]: '#!/bin/bash\necho 1 > /logs/verifier/reward.txt',
    })
    const task = {
      toml: ['s1', 's2'].map((name) => `[[steps]]\nname = "${name}"\n`).join(''),
      files: { 'instruction.md': null, 'solution/solve.sh': null, 'tests/test.sh': null, ...step('s1'), ...step('s2') },
    }
    const { record, dir, client, prompt } = await run([done, done, done, solves, done, done], { task })
    expect(record.steps?.map(({ metadata }) => metadata?.n_episodes)).toEqual([2, 4])
    expect(client.requests[2]?.messages).toHaveLength(1)
    expect(prompt(2)).toContain('Task Description:\ndo s2')
    for (const [name, count] of [
      ['s1', 3],
      ['s2', 5],
    ] as const) {
      const file = join(dir, 'steps', name, 'agent', 'trajectory.json')
      expect(parseTrajectory(readFileSync(file, 'utf8')).steps.map((s) => s.step_id)).toEqual(
        Array.from({ length: count }, (_, i) => i + 1),
      )
    }
  })

  test('tells of MCP servers and skills', async () => {
    const toml =
      '[environment]\nskills_dir = "/skills"\n[[environment.mcp_servers]]\nname = "docs"\ntransport = "sse"\nurl = "http://docs:1/sse"\n'
    const dockerfile =
      'FROM debian:12\nRUN mkdir -p /skills/fly && printf -- "---\\nname: fly\\ndescription: How to fly\\n---\\nFlap.\\n" > /skills/fly/SKILL.md\n'
    const { prompt, dir } = await run([done, done], { task: { toml, files: { 'environment/Dockerfile': dockerfile } } })
    expect(prompt(0)).toContain('MCP Servers:\n')
    expect(prompt(0)).toContain('- docs (transport: sse, url: http://docs:1/sse)')
    expect(prompt(0)).toContain(
      '<available_skills>\n<skill>\n<name>fly</name>\n<description>How to fly</description>\n<location>/skills/fly/SKILL.md</location>',
    )
    expect(readdirSync(join(dir, 'agent'))).toContain('trajectory.json')
  })
})

describe('the options of terminus-2', () => {
  test.each([
    [{ max_turn: 3 }, /max_turn/],
    [{ max_turns: 3, episodes: 4 }, /mean the same, got 3 and 4/],
    [{ parser_name: 'yaml' }, /parser_name/],
    [{ use_responses_api: true }, /not supported/],
    [{ llm_backend: 'tinker' }, /usual backend/],
    [{ trajectory_config: { raw: true } }, /raw/],
    [{ prompt_template_path: '/no/such/file' }, /prompt template/],
    [{ llm_kwargs: { top_p: 'high' } }, /top_p/],
  ])('refuse %j', async (options, message) => {
    await expect(makeAgent('terminus-2', options)).rejects.toThrow(message)
  })

  test('take every name Harbor has, and those of the fork', async () => {
    const options = {
      max_turns: 3,
      max_episodes: 3,
      parser_name: 'json',
      api_base: 'http://x',
      temperature: 1,
      reasoning_effort: 'high',
      collect_rollout_details: true,
      session_id: 's',
      enable_summarize: false,
      proactive_summarization_threshold: 1,
      max_thinking_tokens: 5,
      model_info: { max_input_tokens: 5, other: 1 },
      trajectory_config: { raw_content: true },
      tmux_pane_width: 100,
      tmux_pane_height: 30,
      store_all_messages: true,
      record_terminal_session: false,
      interleaved_thinking: true,
      suppress_max_turns_warning: true,
      use_responses_api: false,
      llm_backend: 'litellm',
      llm_kwargs: { api_key: 'x' },
      llm_call_kwargs: { extra_body: {} },
      extra_env: { A: 'b' },
      response_length_exceeded_policy: 'recover',
      collect_engine_metrics: true,
      metrics_endpoint: 'http://x/metrics',
    }
    await expect(makeAgent('terminus-2', options)).resolves.toMatchObject({ name: 'terminus-2', version: '2.0.0' })
  })
})
