import { UserError } from '../core/errors.ts'
import type { VllmServerSettings } from './engine-yaml.ts'

/** How to start a vLLM server: program, arguments and environment variables. */
export interface VllmCommand {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The server's name for the model. */
  readonly modelName: string
  /** Options that come from the file's settings, and may be dropped if the server lacks them. */
  readonly settable: readonly string[]
}

export interface VllmPlace {
  readonly host: string
  readonly port: number
  /** For a file that names the model elsewhere. */
  readonly model: string | null
}

/** A vLLM server's command line, with every setting as an option. */
export function renderVllmCommand(settings: VllmServerSettings, place: VllmPlace): VllmCommand {
  const model = settings.model_path ?? place.model
  if (!model) {
    throw new UserError(
      'vllm_server: expected model_path, or engine.model, got neither',
      'set one, for example model_path: Qwen/Qwen3-8B',
    )
  }
  const options = Object.entries(settings).flatMap(([key, value]) =>
    elsewhere.includes(key) ? [] : option(key, value),
  )
  const own = settings.command
  if (own && own.length > 0) return otherServer(own, settings, place, model)
  const named = settings.custom_model_name ? option('served_model_name', settings.custom_model_name) : []
  const at = ['--host', place.host, '--port', String(place.port)]
  return {
    argv: ['vllm', 'serve', model, ...at, ...named, ...options, ...extraArguments(settings.extra_args)],
    env: {
      ...(settings.logging_level && { VLLM_LOGGING_LEVEL: settings.logging_level }),
      ...(settings.use_deep_gemm != null && { VLLM_USE_DEEP_GEMM: settings.use_deep_gemm ? '1' : '0' }),
    },
    modelName: servedName(settings, model),
    settable: options.filter((word) => word.startsWith('--')),
  }
}

/** The name a server uses for its model. */
export function servedName({ custom_model_name, model_path }: VllmServerSettings, model: string | null): string {
  return custom_model_name ?? model_path ?? model ?? ''
}

/**
 * Another program in the server's place: it is passed the listening address, and the model where its arguments contain
 * `{model}`; it must know everything else itself.
 */
function otherServer(
  own: readonly string[],
  settings: VllmServerSettings,
  place: VllmPlace,
  model: string,
): VllmCommand {
  const words = own.map((word) => word.replaceAll('{model}', model))
  const argv = [...words, '--host', place.host, '--port', String(place.port), ...extraArguments(settings.extra_args)]
  return { argv, env: {}, modelName: servedName(settings, model), settable: [] }
}

/** Not options of the server: expressed in another way, or meant for the process that starts it. */
const elsewhere = [
  'command',
  'model_path',
  'custom_model_name',
  'num_replicas',
  'endpoint_json_path',
  'time_limit',
  'logging_level',
  'use_deep_gemm',
  'tunnel',
  'extra_args',
]

/** `max_model_len: 8192` becomes `--max-model-len 8192`; a switch is present or absent; sizes of 1 are omitted. */
function option(key: string, value: unknown): string[] {
  const flag = `--${key.replaceAll('_', '-')}`
  if (value === null || value === undefined || value === false) return []
  if (value === true) return [flag]
  if (/_parallel_size$/.test(key) && value === 1) return []
  return [flag, typeof value === 'object' ? JSON.stringify(value) : String(value)]
}

/** Arguments given as a command line, a list, or names and values. */
function extraArguments(extra: VllmServerSettings['extra_args']): string[] {
  if (!extra) return []
  if (Array.isArray(extra)) return extra.map(String)
  if (typeof extra !== 'string') {
    return Object.entries(extra).flatMap(([key, value]) => option(key.replace(/^-+/, ''), value))
  }
  const words = extra.match(/"(?:[^"\\]|\\.)*"|'[^']*'|\S+/g) ?? []
  return words.map((word) => word.replace(/^(["'])(.*)\1$/s, '$2'))
}
