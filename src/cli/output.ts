import { StringDecoder } from 'node:string_decoder'
import { oneLine, visible, visibleJson } from '../lib/visible.ts'

/** Writes a result for machines: one JSON document on stdout. */
export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(value, null, 2))}\n`)
}

/** Writes a result for people: aligned columns, header first. */
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

/** Prints a notice while something runs, on stderr so that stdout stays the result. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** A text output that a person sees. */
export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const unguarded = new WeakMap<object, (text: string) => unknown>()

/**
 * Escapes everything written to a stream from now on. Task names, agent output, server errors and dataset cells all end
 * up here, and a command cannot forget to escape them.
 */
export function guardOutput(stream: NodeJS.WriteStream): void {
  if (unguarded.has(stream)) return
  const write = stream.write.bind(stream)
  const end = stream.end.bind(stream)
  unguarded.set(stream, (text) => write(text))
  const decoder = new StringDecoder('utf8')
  const textOf = (chunk: string | Uint8Array, encoding: unknown) => {
    if (typeof chunk !== 'string') return visible(decoder.write(Buffer.from(chunk)))
    const isText = typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)
    return visible(isText ? chunk : decoder.write(Buffer.from(chunk, encoding as BufferEncoding)))
  }
  type Done = (error?: Error | null) => void
  const given = (...args: unknown[]) => args.find((each): each is Done => typeof each === 'function')
  stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown) =>
    write(textOf(chunk, encoding), given(encoding, done))
  stream.end = (chunk?: unknown, encoding?: unknown, done?: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) write(textOf(chunk, encoding))
    return end(given(chunk, encoding, done))
  }
}

/** Bypasses a stream's guard for our own cursor movements; the text between them must have gone through `visible`. */
export function pastGuard(screen: Screen): (text: string) => unknown {
  return unguarded.get(screen) ?? ((text) => screen.write(text))
}
