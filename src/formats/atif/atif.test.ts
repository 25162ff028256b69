import { appendFileSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseTrajectory } from '../../../test/parse-trajectory.ts'
import { journalName } from '../../core/task-paths.ts'
import { openJournal, recoverTrajectory, renderTrajectory, type TrajectoryJournal } from './journal.ts'
import { atifVersion, atifVersions, type Trajectory } from './trajectory.ts'

const agent = { name: 'terminus-2', version: '2.0.0' }
const user = { step_id: 1, source: 'user', message: 'do it' }
const document = (changes: object = {}) => ({
  schema_version: atifVersion,
  session_id: 's',
  agent,
  steps: [user],
  ...changes,
})
const parse = (value: unknown) => parseTrajectory(JSON.stringify(value), 't.json')
const withStep = (step: object) => document({ steps: [user, { step_id: 2, source: 'agent', message: '', ...step }] })

describe('reading a trajectory', () => {
  test.each(atifVersions)('takes version %s', (schema_version) => {
    expect(parse(document({ schema_version })).schema_version).toBe(schema_version)
  })

  test('treats null as an absent field, but keeps a null that is data', () => {
    const call = { tool_call_id: 'c', function_name: 'f', arguments: { a: null } }
    const read = parse(withStep({ reasoning_content: null, tool_calls: [call], metrics: { cost_usd: null } }))
    expect(read.steps[1]).toEqual({ step_id: 2, source: 'agent', message: '', tool_calls: [call], metrics: {} })
  })

  test('takes a reference by session only from older versions', () => {
    const observation = { results: [{ subagent_trajectory_ref: [{ session_id: 'x' }] }] }
    const old = { ...withStep({ observation }), schema_version: 'ATIF-v1.6' }
    expect(parse(old).steps).toHaveLength(2)
    for (const schema_version of ['ATIF-v1.7', 'ATIF-v1.8'])
      expect(() => parse({ ...withStep({ observation }), schema_version })).toThrow(
        /trajectory_id or a trajectory_path/,
      )
  })

  test.each([
    ['audio/mpeg', 'audio/mpeg'],
    [' Audio/MP3', 'audio/mpeg'],
    ['audio/x-m4a', 'audio/mp4'],
  ])('takes audio of the type %j', (given, media_type) => {
    const audio = (type: string) => ({ type: 'audio', source: { media_type: type, path: 'a', duration_sec: 1.5 } })
    const read = parse({ ...withStep({ message: [audio(given)] }), schema_version: 'ATIF-v1.8' })
    expect(read.steps[1]?.message).toEqual([audio(media_type)])
  })

  test.each<[string, object, RegExp]>([
    ['an unknown version', document({ schema_version: 'ATIF-v2.0' }), /schema_version/],
    ['an unknown field', document({ colour: 'red' }), /colour/],
    ['an unknown field of a step', withStep({ colour: 'red' }), /steps\.1/],
    ['no steps', document({ steps: [] }), /steps/],
    ['a gap in the numbers', document({ steps: [user, { ...user, step_id: 3 }] }), /expected 2/],
    ['numbers from 0', document({ steps: [{ ...user, step_id: 0 }] }), /step_id/],
    ['a time that is none', document({ steps: [{ ...user, timestamp: 'yesterday' }] }), /ISO 8601/],
    ['a speaker it does not know', document({ steps: [{ ...user, source: 'tool' }] }), /source/],
    ['tool calls of a user', document({ steps: [{ ...user, tool_calls: [] }] }), /only an agent/],
    ['metrics of a system', document({ steps: [{ ...user, source: 'system', metrics: {} }] }), /only an agent/],
    ['a result of no call', withStep({ observation: { results: [{ source_call_id: 'x' }] } }), /no tool call/],
    ['metrics without a call', withStep({ llm_call_count: 0, metrics: {} }), /without a model call/],
    [
      'audio that is an image',
      withStep({ message: [{ type: 'audio', source: { media_type: 'image/png', path: 'x' } }] }),
      /steps.1.message/,
    ],
    [
      'an image of another kind',
      withStep({ message: [{ type: 'image', source: { media_type: 'image/bmp', path: 'x' } }] }),
      /message/,
    ],
    ['a nameless inner trajectory', document({ subagent_trajectories: [document()] }), /needs an id/],
    [
      'two inner ones of a name',
      document({ subagent_trajectories: [document({ trajectory_id: 'a' }), document({ trajectory_id: 'a' })] }),
      /already used/,
    ],
    [
      'a bad inner one',
      document({ subagent_trajectories: [{ ...document({ steps: [] }), trajectory_id: 'a' }] }),
      /subagent_trajectories\.0\.steps/,
    ],
  ])('refuses %s', (_, value, message) => {
    expect(() => parse(value)).toThrow(message)
    expect(() => parse(value)).toThrow(/^t\.json: /)
  })
})

describe('writing a trajectory', () => {
  test('puts lists of numbers on one line, leaves out what is absent, and writes ASCII', () => {
    const metrics = { prompt_tokens: 3, prompt_token_ids: [1, 2, 3], logprobs: [-0.5, -1], cost_usd: undefined }
    const text = renderTrajectory(parse(withStep({ message: 'é 🙂', metrics })))
    expect(text).toContain('"prompt_token_ids": [1, 2, 3]')
    expect(text).toContain('"logprobs": [-0.5, -1]')
    expect(text).toContain('"message": "\\u00e9 \\ud83d\\ude42"')
    expect(text).not.toContain('cost_usd')
    expect(text.startsWith('{\n  "schema_version": "ATIF-v1.7",\n  "session_id": "s",\n  "agent": {\n    "name"')).toBe(
      true,
    )
  })

  test('gives back what was written, whatever it holds', () => {
    fc.assert(
      fc.property(trajectories(), (trajectory) => {
        const text = renderTrajectory(trajectory)
        expect(parseTrajectory(text)).toEqual(trajectory)
        expect(renderTrajectory(parseTrajectory(text))).toBe(text)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a journal', () => {
  const head = { schema_version: atifVersion, session_id: 's', agent } as const
  const metrics = { prompt_tokens: 5, completion_tokens: 2, cost_usd: 0.5 }
  const observation = { results: [{ content: 'seen' }] }

  async function begin(dir: string): Promise<TrajectoryJournal> {
    const journal = await openJournal(dir, (text) => text)
    journal.add({ kind: 'open', file: 'trajectory.json', head })
    journal.add({ kind: 'step', file: 'trajectory.json', step: { source: 'user', message: 'do it' } })
    journal.add({ kind: 'step', file: 'trajectory.json', step: { source: 'agent', message: 'a', metrics } })
    journal.add({ kind: 'observe', file: 'trajectory.json', observation })
    return journal
  }
  const newDir = () => mkdtempSync(join(tmpdir(), 'atif-'))
  const read = (dir: string, file = 'trajectory.json') => parseTrajectory(readFileSync(join(dir, file), 'utf8'))

  test('becomes the files of its trajectories, and is gone', async () => {
    const dir = newDir()
    const journal = await begin(dir)
    const other = 'trajectory.summarization-1-summary.json'
    journal.add({ kind: 'open', file: other, head })
    journal.add({ kind: 'step', file: other, step: { source: 'user', message: 'sum up' } })
    journal.add({ kind: 'close', file: other, tail: {} })
    journal.add({ kind: 'close', file: 'trajectory.json', tail: { final_metrics: { total_prompt_tokens: 5 } } })
    expect(await journal.finish()).toEqual([other, 'trajectory.json'])
    expect(read(dir)).toEqual({
      ...head,
      steps: [
        { step_id: 1, source: 'user', message: 'do it' },
        { step_id: 2, source: 'agent', message: 'a', metrics, observation },
      ],
      final_metrics: { total_prompt_tokens: 5 },
    })
    expect(read(dir, other).steps).toHaveLength(1)
    expect(existsSync(join(dir, journalName))).toBe(false)
    expect(await recoverTrajectory(dir)).toEqual([])
  })

  test('of a run that died gives all but the half-written line', async () => {
    const dir = newDir()
    const journal = await begin(dir)
    while (readFileSync(join(dir, journalName), 'utf8').split('\n').length < 5)
      await new Promise((done) => setTimeout(done, 5))
    appendFileSync(join(dir, journalName), '{"kind":"step","file":"trajectory.json","st')
    expect(await recoverTrajectory(dir)).toEqual(['trajectory.json'])
    const found = read(dir)
    expect(found.steps).toHaveLength(2)
    expect(found.final_metrics).toMatchObject({
      total_prompt_tokens: 5,
      total_completion_tokens: 2,
      total_cost_usd: 0.5,
    })
    expect(found.notes).toMatch(/interrupted/)
    expect(await journal.finish()).toEqual([])
  })

  test('of another shape writes nothing outside its directory', async () => {
    const dir = newDir()
    appendFileSync(join(dir, journalName), `${JSON.stringify({ kind: 'open', file: '../escape.json', head })}\n`)
    expect(await recoverTrajectory(dir)).toEqual([])
    expect(existsSync(join(dir, '..', 'escape.json'))).toBe(false)
  })

  test('is not started twice in one directory, and its absence is no error', async () => {
    const dir = newDir()
    expect(await recoverTrajectory(dir)).toEqual([])
    const journal = await begin(dir)
    await expect(openJournal(dir, (text) => text)).rejects.toThrow(/another run/)
    await journal.finish()
  })
})

function trajectories(): fc.Arbitrary<Trajectory> {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 })
  const extra = fc.dictionary(
    fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
    fc.jsonValue(),
    { maxKeys: 3 },
  )
  const ids = fc.array(fc.nat(), { maxLength: 5 })
  const part = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text }),
    fc.record({
      type: fc.constant('image' as const),
      source: fc.record({ media_type: fc.constant('image/png' as const), path: text }),
    }),
  )
  const content = fc.oneof(text, fc.array(part, { maxLength: 2 }))
  const metrics = fc.record(
    {
      prompt_tokens: fc.nat(),
      prompt_token_ids: ids,
      logprobs: fc.array(
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
        { maxLength: 3 },
      ),
      extra,
    },
    { requiredKeys: [] },
  )
  const call = fc.record({ tool_call_id: text, function_name: text, arguments: extra })
  const agentStep = fc.record(
    {
      source: fc.constant('agent' as const),
      message: content,
      reasoning_content: text,
      tool_calls: fc.array(call, { maxLength: 2 }),
      metrics,
      extra,
    },
    { requiredKeys: ['source', 'message'] },
  )
  const otherStep = fc.record({ source: fc.constantFrom('user' as const, 'system' as const), message: content })
  const steps = fc
    .array(fc.oneof(agentStep, otherStep), { minLength: 1, maxLength: 4 })
    .map((list) => list.map((step, i) => ({ step_id: i + 1, ...step })))
  return fc
    .record({
      schema_version: fc.constantFrom(...atifVersions),
      agent: fc.record({ name: text, version: text }),
      steps,
      notes: text,
    })
    .map((raw) => parseTrajectory(JSON.stringify(raw)))
}
