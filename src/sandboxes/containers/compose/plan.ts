import { join } from 'node:path'
import { BoundaryError } from '../../../core/errors.ts'
import type { SandboxRequest } from '../../../core/sandbox.ts'
import type { Healthcheck } from '../../../core/task.ts'
import { type ComposeFile, composeFileName, mainService } from '../../../formats/compose/load.ts'
import type { ComposeService } from '../../../formats/compose/service.ts'
import { waitingProgram } from '../container.ts'
import type { ContainerEngine } from '../container-engine.ts'
import type { EngineImage, Images } from '../images.ts'
import type { EngineServer } from '../server.ts'
import { checkClosed } from './closed.ts'
import { ComposeProject } from './project.ts'
import { findServiceImages, healthcheckOf } from './services.ts'

/** How a compose file shapes the agent's container. */
export interface MainPlan {
  readonly project: ComposeProject
  readonly image: EngineImage
  readonly user: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly program: readonly string[]
  readonly healthcheck: Healthcheck | null
  readonly notes: readonly string[]
}

export interface PlanPlace {
  readonly engine: ContainerEngine
  readonly server: EngineServer
  readonly images: Images
  /** The compose program of this machine. */
  readonly program: string | null
  readonly resolvesNames: boolean
  readonly id: string
}

/** Makes the images of a task with a compose file and says how its containers start. */
export async function planProject(file: ComposeFile, request: SandboxRequest, place: PlanPlace): Promise<MainPlan> {
  const { environment, signal } = request
  const { engine, server, images, program, resolvesNames, id } = place
  const unable = (what: string) =>
    new BoundaryError('task', what, { code: 'UnsupportedEnvironmentError', retryable: false })
  if (program === null) throw unable(`the task has a ${composeFileName}, and this machine has no docker-compose`)
  if (environment.gpus > 0) throw unable(`GPUs are not supported for a task with a ${composeFileName}`)
  const found = await findServiceImages(images, file, environment, request)
  const [main, image] = [file.services[mainService], found.get(mainService)]
  if (!main || !image) throw unable(`the ${composeFileName} has no service called ${mainService}`)
  const { network } = environment
  if (network.mode !== 'public') checkClosed(file, join(environment.dir, composeFileName))
  const project = new ComposeProject({
    engine,
    server,
    program,
    id,
    file,
    images: found,
    network,
    resolvesNames,
    signal,
  })
  return {
    project,
    image,
    user: text(main, 'user') ?? image.user,
    workdir: text(main, 'working_dir') ?? image.workdir,
    env: main.environment,
    program: programOf(main, image),
    healthcheck: healthcheckOf(main, image),
    notes: [...file.notes, ...[...found.values()].flatMap(({ notes }) => notes), ...aboutOthers(project.others)],
  }
}

function programOf({ entrypoint, command }: ComposeService, image: EngineImage): readonly string[] {
  const first = entrypoint ?? image.entrypoint
  return command === undefined ? waitingProgram(first) : [...first, ...command]
}

function text({ rest }: ComposeService, key: string): string | undefined {
  const value = rest[key]
  return value === undefined || value === null ? undefined : String(value)
}

function aboutOthers(names: readonly string[]): string[] {
  if (names.length === 0) return []
  return [`services ${names.join(', ')} keep running while the tests run in a fresh ${mainService}`]
}
