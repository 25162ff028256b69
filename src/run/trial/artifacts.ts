import { readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { basename, extname, join, normalize, sep } from 'node:path'
import { z } from 'zod'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { Sandbox } from '../../core/sandbox.ts'
import type { Artifact } from '../../core/task.ts'
import { sandboxPaths } from '../../core/task-paths.ts'
import { chmod, list, lstatOrNull, mkdir, remove } from '../../lib/disk.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { dropLeavingLinks } from '../../lib/tree-writer.ts'
import { isDiskFull } from '../exhausted.ts'
import { atBoundary, bestEffort } from './boundary.ts'
import type { Round, TrialContext } from './context.ts'

const savedSchema = z.object({
  source: z.string(),
  /** Below the round's directory: `artifacts` or `artifacts/<name>`. */
  destination: z.string().regex(/^artifacts(\/(?!\.\.(\/|$))[^/]+)*$/),
  type: z.enum(['file', 'directory']),
  /** `skipped`: another entry of a Harbor manifest has the same destination. */
  status: z.enum(['ok', 'failed', 'empty', 'skipped']),
  /** The compose service it came from, in Harbor's manifests; the agent's own if absent. */
  service: z.string().nullish(),
})

/** One entry of `artifacts/manifest.json`, spelt as Harbor spells it. */
export type SavedArtifact = Readonly<z.output<typeof savedSchema>>

/** Anything left here is kept without being declared. */
const conventionDir = sandboxPaths.artifacts
const fileLimitBytes = 256 * 1024 * 1024
const limitSec = 600

/**
 * Downloads the declared artifacts and `/logs/artifacts` as far as possible, and records in a manifest what arrived.
 */
export async function saveArtifacts(
  context: TrialContext,
  lease: Sandbox,
  round: Round,
): Promise<readonly SavedArtifact[]> {
  const saved: SavedArtifact[] = []
  await bestEffort('artifacts', limitSec, context, async (signal) => {
    saved.push(...(await saveConvention(context, lease, round, signal)))
    const found = await probe(lease, round.artifacts, signal)
    for (const [i, artifact] of round.artifacts.entries()) {
      saved.push(await saveOne(context, lease, round, { artifact, found: found[i] ?? { kind: 'missing' } }))
      signal.throwIfAborted()
    }
  })
  // Each copy kept only links that stay inside it; combined, they could still lead out.
  await atBoundary('store', context.signal, () => dropLeavingLinks(join(round.dir, 'artifacts')))
  // An abandoned download may still add to the list.
  const settled = [...saved]
  if (settled.length > 0) {
    const text = `${JSON.stringify(settled, null, 2)}\n`
    await atBoundary('store', context.signal, () => writeAtomic(manifestOf(round.dir), text))
  }
  return settled
}

/** The contents of `/logs/artifacts` were not promised, so an empty one is not reported. */
async function saveConvention(
  context: TrialContext,
  lease: Sandbox,
  round: Round,
  signal: AbortSignal,
): Promise<SavedArtifact[]> {
  const target = join(round.dir, 'artifacts')
  await remove(target)
  const entry = { source: conventionDir, destination: 'artifacts', type: 'directory' } as const
  try {
    await lease.downloadDir(conventionDir, target)
    // Abandoned: a manifest that exists by now is ours.
    if (signal.aborted) return []
    await remove(manifestOf(round.dir))
    return (await list(target)).length > 0 ? [{ ...entry, status: 'ok' }] : []
  } catch (error) {
    if (isDiskFull(error)) throw error
    if (signal.aborted) return []
    context.log(`artifact ${conventionDir}: ${messageOf(error)}`)
    await rm(target, { recursive: true, force: true })
    return [{ ...entry, status: 'failed' }]
  }
}

function manifestOf(roundDir: string): string {
  return join(roundDir, 'artifacts', 'manifest.json')
}

/** The kept artifacts listed in a manifest; none when it is missing or unreadable. */
export async function loadManifest(roundDir: string): Promise<readonly SavedArtifact[]> {
  const text = await readTextIfExists(manifestOf(roundDir))
  try {
    return text === null ? [] : z.array(savedSchema).parse(readJson(text))
  } catch {
    return []
  }
}

/** Puts saved artifacts back where they came from, in another sandbox. */
export async function restoreArtifacts(
  sandbox: Sandbox,
  saved: readonly SavedArtifact[],
  roundDir: string,
): Promise<void> {
  for (const { source, destination, type, status, service } of saved) {
    if (status !== 'ok' || (service ?? 'main') !== 'main') continue
    const path = join(roundDir, destination)
    const real = await realpath(path)
    if (!`${real}${sep}`.startsWith(`${await realpath(join(roundDir, 'artifacts'))}${sep}`))
      throw new BoundaryError('store', `${path} leads out of artifacts/`, { retryable: false })
    if (type === 'directory') await sandbox.uploadDir(path, source)
    else await sandbox.write(source, await readFile(path), { mode: (await stat(path)).mode & 0o777 })
  }
}

type Found =
  | { readonly kind: 'missing' | 'directory' | 'empty' }
  | { readonly kind: 'file'; readonly executable: boolean; readonly sizeBytes: number }

interface FoundArtifact {
  readonly artifact: Artifact
  readonly found: Found
}

async function saveOne(
  context: TrialContext,
  lease: Sandbox,
  round: Round,
  { artifact, found }: FoundArtifact,
): Promise<SavedArtifact> {
  const { source } = artifact
  const name = safeDestination(artifact)
  const type = found.kind === 'file' || (found.kind === 'missing' && extname(source) !== '') ? 'file' : 'directory'
  const entry = { source, destination: join('artifacts', name ?? basename(source)), type } as const
  if (found.kind === 'empty') return { ...entry, status: 'empty' }
  try {
    if (name === null)
      throw new Error(`destination ${JSON.stringify(artifact.destination)} is not a name inside artifacts/`)
    if (found.kind === 'missing') throw new Error('not there')
    await clearPlace(join(round.dir, 'artifacts'), name)
    await download(lease, artifact, found, join(round.dir, entry.destination))
    return { ...entry, status: 'ok' }
  } catch (error) {
    if (isDiskFull(error)) throw error
    context.log(`artifact ${source}: ${messageOf(error)}`)
    return { ...entry, status: 'failed' }
  }
}

async function download(lease: Sandbox, artifact: Artifact, found: Found, target: string): Promise<void> {
  if (found.kind !== 'file') return lease.downloadDir(artifact.source, target, { exclude: artifact.exclude })
  if (found.sizeBytes > fileLimitBytes) throw new Error(`${found.sizeBytes} bytes, more than ${fileLimitBytes}`)
  await writeFile(target, await lease.read(artifact.source), { flag: 'wx' })
  await chmod(target, found.executable ? 0o755 : 0o644)
}

/**
 * Makes room for an entry inside a directory. Earlier entries may hold links: a link on the path is replaced by a
 * directory, so that nothing is written or removed outside.
 */
async function clearPlace(dir: string, name: string): Promise<void> {
  await mkdir(dir, { recursive: true })
  const parts = name.split('/').filter((part) => part !== '')
  let path = dir
  for (const part of parts.slice(0, -1)) {
    path = join(path, part)
    if ((await lstatOrNull(path))?.isDirectory()) continue
    await rm(path, { force: true })
    await mkdir(path)
  }
  await rm(join(dir, ...parts), { recursive: true, force: true })
}

/** The destination inside `artifacts/`, or null for one that would leave it or hide the manifest. */
function safeDestination({ source, destination }: Artifact): string | null {
  const name = normalize(destination ?? basename(source))
  const unsafe =
    name.startsWith('/') ||
    name.split('/').includes('..') ||
    name.split('/')[0] === 'manifest.json' ||
    name.includes('\0')
  return unsafe || name === '.' ? null : name
}

const probeScript = `for p do
  if [ -d "$p" ]; then [ -n "$(ls -A "$p" | head -c 1)" ] && echo directory || echo empty
  elif [ -f "$p" ]; then [ -x "$p" ] && x=x || x=-; echo "file $x $(wc -c < "$p")"
  else echo missing; fi
done`

async function probe(lease: Sandbox, artifacts: readonly Artifact[], signal: AbortSignal): Promise<Found[]> {
  if (artifacts.length === 0) return []
  const argv = ['sh', '-c', probeScript, 'sh', ...artifacts.map(({ source }) => source)]
  const result = await lease.exec(argv, { user: 'root', signal, timeoutSec: 60 })
  return result.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(parseFound)
}

function parseFound(line: string): Found {
  const [kind, executable, size] = line.split(/\s+/)
  if (kind === 'file') return { kind, executable: executable === 'x', sizeBytes: Number(size) }
  return { kind: kind === 'directory' || kind === 'empty' ? kind : 'missing' }
}
