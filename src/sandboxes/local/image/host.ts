import { join } from 'node:path'
import { standInNote } from '../../../core/sandbox.ts'
import { exists } from '../../../lib/files.ts'
import { type Base, directoryBase } from '../base.ts'
import type { Cache } from '../cache.ts'
import type { OwnedMachine, Workshop } from '../workshop.ts'

export interface BuildMachineRequest {
  readonly base: Base
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  readonly network: 'public' | 'none'
  readonly memoryMb: number
  readonly storageMb: number
  /** What the machine is for, shown when `clean` removes it after a crash. */
  readonly purpose: string
}

/** What building an image needs of the place where it is built. */
export interface ImageHost {
  readonly layersDir: string
  readonly cache: Cache
  /** The files an image starts from; `note` says when they only stand in for it. Null: there is no Dockerfile. */
  findBase(image: string | null): Promise<{ readonly base: Base; readonly note: string | null }>
  /** A machine whose changes collect in `<dir>/upper`; the builder gives it back. */
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
