import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { checkEngineFile, type EngineFile } from '../../formats/engine-yaml.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { type Gpus, gpuMemoryOf, profileFor, refuseMisfit } from '../../formats/model-fit.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { jsonOrText } from '../../lib/parse-json.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { secondsOf } from '../../lib/time-limit.ts'
import type { PlanContext } from '../../run/launch/plan.ts'
import type { ServerRequest } from '../../run/launch/plan-server.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { parsePath, setAt } from '../job/assignments.ts'
import { localOf } from './local-paths.ts'

/** The model behind a job: its engine file, and the server to start for it. */
export interface ChosenEngine {
  /** Path below the experiments directory. */
  readonly path: string
  readonly text: string
  readonly server: ServerRequest | null
  /** The path or name of the model that the server loads. */
  readonly weights: string | null
  /** The server's limit on prompt plus reply tokens; null if the file does not say. */
  readonly contextTokens: number | null
  /** How many array tasks may run at once; null if the file does not say. */
  readonly chunkArrayMax: number | null
}

export interface EngineAsk {
  /** A preset in configs/engines, an engine's type, or a file. */
  readonly name: string | undefined
  readonly config: string | undefined
  readonly backend: string | undefined
  /** For example `vllm_server.model_path=...`. */
  readonly set: readonly string[]
  /** Where to write the file, below the experiments directory. */
  readonly as: string
}

/** Names of engines in old command lines. */
const presets: Readonly<Record<string, string>> = {
  vllm_local: 'vllm',
  vllm: 'vllm',
  google_gemini: 'gemini',
  gemini_openai: 'gemini',
  'openai-compatible': 'openai-compatible',
}

/** Reads an engine file or preset, applies settings and checks it; null if no model is requested. */
export async function chooseEngineFile(
  at: PlanContext,
  settings: Settings,
  ask: EngineAsk,
): Promise<ChosenEngine | null> {
  const file = await engineFileOf(ask)
  if (file === null) return null
  const source = await readTextIfExists(file)
  if (source === null)
    throw new UserError(`expected the engine file ${file}, found none`, 'configs/engines has examples')
  const document = Object(
    structuredClone(readDocument(source, file, file.endsWith('.json') ? 'json' : 'yaml')),
  ) as Record<string, unknown>
  const gpus = gpusOf(at)
  if (gpus && document.gpu_profiles)
    for (const [key, value] of Object.entries(profileFor(checkEngineFile(document, file), gpus) ?? {}))
      setDeep(document, `vllm_server.${key}=${JSON.stringify(value)}`)
  delete document.gpu_profiles
  for (const setting of ask.set) setDeep(document, setting)
  if (ask.backend !== undefined) setDeep(document, `backend.type=${ask.backend}`)
  const parsed = checkEngineFile(document, file)
  if (parsed.engine.type === 'none') return null
  const own = serverOf(parsed, ask.as)
  if (own && gpus) refuseMisfit(parsed, gpus)
  const server = own && { ...own, timeLimit: timeLimitOf(at, settings, own) }
  const weights = parsed.vllm_server?.model_path ?? parsed.engine.model ?? null
  const local = server && weights ? localOf(at, settings, weights, 'model') : null
  const contextTokens = (server && parsed.vllm_server?.max_model_len) ?? null
  const about = { path: ask.as, weights, contextTokens, chunkArrayMax: parsed.chunk_array_max ?? null }
  if (!server || !local?.download) return { ...about, text: renderYaml(document), server }
  // Callers keep using the model's own name.
  setDeep(document, `vllm_server.model_path=${local.path}`)
  setDeep(document, `vllm_server.custom_model_name=${server.model}`)
  return { ...about, text: renderYaml(document), server: { ...server, download: local.download } }
}

/** Refuses an agent that would send its server more tokens than it accepts. `from` names the source of its options. */
export function refuseLongContext(engine: ChosenEngine | null, agentOptions: unknown, from: string): void {
  const asked = Object(Object(agentOptions).model_info).max_input_tokens
  const most = engine?.contextTokens ?? null
  if (most === null || typeof asked !== 'number' || asked <= most) return
  throw new UserError(
    `${from}: model_info.max_input_tokens asks for ${asked} tokens, but the server takes ${most}`,
    'lower it, or raise the limit of the server with --set vllm_server.max_model_len=N',
  )
}

/** A cluster's GPUs; null if it has none, or if their memory size is unknown. */
function gpusOf({ cluster }: PlanContext): Gpus | null {
  const memoryGib = gpuMemoryOf(cluster.gpuType)
  if (memoryGib === null || cluster.gpusPerNode === 0) return null
  return { memoryGib, perNode: cluster.gpusPerNode, nodes: cluster.nodes ?? 1 }
}

/** An explicit time limit also applies to the server; the cluster's default does not, but its maximum does. */
function timeLimitOf({ cluster }: PlanContext, settings: Settings, { timeLimit }: ServerRequest): string {
  const asked = settings.get('time_limit')
  if (asked && !asked.origin.startsWith('cluster')) return String(asked.value)
  const most = cluster.maxTimeLimit
  return most !== undefined && secondsOf(timeLimit) > secondsOf(most) ? most : timeLimit
}

async function engineFileOf({ name, config }: EngineAsk): Promise<string | null> {
  if (config !== undefined) return resolve(config)
  if (name === undefined || name === 'none') return null
  const preset = join(packageRoot, 'configs/engines', `${presets[name] ?? name}.yaml`)
  if (/^[\w-]+$/.test(name) && (await exists(preset))) return preset
  if (await exists(name)) return resolve(name)
  throw new UserError(
    `unknown engine ${JSON.stringify(name)}`,
    'use vllm_local, openai, anthropic, google_gemini, none, a name in configs/engines, or a file',
  )
}

/** How many GPUs the server of an engine file needs, and how long to wait for it. */
function serverOf({ engine, backend, vllm_server: server }: EngineFile, configFile: string): ServerRequest | null {
  if (!server || backend?.type === 'none') return null
  const {
    num_replicas: replicas,
    tensor_parallel_size: tensor,
    pipeline_parallel_size: pipeline,
    data_parallel_size: data,
  } = server
  const inflight = backend?.ray_cgraph_max_inflight_executions ?? Math.max(16, 2 * pipeline, 2 * tensor)
  return {
    configFile,
    model: server.custom_model_name ?? server.model_path ?? engine.model ?? 'a model',
    replicas,
    gpusPerReplica: tensor * pipeline * data,
    timeLimit: server.time_limit,
    download: null,
    ray: {
      port: backend?.ray_port === 6379 ? 0 : (backend?.ray_port ?? 0),
      variables: {
        RAY_CGRAPH_submit_timeout: String(backend?.ray_cgraph_submit_timeout ?? 86_500),
        RAY_CGRAPH_get_timeout: String(backend?.ray_cgraph_get_timeout ?? 86_500),
        RAY_CGRAPH_max_inflight_executions: String(inflight),
      },
    },
    attempts: backend?.healthcheck_max_attempts ?? 120,
    delaySec: backend?.healthcheck_retry_delay ?? 15,
  }
}

/** Sets `a.b.c=value` in a document; the value is parsed as JSON if possible, else taken as text. */
function setDeep(document: Record<string, unknown>, setting: string): void {
  const at = setting.indexOf('=')
  if (at <= 0)
    throw new UserError(
      `--set: expected path=value, got ${JSON.stringify(setting)}`,
      'for example vllm_server.max_model_len=8192',
    )
  setAt(document, parsePath('--set', setting.slice(0, at)), jsonOrText(setting.slice(at + 1)))
}
