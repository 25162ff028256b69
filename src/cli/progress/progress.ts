import type { JobWatch } from '../../app/job/perform-job.ts'
import { describeEnd } from '../../core/trial.ts'
import { visible } from '../../lib/visible.ts'
import { pastGuard, type Screen } from '../guard-output.ts'
import { renderLine, renderTable } from './render.ts'
import type { Tally } from './tally.ts'

/** Shows a person how a job goes; must be stopped, so that the last state stays on the screen. */
export interface Progress extends JobWatch {
  started(trial: { readonly name: string }): void
  stop(): void
}

const redrawMs = 200
const lineEveryMs = 10_000
/** A job this small tells of each trial. */
const fewTrials = 50

/** A table that redraws itself on a terminal, plain lines anywhere else or when verbose, nothing when quiet. */
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
      tell(`${record.name}: ${describeEnd(record.end)}; tried again in ${waitSec} s`)
    },
    ended: (record) => {
      tally.ended(record.name)
      tell(`${record.name}: ${describeEnd(record.end)}`)
    },
    stop,
  }
}
