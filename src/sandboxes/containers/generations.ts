import { randomBytes } from 'node:crypto'
import { messageOf } from '../../core/errors.ts'
import type { FreezeOptions } from '../../core/sandbox.ts'
import { ruleFor, type SystemChange } from '../../core/system-files.ts'
import type { Network } from '../../core/task.ts'
import { Belongings } from './belongings.ts'
import { carryOver } from './carry-over.ts'
import { mayTouchSystem } from './carry-rules.ts'
import { ChangeLog, compareFiles, isDeep, listChanges } from './changes.ts'
import { Commands, isRoot } from './commands.ts'
import {
  awaitEnd,
  commitContainer,
  createContainer,
  type MountedVolume,
  makeVolume,
  networkMode,
  startContainer,
} from './container.ts'
import { inspectContainer } from './container-state.ts'
import { areNoLinks, doesNotRun, FreshFiles, freshPaths, makeFresh, makeLogs, tellFresh } from './fresh-files.ts'
import { findHolder, type Holder, stopHolder } from './holder.ts'
import { engineFiles, type KeptFiles } from './host-files.ts'
import { frozenRepo } from './labels.ts'
import type { LeaseOptions, SandboxSpec } from './lease-options.ts'

/** The successive containers of one sandbox, and the files that go from each to the next. */
export class Generations {
  commands: Commands
  network: Network
  private generation = 0
  /** Whether the current container's image is the task's own. */
  private isDirect = true
  /** Holds the agent's files while changes in the current container must not last. */
  private kept: Holder | null = null
  /** A container of the task's image that starts while the agent's ends. */
  private early: Promise<void> | null = null
  /** Where the engine keeps the files of the current container, once requested. */
  private files: { readonly container: string; readonly kept: Promise<KeptFiles | null> } | null = null
  /** Where no file of the agent's may come: the fresh directories, and where links of the image lead from there. */
  private freshPlaces: readonly string[] = freshPaths
  private readonly made: Belongings

  constructor(private readonly options: LeaseOptions) {
    this.network = options.network
    this.made = new Belongings(options.engine)
    this.commands = this.makeCommands()
  }

  get container(): string {
    return `${this.options.id}-${this.generation}`
  }

  /** Where the engine keeps the files of the current container; null when it no longer exists. */
  keptFiles(): Promise<KeptFiles | null> {
    const { container } = this
    if (this.files?.container !== container)
      this.files = { container, kept: inspectContainer(this.options.engine, container) }
    return this.files.kept
  }

  async open(): Promise<void> {
    await this.start(this.options.spec)
    await new FreshFiles(this.commands).prepare(makeLogs)
  }

  /**
   * Ends every process and starts another container with the agent's files and nothing else of the old one. Returns the
   * system files that were restored to the image's version; null if that was not requested.
   */
  async renew({ system = 'agent', scratch = false }: FreezeOptions): Promise<readonly SystemChange[] | null> {
    try {
      const source = await this.takeFiles(system)
      // Kept until the next container runs, because a retry after a failure needs them.
      this.kept = source
      const found = system === 'image' ? await this.restore(source) : await this.startOver(source)
      if (found.length === 0 && !scratch) {
        this.kept = null
        this.made.forgetLater(source.container)
      }
      return system === 'image' ? found : null
    } finally {
      await this.early?.catch(() => {})
      this.early = null
    }
  }

  /** Removes everything, whatever its state. */
  async dispose(): Promise<void> {
    const { project, publicNetwork } = this.options
    await this.endByItself()
    await this.made.removeContainers()
    await project?.remove()
    await publicNetwork.remove()
    await this.made.removeRest()
  }

  /** Ends the current container. The agent's files are in it, or where they were kept. */
  private async takeFiles(system: 'agent' | 'image'): Promise<Holder> {
    const { engine, project, hasPlainLayers } = this.options
    const { container, kept } = this
    if (kept) {
      await this.endByItself()
      await this.made.forget(container)
      await stopHolder(engine, kept)
      return kept
    }
    const holder = await findHolder(engine, container, { isDirect: this.isDirect, hasPlainLayers })
    const ended = this.endByItself()
    if (system === 'image' && this.startsEarly(holder)) {
      this.kept = holder
      this.early = this.startFresh(true)
      this.early.catch(() => {})
    }
    holder.isStopped = await ended
    await stopHolder(engine, holder)
    return project ? this.moved(holder) : holder
  }

  /**
   * Lets the current container end without a signal, which costs Docker a process; false if the engine has to end it.
   */
  private async endByItself(): Promise<boolean> {
    const { commands, options } = this
    const isEnded = options.noticesEnds && commands.leave() && (await awaitEnd(options.engine, commands.container))
    await commands.close()
    return isEnded
  }

  /** Whether the next container can start without the agent's files and without volumes that the agent wrote to. */
  private startsEarly({ layer }: Holder): boolean {
    return layer !== null && !this.options.project && this.options.spec.volumes.length === 0
  }

  /** How its files differ from the task's image; `isWhole` means that no change can be missing. */
  private async changesOf({ container, isDirect, layer }: Holder): Promise<{ log: ChangeLog; isWhole: boolean }> {
    const { engine, spec, listsEveryChange } = this.options
    if (isDirect && !(await isDeep(engine, container, layer)))
      return { log: await ChangeLog.of(listChanges(engine, container)), isWhole: listsEveryChange }
    const image = await this.makeBare(`${container}-image`, spec.image)
    const log = await ChangeLog.of(compareFiles(engine, image, container))
    await this.made.forget(image)
    return { log, isWhole: false }
  }

  /** A project has one container per service, so another container has to hold its files. */
  private async moved(holder: Holder): Promise<Holder> {
    const image = await this.commit(holder)
    const container = await this.makeBare(`${holder.container}-files`, image)
    await this.made.forget(holder.container)
    return { ...holder, container, image, isDirect: false, layer: null }
  }

  /** A container that only holds files. */
  private async makeBare(name: string, image: string): Promise<string> {
    const { engine, spec } = this.options
    this.made.containers.add(name)
    // The image of a service's container names its project, so the compose command would take this one for the service.
    const labels = { ...spec.labels, 'com.docker.compose.project': '' }
    const alone = { network: 'none', program: [], volumes: [], toolDirs: [], channel: null }
    await createContainer(engine, { ...spec, ...alone, labels, image, name })
    return name
  }

  /**
   * If no system file changed, the agent's files are used as they are. A list that may be incomplete cannot tell that.
   */
  private async restore(source: Holder): Promise<SystemChange[]> {
    const { log, isWhole } = await this.changesOf(source)
    const { knownDirs } = this.options
    if (this.early === null && isWhole && !mayTouchSystem(log, source.searchPath, (path) => knownDirs.has(path)))
      return this.startOver(source)
    return this.rebuild(source, log, true)
  }

  /**
   * A container over an image of the agent's files. If that cannot start, a container of the task's image gets them.
   */
  private async startOver(source: Holder): Promise<[]> {
    const image = await this.commit(source)
    const fresh = this.next()
    try {
      await this.start({ ...this.options.spec, image, program: [], volumes: fresh })
      await new FreshFiles(this.commands).prepare(`${areNoLinks}; ${makeLogs}`, source.hosts)
      this.isDirect = false
    } catch (error) {
      const why = messageOf(error).split('\n')[0]?.slice(0, 300)
      this.options.log?.(`no container can start over the agent’s files, so they are copied into a fresh one: ${why}`)
      await this.commands.close()
      await this.made.forget(this.container)
      await this.rebuild(source, (await this.changesOf(source)).log, false)
    }
    return []
  }

  /** A container of the task's image that gets the agent's files, with or without system files. */
  private async rebuild(source: Holder, log: ChangeLog, restore: boolean): Promise<SystemChange[]> {
    const { engine, knownDirs, project } = this.options
    await (this.early ?? this.startFresh(restore))
    const files = new FreshFiles(this.commands)
    const provided = (project?.mainFiles ?? []).filter((path) => isOfSystem(path, source.searchPath))
    await project?.fillMain(this.container, restore ? provided : [])
    const found = await carryOver({
      engine,
      from: source.container,
      layer: source.layer,
      log,
      to: this.container,
      searchPath: source.searchPath,
      restore,
      provided,
      mounts: [...engineFiles, ...this.freshPlaces, ...((await this.keptFiles())?.mounts ?? [])],
      lookAt: async (paths) => {
        const kinds = await files.lookAt(paths)
        for (const path of paths.filter((_, index) => kinds[index] === 'dir')) knownDirs.add(path)
        return kinds
      },
      remove: (paths) => files.remove(paths),
      // The image's programs unpack it, so nothing that is unpacked may replace one of them.
      unpackFew: async (archive) => restore && files.unpackFew(archive),
    })
    await files.prepare(makeLogs, source.hosts).catch((error: unknown) => {
      // The image's own shell worked a moment ago.
      throw restore ? error : doesNotRun(error)
    })
    this.isDirect = true
    return found
  }

  /**
   * Starts a container of the task's image with nothing of the agent's. Its fresh directories are volumes, unless only
   * the image's programs run before the tests: those can empty them.
   */
  private async startFresh(restore: boolean): Promise<void> {
    const { project, spec } = this.options
    const isCleared = restore && !project && spec.volumes.length === 0
    const volumes = this.next()
    await this.start({ ...spec, program: [], volumes: isCleared ? [] : volumes })
    if (!this.hasChannel) this.commands.warm('0')
    const script = isCleared ? `${makeFresh}; ${tellFresh}` : tellFresh
    const [said] = await Promise.all([new FreshFiles(this.commands).prepare(script), this.keptFiles()])
    this.freshPlaces = [...freshPaths, ...said.split('\n').filter((path) => path !== '')]
  }

  /** Names the next container; returns the volumes for it. */
  private next(): MountedVolume[] {
    this.generation++
    this.commands = this.makeCommands()
    const fresh = freshPaths.map((path, index) => ({ name: `${this.container}-fresh-${index}`, path, filled: false }))
    // Volumes of the image are passed on unchanged from one container to the next.
    return [...this.options.spec.volumes.filter(({ path }) => !freshPaths.includes(path)), ...fresh]
  }

  /**
   * A shell on the streams of process 1 costs nothing to open if it runs as root; a command through the engine costs an
   * extra process.
   */
  private get hasChannel(): boolean {
    const { project, spec } = this.options
    return !project && isRoot(spec.user)
  }

  private async start(spec: SandboxSpec): Promise<void> {
    const { engine, publicNetwork, project } = this.options
    const missing = spec.volumes.filter(({ name }) => !this.made.volumes.has(name))
    for (const { name } of missing) this.made.volumes.add(name)
    // Wait until all have ended even if one failed: a volume made later would be left behind.
    const made = await Promise.allSettled(missing.map(({ name }) => makeVolume(engine, name, spec.labels)))
    for (const each of made) if (each.status === 'rejected') throw each.reason
    this.made.containers.add(this.container)
    const network = networkMode(this.network, publicNetwork.name)
    if (network !== 'none') await publicNetwork.ready()
    // A shell that an agent replaced may never answer, and an engine keeps the streams of process 1.
    const isOwn = spec.image === this.options.spec.image
    const channel = this.hasChannel && isOwn ? randomBytes(16).toString('hex') : null
    const full = { ...spec, name: this.container, network, channel }
    if (!project) await createContainer(engine, full)
    // Its mark is printed only once, perhaps right away: the image's own program may kill every shell. Podman takes
    // longer this way.
    const attachesFirst = spec.program.length > 0
    if (channel !== null && attachesFirst) await this.commands.attach(channel)
    await (project ? project.start(full) : startContainer(engine, full))
    if (channel !== null && !attachesFirst) void this.commands.attach(channel)
    // Root's shell is there after the next command anyway.
    if (channel === null && !isRoot(spec.user)) this.commands.warm()
  }

  private async commit(holder: Holder): Promise<string> {
    if (holder.image !== null) return holder.image
    const image = `${frozenRepo}:${holder.container}`
    this.made.images.add(image)
    await commitContainer(this.options.engine, holder.container, { repo: frozenRepo, tag: holder.container })
    holder.image = image
    return image
  }

  private makeCommands(): Commands {
    const { engine, workdir: cwd, spec, log } = this.options
    return new Commands(engine, this.container, { user: spec.user, cwd }, log)
  }
}

function isOfSystem(path: string, searchPath: readonly string[]): boolean {
  return ruleFor({ path, change: 'modified' }, searchPath) !== 'ordinary'
}
