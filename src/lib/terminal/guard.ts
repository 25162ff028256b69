import type { Terminal } from '@xterm/headless'

/** Sequences whose first number is how often to do something: insert, delete and scroll lines or columns, move by tabs. */
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
 * The emulator does as often as it is told, one after the other; a program that says two thousand million would stop
 * every terminal of this process. What is far beyond the screen is left out, and a character is repeated for one row at most.
 */
export function refuseEndlessSequences(emulator: Terminal): void {
  const most = 10_000
  for (const id of counted) emulator.parser.registerCsiHandler(id, ([count]) => Number(count ?? 0) > most)
  emulator.parser.registerCsiHandler({ final: 'b' }, ([count]) => Number(count ?? 0) > emulator.cols)
}
