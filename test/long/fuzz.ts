import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { makeRandom, type Random } from '../../src/lib/random.ts'

/** Parses untrusted bytes, from memory or from a file. */
export interface ForeignParser {
  readonly name: string
  /** Valid inputs, from which the others are derived. */
  readonly samples: readonly (string | Uint8Array)[]
  /** The file's extension; absent if it reads no file. */
  readonly ending?: string
  read(input: { readonly bytes: Buffer; readonly text: string; readonly path: string }): unknown
  /** Names of the errors it may throw besides UserError; its callers convert them. */
  readonly errors?: readonly string[]
}

export interface Hunt {
  readonly seed: number
  readonly milliseconds: number
  /** An input that takes more CPU time counts as a hang; CPU time, because other tests run at the same time. */
  readonly slowSec: number
}

export interface Found {
  readonly problem: string
  readonly input: Buffer
}

/** Feeds a parser damaged input until the time is up; the same seed gives the same inputs in the same order. */
export async function hunt(parser: ForeignParser, { seed, milliseconds, slowSec }: Hunt): Promise<Found | number> {
  const samples = parser.samples.map((sample) => Buffer.from(sample as string))
  const path = join(tmpdir(), `ot-agent-fuzz-${process.pid}-${Math.abs(seed)}${parser.ending ?? ''}`)
  const until = performance.now() + milliseconds
  const watch = watchdog({
    name: parser.name,
    seed,
    limitSec: slowSec * 12,
    path: parser.ending === undefined ? null : path,
  })
  let nth = 0
  try {
    for (; nth < samples.length + 5 || performance.now() < until; nth++) {
      const input =
        nth < samples.length ? (samples[nth] as Buffer) : damaged(makeRandom(seed, `${parser.name} ${nth}`), samples)
      watch.beat(nth)
      if (parser.ending !== undefined) await writeFile(path, input)
      const begun = process.cpuUsage()
      const isSample = nth < samples.length
      const problem = await problemWith(isSample ? { ...parser, isSound: true } : parser, {
        bytes: input,
        text: input.toString('utf8'),
        path,
      })
      const { user, system } = process.cpuUsage(begun)
      const took = (user + system) / 1e6
      if (problem !== null) return { problem: `case ${nth}: ${problem}`, input }
      if (took > slowSec) return { problem: `case ${nth}: took ${took.toFixed(1)} s of processor time`, input }
    }
    return nth
  } finally {
    await watch.stop()
    await rm(path, { force: true })
  }
}

/** A valid input has to be accepted: if it were refused outright, nothing more would be tested. */
async function problemWith(
  parser: ForeignParser & { readonly isSound?: boolean },
  input: Parameters<ForeignParser['read']>[0],
): Promise<string | null> {
  try {
    const read = await parser.read(input)
    // A stream is read to its end.
    if (Symbol.asyncIterator in Object(read)) for await (const _ of read as AsyncIterable<unknown>);
    else if (typeof read === 'object' && read !== null && Symbol.iterator in read && !Array.isArray(read))
      for (const _ of read as Iterable<unknown>);
    return null
  } catch (error) {
    if (parser.isSound) return `refused a sound input: ${error}`
    const name = error instanceof Error ? error.name : typeof error
    const kind = error instanceof Error ? error.constructor.name : name
    if (name === 'UserError' || parser.errors?.includes(name) || parser.errors?.includes(kind)) return null
    return `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
  }
}

interface Watched {
  readonly name: string
  readonly seed: number
  readonly limitSec: number
  /** The file that holds the input; it is kept in .scratch. */
  readonly path: string | null
}

/** Kills this process with a message if an input is read forever: nothing else can interrupt it. */
function watchdog(watched: Watched) {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const code = `
    const { workerData: { beats, name, seed, limitSec, path } } = require('node:worker_threads')
    const fs = require('node:fs')
    let last = -1, since = Date.now()
    setInterval(() => {
      const now = Atomics.load(beats, 0)
      if (now !== last) { last = now; since = Date.now() }
      else if (Date.now() - since > limitSec * 1000) {
        fs.writeSync(2, 'fuzzing: ' + name + ' hangs, OT_AGENT_FUZZ_SEED=' + seed + ', case ' + now + '\\n')
        fs.mkdirSync('.scratch', { recursive: true })
        if (path !== null) fs.copyFileSync(path, '.scratch/' + require('node:path').basename(path))
        process.kill(process.pid, 'SIGKILL')
      }
    }, 500)`
  const worker = new Worker(code, { eval: true, workerData: { beats, ...watched } })
  worker.unref()
  return { beat: (nth: number) => void Atomics.store(beats, 0, nth), stop: () => worker.terminate() }
}

/** Strings that parsers stumble over. */
const tokens = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '\\',
    '\n',
    '\r',
    '\t',
    '\0',
    ':',
    ',',
    '-',
    '&a',
    '*a',
    '<<: *a',
    '!!js/x',
    '---\n',
    '<',
    '>',
    '&',
    ']]>',
  ],
  ...[
    'null',
    'true',
    '-1',
    '0',
    '1e309',
    '-0',
    '9007199254740993',
    '4294967296',
    'NaN',
    '__proto__',
    'constructor',
    'toString',
  ],
  ...[
    '\ud800',
    '\ufeff',
    '\u0000',
    '../',
    '/',
    '$(x)',
    '${x}',
    '${',
    '{{',
    '%s',
    '=',
    '#',
    '|',
    '2026-13-45T99:99:99Z',
    '\x1b]0;x\x07',
  ],
]

function damaged(random: Random, samples: readonly Buffer[]): Buffer {
  let bytes = Buffer.from(random.pick(samples))
  const times = 1 + random.below(random.next() < 0.2 ? 30 : 4)
  for (let i = 0; i < times; i++) bytes = Buffer.from(damage(random, bytes, samples))
  return bytes.subarray(0, 1 << 20)
}

function damage(random: Random, bytes: Buffer, samples: readonly Buffer[]): Uint8Array {
  const at = random.below(bytes.length + 1)
  const length = random.below(random.next() < 0.5 ? 8 : Math.max(1, bytes.length - at))
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (random.below(9)) {
    case 0:
      return before
    case 1:
      return Buffer.concat([before, after.subarray(length)])
    case 2:
      return Buffer.concat([before, after.subarray(0, length), after])
    case 3:
      return Buffer.concat([before, Buffer.from(random.pick(tokens)), after])
    case 4:
      return Buffer.concat([before, Buffer.from(random.pick(tokens)), after.subarray(length)])
    case 5:
      return Buffer.concat([before, Buffer.from(random.pick(tokens).repeat(1 + random.below(3000))), after])
    case 6: {
      const other = random.pick(samples)
      const from = random.below(other.length + 1)
      return Buffer.concat([before, other.subarray(from, from + random.below(200)), after])
    }
    case 7: {
      const changed = Buffer.from(bytes)
      for (let i = 0; i <= length % 8; i++)
        if (changed.length > 0) changed[random.below(changed.length)] = random.below(256)
      return changed
    }
    default:
      return otherValue(random, bytes)
  }
}

/** Replaces a value in JSON, YAML or TOML with another one: such input gets past the syntax. */
function otherValue(random: Random, bytes: Buffer): Uint8Array {
  const text = bytes.toString('latin1')
  const places = [...text.matchAll(/"(?:[^"\\\n]|\\.)*"|\btrue\b|\bfalse\b|\bnull\b|-?\d+(?:\.\d+)?/g)].slice(0, 2000)
  if (places.length === 0) return bytes
  const { index, 0: old } = random.pick(places)
  const value = random.pick([
    'null',
    '[]',
    '{}',
    '""',
    '0',
    '-1',
    '1e999',
    'true',
    '"x"',
    '[[]]',
    '{"__proto__":1}',
    '"\\ud800"',
    '99999999999999999999',
  ])
  return Buffer.concat([bytes.subarray(0, index), Buffer.from(value), bytes.subarray(index + old.length)])
}
