import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BoundaryError } from '../../core/errors.ts'
import type { DownloadOptions } from '../../core/sandbox.ts'
import { extractTar } from '../../lib/extract.ts'
import { held } from '../local/held.ts'
import { cleanEnv } from '../local/holder.ts'
import type { Instance } from './instance.ts'

/** The largest file `read` takes into memory. */
const readLimitBytes = 512 * 2 ** 20
const downloadLimitBytes = 2 ** 30
const asRoot = { user: 'root', cwd: '/' } as const
/** How an archive made inside is unpacked: what leaves the tree is dropped, the rest kept as it was. */
const hostile = { links: 'inside', onRefused: 'drop', modes: 'kept', backslashes: 'keep', existing: 'merge' } as const

/** The bytes of a file inside. */
export async function readFile(instance: Instance, path: string): Promise<Uint8Array> {
  return withCommand(instance, ['cat', '--', path], async (child, complaint) => {
    child.stdin?.end()
    const ended = exitCode(child)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of held(child.stdout as Readable)) {
      bytes += (chunk as Buffer).length
      if (bytes > readLimitBytes) throw fail(`cannot read ${path}: larger than ${readLimitBytes} bytes`)
      chunks.push(chunk as Buffer)
    }
    if ((await ended) !== 0) throw fail(`cannot read ${path}: ${complaint()}`)
    return Buffer.concat(chunks)
  })
}

/** Writes a file inside, whole. */
export async function writeFile(
  instance: Instance,
  path: string,
  data: string | Uint8Array,
  mode: number,
): Promise<void> {
  const script = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"'
  const argv = ['sh', '-c', script, 'sh', path, mode.toString(8)]
  const result = await instance.exec(argv, { ...asRoot, stdin: data })
  if (result.exitCode !== 0) throw fail(`cannot write ${path}: ${result.stderr.trim()}`)
}

/** Copies a host directory's contents into a directory inside, as root's files. */
export async function uploadDir(instance: Instance, source: string, target: string): Promise<void> {
  const script = 'mkdir -p "$1" && exec tar -xf - -C "$1"'
  await withCommand(instance, ['sh', '-c', script, 'sh', target], async (child, complaint) => {
    const packing = ['-C', source, '--owner=0', '--group=0', '--numeric-owner', '-cf', '-', '.']
    const packer = spawn('tar', packing, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...cleanEnv, LC_ALL: 'C.UTF-8' } })
    const complaints = [complaint, complaintOf(packer)]
    child.stdout?.resume()
    const codes = [exitCode(child), exitCode(packer)]
    // A broken pipe shows in the exit codes, with the reason.
    if (child.stdin) await pipeline(packer.stdout, child.stdin).catch(() => {})
    const failed = (await Promise.all(codes)).findIndex((code) => code !== 0)
    if (failed >= 0) throw fail(`cannot copy ${source} to ${target}: ${complaints[failed]?.()}`)
  })
}

/** Copies a directory's contents to the host by way of tar, whose output is not trusted. */
export async function downloadDir(
  instance: Instance,
  source: string,
  target: string,
  { exclude = [], limitBytes = downloadLimitBytes }: DownloadOptions,
): Promise<void> {
  const excludes = exclude.map((pattern) => `--exclude=${pattern}`)
  await withCommand(instance, ['tar', '-C', source, ...excludes, '-cf', '-', '.'], async (child, complaint) => {
    child.stdin?.end()
    const code = exitCode(child)
    const problem = await extractTar(held(child.stdout as Readable), target, { ...hostile, limitBytes }).then(
      () => null,
      (error: unknown) => error,
    )
    if (problem !== null) child.kill('SIGKILL')
    // tar ends with 1 when a file changed while it was read; what it wrote is still whole.
    if (problem === null && (await code) > 1) throw fail(`cannot copy ${source}: ${complaint()}`)
    if (problem !== null) throw fail(`cannot copy ${source}: ${String(problem)}`)
  })
}

async function withCommand<T>(
  instance: Instance,
  argv: readonly string[],
  work: (child: ChildProcess, complaint: () => string) => Promise<T>,
): Promise<T> {
  const { child, group } = instance.spawn(argv, asRoot)
  try {
    return await work(child, complaintOf(child))
  } finally {
    await group.kill()
    child.kill('SIGKILL')
    instance.release(group)
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

function fail(message: string): BoundaryError {
  return new BoundaryError('sandbox', message, { code: 'TransferError', retryable: false })
}
