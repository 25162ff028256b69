import { readFile } from 'node:fs/promises'
import { UserError } from '../core/errors.ts'
import { type EngineFile, engineFileSchema } from './engine-yaml/schema.ts'
import { readDocument } from './harbor-job/read-config.ts'
import { orUserError } from './harbor-task/read.ts'
import { parseStrict } from './strict-config.ts'

export type { EngineFile, VllmServerSettings } from './engine-yaml/schema.ts'

/** Which engine to make and with what; an endpoint file, where named, has the address and must be read first. */
export interface EngineChoice {
  readonly name: string
  /** Options of the engine's plug-in. */
  readonly options: Readonly<Record<string, unknown>>
  readonly endpointJson: string | null
}

export async function loadEngineFile(path: string): Promise<EngineFile> {
  return parseEngineFile(await orUserError(path, () => readFile(path, 'utf8')), path)
}

/** The same with changes to what the file says, which are checked with it. */
export async function readEngineFile(
  path: string,
  change: (document: Record<string, unknown>) => void,
): Promise<EngineFile> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const document = structuredClone(readDocument(text, path, formatOf(path)))
  // Anything but an object is refused below.
  if (typeof document === 'object' && document !== null) change(document as Record<string, unknown>)
  return checkEngineFile(document, path)
}

export function parseEngineFile(text: string, path: string): EngineFile {
  return checkEngineFile(readDocument(text, path, formatOf(path)), path)
}

function formatOf(path: string): 'json' | 'yaml' {
  return /\.json$/i.test(path) ? 'json' : 'yaml'
}

/** Checks what an engine file says; `path` is for messages. */
export function checkEngineFile(document: unknown, path: string): EngineFile {
  const file = parseStrict(engineFileSchema, document, path, `correct it in ${path}`)
  const { type, vllm_local: local } = file.engine
  const endpointJson = endpointJsonOf(file)
  if (type === 'vllm_local' && endpointJson === null && !(local?.base_url && (local.model_name ?? file.engine.model))) {
    throw new UserError(
      `${path}: engine.vllm_local: expected endpoint_json, or base_url and model_name, got neither`,
      'for example base_url: http://localhost:8000/v1 and the name the server lists',
    )
  }
  return file
}

/** Turns the file's words into the name and options of one of our engines. */
export function chooseEngine(file: EngineFile): EngineChoice {
  const { engine, backend } = file
  const name = engineNames[engine.type] ?? engine.type
  if (name === 'none') return { name, options: {}, endpointJson: null }
  const own =
    engine.type === 'openai' ? engine.openai : engine.type === 'anthropic' ? engine.anthropic : engine.vllm_local
  const options = {
    model: engine.vllm_local?.model_name ?? engine.model,
    api_key: own?.api_key,
    api_key_env: own?.api_key_env,
    api_base: engine.type === 'vllm_local' ? engine.vllm_local?.base_url : undefined,
    healthcheck_interval: engine.vllm_local?.healthcheck_interval ?? engine.healthcheck_interval,
    healthcheck_max_attempts: backend?.healthcheck_max_attempts,
    healthcheck_retry_delay: backend?.healthcheck_retry_delay,
    request_params: {
      ...(engine.max_output_tokens && { max_tokens: engine.max_output_tokens }),
      ...engine.request_params,
    },
    headers: engine.type === 'openai' ? organisation(engine.openai) : undefined,
    ...engine.extra_args,
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null && !isEmpty(value))
  return { name, options: Object.fromEntries(given), endpointJson: endpointJsonOf(file) }
}

const engineNames: Readonly<Record<string, string>> = {
  vllm_local: 'openai-compatible',
  gemini_openai: 'gemini',
  google_gemini: 'gemini',
}

/** The engine's own word first, then what the backend or the server was told to write. */
function endpointJsonOf({ engine, backend, vllm_server: server }: EngineFile): string | null {
  if (engine.type !== 'vllm_local') return null
  return engine.vllm_local?.endpoint_json ?? backend?.endpoint_json_path ?? server?.endpoint_json_path ?? null
}

function organisation(openai: EngineFile['engine']['openai']): Record<string, string> {
  return {
    ...(openai?.organization && { 'openai-organization': openai.organization }),
    ...(openai?.project && { 'openai-project': openai.project }),
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
