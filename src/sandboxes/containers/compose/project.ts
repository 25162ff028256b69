import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { BoundaryError } from '../../../core/errors.ts'
import type { Network } from '../../../core/task.ts'
import { type ComposeFile, mainService } from '../../../formats/compose/load.ts'
import { tarDir } from '../../../lib/tar.ts'
import { blockBytes, paddingOf, renderHeader } from '../../../lib/tar-format.ts'
import type { ContainerSpec } from '../container.ts'
import { type ContainerEngine, url } from '../container-engine.ts'
import type { EngineImage } from '../images.ts'
import { makeNetwork } from '../networks.ts'
import { removeSandbox } from '../reap.ts'
import type { EngineServer } from '../server.ts'
import { runCompose } from './command.ts'
import { writeHosts } from './names.ts'
import { networksOf, renderProject } from './render.ts'

export interface ProjectOptions {
  readonly engine: ContainerEngine
  readonly server: EngineServer
  /** The compose program. */
  readonly program: string
  /** The sandbox's name, and the project's. */
  readonly id: string
  readonly file: ComposeFile
  readonly images: ReadonlyMap<string, EngineImage>
  readonly network: Network
  /** Whether the engine lets services find each other by name. */
  readonly resolvesNames: boolean
  /** Aborts the first start. */
  readonly signal: AbortSignal | undefined
}

const fileLimitBytes = 64 * 2 ** 20

/**
 * The containers of a task with a compose file: the compose command starts them, and everything else goes to the
 * engine.
 */
export class ComposeProject {
  private isStarted = false
  private directories: ReadonlySet<string> = new Set()

  constructor(private readonly options: ProjectOptions) {}

  /** The services other than the agent's. They keep running while the agent's container is replaced. */
  get others(): readonly string[] {
    return Object.keys(this.options.file.services).filter((name) => name !== mainService)
  }

  /** Files of the environment that the agent's container has as its own files, by their paths in it. */
  get mainFiles(): readonly string[] {
    return this.files().flatMap(({ service, source, target }) =>
      service === mainService && !this.directories.has(source) ? [target] : [],
    )
  }

  /** Restores some of those files in a container to their original content. */
  async fillMain(container: string, paths: readonly string[]): Promise<void> {
    for (const { service, source, target } of this.files())
      if (service === mainService && paths.includes(target)) await this.fill(container, source, target)
  }

  /** Starts the agent's container as `main` says; the first time, also every other service. */
  async start(main: ContainerSpec): Promise<void> {
    if (this.isStarted) await this.run(main, ['up', '-d', '--no-deps', mainService])
    else await this.startAll(main)
    const { engine, id, resolvesNames } = this.options
    if (!resolvesNames && this.others.length > 0) await writeHosts(engine, id)
  }

  private async startAll(main: ContainerSpec): Promise<void> {
    this.isStarted = true
    const files = this.files()
    const kinds = await Promise.all(files.map(({ source }) => stat(source)))
    this.directories = new Set(files.filter((_, index) => kinds[index]?.isDirectory()).map(({ source }) => source))
    await this.makeNetworks(main)
    if (files.length > 0) {
      await this.run(main, ['up', '--no-start'])
      for (const { service, source, target } of files) await this.fill(await this.container(service), source, target)
    }
    await this.run(main, ['up', '-d'])
  }

  private get isClosed(): boolean {
    return this.options.network.mode !== 'public'
  }

  /** We make these, because the compose command cannot set everything they need. */
  private async makeNetworks({ labels }: ContainerSpec): Promise<void> {
    const { engine, server, id, file } = this.options
    for (const { fullName: name, isInternal } of networksOf(file, id))
      await makeNetwork(engine, server, { name, labels, closed: this.isClosed || isInternal })
  }

  /** Removes everything that exists of it. */
  async remove(): Promise<void> {
    await removeSandbox(this.options.engine, this.options.id)
  }

  private async run(main: ContainerSpec, args: readonly string[]): Promise<void> {
    const { engine, program, id: project, file, images, signal } = this.options
    const closed = this.isClosed
    const rendered = renderProject({ project, file, images, main, directories: this.directories, closed })
    const first = args.includes('--no-deps') ? undefined : signal
    await runCompose({ program, socketPath: engine.socketPath, project, file: rendered, args, signal: first })
  }

  /** Copies of the environment's files that services use, because trials run in parallel and agents write. */
  private files() {
    return Object.entries(this.options.file.services).flatMap(([service, { mounts }]) =>
      mounts.flatMap((mount) => (mount.kind === 'files' ? [{ ...mount, service }] : [])),
    )
  }

  private async container(service: string): Promise<string> {
    const { engine, id } = this.options
    const label = [`com.docker.compose.project=${id}`, `com.docker.compose.service=${service}`]
    const query = { all: true, filters: JSON.stringify({ label }) }
    const { body } = await engine.ask({ method: 'GET', path: '/containers/json', query })
    const found = Array.isArray(body) ? (body[0] as { Id?: unknown } | undefined)?.Id : undefined
    if (typeof found === 'string') return found
    throw new BoundaryError('sandbox', `the compose command created no container for service ${service}`)
  }

  private async fill(container: string, source: string, target: string): Promise<void> {
    const isDir = this.directories.has(source)
    const tar = isDir
      ? tarDir(source, { links: 'keep', special: 'skip', modes: 'kept' })
      : tarFile(source, target.slice(1))
    const query = { path: isDir ? target : '/' }
    await this.options.engine.ask({ method: 'PUT', path: url`/containers/${container}/archive`, query, tar })
  }
}

async function* tarFile(source: string, name: string): AsyncGenerator<Uint8Array, void, void> {
  const file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { size, mode } = await file.stat()
    if (size > fileLimitBytes) throw new BoundaryError('task', `${source} is larger than ${fileLimitBytes} bytes`)
    const data = await file.readFile()
    yield renderHeader({ name, kind: 'file', mode: mode & 0o777, size: data.length, link: '' })
    yield data
    yield new Uint8Array(paddingOf(data.length))
  } finally {
    await file.close()
  }
  yield new Uint8Array(2 * blockBytes)
}
