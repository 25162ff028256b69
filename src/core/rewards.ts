import { BoundaryError } from './errors.ts'

/** Named numbers a verifier gave. */
export type Rewards = Readonly<Record<string, number>>

/** The reward people mean when they speak of one: `reward`, else the first. */
export function mainReward(rewards: Rewards): number {
  if (Object.hasOwn(rewards, 'reward')) return rewards.reward ?? 0
  return Object.values(rewards)[0] ?? 0
}

/** Which file wins when both exist: Harbor up to 0.6 reads `reward.txt` first, newer ones `reward.json`. */
export type RewardPrecedence = 'txt' | 'json'

export interface RewardFiles {
  readonly txt: string | null
  readonly json: string | null
}

/** The code of a verifier that wrote no reward. */
export const rewardMissing = 'RewardFileNotFoundError'

/** Reads a verifier's reward files; anything missing, empty or not finite is the verifier's failure. */
export function parseRewards(files: RewardFiles, precedence: RewardPrecedence): Rewards {
  const order = precedence === 'txt' ? (['txt', 'json'] as const) : (['json', 'txt'] as const)
  for (const kind of order) {
    const text = files[kind]
    if (text !== null) return kind === 'txt' ? parseRewardText(text) : parseRewardJson(text)
  }
  throw fail(rewardMissing, 'the verifier wrote neither /logs/verifier/reward.txt nor reward.json')
}

function parseRewardText(text: string): Rewards {
  const trimmed = text.trim()
  if (trimmed === '') throw fail('RewardFileEmptyError', '/logs/verifier/reward.txt is empty')
  const value = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : Number.NaN
  if (!Number.isFinite(value)) throw unreadable('reward.txt', 'a finite number', trimmed)
  return { reward: value }
}

function parseRewardJson(text: string): Rewards {
  if (text.trim() === '') throw fail('RewardFileEmptyError', '/logs/verifier/reward.json is empty')
  const value = parseJson(text)
  if (typeof value === 'number' && Number.isFinite(value)) return { reward: value }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw unreadable('reward.json', 'an object of numbers', text)
  }
  const rewards = new Map<string, number>()
  for (const [key, number] of Object.entries(value)) {
    // Most programs that will read the record lose this name, or do worse with it.
    if (key === '__proto__') throw unreadable('reward.json', 'names of rewards', key)
    if (typeof number !== 'number' || !Number.isFinite(number)) {
      throw unreadable('reward.json', `a finite number for ${JSON.stringify(key)}`, JSON.stringify(number))
    }
    rewards.set(key, number)
  }
  if (rewards.size === 0) throw fail('RewardFileEmptyError', '/logs/verifier/reward.json names no reward')
  return Object.fromEntries(rewards)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw unreadable('reward.json', 'JSON', text)
  }
}

function unreadable(file: string, expected: string, got: string): BoundaryError {
  return fail(
    'VerifierOutputParseError',
    `/logs/verifier/${file}: expected ${expected}, got ${JSON.stringify(got.slice(0, 80))}`,
  )
}

function fail(code: string, message: string): BoundaryError {
  return new BoundaryError('verifier', message, { code, retryable: false })
}
