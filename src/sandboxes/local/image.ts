import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { Environment, Healthcheck, User } from '../../core/task.ts'
import { BuildContext, ContextError, readInside } from '../../formats/dockerfile/context.ts'
import { parseDockerfile } from '../../formats/dockerfile/parse.ts'
import { planDockerfile } from '../../formats/dockerfile/plan.ts'
import type { Base } from './base.ts'
import type { ImageHost } from './image/layers.ts'
import { type BuiltStage, buildStage, type StageBuild } from './image/stage.ts'

/** What a sandbox starts from: its files, and how its commands run. */
export interface Image {
  readonly base: Base
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: User | undefined
  readonly entrypoint: readonly string[] | null
  readonly healthcheck: Healthcheck | null
  /** Things a reader of the results must know, for example a replaced base image. */
  readonly notes: readonly string[]
}

export interface BuildImageOptions {
  readonly signal: AbortSignal
  /** Called with each line of the build's output. */
  readonly log: (line: string) => void
  /** Builds every layer again, once per process. */
  readonly forceBuild?: boolean
  /** `task`, the default: builds have a network if the task does. */
  readonly buildNetwork?: 'task' | 'public' | undefined
}

/**
 * Replays `environment/Dockerfile` into cached layers. A Dockerfile that is wrong, asks for something unsupported, or
 * has a failing command is the task's failure; then, and on an abort, nothing is left behind.
 */
export async function buildImage(
  environment: Environment,
  host: ImageHost,
  options: BuildImageOptions,
): Promise<Image> {
  options.signal.throwIfAborted()
  const file = dockerfileLabel(environment.dir)
  const text = await atTask(file, () => readInside(environment.dir, 'Dockerfile'))
  if (text === null) return bareImage(host)
  const plan = planDockerfile(parseDockerfile(text, file), `linux/${dockerArchitecture()}`)
  const context = await atTask(file, () => BuildContext.open(environment.dir))
  const notes = new Set(plan.notes)
  const built = new Map<number, BuiltStage>()
  const { signal, log, forceBuild = false } = options
  const common = { host, file, context, built, notes, signal, log, forceBuild }
  const build: StageBuild = {
    ...common,
    network: buildNetwork(environment, options),
    memoryMb: Math.max(environment.memoryMb ?? 0, leastBuildMemoryMb),
    storageMb: Math.max(environment.storageMb ?? 0, leastBuildStorageMb),
  }
  for (const stage of plan.stages) built.set(stage.index, await buildStage(stage, build))
  const last = plan.stages.at(-1)
  const result = last && built.get(last.index)
  if (!last || !result) throw new Error(`${file}: a plan without stages`)
  return { base: result.base, layers: result.layers, ...last.config, notes: [...notes] }
}

function buildNetwork({ network }: Environment, options: BuildImageOptions): 'public' | 'none' {
  return network.mode === 'public' || options.buildNetwork === 'public' ? 'public' : 'none'
}

/** The least memory a build gets, even if its task needs less: compilers need more than what they make. */
const leastBuildMemoryMb = 4096

/** The same for the disk space of one instruction, also for tasks without a limit. */
const leastBuildStorageMb = 20 * 1024

async function bareImage(host: ImageHost): Promise<Image> {
  const { base } = await host.findBase(null)
  return { base, layers: [], env: {}, workdir: '/', user: undefined, entrypoint: null, healthcheck: null, notes: [] }
}

/** `environment/Dockerfile`, or `tests/Dockerfile` for a verifier with its own machine. */
function dockerfileLabel(dir: string): string {
  return join(dir.split('/').findLast((part) => part !== '') ?? '', 'Dockerfile')
}

async function atTask<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ContextError)
      throw new BoundaryError('task', `${file}: ${error.message}`, { code: 'EnvironmentBuildError' })
    throw error
  }
}

/** This machine's architecture in Docker's spelling. */
function dockerArchitecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch
}
