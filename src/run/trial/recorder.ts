import type { Recorder, Usage } from '../../core/agent.ts'

/** What an agent said about one round, as far as it came. */
export interface AgentReport {
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

/** A recorder for one round of an agent, and what was told to it so far. */
export function makeRecorder(
  log: (line: string) => void,
  { mark, refused }: Pick<Recorder, 'mark' | 'refused'> = { mark: () => {}, refused: () => {} },
): { readonly record: Recorder; report(): AgentReport } {
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
    mark,
    refused,
  }
  return { record, report: () => ({ usage, metadata }) }
}
