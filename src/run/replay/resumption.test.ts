import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import { tempDir } from '../../../test/trees.ts'
import type { ChatMessage, ModelClient } from '../../core/model.ts'
import type { TrialEnd } from '../../core/trial.ts'
import { openExchangeFiles } from '../../store/exchange-files.ts'
import { Tapes } from '../../store/tapes.ts'
import { Resumption, type ResumptionOptions, whyUnfit } from './resumption.ts'

const scored: TrialEnd = { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'finished' } }
const same = (text: string) => text

/** A model whose reply depends only on the conversation, and the environment of its commands. */
const speaker = () => clientThat((request, options) => replies(`say ${request.messages.length}`)(request, options))
const usual = (turn: number) => `saw ${turn}`

/** Talks for some turns: its requests depend on the replies and on what it sees. */
async function talk(client: ModelClient, turns: number, see: (turn: number) => string = usual): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [{ role: 'user', content: 'do it' }]
  for (let turn = 1; turn <= turns; turn++) {
    const outcome = await client.complete({ messages })
    if (outcome.kind !== 'reply') throw new Error(outcome.kind)
    messages.push({ role: 'assistant', content: outcome.reply.text }, { role: 'user', content: see(turn) })
  }
  return messages
}

/** What attempts record when they are interrupted after some turns, by step, as a store keeps it. */
async function interrupted(
  rounds: ReadonlyMap<string | null, (client: ModelClient) => Promise<unknown>>,
  mask = same,
): Promise<{ tapes: Tapes; keep: () => Promise<void>; load: () => ReturnType<Tapes['load']> }> {
  const dir = await tempDir()
  const files = openExchangeFiles(mask, () => {})
  for (const [step, work] of rounds) {
    const agentDir = join(dir, 'trial', ...(step === null ? [] : ['steps', step]), 'agent')
    await mkdir(agentDir, { recursive: true })
    await work(files.recorded(speaker(), agentDir))
  }
  await files.close()
  const tapes = new Tapes(join(dir, '.tapes'))
  const keep = () => tapes.keep('trial', join(dir, 'trial'))
  await keep()
  return { tapes, keep, load: () => tapes.load('trial') }
}

async function resume(turns: number, options: Partial<ResumptionOptions> = {}) {
  const { load } = await interrupted(new Map([[null, (client: ModelClient) => talk(client, turns)]]))
  const dropped: string[] = []
  const drop = async () => void dropped.push('tape')
  const resumption = new Resumption((await load())!, { mask: same, drop, ...options })
  const live = speaker()
  return { resumption, live, dropped, client: resumption.client(null, live, () => {}) }
}

describe('a resumption', () => {
  test('joins recorded replies and those of the model to the conversation that nothing interrupted', async () => {
    const property = fc.asyncProperty(fc.nat({ max: 6 }), fc.nat({ max: 6 }), fc.boolean(), async (a, b, clocks) => {
      const [cut, all] = [Math.min(a, b) + 1, Math.max(a, b) + 1]
      const see = (turn: number) => (clocks ? `${usual(turn)} at ${new Date().toISOString()}` : usual(turn))
      const { load } = await interrupted(new Map([[null, (client: ModelClient) => talk(client, cut, see)]]))
      const resumption = new Resumption((await load())!, { mask: same, drop: async () => {} })
      const live = speaker()
      const said = (messages: ChatMessage[]) =>
        messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)
      const resumed = await talk(
        resumption.client(null, live, () => {}),
        all,
        see,
      )
      expect(said(resumed)).toEqual(said(await talk(speaker(), all)))
      expect(live.asked).toHaveLength(all - cut)
      expect(resumption.mustStartOver(scored)).toBe(false)
      const paid = { inputTokens: 10 * cut, cacheTokens: 4 * cut, outputTokens: 3 * cut, costUsd: 0.25 * cut }
      expect(resumption.record()).toEqual({ kind: 'replayed', turns: cut, ...paid })
    })
    await fc.assert(property, { numRuns: 40 })
  })

  test('stops the agent at the first other request, and never asks the model in that sandbox', async () => {
    const property = fc.asyncProperty(fc.integer({ min: 2, max: 6 }), fc.nat(), async (turns, nth) => {
      const wrong = 1 + (nth % (turns - 1))
      const { resumption, live, client } = await resume(turns)
      const see = (turn: number) => (turn === wrong ? 'saw something else' : usual(turn))
      await expect(talk(client, turns + 2, see)).rejects.toThrow('diverged')
      await expect(client.complete({ messages: [] })).rejects.toThrow('diverged')
      expect(resumption.signal.aborted).toBe(true)
      expect(resumption.mustStartOver(scored)).toBe(true)
      expect(live.asked).toHaveLength(0)
      expect(resumption.record()).toMatchObject({ kind: 'diverged', turns: wrong, turn: wrong + 1 })
      expect(resumption.record()).toMatchObject({ expected: usual(wrong), got: 'saw something else' })
    })
    await fc.assert(property, { numRuns: 20 })
  })

  test('lets the model answer when already the first request is another one: nothing was done yet', async () => {
    const { resumption, live, client, dropped } = await resume(3)
    await client.complete({ messages: [{ role: 'user', content: 'do something else' }] })
    expect(live.asked).toHaveLength(1)
    expect(dropped).toEqual(['tape'])
    expect(resumption.mustStartOver(scored)).toBe(false)
    expect(resumption.record()).toMatchObject({ kind: 'diverged', turns: 0, turn: 1 })
  })

  test('starts over after an agent that ended before its recording did, but not after an interruption', async () => {
    const { resumption, client } = await resume(3)
    await talk(client, 2)
    expect(resumption.mustStartOver({ kind: 'cancelled' })).toBe(false)
    const failure = { boundary: 'sandbox', code: 'x', message: '', stack: '', retryable: true, occurredAt: '' } as const
    expect(resumption.mustStartOver({ kind: 'failed', failure })).toBe(false)
    expect(resumption.record()).toMatchObject({ kind: 'replayed', turns: 2 })
    expect(resumption.mustStartOver(scored)).toBe(true)
    expect(resumption.record()).toMatchObject({ kind: 'diverged', turns: 2, turn: 3 })
  })

  test('compares requests as they were written down, without their secrets', async () => {
    const mask = (text: string) => text.replaceAll('hunter22', '****')
    const see = (turn: number) => `${usual(turn)} hunter22`
    const talked = new Map([[null, (client: ModelClient) => talk(client, 2, see)]])
    const recorded = (await (await interrupted(talked, mask)).load())!
    expect(JSON.stringify([...recorded.rounds])).not.toContain('hunter22')
    expect(whyUnfit(recorded, true, '****')).toBeNull()
    const resumption = new Resumption(recorded, { mask, drop: async () => {} })
    const live = speaker()
    await talk(
      resumption.client(null, live, () => {}),
      3,
      see,
    )
    expect(live.asked).toHaveLength(1)
    expect(JSON.stringify(live.asked)).toContain('hunter22')
  })

  test('cannot use a reply of which a secret was left out', async () => {
    const leaky = (client: ModelClient) => client.complete({ messages: [{ role: 'user', content: 'x' }] })
    const hidesReplies = (text: string) => text.replaceAll('say', '****')
    const recorded = (await (await interrupted(new Map([[null, leaky]]), hidesReplies)).load())!
    expect(whyUnfit(recorded, true, '****')).toMatch(/secret/)
    expect(whyUnfit(recorded, false, '****')).toBeNull()
  })

  test('does without the recording when token ids are wanted, which it has none of', async () => {
    const { resumption, live, client, dropped } = await resume(2)
    await client.complete({ messages: [{ role: 'user', content: 'do it' }], tokenDetails: true })
    expect(live.asked).toHaveLength(1)
    expect(dropped).toEqual(['tape'])
    expect(resumption.record()).toMatchObject({ kind: 'not-replayed', reason: expect.stringContaining('token ids') })
  })

  test('replays the steps of a task one after the other, and goes on in the one that was interrupted', async () => {
    const rounds = new Map(['one', 'two'].map((step) => [step, (client: ModelClient) => talk(client, 2)] as const))
    const recorded = (await (await interrupted(rounds)).load())!
    const fresh = () => new Resumption(recorded, { mask: same, drop: async () => {} })
    const live = speaker()
    const resumption = fresh()
    await talk(
      resumption.client('one', live, () => {}),
      2,
    )
    await talk(
      resumption.client('two', live, () => {}),
      3,
    )
    await talk(
      resumption.client('three', live, () => {}),
      1,
    )
    expect(live.asked).toHaveLength(2)
    expect(resumption.record()).toMatchObject({ kind: 'replayed', turns: 4 })
    // A step that ended must end at the same point again.
    const other = fresh()
    await expect(
      talk(
        other.client('one', live, () => {}),
        3,
      ),
    ).rejects.toThrow('diverged')
    expect(other.record()).toMatchObject({ kind: 'diverged', step: 'one', turn: 2 })
  })
})

test('a tape is replaced by one with as many replies or more, never by one with fewer', async () => {
  const dir = await tempDir()
  const tapes = new Tapes(join(dir, '.tapes'))
  const attempt = async (name: string, turns: number) => {
    const agentDir = join(dir, name, 'agent')
    await mkdir(agentDir, { recursive: true })
    const files = openExchangeFiles(same, () => {})
    await talk(files.recorded(speaker(), agentDir), turns)
    await files.close()
    await tapes.keep('trial', join(dir, name))
    return [...((await tapes.load('trial'))?.rounds.values() ?? [])].flatMap((round) => round.turns).length
  }
  expect(await attempt('a', 4)).toBe(4)
  expect(await attempt('b', 1)).toBe(4)
  expect(await attempt('c', 5)).toBe(5)
  expect(await attempt('d', 0)).toBe(5)
  await tapes.drop('trial')
  expect(await tapes.load('trial')).toBeNull()
})
