import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Image } from '@daytonaio/sdk'
import { BoundaryError } from '../../core/errors.ts'
import type { Environment } from '../../core/task.ts'
import { BuildContext, ContextError, readInside } from '../../formats/dockerfile/context.ts'
import { parseDockerfile } from '../../formats/dockerfile/parse.ts'
import { planDockerfile } from '../../formats/dockerfile/plan.ts'
import { findNeededImage, type NeededImage } from '../../formats/harbor-task/needed-image.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { type CloudImage, plainImage } from '../cloud/image.ts'

/** Whole processors and gigabytes, as Daytona sells them; they are fixed in a snapshot. */
export interface Size {
  readonly cpu?: number
  readonly memory?: number
  readonly disk?: number
  readonly gpu?: number
  readonly gpuType?: readonly string[]
}

export function sizeOf({ cpus, memoryMb, storageMb, gpus, gpuTypes }: Environment): Size {
  return {
    ...(cpus && { cpu: Math.ceil(cpus) }),
    ...(memoryMb && { memory: Math.ceil(memoryMb / 1024) }),
    ...(storageMb && { disk: Math.ceil(storageMb / 1024) }),
    ...(gpus > 0 && { gpu: gpus }),
    ...(gpus > 0 && gpuTypes && { gpuType: gpuTypes }),
  }
}

/** Names of snapshots that are ours. */
export const snapshotPrefix = 'ot-agent-'

/** What an environment starts from; environments with the same needs and size share a name. */
export async function findSource(environment: Environment): Promise<{ needed: NeededImage; name: string | null }> {
  const needed = await findNeededImage(environment)
  if (needed.kind === 'none') return { needed, name: null }
  if (needed.kind === 'compose') {
    const message = 'Daytona sandboxes cannot run compose files'
    throw new BoundaryError('task', message, { code: 'UnsupportedEnvironmentError', retryable: false })
  }
  const key = JSON.stringify([needed.key, sizeOf(environment)])
  return { needed, name: `${snapshotPrefix}${createHash('sha256').update(key).digest('hex').slice(0, 24)}` }
}

export interface Described {
  readonly image: CloudImage
  /** Null: unknown. */
  readonly hasEntrypoint: boolean | null
}

/** What the Dockerfile says about how commands run. The provider starts its ENTRYPOINT by itself. */
export async function describeImage(environment: Environment, needed: NeededImage, name: string): Promise<Described> {
  const plain = plainImage(name)
  if (needed.kind !== 'dockerfile') return { image: plain, hasEntrypoint: null }
  const text = (await readInside(environment.dir, 'Dockerfile')) ?? ''
  const config = configOf(text)
  if (!config) {
    const notes = ['the Dockerfile’s USER and HEALTHCHECK are not known: it could not be read']
    return { image: { ...plain, notes }, hasEntrypoint: null }
  }
  const { user, healthcheck, workdir, entrypoint } = config
  const image = { ...plain, user, healthcheck, workdir: workdir === '/' ? undefined : workdir }
  return { image, hasEntrypoint: entrypoint !== null }
}

/** The builder may understand more than we do; then its result counts, not ours. */
function configOf(text: string) {
  try {
    return planDockerfile(parseDockerfile(text, 'environment/Dockerfile'), 'linux/amd64').stages.at(-1)?.config
  } catch (error) {
    if (error instanceof BoundaryError) return undefined
    throw error
  }
}

/**
 * Passes a build's source to `use`. The package itself would look for the sources of COPY anywhere on this machine, and
 * send them regardless of .dockerignore; so it gets the text unchanged, and the whole context as Docker would see it,
 * in one archive.
 */
export async function withBuildSource<T>(
  images: typeof Image,
  environment: Environment,
  needed: NeededImage,
  use: (image: Image) => Promise<T>,
): Promise<T> {
  if (needed.kind === 'prebuilt') return use(images.base(needed.name))
  const text = (await readInside(environment.dir, 'Dockerfile')) ?? ''
  const image = images.base('scratch')
  Reflect.set(image, '_dockerfile', text)
  if (image.dockerfile !== text) throw new Error('this version of @daytonaio/sdk keeps a Dockerfile elsewhere')
  const dir = await makeScratchDir(join(tmpdir(), 'ot-agent-context-'))
  try {
    if (await stageContext(environment.dir, dir)) image.contextList.push({ sourcePath: dir, archivePath: '' })
    return await use(image)
  } finally {
    await removeDraft(dir)
  }
}

/** Copies what a build may see; false when that is only the Dockerfile. */
async function stageContext(source: string, target: string): Promise<boolean> {
  const [all] = await atTask(async () => (await BuildContext.open(source)).select('.'))
  const entries = (all?.entries ?? []).filter(({ path }) => path !== 'Dockerfile' && path !== '.dockerignore')
  for (const entry of entries) {
    const path = join(target, entry.path)
    if (entry.kind === 'dir') await mkdir(path, { recursive: true })
    else if (entry.kind === 'symlink') await symlink(entry.target, path)
    else await copyFile(entry.source, path)
    if (entry.kind !== 'symlink') await chmod(path, entry.mode | 0o600)
  }
  return entries.length > 0
}

async function atTask<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ContextError)) throw error
    throw new BoundaryError('task', `environment/Dockerfile: ${error.message}`, {
      code: 'EnvironmentBuildError',
      retryable: false,
    })
  }
}
