import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import terminus2 from '../../src/agents/terminus-2/index.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { renderTrialResult } from '../../src/formats/harbor-job/trial-result.ts'
import { countTokens, type Part, playedClient } from '../fakes/model-client.ts'
import { parseTrajectory } from '../parse-trajectory.ts'
import { leftovers, playTrial, stateDir, withSandboxes } from './kit.ts'

const full: Part = { kind: 'context-exceeded', message: 'maximum context length' }
const says = (command: string) =>
  JSON.stringify({ analysis: 'a', plan: 'p', commands: [{ keystrokes: `${command}\n`, duration: 50 }] })
const done = JSON.stringify({ analysis: 'a', plan: 'p', commands: [], task_complete: true })

async function run(parts: readonly Part[], options: Readonly<Record<string, unknown>> = {}, contextTokens?: number) {
  const client = playedClient(parts, contextTokens === undefined ? {} : { contextTokens })
  const agent = terminus2.make(terminus2.options.parse({ session_id: 'sid', ...options }), { env: {}, stateDir })
  const { record, dir } = await playTrial({ agent, client })
  const files = readdirSync(join(dir, 'agent'))
    .filter((name) => name.startsWith('trajectory'))
    .sort()
  const trajectory = (file: string) => parseTrajectory(readFileSync(join(dir, 'agent', file), 'utf8'), file)
  const prompt = (call: number) => client.requests[call]?.messages.at(-1)?.content ?? ''
  return { record, dir, client, files, trajectory, prompt }
}

/** Answers the three calls of a handoff. */
const handoff: Part[] = ['SUMMARY', 'QUESTIONS', 'ANSWERS']
const asides = (n: number) =>
  ['answers', 'questions', 'summary'].map((kind) => `trajectory.summarization-${n}-${kind}.json`)

withSandboxes('terminus-2 whose context is full', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('hands its work off through three calls and continues', async () => {
    const { record, client, files, trajectory, prompt } = await run([
      says('echo 42 > /answer'),
      says('true'),
      full,
      ...handoff,
      done,
      done,
    ])
    expect(record.end).toMatchObject({ rewards: { reward: 1 }, exit: { kind: 'finished' } })
    expect(record.metadata).toMatchObject({ n_episodes: 4, summarization_count: 1, stop_reason: 'task-complete' })
    expect(files).toEqual(['trajectory.json', ...asides(1)])
    const [first, answer] = client.requests[1]?.messages ?? []
    // One exchange was dropped; the summary covers the rest.
    expect(client.requests[3]?.messages.slice(0, -1)).toEqual([first, answer])
    expect(prompt(3)).toContain('The task was:\nWrite 42 to /answer.')
    expect(client.requests[4]?.messages).toHaveLength(1)
    expect(prompt(4)).toMatch(/SUMMARY[\s\S]*at least five questions/)
    expect(client.requests[5]?.messages.map(({ content }) => content)).toEqual([
      first?.content,
      answer?.content,
      prompt(3),
      'SUMMARY',
      expect.stringContaining('QUESTIONS'),
    ])
    expect(client.requests[6]?.messages.map(({ content }) => content)).toEqual([
      first?.content,
      prompt(4),
      'QUESTIONS',
      prompt(6),
    ])
    expect(prompt(6)).toMatch(
      /^Here are the answers the other agent provided\.\n\nANSWERS\n\nContinue working on this task/,
    )
    const steps = trajectory('trajectory.json').steps
    expect(steps.map(({ source }) => source)).toEqual(['user', 'agent', 'agent', 'system', 'user', 'agent', 'agent'])
    expect(steps[3]).toMatchObject({
      message: 'Performed context summarization and handoff to continue task.',
      observation: {
        results: [
          {
            subagent_trajectory_ref: ['summary', 'questions', 'answers'].map((kind) => ({
              session_id: `sid-summarization-1-${kind}`,
              trajectory_path: `trajectory.summarization-1-${kind}.json`,
            })),
          },
        ],
      },
    })
    expect(steps[4]).toMatchObject({ source: 'user', message: prompt(6) })
    const aside = trajectory('trajectory.summarization-1-answers.json')
    expect(aside).toMatchObject({
      session_id: 'sid-summarization-1-answers',
      agent: { name: 'terminus-2-summarization-answers' },
      extra: { parent_session_id: 'sid', summarization_index: 1 },
      final_metrics: { total_cost_usd: 0.001 },
    })
    expect(
      aside.steps.map((step) => [step.source, step.is_copied_context ?? false, step.metrics !== undefined]),
    ).toEqual([
      ['user', true, false],
      ['agent', true, false],
      ['user', true, false],
      ['agent', true, false],
      ['user', false, false],
      ['agent', false, true],
    ])
  })

  test('hands off before that when little room is left, and not again at once', async () => {
    const long = says(`echo 42 > /answer; seq 1 1900`)
    const { record, client } = await run(
      [long, long, ...handoff, says('true'), done, done],
      { proactive_summarization_threshold: 3000 },
      4000,
    )
    expect(record.metadata).toMatchObject({ summarization_count: 1, stop_reason: 'task-complete', n_episodes: 5 })
    expect(client.requests[2]?.messages).toHaveLength(5)
    expect(client.requests.every((request) => countTokens(request.messages) < 8000)).toBe(true)
  })

  test.each([
    [4096, true],
    [8192, true],
    [16_384, true],
    [32_768, false],
    [131_072, false],
  ])('works in a context of %s tokens; that it has to hand off is %s', async (contextTokens, handsOff) => {
    const replies = [says('echo 42 > /answer'), ...Array(20).fill(says("seq 1 1000 | tr '\\n' ' '; echo")), done, done]
    const asked: number[] = []
    const part = ({ messages }: ModelRequest): string => {
      const last = messages.at(-1)?.content ?? ''
      if (last.startsWith('The conversation has become too long')) asked.push(messages.length)
      const aside = /^(The conversation has become too long|You are going to take over|The agent that takes over)/
      return aside.test(last) ? 'SAID' : (replies.shift() ?? done)
    }
    const { record, client } = await run([part], {}, contextTokens)
    expect(record.end).toMatchObject({ rewards: { reward: 1 }, exit: { kind: 'finished' } })
    expect(record.metadata).toMatchObject({ summarization_count: asked.length, n_episodes: 23 })
    expect(asked.length > 0).toBe(handsOff)
    // Each summary had work to cover.
    expect(asked.every((messages) => messages >= 5)).toBe(true)
    expect(client.requests.every((request) => countTokens(request.messages) < contextTokens)).toBe(true)
  })

  test('is not asked anything when its context cannot hold the first prompt and a reply', async () => {
    const { record, client } = await run([done], {}, 1024)
    expect(client.requests).toEqual([])
    expect(record.end).toMatchObject({
      failure: { boundary: 'agent', retryable: false, message: expect.stringMatching(/its context has only 1024 \(/) },
    })
  })

  test('starts a new file for each handoff when its history must be linear', async () => {
    const { record, files, trajectory, prompt } = await run(
      [says('echo 42 > /answer'), full, ...handoff, says('true'), full, ...handoff, done, done],
      { trajectory_config: { linear_history: true, raw_content: true } },
    )
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, metadata: { summarization_count: 2 } })
    expect(files).toEqual([
      'trajectory.cont-1.json',
      'trajectory.cont-2.json',
      'trajectory.json',
      ...asides(1),
      ...asides(2),
    ])
    const [one, two, three] = ['trajectory.json', 'trajectory.cont-1.json', 'trajectory.cont-2.json'].map(trajectory)
    expect([one?.continued_trajectory_ref, two?.continued_trajectory_ref, three?.continued_trajectory_ref]).toEqual([
      'trajectory.cont-1.json',
      'trajectory.cont-2.json',
      undefined,
    ])
    expect([one?.session_id, two?.session_id, three?.session_id]).toEqual(['sid', 'sid-cont-1', 'sid-cont-2'])
    expect(two?.agent.extra).toMatchObject({ continuation_index: 1 })
    expect(two?.steps.map((step) => [step.source, step.is_copied_context ?? false])).toEqual([
      ['user', true],
      ['user', true],
      ['agent', true],
      ['user', false],
      ['agent', false],
      ['system', false],
    ])
    expect(two?.steps[3]?.message).toBe(prompt(5))
    expect(two?.steps[4]?.message).toBe(says('true'))
  })

  test('stops there when it may not summarise', async () => {
    const { record, files } = await run([says('echo 42 > /answer'), full], { enable_summarize: false })
    expect(record.end).toEqual({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'context' } })
    expect(record.metadata).toMatchObject({ stop_reason: 'context' })
    expect(files).toEqual(['trajectory.json'])
  })

  test('starts over with a short account when there is no room for a full one', async () => {
    const { record, client, prompt, files } = await run([says('echo 42 > /answer'), full, full, 'SHORT', done, done])
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, metadata: { summarization_count: 1 } })
    expect(prompt(3)).toMatch(/^Briefly continue this task: Write 42 to \/answer\./)
    expect(client.requests[4]?.messages).toHaveLength(1)
    expect(prompt(4)).toMatch(/Task Description:[\s\S]*What is known of the work so far:\nSHORT\n\nCurrent state:\n/)
    expect(files).toContain('trajectory.summarization-1-short.json')
  })

  test('gives up after a few tries when nothing fits', async () => {
    const { record, client } = await run([says('echo 42 > /answer'), full])
    expect(record.end).toMatchObject({ rewards: { reward: 1 }, exit: { limit: 'context' } })
    expect(record.metadata).toMatchObject({ stop_reason: 'context', n_episodes: 1 })
    expect(client.requests.length).toBeLessThan(12)
    const never = await run([full])
    // A first prompt of a few hundred tokens fits any context: the model failed.
    expect(never.record.end).toMatchObject({
      kind: 'failed',
      failure: { boundary: 'model', code: 'PromptRefusedError' },
    })
    expect(never.trajectory('trajectory.json').steps).toHaveLength(1)
  })

  test('stops in the middle of a handoff when the budget is spent', async () => {
    const { record } = await run([says('true'), full, 'SUMMARY', { kind: 'budget-exceeded', budget: 'tokens' }])
    expect(record).toMatchObject({ end: { exit: { limit: 'cost' } }, metadata: { stop_reason: 'cost' } })
  })

  test('keeps token ids of the calls made aside in segments of their own', async () => {
    const tokens = { promptIds: [1], completionIds: [2], logprobs: [-1] }
    const text = (said: string): Part => ({ text: said, tokens })
    const { record } = await run([text(says('true')), full, text('S'), text('Q'), 'A', text(done), text(done)], {
      collect_rollout_details: true,
    })
    const { rollout_details } = JSON.parse(renderTrialResult(record)).agent_result
    const one = { prompt_token_ids: [[1]], completion_token_ids: [[2]], logprobs: [[-1]] }
    const main = {
      prompt_token_ids: [[1], [1], [1]],
      completion_token_ids: [[2], [2], [2]],
      logprobs: [[-1], [-1], [-1]],
    }
    expect(rollout_details).toEqual([main, one, one, {}])
  })

  test('believes the server about what does not fit, whatever we count', async () => {
    const limit = (request: ModelRequest): Part => (countTokens(request.messages) > 1500 ? full : fits(request))
    const fits = ({ messages }: ModelRequest): Part => {
      const last = messages.at(-1)?.content ?? ''
      if (/^The conversation has become|^You are going to take over|^The agent that takes over/.test(last))
        return 'text'
      return /Are you sure|provided\./.test(last) ? done : says('echo 42 > /answer; seq 1 400')
    }
    const { record, dir } = await run([limit])
    expect(record).toMatchObject({ end: { rewards: { reward: 1 } }, metadata: { stop_reason: 'task-complete' } })
    expect(existsSync(join(dir, 'agent', 'trajectory.summarization-1-answers.json'))).toBe(true)
  })
})
