import type { JobWatch } from '../../app/job/perform-job.ts'
import type { Denominators } from '../../core/job-stats.ts'
import { describeEnd } from '../../core/trial.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { visible } from '../../lib/visible.ts'
import { pastGuard, type Screen } from '../output.ts'
import type { Standing, Tally } from './tally.ts'

/** Shows a job's progress to a person; call `stop` so that the final state stays on the screen. */
export interface Progress extends JobWatch {
  started(trial: { readonly name: string }): void
  stop(): void
}

const redrawMs = 200
const lineEveryMs = 10_000
/** A job with at most this many trials prints a line for each. */
const fewTrials = 50

/** A self-redrawing table on a terminal, plain lines elsewhere or when verbose, nothing when quiet. */
export function makeProgress(tally: Tally, screen: Screen, quiet: boolean, verbose = false): Progress {
  if (quiet)
    return watching(
      tally,
      () => {},
      () => {},
    )
  return screen.isTTY && !verbose ? tableProgress(tally, screen) : lineProgress(tally, screen, verbose)
}

function tableProgress(tally: Tally, screen: Screen): Progress {
  let height = 0
  const write = pastGuard(screen)
  const draw = () => {
    const lines = renderTable(tally.standing(), performance.now(), screen.columns || 80)
    const up = height > 0 ? `\u001b[${height}A` : ''
    write(`${up}\r\u001b[J${lines.map(visible).join('\n')}\n`)
    height = lines.length
  }
  const timer = setInterval(draw, redrawMs)
  draw()
  return watching(
    tally,
    () => {},
    () => {
      clearInterval(timer)
      draw()
    },
  )
}

function lineProgress(tally: Tally, screen: Screen, verbose: boolean): Progress {
  const say = () => screen.write(`${renderLine(tally.standing())}\n`)
  const timer = setInterval(say, lineEveryMs)
  const few = verbose || tally.standing().total <= fewTrials
  say()
  return watching(
    tally,
    (line) => few && screen.write(`${line}\n`),
    () => {
      clearInterval(timer)
      say()
    },
  )
}

function watching(tally: Tally, tell: (line: string) => void, stop: () => void): Progress {
  return {
    started: (trial) => tally.started(trial.name),
    retrying: (record, waitSec) => {
      tally.retried(record.name)
      tell(`${record.name}: ${describeEnd(record.end)}; retrying in ${waitSec} s`)
    },
    ended: (record) => {
      tally.ended(record.name)
      tell(`${record.name}: ${describeEnd(record.end)}`)
    },
    stop,
  }
}

/** How many names fit below the table; the rest are only counted. */
const namesShown = 4

/** Renders progress as a small table and a line of running trials, each line cut to the terminal's width. */
export function renderTable(standing: Standing, nowMs: number, width: number): string[] {
  const cells = Object.entries(cellsOf(standing))
  const widths = cells.map(([title, value]) => Math.max(title.length, value.length))
  const row = (texts: readonly string[]) => texts.map((text, i) => text.padEnd(widths[i] ?? 0)).join('  ')
  const lines = [row(cells.map(([title]) => title)), row(cells.map(([, value]) => value)), runningLine(standing, nowMs)]
  return lines.filter((line) => line !== '').map((line) => line.trimEnd().slice(0, Math.max(width - 1, 20)))
}

/** Renders progress as one line for a log. */
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

/** `2: 0.700, 4: 0.812`: with many attempts, only powers of two and the largest; the JSON has them all. */
export function renderPassAtK(passes: Iterable<readonly [k: number, value: number]>): string {
  const all = [...passes]
  const most = Math.max(...all.map(([k]) => k))
  const shown = all.length <= 6 ? all : all.filter(([k]) => k === most || Number.isInteger(Math.log2(k)))
  return shown.map(([k, value]) => `${k}: ${value.toFixed(3)}`).join(', ') || '-'
}

/** How many of a job's rewards say nothing about its tasks; null if none. */
export function renderNoValidReply({ noValidReply, scored }: Denominators): string | null {
  if (noValidReply === 0) return null
  return `${noValidReply} of ${scored} scored trials never received a valid reply: their rewards say nothing about the tasks, and they produce no traces`
}
