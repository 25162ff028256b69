import { join } from 'node:path'
import { z } from 'zod'
import type { PrepareOptions } from '../../../core/sandbox.ts'
import type { Environment, Healthcheck } from '../../../core/task.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'
import { type ComposeFile, composeFileName, loadCompose, mainService } from '../../../formats/compose/load.ts'
import type { ComposeMount } from '../../../formats/compose/mounts.ts'
import type { ComposeService } from '../../../formats/compose/service.ts'
import { composeError } from '../../../formats/compose/words.ts'
import { parseDurationSec } from '../../../formats/dockerfile/parse.ts'
import { exists } from '../../../lib/files.ts'
import { shellQuote } from '../../../lib/shell.ts'
import type { EngineImage, Images, ServiceImage } from '../images.ts'

/** Volumes for log directories that services share with the agent's container. */
const logVolumes = { 'logs-agent': sandboxPaths.agentLogs, 'logs-artifacts': sandboxPaths.artifacts } as const
const verifierVolume = 'logs-verifier'
/** Paths that must belong to the agent's container alone. */
const ownTargets: readonly string[] = [sandboxPaths.tests, sandboxPaths.verifierLogs]

/** A task's compose file with Harbor's variables filled in; null for a task without one. */
export async function loadServices(environment: Environment): Promise<ComposeFile | null> {
  const { dir, dockerImage, cpus, memoryMb, env } = environment
  const variables = {
    ...env,
    CONTEXT_DIR: dir,
    MAIN_IMAGE_NAME: 'main',
    PREBUILT_IMAGE_NAME: dockerImage ?? '',
    CPUS: String(cpus ?? 1),
    MEMORY: `${memoryMb ?? 2048}M`,
    ENV_AGENT_LOGS_PATH: sandboxPaths.agentLogs,
    ENV_VERIFIER_LOGS_PATH: sandboxPaths.verifierLogs,
    ENV_ARTIFACTS_PATH: sandboxPaths.artifacts,
    HOST_AGENT_LOGS_PATH: 'logs-agent',
    HOST_VERIFIER_LOGS_PATH: verifierVolume,
    HOST_ARTIFACTS_PATH: 'logs-artifacts',
  }
  const file = await loadCompose(dir, variables, [...Object.keys(logVolumes), verifierVolume])
  const main = file?.services[mainService]
  if (!file || !main) return null
  return { ...file, services: { ...file.services, [mainService]: { ...main, mounts: mountsOfMain(file, main) } } }
}

/** The agent's container sees logs that other services write; what its tests write is private. */
function mountsOfMain(file: ComposeFile, main: ComposeService): ComposeMount[] {
  const mounts = main.mounts.filter(({ target }) => !ownTargets.includes(target))
  const shared = Object.entries(logVolumes).flatMap(([name, target]) =>
    file.volumes.includes(name) && !mounts.some((mount) => mount.target === target)
      ? [{ kind: 'volume' as const, name, target, readOnly: false }]
      : [],
  )
  return [...mounts, ...shared]
}

const healthSchema = z.object({
  test: z.union([z.string(), z.array(z.string())]).optional(),
  disable: z.boolean().default(false),
  interval: z.string().optional(),
  timeout: z.string().optional(),
  start_period: z.string().optional(),
  start_interval: z.string().optional(),
  retries: z.coerce.number().optional(),
})

/** The health check that the file sets for the agent's container, or else its image's. */
export function healthcheckOf(main: ComposeService, image: EngineImage): Healthcheck | null {
  const said = healthSchema.safeParse(main.rest.healthcheck)
  if (!said.success) return image.healthcheck
  const { test, disable, retries = 3 } = said.data
  const [form, ...words] = typeof test === 'string' ? ['CMD-SHELL', test] : (test ?? [])
  if (disable || form === 'NONE') return null
  if (form === undefined) return image.healthcheck
  const sec = (text: string | undefined, otherwise: number) => (text && parseDurationSec(text)) || otherwise
  return {
    command: form === 'CMD-SHELL' ? words.join(' ') : words.map(shellQuote).join(' '),
    intervalSec: sec(said.data.interval, 30),
    timeoutSec: sec(said.data.timeout, 30),
    startPeriodSec: sec(said.data.start_period, 0),
    startIntervalSec: sec(said.data.start_interval, 5),
    retries,
  }
}

/** The image of every service, each made if missing. */
export async function findServiceImages(
  images: Images,
  file: ComposeFile,
  environment: Environment,
  how: PrepareOptions,
): Promise<Map<string, EngineImage>> {
  const found = new Map<string, EngineImage>()
  for (const [name, service] of Object.entries(file.services))
    found.set(name, await images.findService(await imageOf(name, service, environment), environment, how))
  return found
}

/** Whether every service's image exists. */
export async function hasServiceImages(images: Images, file: ComposeFile, environment: Environment): Promise<boolean> {
  for (const [name, service] of Object.entries(file.services))
    if (!(await images.hasService(await imageOf(name, service, environment)))) return false
  return true
}

/**
 * A service's own build or image; for the agent's service the default is what a task without a compose file would use.
 */
async function imageOf(name: string, service: ComposeService, environment: Environment): Promise<ServiceImage> {
  const { dir, dockerImage } = environment
  if (service.build) return { kind: 'build', ...service.build }
  if (name === mainService) {
    const image = dockerImage === undefined ? undefined : (service.image ?? dockerImage)
    if (image !== undefined) return { kind: 'image', name: image }
    if (await exists(join(dir, 'Dockerfile')))
      return { kind: 'build', context: dir, dockerfile: 'Dockerfile', args: {}, target: undefined }
  }
  if (service.image !== undefined) return { kind: 'image', name: service.image }
  throw composeError(join(dir, composeFileName), `services.${name}: expected an image or a build`)
}
