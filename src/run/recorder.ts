import type { Recorder, Usage } from '../core/agent.ts'

/** What an agent said about one round, as far as it came. */
export interface Told {
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

/** A recorder for one round of an agent, and what was told to it so far. */
export function makeRecorder(log: (line: string) => void): { readonly record: Recorder; told(): Told } {
  let usage: Usage | null = null
  let metadata: Readonly<Record<string, unknown>> | null = null
  const record: Recorder = {
    usage: (more) => {
      usage = { inputTokens: null, cacheTokens: null, outputTokens: null, costUsd: null, ...usage, ...more }
    },
    metadata: (more) => {
      metadata = { ...metadata, ...more }
    },
    log: (line) => log(`agent: ${line}`),
  }
  return { record, told: () => ({ usage, metadata }) }
}

/** The sum over rounds; a number nobody told stays null. */
export function addUsage(all: readonly (Usage | null)[]): Usage | null {
  const told = all.filter((usage) => usage !== null)
  if (told.length === 0) return null
  const sum = (key: keyof Usage) => {
    const values = told.map((usage) => usage[key]).filter((value) => value !== null)
    return values.length === 0 ? null : values.reduce((a, b) => a + b, 0)
  }
  return {
    inputTokens: sum('inputTokens'),
    cacheTokens: sum('cacheTokens'),
    outputTokens: sum('outputTokens'),
    costUsd: sum('costUsd'),
  }
}
