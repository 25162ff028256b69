import { describeEnd, describeRewards, trialRowOf } from '../../app/jobs/trial-row.ts'
import type { Resumed, Span, TrialRecord } from '../../core/trial.ts'
import { oneLine } from '../../lib/visible.ts'

/** One trial for a person: every fact on a line, the failure's stack last. */
export function printTrial(record: TrialRecord): void {
  const row = trialRowOf(record)
  const { usage, sandbox, end } = record
  const facts: [string, string | null][] = [
    ['trial', row.name],
    ['id', record.id],
    ['task', `${row.task} (${record.task.path})`],
    ['task digest', record.task.digest || null],
    ['agent', [row.agent, record.agent.version, row.model ?? ''].join(' ').trim()],
    ['attempt', String(row.attempt)],
    ['end', describeEnd(row)],
    ['reward', row.rewards && describeRewards(row.rewards)],
    ['blame', row.boundary && `${row.boundary}: ${row.code}: ${row.message}`],
    ['retries', String(row.retries)],
    ['interrupted', record.resumed ? describeResumed(record.resumed) : null],
    ['isolation', row.isolation],
    [
      'tokens',
      usage &&
        `${usage.inputTokens ?? '?'} in, ${usage.outputTokens ?? '?'} out, ${usage.costUsd === null ? 'cost unknown' : `$${usage.costUsd}`}`,
    ],
    ['started', record.startedAt],
    ...Object.entries(record.spans).map(([phase, span]): [string, string | null] => [
      `${words[phase] ?? phase} took`,
      span && seconds(span),
    ]),
    ['all took', `${row.durationSec.toFixed(1)}s`],
    ...(record.steps ?? []).map((step): [string, string] => [
      `step ${step.name}`,
      step.failure ? `failed: ${step.failure.code}` : describeRewards(step.rewards),
    ]),
    ['sandbox', sandbox && `${sandbox.provider}, limits that hold: ${holding(sandbox.limits)}`],
    ...row.notes.map((text): [string, string] => ['note', text]),
  ]
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null)
  const width = known.reduce((widest, [title]) => Math.max(widest, title.length), 0)
  const lines = known.map(([title, value]) => `${oneLine(title).padEnd(width)}  ${oneLine(value)}`)
  const stack = end.kind === 'failed' ? ['', ...end.failure.stack.split('\n').map((line) => `  ${oneLine(line)}`)] : []
  process.stdout.write(`${[...lines, ...stack].join('\n')}\n`)
}

const words: Readonly<Record<string, string>> = {
  environmentSetup: 'sandbox start',
  agentSetup: 'agent setup',
  agentExecution: 'agent',
  verifier: 'verifier',
}

function seconds({ startedAt, finishedAt }: Span): string {
  return finishedAt === null
    ? 'not finished'
    : `${((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000).toFixed(1)}s`
}

function holding(limits: Readonly<Record<string, boolean>>): string {
  const names = Object.entries(limits).flatMap(([name, holds]) => (holds ? [name] : []))
  return names.join(', ') || 'none'
}

/** How one trial resumed, in words. */
function describeResumed(resumed: Resumed): string {
  if (resumed.kind === 'not-replayed') return `started over: ${resumed.reason}`
  if (resumed.kind === 'replayed') {
    const { turns, inputTokens, outputTokens } = resumed
    return `replayed ${turns} replies of an interrupted attempt, ${inputTokens} tokens in and ${outputTokens} out not paid for again`
  }
  const { step, turn, message, what, expected, got } = resumed
  const where = [step === null ? '' : `step ${step}, `, `turn ${turn}`, message === null ? '' : `, message ${message}`]
  return `started over: the replay diverged at ${where.join('')}: ${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`
}
