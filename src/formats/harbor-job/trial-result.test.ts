import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyRecord, failed, someRecord } from '../../../test/records.ts'
import { renderTrialResult } from './trial-result.ts'
import { parseTrialResult } from './trial-result-parse.ts'

// Harbor writes an exception's time in local time, in which one hour a year occurs twice.
process.env.TZ = 'UTC'

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/harbor-job/${name}`, import.meta.url), 'utf8')
const documentOf = (record = someRecord()) => JSON.parse(renderTrialResult(record, {}))

describe("reading Harbor's own results", () => {
  test.each([
    ['made-by-harbor/hello__AbC23de', { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'finished' } }],
    [
      'made-by-harbor/hello__Timeou2',
      { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'time' } },
    ],
    [
      'made-by-harbor/heap__NoStart3',
      { kind: 'failed', failure: { boundary: 'sandbox', code: 'EnvironmentStartTimeoutError' } },
    ],
    ['made-by-harbor/heap__Cancel44', { kind: 'cancelled' }],
  ])('%s ends as it should', (dir, end) => {
    expect(parseTrialResult(fixture(`${dir}/result.json`)).end).toMatchObject(end)
  })

  test('the one reward of old trials counts as the named one', () => {
    const document = JSON.parse(fixture('made-by-harbor/hello__AbC23de/result.json'))
    const text = JSON.stringify({ ...document, verifier_result: { reward: 0.5 } })
    expect(parseTrialResult(text).end).toMatchObject({ kind: 'scored', rewards: { reward: 0.5 } })
  })

  test('a solved trial comes out whole', () => {
    const record = parseTrialResult(fixture('made-by-harbor/hello__AbC23de/result.json'))
    expect(record).toMatchObject({
      name: 'hello__AbC23de',
      task: { name: 'org/hello', path: '/data/ds/hello', source: 'ds', digest: '' },
      agent: { name: 'terminus-2', version: '2.0.0', model: 'openai/gpt-x' },
      usage: { inputTokens: 1200, cacheTokens: 200, outputTokens: 80, costUsd: 0.0125 },
      metadata: { n_episodes: 3, rollout_details: [] },
      isolation: null,
      retries: 0,
      startedAt: '2026-11-15T00:00:55.187153Z',
      finishedAt: '2026-11-15T00:02:05.187153Z',
    })
  })

  test('a solved trial is written byte by byte as Harbor wrote it, but for where it lies and literal variables', () => {
    const file = fixture('made-by-harbor/hello__AbC23de/result.json')
    const text = file.replaceAll(/"(sk-1\*{4}890|fast)"/g, '"****"')
    const uri = /"trial_uri": .*/
    expect(renderTrialResult(parseTrialResult(text), {}).replace(uri, '')).toBe(text.replace(uri, ''))
  })

  test('steps are read, their tokens summed, and a step that ran out of time ends the trial so', () => {
    const record = parseTrialResult(fixture('multi-step-result.json'))
    expect(record.end).toEqual({
      kind: 'scored',
      rewards: { reward: 0.5, style: 0.25 },
      exit: { kind: 'limit', limit: 'time' },
    })
    expect(record.usage).toEqual({ inputTokens: 15, cacheTokens: null, outputTokens: 7, costUsd: 0.75 })
    expect(record.steps?.map((step) => [step.name, step.exit, step.failure])).toEqual([
      ['one', { kind: 'finished' }, null],
      ['two', { kind: 'limit', limit: 'time' }, null],
    ])
    expect(record.task.digest).toBe('ab'.repeat(32))
    expect(record.config.environment).toMatchObject({ type: 'local', importPath: null })
  })

  test.each([
    ['SomethingNobodyKnows', null, 'agent'],
    ['SomethingNobodyKnows', { reward: 1 }, 'agent'],
    ['AgentTimeoutError', null, 'agent'],
    ['ContextLengthExceededError', null, 'model'],
    ['RewardFileNotFoundError', null, 'verifier'],
  ])('%s with rewards %o is a failure of the %s... boundary', (type, rewards, boundary) => {
    const raw = {
      ...documentOf(someRecord({ end: failed({ code: type }) })),
      verifier_result: rewards && { rewards },
      verifier: null,
    }
    expect(parseTrialResult(JSON.stringify(raw)).end).toMatchObject({
      kind: 'failed',
      failure: { code: type, boundary },
    })
  })

  test('no exception and no rewards is a failure of the verifier, never a reward of 0', () => {
    const raw = { ...documentOf(), verifier_result: null }
    expect(parseTrialResult(JSON.stringify(raw)).end).toMatchObject({
      kind: 'failed',
      failure: { boundary: 'verifier' },
    })
  })

  test.each(['', '{', '[]', '{"id": "x"}'])('%j is refused', (text) => {
    expect(() => parseTrialResult(text, 'a/result.json')).toThrow(
      expect.objectContaining({ name: 'UserError', message: expect.stringMatching(/^a\/result\.json: /) }),
    )
  })
})

describe('writing', () => {
  test('keys stand in the order Harbor emits them, nulls included', () => {
    const keys = Object.keys(JSON.parse(fixture('made-by-harbor/hello__AbC23de/result.json')))
    expect(Object.keys(documentOf())).toEqual(keys)
    expect(documentOf()).toMatchObject({
      step_results: null,
      agent_setup: null,
      exception_info: null,
      trial_uri: 'file:///jobs/one/hello__AbC23de',
    })
  })

  test('an agent stopped by the clock is an exception with rewards', () => {
    const record = someRecord({
      end: { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'limit', limit: 'time' } },
    })
    expect(documentOf(record)).toMatchObject({
      exception_info: {
        exception_type: 'AgentTimeoutError',
        exception_message: 'the agent ran out of time after 1.5 seconds',
      },
      verifier_result: { rewards: { reward: 0 } },
    })
  })

  test('rewards look like floats of Python', () => {
    expect(renderTrialResult(someRecord())).toContain('"reward": 1.0\n')
  })

  test('a failure carries its code, a cancelled trial Harbor’s name for it', () => {
    expect(documentOf(someRecord({ end: failed({ code: 'HealthcheckError' }) }))).toMatchObject({
      exception_info: { exception_type: 'HealthcheckError' },
      verifier_result: null,
    })
    expect(documentOf(someRecord({ end: { kind: 'cancelled' } })).exception_info.exception_type).toBe('CancelledError')
  })

  test('the agent’s variables are redacted', () => {
    const record = someRecord()
    const config = { ...record.config, agent: { ...record.config.agent, env: { MY_API_KEY: 'abcdefghijkl' } } }
    expect(renderTrialResult({ ...record, config }, {})).not.toContain('abcdefghijkl')
  })

  test('half a surrogate pair does not make the file unreadable', () => {
    const text = renderTrialResult(someRecord({ end: failed({ message: 'x\ud800y' }) }))
    expect(JSON.parse(text).exception_info.exception_message).toBe('x\ufffdy')
    expect(text).not.toMatch(/\\ud800/)
  })
})

test('a record that goes through result.json keeps its end, rewards and times', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      const back = parseTrialResult(renderTrialResult(record, {}))
      expect(back.end).toEqual(record.end)
      expect(back.spans).toEqual(record.spans)
      expect([back.startedAt, back.finishedAt, back.id, back.name]).toEqual([
        record.startedAt,
        record.finishedAt,
        record.id,
        record.name,
      ])
      expect(back.config).toEqual(record.config)
      expect(back.agent).toEqual(record.agent)
      expect(back.metadata).toEqual(record.steps === null ? record.metadata : null)
      expect(back.steps).toEqual(record.steps)
      if (record.steps === null) expect(back.usage).toEqual(record.usage)
    }),
    { numRuns: 300 },
  )
})
