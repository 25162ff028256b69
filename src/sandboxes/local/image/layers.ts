import { createHash, randomBytes } from 'node:crypto'
import { lstat, readdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { standInNote } from '../../../core/sandbox.ts'
import { codeOf, exists, readTextIfExists, writeAtomic } from '../../../lib/files.ts'
import { SharedWork } from '../../../lib/shared-work.ts'
import { type Base, directoryBase } from '../base.ts'
import type { Cache } from '../cache.ts'
import type { OwnedMachine, Workshop } from '../workshop.ts'

/** One entry of the cache. */
export interface Layer {
  readonly name: string
  readonly dir: string
  /** It changes no file, so it need not be stacked. */
  readonly isEmpty: boolean
}

export interface LayerRequest {
  readonly layersDir: string
  readonly cache: Cache
  readonly key: string
  /** Build it even if it exists; later callers get the new one. Once per process is enough. */
  readonly force: boolean
  readonly signal: AbortSignal
  /** Starts the machine whose changes become the layer. */
  readonly makeMachine: () => Promise<OwnedMachine>
  /** Makes the changes. */
  readonly fill: (machine: OwnedMachine, signal: AbortSignal) => Promise<void>
}

/**
 * The name of a layer, from everything that decides its content. Short, because all names of a stack go into one mount.
 */
export function layerKey(parts: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify(['layer/1', ...parts]))
    .digest('hex')
    .slice(0, 32)
}

const shared = new SharedWork<void>()
/** Part of the names of layers that this process was asked to rebuild. */
const generation = randomBytes(4).toString('hex')

/**
 * Finds a layer in the cache or builds it; a layer appears whole or not at all, even if several processes build it at
 * the same time.
 */
export async function findOrBuildLayer(request: LayerRequest): Promise<Layer> {
  const { layersDir, key, force, signal } = request
  const name = force ? `${key}-${generation}` : await currentName(layersDir, key)
  const dir = join(layersDir, name)
  request.cache.use('layers', name)
  if (!(await exists(dir))) await shared.run(dir, signal, (shared) => build(request, dir, shared))
  if (force) await writeAtomic(pointerPath(layersDir, key), name)
  return { name, dir, isEmpty: await isEmptyLayer(dir) }
}

async function build(request: LayerRequest, dir: string, signal: AbortSignal): Promise<void> {
  // Another caller may have finished it between our check and our turn.
  if (await exists(dir)) return
  const owned = await request.makeMachine()
  try {
    signal.throwIfAborted()
    await request.fill(owned, signal)
    await owned.machine.stop()
    signal.throwIfAborted()
    await publish(join(owned.dir, 'upper'), dir)
    await request.cache.added('layers', basename(dir))
  } finally {
    await owned.dispose()
  }
}

/** Moves a finished layer into place; if another process was faster, ours is discarded with its machine. */
async function publish(upper: string, dir: string): Promise<void> {
  try {
    await rename(upper, dir)
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY'].includes(codeOf(error) ?? '')) throw error
  }
}

/** A forced build leaves a pointer from the plain name to the newer layer. */
async function currentName(layersDir: string, key: string): Promise<string> {
  const pointed = (await readTextIfExists(pointerPath(layersDir, key)))?.trim()
  return pointed !== undefined && /^[0-9a-f]{32}-[0-9a-f]{8}$/.test(pointed) ? pointed : key
}

function pointerPath(layersDir: string, key: string): string {
  return join(layersDir, `${key}.latest`)
}

async function isEmptyLayer(dir: string): Promise<boolean> {
  for (const name of await readdir(dir)) {
    const { mode } = await lstat(join(dir, name))
    if ((mode & 0o7777) !== 0o755 || (await readdir(join(dir, name))).length > 0) return false
  }
  return true
}

interface BuildMachineRequest {
  readonly base: Base
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  readonly network: 'public' | 'none'
  readonly memoryMb: number
  readonly storageMb: number
  /** The purpose of the machine, shown when `clean` removes it after a crash. */
  readonly purpose: string
}

/** What building an image needs from the place where it is built. */
export interface ImageHost {
  readonly layersDir: string
  readonly cache: Cache
  /** The files an image starts from; `note` says when they only stand in for it. Null: there is no Dockerfile. */
  findBase(image: string | null): Promise<{ readonly base: Base; readonly note: string | null }>
  /** A machine whose changes collect in `<dir>/upper`; the builder releases it. */
  makeMachine(request: BuildMachineRequest): Promise<OwnedMachine>
}

/** How many processes a build may have. */
const buildPids = 4096

/** Builds in a workshop; an image that is not in its `images` directory is replaced by `base`. */
export function makeImageHost(workshop: Workshop, base: Base, baseName = "the host's root"): ImageHost {
  return {
    layersDir: join(workshop.home, 'layers'),
    cache: workshop.cache,
    async findBase(image) {
      if (image === null) return { base, note: null }
      const dir = join(workshop.home, 'images', image.replace(/[/:]/g, '_'))
      if (await exists(dir)) return { base: await directoryBase(dir), note: null }
      return { base, note: standInNote(image, baseName) }
    },
    makeMachine: ({ purpose, memoryMb, ...request }) =>
      workshop.make({
        ...request,
        owner: { job: 'build', trial: purpose },
        env: {},
        workdir: '/',
        limits: { pids: buildPids, memoryMb },
      }),
  }
}
