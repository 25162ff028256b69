import { availableParallelism, totalmem } from 'node:os'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import { findNeededImage } from '../../formats/harbor-task/needed-image.ts'
import type { PrefetchSettings } from '../../run/prefetch.ts'

export interface PrefetchOptions {
  readonly prefetch?: number | undefined
  readonly maxCpus?: number | undefined
  readonly maxMemoryMb?: number | undefined
  readonly maxBuilds?: number | undefined
}

/** The share of memory kept free for the system and this process. */
const ownShareOfMemory = 0.1

/**
 * What may be prefetched for trials: by default what this machine can handle, or no limit if sandboxes run elsewhere.
 */
export function prefetchSettings(
  options: PrefetchOptions,
  nConcurrent: number,
  { remote = false }: Pick<SandboxProvider, 'remote'>,
): PrefetchSettings {
  const memoryMb = Math.floor((totalmem() / 2 ** 20) * (1 - ownShareOfMemory))
  const here = remote
    ? { cpus: Number.POSITIVE_INFINITY, memoryMb: Number.POSITIVE_INFINITY }
    : { cpus: availableParallelism(), memoryMb }
  return {
    sandboxes: options.prefetch ?? Math.ceil(nConcurrent / 2),
    builds: options.maxBuilds ?? 2,
    limit: { cpus: options.maxCpus ?? here.cpus, memoryMb: options.maxMemoryMb ?? here.memoryMb },
    imageKey: rememberImageKeys(),
  }
}

/** How many environments' keys are remembered; trials of one task run close together. */
const rememberedKeys = 1000

/** Reads an environment's files once for all trials of its task, because they do not change while a job uses them. */
function rememberImageKeys(): (environment: Environment) => Promise<string | null> {
  const known = new Map<string, string | null>()
  return async (environment) => {
    const { dir, dockerImage = null, os } = environment
    const id = JSON.stringify([dir, dockerImage, os])
    const before = known.get(id)
    if (before !== undefined) return before
    const image = await findNeededImage(environment)
    const key = image.kind === 'none' ? null : image.key
    if (known.size >= rememberedKeys) known.clear()
    known.set(id, key)
    return key
  }
}
