import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { EnvironmentConfig, TrialConfig } from '../../core/job.ts'
import type { SandboxAbilities, SandboxLease, SandboxProvider } from '../../core/sandbox.ts'
import type { Artifact, Environment, Network, Task } from '../../core/task.ts'
import { exists } from '../../lib/files.ts'
import { atBoundary } from './boundary.ts'

/** Features that a task may need and that not every kind of sandbox has. */
const needs = [
  'compose',
  'images',
  'gpu',
  'tpu',
  'windows',
  'allowlist',
  'networkPerPhase',
  'mounts',
  'services',
] as const
export type Need = (typeof needs)[number]

/** Finds the names of sandboxes that meet a need; used only to tell a user whose sandbox does not. */
export type SandboxAlternatives = (need: Need) => Promise<readonly string[]>

/** The environment a trial actually gets: the job's overrides win, and a forced build ignores a prebuilt image. */
export async function effectiveEnvironment(environment: Environment, config: EnvironmentConfig): Promise<Environment> {
  const { overrideCpus, overrideMemoryMb, overrideStorageMb, overrideGpus } = config
  const { dockerImage, ...rest } = environment
  const rebuild = config.forceBuild && (await exists(join(environment.dir, 'Dockerfile')))
  return {
    ...rest,
    ...(dockerImage !== undefined && !rebuild && { dockerImage }),
    ...(overrideCpus !== null && { cpus: overrideCpus }),
    ...(overrideMemoryMb !== null && { memoryMb: overrideMemoryMb }),
    ...(overrideStorageMb !== null && { storageMb: overrideStorageMb }),
    ...(overrideGpus !== null && { gpus: overrideGpus }),
  }
}

/**
 * The environment that a task's trial gets; refused if this kind of sandbox cannot provide it or what its verifiers
 * need.
 */
export async function acceptableEnvironment(
  task: Task,
  config: TrialConfig,
  provider: Pick<SandboxProvider, 'name' | 'can'>,
  alternatives: SandboxAlternatives,
): Promise<Environment> {
  const environment = await effectiveEnvironment(task.environment, config.environment)
  const ofVerifiers = [task, ...task.steps].flatMap(({ verifier }) => verifier.environment ?? [])
  await refuseUnmetNeeds(task, [environment, ...ofVerifiers], config, { provider, alternatives })
  return environment
}

/** The chosen kind of sandbox, and the alternatives. */
interface SandboxChoice {
  readonly provider: Pick<SandboxProvider, 'name' | 'can'>
  readonly alternatives: SandboxAlternatives
}

/** Refuses needs that this kind of sandbox cannot meet, before anything starts; isolation is never silently dropped. */
export async function refuseUnmetNeeds(
  task: Task,
  environments: readonly Environment[],
  config: TrialConfig,
  { provider, alternatives }: SandboxChoice,
): Promise<void> {
  const asked = (await Promise.all(environments.map((it) => environmentNeeds(it, config)))).flat()
  for (const [need, what] of [...asked, ...taskNeeds(task, config)]) {
    if (meets(provider.can, need)) continue
    const others = await alternatives(need)
    const can = others.length > 0 ? `sandboxes that do: ${others.join(', ')}` : 'no sandbox does'
    const message = `task ${task.name} needs ${what}, which sandbox ${provider.name} does not support; ${can}`
    throw new BoundaryError('task', message, { code: 'UnsupportedEnvironmentError', retryable: false })
  }
}

type Asked = readonly [need: Need, what: string]

async function environmentNeeds(environment: Environment, config: TrialConfig): Promise<Asked[]> {
  const asked: Asked[] = []
  const compose = await exists(join(environment.dir, 'docker-compose.yaml'))
  if (compose) asked.push(['compose', 'a compose file (environment/docker-compose.yaml)'])
  if (environment.dockerImage) asked.push(['images', `a prebuilt image (docker_image = "${environment.dockerImage}")`])
  if (environment.gpus > 0) asked.push(['gpu', `${environment.gpus} GPU`])
  if (environment.tpu) asked.push(['tpu', `a TPU (${environment.tpu.type})`])
  if (environment.os === 'windows') asked.push(['windows', 'Windows'])
  if (environment.network.mode === 'allowlist') asked.push(['allowlist', 'a network with an allowlist of hosts'])
  if (config.environment.mountsJson?.length) asked.push(['mounts', 'mounts_json'])
  return asked
}

function taskNeeds(task: Task, config: TrialConfig): Asked[] {
  const asked: Asked[] = []
  const { network } = task.environment
  for (const limits of [task, ...task.steps].flatMap(({ agent, verifier }) => [agent, verifier])) {
    if (limits.network?.mode === 'allowlist') asked.push(['allowlist', 'a network with an allowlist of hosts'])
    if (limits.network && !sameNetwork(limits.network, network))
      asked.push(['networkPerPhase', 'a network that differs between phases'])
  }
  const service = [...services(task, config)].find((name) => name !== 'main')
  if (service !== undefined) asked.push(['services', `files of the service "${service}"`])
  return asked
}

function* services(task: Task, config: TrialConfig): Iterable<string> {
  const ofJob = config.artifacts.filter((item): item is Artifact => typeof item !== 'string')
  const artifacts = [...task.artifacts, ...task.steps.flatMap((step) => step.artifacts), ...ofJob]
  for (const artifact of artifacts) yield artifact.service ?? 'main'
  for (const { verifier } of [task, ...task.steps]) for (const collect of verifier.collect) yield collect.service
}

/** Whether a kind of sandbox meets a need. */
export function meets(can: SandboxAbilities, need: Need): boolean {
  if (need === 'tpu' || need === 'mounts' || need === 'services') return false
  return need === 'allowlist' ? can.network.includes('allowlist') : can[need]
}

/** The network modes that any phase of some tasks asks for. */
export function networksOf(tasks: readonly Task[]): Network['mode'][] {
  const parts = tasks.flatMap((task) => [task, ...task.steps])
  const modes = [
    ...tasks.map(({ environment }) => environment.network.mode),
    ...parts.flatMap(({ agent, verifier }) => [agent.network, verifier.network, verifier.environment?.network]),
  ].flatMap((network) => (typeof network === 'string' ? network : (network?.mode ?? [])))
  return [...new Set(modes)]
}

/** Whether two networks allow the same traffic. */
function sameNetwork(a: Network, b: Network): boolean {
  return a.mode === b.mode && JSON.stringify(a) === JSON.stringify(b)
}

/** Switches a sandbox's network between phases, and only if it differs from the current one. */
export interface PhaseNetwork {
  /** Undefined means the environment's own. */
  use(network: Network | undefined): Promise<void>
}

/** Tracks the network of a sandbox that just started with its environment's own. */
export function makePhaseNetwork(lease: SandboxLease, baseline: Network, signal: AbortSignal): PhaseNetwork {
  let current = baseline
  return {
    use: async (network) => {
      const wanted = network ?? baseline
      if (sameNetwork(wanted, current)) return
      await atBoundary('sandbox', signal, () => lease.setNetwork(wanted))
      current = wanted
    },
  }
}
