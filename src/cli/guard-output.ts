import { StringDecoder } from 'node:string_decoder'
import { visible } from '../lib/visible.ts'

/** Where text is written that a person sees. */
export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const unguarded = new WeakMap<object, (text: string) => unknown>()

/**
 * Escapes everything that is written to a stream from now on: names of tasks, output of agents, errors of
 * servers and dataset cells all end up here, and a command cannot forget to escape them.
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

/** A stream past its guard, for our own cursor movements: the text between them must have gone through `visible`. */
export function pastGuard(screen: Screen): (text: string) => unknown {
  return unguarded.get(screen) ?? ((text) => screen.write(text))
}
