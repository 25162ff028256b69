import { posix } from 'node:path'
import { PassThrough } from 'node:stream'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { DownloadOptions } from '../../core/sandbox.ts'
import { extractTar } from '../../lib/extract.ts'
import { tarDir } from '../../lib/tar.ts'
import {
  downloadLimitBytes,
  fromInside,
  readLimitBytes,
  transferFailure,
  writeScript,
} from '../common/transfer-rules.ts'
import type { Commands } from './commands.ts'
import type { Engine } from './engine.ts'

const asRoot = { user: '0', cwd: '/' } as const

/** The bytes of a file inside. */
export async function readFile(commands: Commands, path: string): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let bytes = 0
  const complaint = new Complaint()
  const stop = new AbortController()
  const stdout = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > readLimitBytes) stop.abort()
    else chunks.push(chunk)
    return true
  }
  const sinks = { stdout, stderr: complaint.take }
  const code = await commands
    .stream(['cat', '--', path], { ...asRoot, sinks, signal: stop.signal })
    .catch((error: unknown) => {
      if (stop.signal.aborted) throw transferFailure(`cannot read ${path}: larger than ${readLimitBytes} bytes`)
      throw error
    })
  if (code !== 0) throw transferFailure(`cannot read ${path}: ${complaint.text()}`)
  return Buffer.concat(chunks)
}

/** Writes a file inside, whole. */
export async function writeFile(
  commands: Commands,
  path: string,
  data: string | Uint8Array,
  mode: number,
): Promise<void> {
  const argv = ['sh', '-c', writeScript, 'sh', path, mode.toString(8)]
  const result = await commands.exec(argv, { ...asRoot, stdin: data })
  if (result.exitCode !== 0) throw transferFailure(`cannot write ${path}: ${result.stderr.trim()}`)
}

/** Copies a host directory's contents into a directory inside, as root's files. The engine unpacks, with no help from inside. */
export async function uploadDir(engine: Engine, commands: Commands, source: string, target: string): Promise<void> {
  const made = await commands.exec(['mkdir', '-p', '--', target], asRoot)
  if (made.exitCode !== 0) throw transferFailure(`cannot copy ${source} to ${target}: ${made.stderr.trim()}`)
  const path = posix.normalize(target)
  const tar = tarDir(source, { links: 'keep', special: 'skip', modes: 'kept' })
  try {
    await engine.ask({ method: 'PUT', path: `/containers/${commands.container}/archive`, query: { path }, tar })
  } catch (error) {
    if (error instanceof BoundaryError && error.code === 'SandboxGoneError') throw error
    throw transferFailure(`cannot copy ${source} to ${target}: ${messageOf(error)}`)
  }
}

/** Copies a directory's contents to the host by way of tar, whose output is not trusted. */
export async function downloadDir(
  commands: Commands,
  source: string,
  target: string,
  options: DownloadOptions,
): Promise<void> {
  const excludes = (options.exclude ?? []).map((pattern) => `--exclude=${pattern}`)
  const complaint = new Complaint()
  const pipe = new PassThrough()
  const stop = new AbortController()
  pipe.on('error', () => {})
  const sinks = { stdout: (chunk: Buffer) => pipe.destroyed || pipe.write(chunk), stderr: complaint.take }
  const code = commands
    .stream(['tar', '-C', source, ...excludes, '-cf', '-', '.'], {
      ...asRoot,
      sinks,
      signal: stop.signal,
      onStart: (resume) => pipe.on('drain', resume),
    })
    .finally(() => pipe.end())
  const limitBytes = options.limitBytes ?? downloadLimitBytes
  const [ended, extracted] = await Promise.allSettled([
    code,
    extractTar(pipe, target, { ...fromInside, limitBytes }).catch((error: unknown) => {
      stop.abort()
      pipe.resume()
      throw error
    }),
  ])
  if (ended.status === 'rejected' && !stop.signal.aborted) throw ended.reason
  // tar ends with 1 when a file changed while it was read; what it wrote is still whole.
  if (ended.status === 'fulfilled' && ended.value > 1)
    throw transferFailure(`cannot copy ${source}: ${complaint.text()}`)
  if (extracted.status === 'rejected') throw transferFailure(`cannot copy ${source}: ${String(extracted.reason)}`)
}

class Complaint {
  private said = ''
  readonly take = (chunk: Buffer): boolean => {
    if (this.said.length < 1000) this.said += chunk
    return true
  }
  text(): string {
    return this.said.trim().slice(0, 500) || 'no reason given'
  }
}
