import { oneLine, visibleJson } from '../lib/visible.ts'

/** Writes a result for a machine: one JSON document on stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(value, null, 2))}\n`)
}

/** Writes a result for a person: columns aligned, header first. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const table = [header, ...rows].map((row) => row.map(oneLine))
  const widths = header.map((_, i) => table.reduce((widest, row) => Math.max(widest, row[i]?.length ?? 0), 0))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  process.stdout.write(`${table.map(line).join('\n')}\n`)
}

/** News for a person while something runs, on stderr so that stdout stays the result. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`)
}
