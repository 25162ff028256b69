import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import type { DownloadOptions } from '../../core/sandbox.ts'
import { extractTar } from '../../lib/extract.ts'
import { packDirToBytes } from '../../lib/tar.ts'
import { fromInside, limitsOf, transferFailure } from '../common/transfer-rules.ts'
import type { CloudMachine, ScriptResult } from './machine.ts'
import { home, scriptWith } from './scripts.ts'

function place(): string {
  return `${home}/carried-${randomBytes(6).toString('hex')}`
}

/** Writes a whole file, whatever was in its place. */
export async function writeFile(
  machine: CloudMachine,
  path: string,
  data: string | Uint8Array,
  mode: number,
): Promise<void> {
  const carried = place()
  await machine.put(carried, Buffer.from(data))
  const script = 'mkdir -p "$(dirname "$2")" && cat "$1" > "$2" && chmod "$3" "$2"; code=$?; rm -f "$1"; exit $code'
  const result = await machine.run(scriptWith(script, [carried, posix.resolve('/', path), mode.toString(8)]))
  if (result.exitCode !== 0) throw transferFailure(`cannot write ${path}: ${complaint(result)}`)
}

/** Copies a host directory's contents into a directory inside, owned by root: one archive, one upload. */
export async function uploadDir(machine: CloudMachine, source: string, target: string): Promise<void> {
  const carried = place()
  await machine.put(carried, await packDirToBytes(source, { links: 'keep', modes: 'kept', special: 'skip' }))
  const script = 'mkdir -p "$2" && tar -xzf "$1" --no-same-owner -C "$2"; code=$?; rm -f "$1"; exit $code'
  const result = await machine.run(scriptWith(script, [carried, target]))
  if (result.exitCode !== 0) throw transferFailure(`cannot copy ${source} to ${target}: ${complaint(result)}`)
}

/** Copies a directory's contents to the host through one archive, which is not trusted. */
export async function downloadDir(
  machine: CloudMachine,
  source: string,
  target: string,
  options: DownloadOptions,
): Promise<void> {
  const carried = place()
  const { limitBytes } = limitsOf(options)
  // Headers and padding need room too; an archive cut off beyond that is refused on unpacking.
  const room = 2 * limitBytes + (16 << 20)
  const excludes = (options.exclude ?? []).map((pattern) => `--exclude=${pattern}`)
  const script = `f=$1 src=$2 room=$3; shift 3
{ tar -C "$src" "$@" -cf - . 2> "$f.err"; echo $? > "$f.code"; } | head -c "$room" | gzip -1 > "$f"
code=$(cat "$f.code"); cat "$f.err" >&2; rm -f "$f.err" "$f.code"; exit "$code"`
  try {
    const result = await machine.run(scriptWith(script, [carried, source, room, ...excludes]))
    // tar exits with 1 when a file changed while being read, and dies by a signal when its reader stops early.
    if (result.exitCode > 1 && result.exitCode < 128)
      throw transferFailure(`cannot copy ${source}: ${complaint(result)}`)
    const bytes = await machine.get(carried, room)
    await extractTar(bytes, target, { ...fromInside, ...limitsOf(options) }).catch((error: unknown) => {
      throw transferFailure(`cannot copy ${source}: ${String(error)}`, error)
    })
  } finally {
    await machine.run(scriptWith('rm -f "$1" "$1.err" "$1.code"', [carried])).catch(() => {})
  }
}

function complaint({ stderr }: ScriptResult): string {
  return stderr.trim().slice(0, 500) || 'no reason given'
}
