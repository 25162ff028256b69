import { createHash } from 'node:crypto'
import { messageOf, UserError } from '../../core/errors.ts'
import type { ModelRequest } from '../../core/model.ts'
import type { ModelService, ServiceAnswer } from '../../formats/dialect-server/model-service.ts'
import type { ServedCall, ServedReply, ServiceFault } from '../../formats/dialect-server/server-dialect.ts'
import { GgufError } from '../../formats/gguf.ts'
import { lazily } from '../../lib/shared-work.ts'
import { loadModelFile } from './model-file.ts'
import { Reply } from './reply.ts'
import { makeRunner, type Runner } from './runner.ts'
import { loadTokenizer, type ModelTokenizer } from './tokenizer.ts'

export interface ServiceSettings {
  /** The name that callers use. */
  readonly model: string
  /** Its GGUF file. */
  path(): Promise<string>
  readonly threads: number
  readonly slots: number
  /** A lower limit on a conversation's length than the model's own. */
  readonly contextTokens: number | null
  readonly maxOutputTokens: number
  readonly seed: number
}

interface Loaded {
  readonly runner: Runner
  readonly tokenizer: ModelTokenizer
  readonly context: number
}

/** Serves a student in this process. Its file is read when it is first needed. */
export function makeService(settings: ServiceSettings): ModelService {
  return new StudentService(settings)
}

class StudentService implements ModelService {
  private readonly loaded: () => Promise<Loaded>
  private ready: Loaded | null = null
  private readonly asked = new Map<string, number>()

  constructor(private readonly settings: ServiceSettings) {
    this.loaded = lazily(async () => {
      this.ready = await load(settings)
      return this.ready
    })
  }

  async prepare() {
    await this.loaded()
  }

  async models() {
    const { model, maxOutputTokens } = this.settings
    const { context } = await this.loaded()
    return [{ id: model, contextTokens: context, outputTokens: Math.min(maxOutputTokens, context) }]
  }

  load() {
    const { ready } = this
    if (ready === null) return { running: 0, waiting: 0, cacheUse: 0 }
    const { slots, waitingCount: waiting } = ready.runner
    return { running: slots.busy, waiting, cacheUse: slots.use(ready.context) }
  }

  async answer(call: ServedCall, signal: AbortSignal): Promise<ServiceAnswer> {
    const fault = refusal(call, this.settings.model)
    if (fault) return { kind: 'fault', fault }
    try {
      return await this.reply(call, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof UserError) throw error
      const kind = error instanceof GgufError ? 'invalid-request' : 'server'
      return { kind: 'fault', fault: { kind, message: messageOf(error) } }
    }
  }

  private async reply(call: ServedCall, signal: AbortSignal): Promise<ServiceAnswer> {
    const { runner, tokenizer, context } = await this.loaded()
    const ids = tokenizer.encode(call.request.messages)
    if (ids.length >= context) return { kind: 'fault', fault: tooLong(context, ids.length) }
    const most = Math.min(call.request.maxOutputTokens ?? this.settings.maxOutputTokens, context - ids.length)
    const reply = new Reply(call.request, { tokenizer, most, seed: this.settings.seed, key: this.keyOf(ids) })
    const cacheTokens = await runner.generate({ ids, signal, next: (logits) => reply.next(logits) })
    const usage = { inputTokens: ids.length, cacheTokens, outputTokens: reply.tokens.length }
    return { kind: 'reply', reply: served(call.request, reply, ids, usage), pace: { pieceChars: 4, pieceMs: 0 } }
  }

  /** The same for the same conversation in every run; different each time the conversation is asked again. */
  private keyOf(ids: readonly number[]): string {
    const digest = createHash('sha256').update(Uint32Array.from(ids)).digest('hex').slice(0, 24)
    const before = this.asked.get(digest) ?? 0
    this.asked.set(digest, before + 1)
    const [oldest] = this.asked.keys()
    if (this.asked.size > 100_000 && oldest !== undefined) this.asked.delete(oldest)
    return `${digest} ${before}`
  }
}

async function load({ path, threads, slots, contextTokens }: ServiceSettings): Promise<Loaded> {
  const file = await path()
  const { model, tokenizer } = await loadModelFile(file, async (model) => {
    const tokenizer = await loadTokenizer(model.metadata, model.shape.vocab)
    // Finds a failing template before any request.
    tokenizer.encode([{ role: 'user', content: 'hello' }])
    return { model, tokenizer }
  })
  const context = Math.min(model.shape.context, contextTokens ?? Number.POSITIVE_INFINITY)
  const runner = makeRunner({ ...model, shape: { ...model.shape, context } }, { threads, slots })
  if (runner === null) {
    const message = `model ${file}: its weights and a conversation of ${context} tokens need more memory than is available, or more than 4 GiB`
    throw new UserError(message, 'set a smaller context_tokens, or use a separate server')
  }
  return { runner, tokenizer, context }
}

/** Refuses a request that cannot be answered faithfully. */
function refusal({ model, request }: ServedCall, own: string): ServiceFault | null {
  if (model !== own) {
    return { kind: 'not-found', message: `The model \`${model}\` does not exist; ${own} does.`, param: 'model' }
  }
  const { tools = [], toolChoice = 'auto', jsonSchema } = request
  if (tools.length > 0 && toolChoice !== 'none') return unable('tools')
  return jsonSchema === undefined ? null : unable('response_format')
}

function unable(param: string): ServiceFault {
  return { kind: 'invalid-request', message: `The engine llama does not support ${param}.`, param }
}

function tooLong(limit: number, tokens: number): ServiceFault {
  const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens.`
  return { kind: 'context-exceeded', message }
}

function served(request: ModelRequest, reply: Reply, ids: readonly number[], usage: ServedReply['usage']): ServedReply {
  const { text, finish, tokens, logprobs } = reply
  const details = request.tokenDetails ? { promptIds: ids, completionIds: tokens, logprobs } : null
  return { text, reasoning: null, toolCalls: [], finish, usage, tokens: details }
}
