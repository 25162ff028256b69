import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { findProgram, messageOf, spawnProcess, UserError } from 'ot-agent'

/**
 * The bytes of a dump: a plain file, a gzip file, or `Posts.xml` inside a .7z, unpacked through a pipe by another
 * program.
 */
export function openDump(path: string, signal: AbortSignal): AsyncIterable<Buffer> {
  if (/\.7z$/i.test(path)) return unpack(path, signal)
  const file = createReadStream(path, { highWaterMark: 1 << 20, signal })
  return /\.gz$/i.test(path) ? gunzip(path, file) : file
}

async function* gunzip(path: string, file: Readable): AsyncGenerator<Buffer, void, void> {
  const plain = pipeline(file, createGunzip(), () => {})
  try {
    yield* plain as AsyncIterable<Buffer>
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))) throw error
    throw new UserError(
      `${path}: expected a file packed with gzip, got ${messageOf(error)}`,
      'check that the file is complete',
    )
  }
}

/** Programs that can unpack, and how to make each write one member to its standard output. */
const unpackers: Readonly<Record<string, readonly string[]>> = {
  '7zz': ['x', '-so', '-bd', '-y'],
  '7z': ['x', '-so', '-bd', '-y'],
  '7za': ['x', '-so', '-bd', '-y'],
  '7zr': ['x', '-so', '-bd', '-y'],
  bsdtar: ['-xOf'],
}

async function* unpack(path: string, signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
  const [name = '', program] = await findUnpacker(path)
  const words = [...(unpackers[name] ?? []), ...(name === 'bsdtar' ? [path, 'Posts.xml'] : ['--', path, 'Posts.xml'])]
  const child = await spawnProcess(program, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  })
  const ended = once(child, 'close')
  ended.catch(() => {})
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString('utf8')).slice(-500)
  })
  const stop = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  let isDone = false
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const [code] = await ended
    isDone = true
    signal.throwIfAborted()
    if (code !== 0)
      throw new UserError(
        `${path}: expected a .7z that holds Posts.xml, ${name} says: ${oneLine(complaint)}`,
        'check that the file is complete',
      )
  } finally {
    signal.removeEventListener('abort', stop)
    if (!isDone) stop()
  }
}

async function findUnpacker(path: string): Promise<[name: string, program: string]> {
  for (const name of Object.keys(unpackers)) {
    const program = findProgram(name)
    if (program !== null) return [name, program]
  }
  throw new UserError(
    `${path}: expected one of ${Object.keys(unpackers).join(', ')} on this machine to unpack it, found none`,
    'install the Debian package 7zip or libarchive-tools, or unpack Posts.xml yourself and name that file',
  )
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim() || 'nothing'
}
