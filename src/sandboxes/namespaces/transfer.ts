import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { DownloadOptions, ExecOptions, ExecResult } from '../../core/sandbox.ts'
import { extractTar } from '../../lib/extract.ts'
import { codeOf } from '../../lib/files.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { fromInside, limitsOf, readLimitBytes, transferFailure, writeScript } from '../common/transfer-rules.ts'
import { cleanEnv } from './as-root-inside.ts'
import { held } from './run-to-end.ts'

/** The operations on a local sandbox that copying files in and out needs. */
export interface Inside {
  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult>
  /** Starts a command whose streams the caller handles; `done` must be called once it is not needed any more. */
  spawn(
    argv: readonly string[],
    options?: ExecOptions,
  ): Promise<{ readonly child: ChildProcess; done(): Promise<void> }>
}

const asRoot = { user: 'root', cwd: '/' } as const

/** The bytes of a file inside. */
export async function readFile(inside: Inside, path: string): Promise<Uint8Array> {
  return withCommand(inside, ['cat', '--', path], async (child, complaint) => {
    child.stdin?.end()
    const ended = exitCode(child)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of held(child.stdout as Readable)) {
      bytes += (chunk as Buffer).length
      if (bytes > readLimitBytes) throw transferFailure(`cannot read ${path}: larger than ${readLimitBytes} bytes`)
      chunks.push(chunk as Buffer)
    }
    if ((await ended) !== 0) throw transferFailure(`cannot read ${path}: ${complaint()}`)
    return Buffer.concat(chunks)
  })
}

/** Writes a whole file inside. */
export async function writeFile(inside: Inside, path: string, data: string | Uint8Array, mode: number): Promise<void> {
  const argv = ['sh', '-c', writeScript, 'sh', path, mode.toString(8)]
  const result = await inside.exec(argv, { ...asRoot, stdin: data })
  if (result.exitCode !== 0) throw transferFailure(`cannot write ${path}: ${result.stderr.trim()}`)
}

/** Copies a host directory's contents into a directory inside, owned by root. */
export async function uploadDir(inside: Inside, source: string, target: string): Promise<void> {
  const script = 'mkdir -p "$1" && exec tar -xf - -C "$1"'
  await withCommand(inside, ['sh', '-c', script, 'sh', target], async (child, complaint) => {
    const packing = ['-C', source, '--owner=0', '--group=0', '--numeric-owner', '-cf', '-', '.']
    const unpacked = exitCode(child)
    child.stdout?.resume()
    const env = { ...cleanEnv, LC_ALL: 'C.UTF-8' }
    const packer = await spawnProcess('tar', packing, { stdio: ['ignore', 'pipe', 'pipe'], env })
    const complaints = [complaint, complaintOf(packer)]
    const codes = [unpacked, exitCode(packer)]
    // A broken pipe shows in the exit codes, with the reason.
    if (child.stdin) await pipeline(packer.stdout, child.stdin).catch(() => {})
    const failed = (await Promise.all(codes)).findIndex((code) => code !== 0)
    if (failed >= 0) throw transferFailure(`cannot copy ${source} to ${target}: ${complaints[failed]?.()}`)
  })
}

/** Copies a directory's contents to the host through tar, whose output is not trusted. */
export async function downloadDir(
  inside: Inside,
  source: string,
  target: string,
  { exclude = [], ...limits }: DownloadOptions,
): Promise<void> {
  const excludes = exclude.map((pattern) => `--exclude=${pattern}`)
  await withCommand(inside, ['tar', '-C', source, ...excludes, '-cf', '-', '.'], async (child, complaint) => {
    child.stdin?.end()
    const code = exitCode(child)
    const output = held(child.stdout as Readable)
    await extractTar(output, target, { ...fromInside, ...limitsOf(limits) }).catch((error: unknown) => {
      throw transferFailure(`cannot copy ${source}: ${String(error)}`, error)
    })
    // tar exits with 1 when a file changed while being read; its output is still complete.
    if ((await code) > 1) throw transferFailure(`cannot copy ${source}: ${complaint()}`)
  })
}

async function withCommand<T>(
  inside: Inside,
  argv: readonly string[],
  work: (child: ChildProcess, complaint: () => string) => Promise<T>,
): Promise<T> {
  const { child, done } = await inside.spawn(argv, asRoot)
  try {
    return await work(child, complaintOf(child))
  } finally {
    child.kill('SIGKILL')
    await done()
  }
}

async function exitCode(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null) return child.exitCode
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 137
}

function complaintOf(child: ChildProcess): () => string {
  let text = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < 1000) text += chunk
  })
  child.on('error', () => {})
  return () => text.trim().slice(0, 500) || 'no reason given'
}

const logNames = ['agent', 'verifier', 'artifacts']

/**
 * Makes a directory for /logs with an empty `verifier`; the rest is moved from the previous one. Nothing may run inside
 * at that time.
 */
export function makeLogsDir(dir: string, previous: string | null): void {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o755)
  for (const name of logNames) {
    const path = join(dir, name)
    if (previous !== null && name !== 'verifier') moveIfThere(join(previous, name), path)
    // A program inside may have left a link in its place; checked only after the move, when no program can reach it.
    const there = lstatSync(path, { throwIfNoEntry: false })
    if (!there?.isDirectory()) {
      if (there) rmSync(path, { force: true })
      mkdirSync(path)
    }
    openToAll(path)
  }
}

/**
 * A directory that a program gave to another user of an ordinary user's sandbox is not ours to change; it could be
 * moved, so we may use it.
 */
function openToAll(dir: string): void {
  try {
    chmodSync(dir, 0o777)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    // A program inside removed it.
  }
}
