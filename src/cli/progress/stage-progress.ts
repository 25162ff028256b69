import type { JobStart, JobWatch } from '../../app/job/perform-job.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { oneLine, visible } from '../../lib/visible.ts'
import { cutMiddle } from '../fit.ts'
import { pastGuard, type Screen } from '../output.ts'
import { makeTally, type Tally } from './tally.ts'

/** The start of a stage. */
export interface StageStart {
  readonly title: string
  /** Starts at 1. */
  readonly index: number
  readonly of: number
  /** How many rows it will process; null if unknown. */
  readonly total: number | null
}

/** Shows a person how far staged work is; call `stop` so that nothing is drawn afterwards. */
export interface StageProgress {
  start(stage: StageStart): void
  /** What the stage is doing when it is not processing rows. */
  doing(what: string): void
  /** How many rows the stage has done. */
  advance(done: number): void
  end(rows: number, cached: boolean): void
  /** Prints a notice above the redrawn area, even in quiet mode. */
  tell(line: string): void
  /** Draws nothing while asking a person something. */
  hold<T>(ask: () => Promise<T>): Promise<T>
  /** Follows the trials that the stage runs. */
  readonly watchTrials: (start: JobStart) => JobWatch & { stop(): void }
  stop(): void
}

interface Stage extends StageStart {
  readonly startedMs: number
  readonly done: number
  readonly doing: string | null
}

interface Options {
  readonly screen: Screen
  readonly quiet: boolean
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly nowMs?: () => number
}

const redrawMs = 200
/** How often a long stage reports progress where nothing can be redrawn. */
const lineEveryMs = 60_000

/** A self-redrawing bar on a terminal, one line per stage elsewhere, nothing when quiet. */
export function makeStageProgress(options: Options): StageProgress {
  const { screen, quiet, env = process.env, nowMs = () => performance.now() } = options
  const isLive = screen.isTTY === true && env.TERM !== 'dumb'
  const clock = new Clock(nowMs)
  const block = isLive ? new Block(screen, env) : null
  const say = (line: string) => {
    if (block) block.above(line)
    else screen.write(`${line}\n`)
  }
  let isHeld = false
  const draw = () => {
    if (isHeld) return
    const lines = clock.stage === null ? [] : clock.lines(screen.columns || 80)
    if (block) block.draw(lines)
    else if (lines[0] !== undefined) say(lines[0])
  }
  const timer = quiet ? undefined : setInterval(draw, block ? redrawMs : lineEveryMs).unref()
  return {
    start(stage) {
      clock.start(stage)
      if (block && !quiet) draw()
    },
    doing: (what) => clock.change({ doing: what }),
    advance: (done) => clock.change({ done }),
    end(rows, cached) {
      const line = clock.end(rows, cached)
      if (line !== null && !quiet) say(line)
    },
    tell: (text) => {
      for (const line of text.split('\n')) say(line)
    },
    async hold(ask) {
      block?.draw([])
      isHeld = true
      try {
        return await ask()
      } finally {
        isHeld = false
      }
    },
    watchTrials: (start) => clock.watch(makeTally(start.job.plan.length, start.liveStats, nowMs)),
    stop() {
      clearInterval(timer)
      block?.draw([])
    },
  }
}

/** Tracks how long stages take and what they cost. */
class Clock {
  stage: Stage | null = null
  private trials: Tally | null = null
  private spentUsd: number | null = null
  constructor(private readonly nowMs: () => number) {}

  start(stage: StageStart): void {
    this.stage = { ...stage, title: oneLine(stage.title), startedMs: this.nowMs(), done: 0, doing: null }
  }

  change(change: Partial<Pick<Stage, 'done' | 'doing'>>): void {
    if (this.stage) this.stage = { ...this.stage, ...change }
  }

  /** The line that stays on the screen once a stage has ended. */
  end(rows: number, cached: boolean): string | null {
    const { stage } = this
    if (stage === null) return null
    const sec = this.elapsedSec(stage)
    this.stage = null
    const what = `: ${rows} ${rows === 1 ? 'row' : 'rows'}${cached ? ', from an earlier run' : ''}, ${renderDuration(sec)}`
    const place = placeOf(stage)
    return `${place} ${cutMiddle(stage.title, 78 - place.length - what.length)}${what}`
  }

  watch(tally: Tally): JobWatch & { stop(): void } {
    this.trials = tally
    return {
      started: ({ name }) => tally.started(name),
      retrying: ({ name }) => tally.retried(name),
      ended: ({ name }) => tally.ended(name),
      stop: () => {
        const { costUsd } = tally.standing()
        if (costUsd !== null) this.spentUsd = (this.spentUsd ?? 0) + costUsd
        this.trials = null
      },
    }
  }

  /** Renders the stage as a bar, with what is running in it. */
  lines(columns: number): string[] {
    const { stage } = this
    if (stage === null) return []
    const trials = this.trials?.standing() ?? null
    const [done, total, unit] = trials ? [trials.done, trials.total, 'trials'] : [stage.done, stage.total, 'rows']
    const share = total === null || total === 0 ? null : Math.min(1, done / total)
    const costUsd = trials?.costUsd == null ? this.spentUsd : trials.costUsd + (this.spentUsd ?? 0)
    const leftSec = trials?.etaSec ?? this.leftSec(stage, share)
    const facts = [
      share === null ? null : `[${'#'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '-')}]`,
      total === null ? `${renderCount(done)} ${unit}` : `${renderCount(done)}/${renderCount(total)} ${unit}`,
      renderRate(done, this.elapsedSec(stage)),
      costUsd === null ? null : `$${costUsd.toFixed(2)}`,
      leftSec === null ? renderDuration(this.elapsedSec(stage)) : `stage ETA ${renderDuration(leftSec)}`,
    ].filter((fact) => fact !== null)
    const width = Math.max(20, Math.min(columns, 80) - 1)
    const [place, end] = [placeOf(stage), facts.join('  ')]
    const title = cutMiddle(stage.title, Math.max(8, width - place.length - end.length - 3))
    const first = cutMiddle(`${place} ${title}  ${end}`, width)
    const running = (trials?.running ?? []).slice(0, 3).map(({ name, sinceMs }) => {
      return `${oneLine(name)} ${renderDuration((this.nowMs() - sinceMs) / 1000)}`
    })
    const more = trials && trials.running.length > 3 ? [`${trials.running.length - 3} more`] : []
    const second = running.length > 0 ? [...running, ...more].join(', ') : (stage.doing ?? '')
    return second === '' ? [first] : [first, cutMiddle(`  ${oneLine(second)}`, width)]
  }

  /** Seconds until this stage is done. What later stages take is unknown until they begin. */
  private leftSec(stage: Stage, share: number | null): number | null {
    return share === null || share === 0 ? null : (this.elapsedSec(stage) * (1 - share)) / share
  }

  private elapsedSec({ startedMs }: Stage): number {
    return (this.nowMs() - startedMs) / 1000
  }
}

const barWidth = 12

function placeOf({ index, of }: StageStart): string {
  return `stage ${index}/${of}`
}

/** `12/s`, `3.4/min`; null before anything is done. */
function renderRate(done: number, sec: number): string | null {
  if (done === 0 || sec < 0.5) return null
  const perSec = done / sec
  const [rate, unit] = perSec >= 1 ? [perSec, 's'] : perSec * 60 >= 1 ? [perSec * 60, 'min'] : [perSec * 3600, 'h']
  return `${rate >= 100 ? renderCount(Math.round(rate)) : rate >= 10 ? rate.toFixed(0) : rate.toFixed(1)}/${unit}`
}

/** Lines at the bottom of a terminal that are redrawn in place. */
class Block {
  private height = 0
  private readonly write: (text: string) => unknown
  private readonly hasColor: boolean
  constructor(screen: Screen, env: Readonly<Record<string, string | undefined>>) {
    this.write = pastGuard(screen)
    // https://no-color.org: any non-empty value.
    this.hasColor = (env.NO_COLOR ?? '') === ''
  }

  private shown: readonly string[] = []

  draw(lines: readonly string[]): void {
    if (lines.length === 0 && this.height === 0) return
    this.write(`${this.clear()}${lines.map((line) => `${this.colored(line)}\n`).join('')}`)
    this.height = lines.length
    this.shown = lines
  }

  /** Prints a permanent line above the redrawn area. */
  above(line: string): void {
    const { shown } = this
    this.write(`${this.clear()}${this.colored(line)}\n`)
    this.height = 0
    this.draw(shown)
  }

  private clear(): string {
    return `${this.height > 0 ? `\u001b[${this.height}A` : ''}\r\u001b[J`
  }

  private colored(line: string): string {
    const plain = visible(line)
    if (!this.hasColor) return plain
    return plain
      .replace(/^stage \d+\/\d+/, (place) => `\u001b[36m${place}\u001b[39m`)
      .replace(/\[(#+)/, (_, done: string) => `[\u001b[32m${done}\u001b[39m`)
      .replace(/: 0 rows/, `: \u001b[33m0 rows\u001b[39m`)
  }
}
