import type { Denominators } from '../../core/job-stats.ts'
import type { Sums } from '../../store/ledger.ts'
import type { Standing } from './tally.ts'

/** Names that fit below the table; the others are counted. */
const namesShown = 4

/** The standing as a small table and a line of what runs, each line cut to the terminal's width. */
export function renderTable(standing: Standing, nowMs: number, width: number): string[] {
  const cells = Object.entries(cellsOf(standing))
  const widths = cells.map(([title, value]) => Math.max(title.length, value.length))
  const row = (texts: readonly string[]) => texts.map((text, i) => text.padEnd(widths[i] ?? 0)).join('  ')
  const lines = [row(cells.map(([title]) => title)), row(cells.map(([, value]) => value)), runningLine(standing, nowMs)]
  return lines.filter((line) => line !== '').map((line) => line.trimEnd().slice(0, Math.max(width - 1, 20)))
}

/** The standing as one line for a log. */
export function renderLine(standing: Standing): string {
  const { done, mean, failed, tokens, cost, ETA, ...rest } = cellsOf(standing)
  const more = Object.entries({ mean, failed, ...rest, tokens, cost, ETA }).filter(([, value]) => value !== '-')
  return [`${done} done`, ...more.map(([title, value]) => `${title} ${value}`)].join(', ')
}

function cellsOf(standing: Standing) {
  const { done, total, running, retries, cancelled } = standing
  const failures = Object.entries(standing.failedByBoundary).map(([boundary, count]) => `${boundary} ${count}`)
  return {
    done: `${done}/${total}`,
    running: String(running.length),
    mean: standing.meanReward === null ? '-' : standing.meanReward.toFixed(3),
    failed: failures.length === 0 ? '-' : failures.join(', '),
    retries: retries === 0 ? '-' : String(retries),
    cancelled: cancelled === 0 ? '-' : String(cancelled),
    tokens: standing.tokens === null ? '-' : renderCount(standing.tokens),
    cost: standing.costUsd === null ? '-' : `$${standing.costUsd.toFixed(2)}`,
    ETA: standing.etaSec === null || done >= total ? '-' : renderDuration(standing.etaSec),
  }
}

function runningLine({ running }: Standing, nowMs: number): string {
  if (running.length === 0) return ''
  const names = running
    .slice(0, namesShown)
    .map(({ name, sinceMs }) => `${name} ${renderDuration((nowMs - sinceMs) / 1000)}`)
  const more = running.length > namesShown ? [`${running.length - namesShown} more`] : []
  return `  ${[...names, ...more].join(', ')}`
}

/** What judging came to, in words. */
export function renderJudge({ requests, inputTokens, outputTokens, costUsd, unpricedCalls }: Sums): string {
  const cost = unpricedCalls > 0 ? 'cost unknown' : `$${costUsd.toFixed(2)}`
  return `judge: ${requests} requests, ${renderCount(inputTokens)} in, ${renderCount(outputTokens)} out, ${cost}`
}

/** `950`, `12.3k`, `4.56M`. */
export function renderCount(count: number): string {
  if (count < 1000) return String(count)
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`
}

/** `7s`, `2m05s`, `3h12m`. */
export function renderDuration(sec: number): string {
  const whole = Math.max(0, Math.round(sec))
  if (whole < 60) return `${whole}s`
  const pad = (n: number) => String(n).padStart(2, '0')
  if (whole < 3600) return `${Math.floor(whole / 60)}m${pad(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${pad(Math.floor((whole % 3600) / 60))}m`
}

/** `2: 0.700, 4: 0.812`: of many attempts, every doubling and the most; all of them are in the JSON. */
export function renderPassAtK(passes: Iterable<readonly [k: number, value: number]>): string {
  const all = [...passes]
  const most = Math.max(...all.map(([k]) => k))
  const shown = all.length <= 6 ? all : all.filter(([k]) => k === most || Number.isInteger(Math.log2(k)))
  return shown.map(([k, value]) => `${k}: ${value.toFixed(3)}`).join(', ') || '-'
}

/** How many rewards of a job say nothing about its tasks; null when none is of that kind. */
export function renderNoValidReply({ noValidReply, scored }: Denominators): string | null {
  if (noValidReply === 0) return null
  return `${noValidReply} of ${scored} scored trials never received a valid reply: their rewards say nothing about the tasks, and they give no traces`
}
