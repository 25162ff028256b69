import type { Terminal } from '@xterm/headless'

/** Sequences whose first number is a repeat count: insert, delete and scroll lines or columns, move by tabs. */
const counted = [
  { final: 'I' },
  { final: 'Z' },
  { final: 'L' },
  { final: 'M' },
  { final: 'S' },
  { final: 'T' },
  { final: '@' },
  { final: 'P' },
  { final: 'X' },
  { intermediates: ' ', final: '@' },
  { intermediates: ' ', final: 'A' },
  { intermediates: "'", final: '}' },
  { intermediates: "'", final: '~' },
]

/**
 * The emulator repeats an action as often as it is told; a program that asks for two billion would stall every terminal
 * of this process. Sequences with counts far beyond the screen are ignored, as are repeats of a character over more than
 * a row.
 */
export function refuseEndlessSequences(emulator: Terminal): void {
  const most = 10_000
  for (const id of counted) emulator.parser.registerCsiHandler(id, ([count]) => Number(count ?? 0) > most)
  emulator.parser.registerCsiHandler({ final: 'b' }, ([count]) => Number(count ?? 0) > emulator.cols)
}
