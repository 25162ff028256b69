import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import type { PrepareOptions, SandboxFacts } from '../../core/sandbox.ts'
import type { Environment, Healthcheck } from '../../core/task.ts'
import { digestContext, findNeededImage } from '../../formats/harbor-task/needed-image.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { SharedWork } from '../../lib/shared-work.ts'
import { type BuildPlace, buildImage, buildLimits, type LoadedBuild, loadBuild } from './build.ts'
import { withBuildLock } from './build-lock.ts'
import { checkDockerfile } from './build-rules.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import { healthcheckOf, healthcheckSchema, type RawHealthcheck } from './image-health.ts'
import { isImageName } from './image-name.ts'
import { newSandboxId, renderLabels } from './labels.ts'
import { ownNetwork, sharedNetwork } from './public-network.ts'
import { pullImage } from './pull.ts'
import type { EngineServer } from './server.ts'

const imageSchema = z.object({
  Id: z.string(),
  Config: z
    .object({
      Env: z.array(z.string()).nullish(),
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Entrypoint: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
      Healthcheck: healthcheckSchema.nullish(),
    })
    .nullish(),
})
const triggersSchema = z.object({ Config: z.object({ OnBuild: z.array(z.string()).nullish() }).nullish() })
const digestsSchema = z.object({ RepoDigests: z.array(z.string()).nullish() })
/** Podman reports an image's health check only in its own dialect. */
const podmanSchema = z.object({ Healthcheck: healthcheckSchema.nullish() })

/** What a container starts from, as the engine knows it. */
export interface EngineImage {
  readonly id: string
  readonly user: string
  readonly workdir: string
  readonly entrypoint: readonly string[]
  /** Directories that the image declares as volumes. */
  readonly volumes: readonly string[]
  readonly healthcheck: Healthcheck | null
  /** Things a reader of the results must know, for example a replaced base image. */
  readonly notes: readonly string[]
}

export interface ImagesOptions {
  readonly server: EngineServer
  /** The limits that the engine can set. */
  readonly limits: SandboxFacts['limits']
  readonly stateDir: string
  readonly lifetimeSec: number
  /** A file with the system calls that builds may use, for engines whose default is too loose. */
  readonly seccompProfile: string | null
  /** Stands in for base images that the engine does not have. */
  readonly base: string | undefined
  /** `public`, or a network of the engine; if absent, builds have a network where the task has one. */
  readonly buildNetwork: string | undefined
  readonly builds: number
}

/** What a service of a compose file starts from. */
export type ServiceImage = { readonly kind: 'image'; readonly name: string } | ({ readonly kind: 'build' } & BuildPlace)

/** Refuses a bad name before the engine sees it: a query or a path in it would request something else. */
function checkImageName(name: string): string {
  if (isImageName(name)) return name
  const what = `${JSON.stringify(name.slice(0, 200))} is not the name of an image: expected for example ubuntu:24.04`
  throw new BoundaryError('task', what, { code: 'ImageNameError', retryable: false })
}

/** Builds and pulls images: each once, however many sandboxes wait for it, and only a few at a time. */
export class Images {
  private readonly work = new SharedWork<EngineImage>()
  private readonly known = new Map<string, EngineImage>()
  private readonly rebuilt = new Set<string>()
  private readonly gate: Semaphore

  constructor(
    private readonly engine: ContainerEngine,
    private readonly options: ImagesOptions,
  ) {
    this.gate = new Semaphore(options.builds)
  }

  /** The image of an environment, made if missing. */
  async find(environment: Environment, how: PrepareOptions = {}): Promise<EngineImage> {
    return this.obtain(await this.wanted(environment), environment, how)
  }

  /** The image of a compose service, made if missing. */
  async findService(service: ServiceImage, environment: Environment, how: PrepareOptions = {}): Promise<EngineImage> {
    return this.obtain(await this.wantedService(service), environment, how)
  }

  /** Whether a service's image exists. */
  async hasService(service: ServiceImage): Promise<boolean> {
    const { tag, notes } = await this.wantedService(service)
    return (await this.inspect(tag, notes)) !== null
  }

  private async obtain(wanted: Wanted, environment: Environment, how: PrepareOptions): Promise<EngineImage> {
    const signal = how.signal ?? new AbortController().signal
    const force = how.forceBuild === true && wanted.kind === 'build' && !this.rebuilt.has(wanted.tag)
    const known = this.known.get(wanted.tag)
    if (known && !force) return known
    return this.work.run(`${wanted.tag} ${force} ${environment.network.mode}`, signal, async (signal) => {
      const found = force ? null : await this.inspect(wanted.tag, wanted.notes)
      const image = found ?? (await this.make(wanted, environment, { ...how, forceBuild: force, signal }))
      this.known.set(wanted.tag, image)
      if (force) this.rebuilt.add(wanted.tag)
      return image
    })
  }

  /** Whether nothing would have to be built or pulled. */
  async has(environment: Environment): Promise<boolean> {
    const { tag, notes } = await this.wanted(environment)
    return (await this.inspect(tag, notes)) !== null
  }

  /** An image by its name, or null when the engine does not have it. */
  async inspect(name: string, notes: readonly string[] = []): Promise<EngineImage | null> {
    checkImageName(name)
    const answer = await this.engine.ask({ method: 'GET', path: url`/images/${name}/json`, accept: [404, 400] })
    if (answer.status !== 200) return null
    const { Id: id, Config } = imageSchema.parse(answer.body)
    return {
      id,
      user: Config?.User || '0',
      workdir: Config?.WorkingDir || '/',
      entrypoint: Config?.Entrypoint ?? [],
      volumes: Object.keys(Config?.Volumes ?? {}),
      healthcheck: healthcheckOf(Config?.Healthcheck ?? (await this.podmanHealthcheck(name)) ?? {}),
      notes,
    }
  }

  /** The digest by which a registry knows an image; of several, Podman lists the one for all architectures last. */
  async digestOf(name: string): Promise<string | null> {
    // Podman also gives digests to images that were only built here: no other machine knows those.
    if (checkImageName(name).startsWith('localhost/')) return null
    const answer = await this.engine.ask({ method: 'GET', path: url`/images/${name}/json`, accept: [404, 400] })
    const known = digestsSchema.safeParse(answer.body).data?.RepoDigests ?? []
    const ours = known.map((digest) => digest.split('@')).filter(([repo = '']) => repoOf(repo) === repoOf(name))
    return ours.at(-1)?.[1] ?? null
  }

  private async podmanHealthcheck(name: string): Promise<RawHealthcheck | null> {
    const path = url`/libpod/images/${name}/json`
    const answer = await this.engine.ask({ method: 'GET', path, accept: [400, 404, 405, 500] })
    return podmanSchema.safeParse(answer.body).data?.Healthcheck ?? null
  }

  private async wanted(environment: Environment): Promise<Wanted> {
    const needed = await findNeededImage(environment)
    if (needed.kind === 'prebuilt') return this.orBase(needed.name)
    if (needed.kind === 'none' || (needed.kind === 'compose' && environment.dockerImage !== undefined)) {
      const name = environment.dockerImage ?? this.options.base
      if (name !== undefined) return this.orBase(name)
      const dir = environment.dir
      throw new BoundaryError('task', `${dir} has no Dockerfile, and the task names no docker_image`, {
        retryable: false,
      })
    }
    const place = { context: environment.dir, dockerfile: 'Dockerfile', args: {}, target: undefined }
    return this.wantedBuild(place, needed.digest)
  }

  private async wantedService(service: ServiceImage): Promise<Wanted> {
    if (service.kind === 'image') return this.orBase(service.name)
    const { context, dockerfile, args, target } = service
    const digest = await digestContext(context, ['service', dockerfile, JSON.stringify(args), target ?? ''])
    return this.wantedBuild(service, digest)
  }

  private async wantedBuild(place: BuildPlace, digest: string): Promise<WantedBuild> {
    const build = await loadBuild(place, this.options.base === undefined ? null : (name) => this.standIn(name))
    const replaced = build.notes.length > 0 ? `-${short(build.dockerfile)}` : ''
    return {
      kind: 'build',
      tag: `ot-agent/environment:${digest.slice(0, 32)}${replaced}`,
      build,
      notes: build.notes,
      digest,
    }
  }

  private async orBase(name: string): Promise<Wanted> {
    const stand = await this.standIn(checkImageName(name))
    if (stand === null) return { kind: 'pull', tag: name, notes: [] }
    return { kind: 'pull', tag: stand, notes: [`image ${name} is not available here; using ${stand} instead`] }
  }

  /** What to use instead of an image that is not available here; null to use the image itself. */
  private async standIn(name: string): Promise<string | null> {
    const { base } = this.options
    if (base === undefined || name === base || (await this.inspect(name)) !== null) return null
    return base
  }

  private async make(wanted: Wanted, environment: Environment, how: PrepareOptions & { signal: AbortSignal }) {
    const { tag, notes } = wanted
    if (wanted.kind === 'pull') await pullImage(this.engine, tag, how)
    else await this.build(wanted, environment, how)
    const made = await this.inspect(tag, notes)
    if (made) return made
    throw new BoundaryError('sandbox', `${this.engine.name} reported no error, but image ${tag} does not exist`)
  }

  private async build(
    wanted: WantedBuild,
    environment: Environment,
    how: PrepareOptions & { signal: AbortSignal },
  ): Promise<void> {
    const { buildTimeoutSec: timeoutSec } = environment
    const lock = join(this.options.stateDir, this.engine.name, 'builds', `${wanted.tag.replace(/^.*:/, '')}.lock`)
    await this.gate.run(how.signal, async () => {
      const outcome = await withDeadline(timeoutSec, how.signal, (signal) =>
        withBuildLock(lock, signal, async () => {
          if (!how.forceBuild && (await this.inspect(wanted.tag)) !== null) return
          await this.buildWithin(wanted, environment, { ...how, signal })
        }),
      )
      if (outcome !== expired) return
      const message = `the image was not built within ${timeoutSec} s`
      throw new BoundaryError('sandbox', message, { code: 'EnvironmentStartTimeoutError' })
    })
  }

  /** Builds with the task's network and limits, if the engine can contain the build. */
  private async buildWithin(wanted: WantedBuild, environment: Environment, how: PrepareOptions): Promise<void> {
    const { server, seccompProfile, stateDir, lifetimeSec } = this.options
    const asked = this.options.buildNetwork ?? (environment.network.mode === 'public' ? 'public' : 'none')
    const { build } = wanted
    await checkDockerfile(build.dockerfile, build.file, { server, isPublic: asked !== 'none', args: build.args })
    for (const image of build.bases) await this.checkBase(image, how)
    const id = newSandboxId()
    const labels = renderLabels(id, { job: 'build', trial: wanted.tag }, { stateDir, lifetimeSec })
    const network = asked === 'public' ? ownNetwork(this.engine, server, id, labels) : sharedNetwork(asked)
    try {
      await network.ready()
      const limits = buildLimits(environment, this.options.limits)
      const request = { ...wanted, server, seccompProfile, network: network.name, limits }
      await buildImage(this.engine, request, how)
    } finally {
      await network.remove()
    }
  }

  /** An image may bring instructions for builds based on it, and those have not been checked. */
  private async checkBase(image: string, how: PrepareOptions): Promise<void> {
    if ((await this.inspect(image)) === null) await pullImage(this.engine, image, how)
    const { body } = await this.engine.ask({ method: 'GET', path: url`/images/${image}/json`, accept: [404, 400] })
    const triggers = triggersSchema.safeParse(body).data?.Config?.OnBuild ?? []
    if (triggers.length === 0) return
    throw new BoundaryError('task', `the base image ${image} has ONBUILD instructions, which are not supported`, {
      code: 'EnvironmentBuildError',
      retryable: false,
    })
  }
}

interface WantedBuild {
  readonly kind: 'build'
  readonly tag: string
  readonly build: LoadedBuild
  readonly digest: string
  readonly notes: readonly string[]
}

type Wanted = WantedBuild | { readonly kind: 'pull'; readonly tag: string; readonly notes: readonly string[] }

/** The name of an image without tag, digest and the parts that Docker's own registry may leave out. */
function repoOf(name: string): string {
  return name
    .replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '')
    .replace(/^(?:docker\.io\/)?(?:library\/)?/, '')
}

function short(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
