import { stringify } from 'smol-toml'
import type { AgentLimits, Artifact, Healthcheck, McpServer, Network } from '../../core/task.ts'
import type { EnvironmentSettings, StepSettings, TaskSettings, VerifierSettings } from './environment.ts'

type Table = Readonly<Record<string, unknown>>

/** Renders a task.toml in Harbor's order of tables, without deprecated or empty keys. */
export function renderTaskToml(settings: TaskSettings): string {
  const root = {
    schema_version: settings.schemaVersion,
    source: settings.source,
    multi_step_reward_strategy:
      settings.steps.length > 0 || settings.stepReward !== 'mean' ? settings.stepReward : undefined,
    artifacts: settings.artifacts.map(artifactTable),
  }
  const metadata = metadataTable(settings.metadata)
  const sections: readonly Table[] = [
    withoutEmpty(root),
    withoutEmpty({ task: packageTable(settings) }),
    withoutEmpty({ steps: settings.steps.map((step) => stepTable(step, settings.verifier)) }),
    Object.keys(metadata).length > 0 ? { metadata } : {},
    withoutEmpty({ verifier: verifierTable(settings.verifier, 'shared') }),
    withoutEmpty({ agent: agentTable(settings.agent) }),
    withoutEmpty({ environment: environmentTable(settings.environment) }),
    withoutEmpty({ solution: { env: settings.solution.env } }),
  ]
  const texts = sections.filter((section) => Object.keys(section).length > 0)
  // Plain numbers are written as floats, so that seconds stay floats; integers are already bigints here.
  return `${texts.map((section) => stringify(section, { numbersAsFloat: true }).trim()).join('\n\n')}\n`
}

function packageTable(settings: TaskSettings): Table {
  const { name, version, description, authors, keywords } = settings
  const rest = { version, description: description || undefined, authors, keywords }
  if (name === undefined && Object.keys(withoutEmpty(rest)).length > 0) {
    throw new Error('a task with a version, description, authors or keywords needs a name')
  }
  return { name, ...rest }
}

function stepTable(step: StepSettings, task: VerifierSettings): Table {
  const keys = Object.keys(step.minReward ?? {})
  const isPlain = keys.length === 1 && keys[0] === 'reward'
  return {
    name: step.name,
    min_reward: isPlain ? step.minReward?.reward : step.minReward,
    artifacts: step.artifacts.map(artifactTable),
    agent: agentTable(step.agent),
    verifier: verifierTable(step.verifier, task.mode),
    healthcheck: step.healthcheck && healthcheckTable(step.healthcheck),
  }
}

function verifierTable(verifier: VerifierSettings, inherited: VerifierSettings['mode']): Table {
  return {
    timeout_sec: verifier.timeoutSec,
    user: integerOrText(verifier.user),
    ...networkKeys(verifier.network),
    environment_mode: verifier.mode === inherited ? undefined : verifier.mode,
    env: verifier.env,
    collect: verifier.collect.map((hook) => ({
      command: hook.command,
      service: hook.service,
      timeout_sec: hook.timeoutSec,
      user: integerOrText(hook.user),
    })),
    environment: verifier.environment && environmentTable(verifier.environment),
  }
}

function agentTable(agent: AgentLimits): Table {
  return { timeout_sec: agent.timeoutSec, user: integerOrText(agent.user), ...networkKeys(agent.network) }
}

function environmentTable(environment: EnvironmentSettings): Table {
  return {
    build_timeout_sec: environment.buildTimeoutSec,
    docker_image: environment.dockerImage,
    os: environment.os,
    cpus: integerWhereWhole(environment.cpus),
    memory_mb: integerWhereWhole(environment.memoryMb),
    storage_mb: integerWhereWhole(environment.storageMb),
    gpus: integerWhereWhole(environment.gpus),
    gpu_types: environment.gpuTypes,
    ...networkKeys(environment.network),
    skills_dir: environment.skillsDir,
    workdir: environment.workdir,
    env: environment.env,
    tpu: environment.tpu,
    healthcheck: environment.healthcheck && healthcheckTable(environment.healthcheck),
    mcp_servers: environment.mcpServers.map((server: McpServer) => ({ ...server })),
  }
}

function networkKeys(network: Network | undefined): Table {
  return { network_mode: network?.mode, allowed_hosts: network?.mode === 'allowlist' ? network.hosts : undefined }
}

function healthcheckTable(healthcheck: Healthcheck): Table {
  return {
    command: healthcheck.command,
    interval_sec: healthcheck.intervalSec,
    timeout_sec: healthcheck.timeoutSec,
    start_period_sec: healthcheck.startPeriodSec,
    start_interval_sec: healthcheck.startIntervalSec,
    retries: integerWhereWhole(healthcheck.retries),
  }
}

function artifactTable(artifact: Artifact): string | Table {
  const isPlain = artifact.destination === undefined && artifact.service === undefined && artifact.exclude.length === 0
  return isPlain ? artifact.source : { ...artifact }
}

function integerOrText(value: string | number | undefined): unknown {
  return typeof value === 'number' ? integerWhereWhole(value) : value
}

function integerWhereWhole(value: number | undefined): unknown {
  return Number.isSafeInteger(value) && value !== undefined ? BigInt(value) : value
}

/** The author's own table without nulls, which TOML does not have. */
function metadataTable(table: Table): Record<string, unknown> {
  const kept = Object.entries(table).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(kept.map(([key, value]) => [key, metadataValue(value)]))
}

function metadataValue(value: unknown): unknown {
  if (typeof value === 'number') return integerWhereWhole(value)
  if (Array.isArray(value)) return value.filter((item) => item !== null && item !== undefined).map(metadataValue)
  return isTable(value) ? metadataTable(value) : value
}

/** Drops empty keys: undefined, null, and empty lists and tables, at every depth except inside lists. */
function withoutEmpty(table: Table): Record<string, unknown> {
  const kept = Object.entries(table).flatMap(([key, value]) => {
    const inner = isTable(value) ? withoutEmpty(value) : Array.isArray(value) ? value.map(inList) : value
    return isEmpty(inner) ? [] : [[key, inner] as const]
  })
  return Object.fromEntries(kept)
}

function inList(value: unknown): unknown {
  return isTable(value) ? withoutEmpty(value) : value
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return Array.isArray(value) ? value.length === 0 : isTable(value) && Object.keys(value).length === 0
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
