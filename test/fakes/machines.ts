import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Base, hostBase } from '../../src/sandboxes/local/base.ts'
import { makeImageHost } from '../../src/sandboxes/local/image/layers.ts'
import { buildImage } from '../../src/sandboxes/local/image.ts'
import type { Machine } from '../../src/sandboxes/local/machine.ts'
import { type OwnedMachine, Workshop } from '../../src/sandboxes/local/workshop.ts'
import { plainEnvironment } from '../contracts/environment.ts'

/** The image that a stand-in's machine starts from. */
export interface StandInImage {
  /** Absolute layer directories, bottom to top; see `Machines.makeLayer`. */
  readonly layers: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
}

export const bareImage: StandInImage = { layers: [], env: {}, workdir: '/' }

export interface StandInRequest {
  readonly image?: StandInImage
  readonly env?: Readonly<Record<string, string>>
  readonly network?: 'public' | 'none'
  readonly memoryMb?: number
  readonly pids?: number
}

/** A host of real machines (bubblewrap) for servers that stand in for a cloud: their programs really run. */
export class Machines {
  private readonly running = new Set<OwnedMachine>()
  private layers = 0

  private constructor(
    private readonly dir: string,
    private readonly workshop: Workshop,
    private readonly base: Base,
  ) {}

  static async open(): Promise<Machines> {
    const dir = mkdtempSync(join(tmpdir(), 'ot-machines-'))
    const workshop = await Workshop.open(dir)
    return new Machines(
      dir,
      workshop,
      await hostBase(join(workshop.home, 'bases'), workshop.privileges, workshop.cache),
    )
  }

  /** Which limits are enforced on this machine. */
  get enforces(): Workshop['groups']['enforces'] {
    return this.workshop.groups.enforces
  }

  get manyUsers(): boolean {
    return this.workshop.privileges.manyUsers
  }

  get count(): number {
    return this.running.size
  }

  async start(request: StandInRequest = {}): Promise<OwnedMachine> {
    const image = request.image ?? bareImage
    const made = await this.workshop.make({
      owner: { job: 'stand-in', trial: 'machine' },
      base: this.base,
      layers: image.layers,
      env: { ...image.env, ...request.env },
      workdir: image.workdir,
      network: request.network ?? 'none',
      limits: { pids: request.pids ?? 512, ...(request.memoryMb && { memoryMb: request.memoryMb }) },
    })
    const owned: OwnedMachine = {
      ...made,
      dispose: async () => {
        this.running.delete(owned)
        await made.dispose()
      },
    }
    this.running.add(owned)
    return owned
  }

  /** Does some work in a machine and keeps the resulting files as a layer. */
  async makeLayer(image: StandInImage, work: (machine: Machine) => Promise<void>): Promise<string> {
    const owned = await this.start({ image, pids: 4096 })
    try {
      await work(owned.machine)
      return await this.copyLayer(owned)
    } finally {
      await owned.dispose()
    }
  }

  /** Builds a directory's Dockerfile as the local sandbox would. */
  async buildDockerfile(dir: string, log: (line: string) => void): Promise<StandInImage> {
    const host = makeImageHost(this.workshop, this.base)
    const { signal } = new AbortController()
    const { layers, env, workdir } = await buildImage(plainEnvironment(dir), host, { signal, log })
    return { layers, env, workdir }
  }

  /** The files a running machine has changed so far, as a layer on top of its image's. */
  async copyLayer(owned: OwnedMachine): Promise<string> {
    const layer = join(this.dir, 'local', 'layers', `stand-in-${this.layers++}`)
    mkdirSync(layer, { recursive: true })
    // Removed files are devices there, and pipes are ordinary entries: only cp itself preserves them all.
    await promisify(execFile)('cp', ['-a', `${join(owned.dir, 'upper')}/.`, layer])
    return layer
  }

  async close(): Promise<void> {
    await Promise.all([...this.running].map((owned) => owned.dispose()))
    rmSync(this.dir, { recursive: true, force: true })
  }
}
