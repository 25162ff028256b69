import { describeEnd, describeRewards } from '../../app/jobs/trial-row.ts'
import type { OutputEnd, TrialReport, Turn } from '../../app/view/trial-report.ts'
import { phases, type Resumed, type TrialRecord, usageOf } from '../../core/trial.ts'
import { nearPath } from '../../lib/files.ts'
import { programName } from '../../lib/program-name.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { oneLine, visible } from '../../lib/visible.ts'
import { cutMiddle, wrap } from '../fit.ts'

const width = 80

/**
 * Prints one trial on one screen: why it ended, what was done, what the tests and the log say, and what to run next.
 */
export function printTrial(report: TrialReport): void {
  const { trial, why, turns, agentOutput, testOutput, logLine } = report
  const lines = [
    ...wrap(oneLine(why), width).slice(0, 4),
    '',
    ...factsOf(report),
    ...(turns.length > 0 ? [`turns: ${turns.length}`, ...shownTurns(turns)] : []),
    ...failureLines(trial.message ?? ''),
    ...outputLines('the agent printed', agentOutput, agentLines),
    ...outputLines('the tests printed', testOutput, testLines),
    ...(report.failedTests.length > 0 ? failedTests(report.failedTests) : []),
    ...logLines(logLine),
    ...filesOf(report),
    ...nextOf(report),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

function factsOf({ trial, record }: TrialReport): string[] {
  const usage = usageOf(record)
  const cost = usage?.costUsd == null ? '' : `, $${usage.costUsd.toFixed(4)}`
  const facts: [string, string | null][] = [
    ['trial', trial.name],
    ['result', `${describeEnd(trial)}${trial.rewards ? `, reward ${describeRewards(trial.rewards)}` : ''}`],
    ['blame', trial.boundary && `${trial.boundary}: ${trial.code}`],
    ['thrown', thrownAt(record)],
    ['task', record.task.path || trial.task],
    ['agent', [trial.agent, record.agent.version, trial.model ?? ''].join(' ').trim()],
    ['attempt', trial.attempt === 0 ? null : String(trial.attempt + 1)],
    ['retries', trial.retries === 0 ? null : String(trial.retries)],
    ['took', tookOf(record, trial.durationSec)],
    ['tokens', usage && `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out${cost}`],
    ...(record.steps ?? [])
      .slice(-6)
      .map((step): [string, string] => [
        `step ${step.name}`,
        step.failure ? `failed: ${step.failure.code}` : describeRewards(step.rewards),
      ]),
    ['interrupted', record.resumed ? describeResumed(record.resumed) : null],
    ...trial.notes.map((text): [string, string] => ['note', text]),
  ]
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null)
  const widest = Math.min(24, Math.max(...known.map(([title]) => oneLine(title).length)))
  return known.flatMap(([title, value]) => {
    const [first = '', ...more] = wrap(oneLine(value), width - widest - 2).slice(0, 3)
    const named = cutMiddle(oneLine(title), widest).padEnd(widest)
    return [`${named}  ${first}`, ...more.map((line) => `${' '.repeat(widest)}  ${line}`)]
  })
}

function count(tokens: number | null): string {
  return tokens === null ? '?' : renderCount(tokens)
}

/** Where in a plug-in's code an error was thrown, if known; locations in our own code are not recorded. */
function thrownAt({ end }: TrialRecord): string | null {
  if (end.kind !== 'failed') return null
  return /^ +at (.*)$/m.exec(end.failure.stack)?.[1] ?? null
}

/** The first line is already in the sentence; the rest is what a build or a server printed. */
function failureLines(message: string): string[] {
  const [, ...more] = message.trim().split('\n')
  return outputLines('the failure', { file: 'exception.txt', lines: more }, failureShown)
}

function tookOf({ spans }: TrialRecord, allSec: number): string {
  const parts = phases.flatMap((phase) => {
    const span = spans[phase]
    if (!span) return []
    const took = span.finishedAt && seconds((Date.parse(span.finishedAt) - Date.parse(span.startedAt)) / 1000)
    return [`${words[phase]} ${took ?? 'not finished'}`]
  })
  return `${seconds(allSec)}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`
}

function seconds(sec: number): string {
  return sec < 10 ? `${sec.toFixed(1)}s` : renderDuration(sec)
}

const words = {
  environmentSetup: 'sandbox start',
  agentSetup: 'agent setup',
  agentExecution: 'agent',
  verifier: 'verifier',
} as const

const [firstTurns, lastTurns] = [3, 4]
const agentLines = 4
const testLines = 6
const failureShown = 4

function shownTurns(turns: readonly Turn[]): string[] {
  const digits = String(turns.length).length
  const line = ({ number, did }: Turn) =>
    `  ${String(number).padStart(digits)}  ${cutMiddle(oneLine(did), width - digits - 4)}`
  const left = turns.length - firstTurns - lastTurns
  if (left <= 1) return turns.map(line)
  return [
    ...turns.slice(0, firstTurns).map(line),
    `  ${' '.repeat(digits)}  ... ${left} more ...`,
    ...turns.slice(-lastTurns).map(line),
  ]
}

function outputLines(title: string, output: OutputEnd | null, most: number): string[] {
  if (output === null || output.lines.length === 0) return []
  const shown = output.lines.slice(-most)
  const which = output.lines.length > most ? `, the last ${most} lines` : ''
  const fitted = (line: string) => cutMiddle(visible(line.replaceAll('\t', '  ').trimEnd()), width - 4)
  return [
    cutMiddle(`${title} (${oneLine(output.file)}${which}):`, width),
    ...shown.map((line) => `  | ${fitted(line)}`),
  ]
}

function failedTests(names: readonly string[]): string[] {
  const shown = names.slice(0, 3).map((name) => indented(cutMiddle(oneLine(name), width - 2)))
  const more = names.length > 3 ? [`  ... ${names.length - 3} more`] : []
  return [`failed tests: ${names.length}`, ...shown, ...more]
}

/** Shows only the time of day; the job already has the date. */
function logLines(line: string | null): string[] {
  if (line === null) return []
  const short = oneLine(line).replace(/^\S+T([\d:]{8})\S*/, '$1')
  return [
    'trial.log says:',
    ...wrap(short, width - 2)
      .slice(0, 3)
      .map(indented),
  ]
}

/** Paths are never cut, so that they can be copied. */
function filesOf({ dir, job, files }: TrialReport): string[] {
  const where =
    dir === null
      ? `files, packed (${programName()} jobs unpack ${oneLine(nearPath(job))}):`
      : `files in ${oneLine(nearPath(dir))}:`
  const some = files.slice(0, 12).map(oneLine)
  const more = files.length > some.length ? [`and ${files.length - some.length} more`] : []
  return [where, ...wrap([...some, ...more].join(', '), width - 2).map(indented)]
}

function nextOf({ next }: TrialReport): string[] {
  if (next.length === 0) return []
  return ['', 'next:', ...next.slice(0, 2).flatMap(({ command, title }) => [`  ${oneLine(command)}`, `      ${title}`])]
}

function indented(line: string): string {
  return `  ${line}`
}

/** Describes how a trial resumed. */
function describeResumed(resumed: Resumed): string {
  if (resumed.kind === 'not-replayed') return `started over: ${resumed.reason}`
  if (resumed.kind === 'replayed') {
    const { turns, inputTokens, outputTokens } = resumed
    return `replayed ${turns} replies of an interrupted attempt, ${inputTokens} tokens in and ${outputTokens} out that were not paid for twice`
  }
  const { step, turn, message, what, expected, got } = resumed
  const where = [step === null ? '' : `step ${step}, `, `turn ${turn}`, message === null ? '' : `, message ${message}`]
  return `started over: the replay diverged at ${where.join('')}: ${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`
}
