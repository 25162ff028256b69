import { createHash } from 'node:crypto'
import type { ModelRequest } from '../../core/model.ts'
import type { ModelService, Pace, ServiceAnswer } from '../../formats/dialect-server/model-service.ts'
import type { ServedCall, ServedReply } from '../../formats/dialect-server/server-dialect.ts'
import { sleep } from '../../lib/deadline.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { faultAt, isMistake } from './fault.ts'
import { mistaken } from './mistake.ts'
import { type NextTurn, nextTurn, speak, turnInOrder } from './next-turn.ts'
import type { Latency, ScriptedOptions } from './options.ts'
import type { Speech } from './render-turn.ts'
import type { Repertoire } from './repertoire.ts'
import { type CountedMessage, countMessages, countTokens, firstTokens, tokenDetails } from './tokens.ts'
import { wireFaultAnswer } from './wire-fault.ts'

/** Makes the stand-in for a model: equal seeds and conversations give equal answers. */
export function makeService(
  options: ScriptedOptions,
  model: string,
  repertoire: () => Promise<Repertoire>,
): ModelService {
  return new ScriptedService(options, model, repertoire)
}

class ScriptedService implements ModelService {
  private readonly memory = makeMemory()
  private readonly gate: Semaphore
  private requests = 0
  private runningTokens = 0

  constructor(
    private readonly options: ScriptedOptions,
    private readonly model: string,
    private readonly repertoire: () => Promise<Repertoire>,
  ) {
    this.gate = new Semaphore(options.max_running ?? Number.POSITIVE_INFINITY)
  }

  async prepare() {
    await this.repertoire()
  }

  async models() {
    const { context_tokens: contextTokens } = this.options
    return [{ id: this.model, contextTokens, outputTokens: null }]
  }

  load() {
    const { running, waiting } = this.gate
    return { running, waiting, cacheUse: Math.min(1, this.runningTokens / this.options.cache_tokens) }
  }

  async answer(call: ServedCall, signal: AbortSignal): Promise<ServiceAnswer> {
    if (call.model !== this.model) {
      const message = `The model \`${call.model}\` does not exist; ${this.model} does.`
      return { kind: 'fault', fault: { kind: 'not-found', message, param: 'model' } }
    }
    const number = ++this.requests
    const leave = await this.gate.acquire(signal)
    const conversation = countMessages(call.request.messages)
    const tokens = conversation.reduce((sum, message) => sum + message.tokens, 0)
    this.runningTokens += tokens
    try {
      const digest = conversation.at(-1)?.digest ?? ''
      const asked = {
        number,
        tokens,
        digest,
        opening: conversation[0]?.digest ?? '',
        before: this.memory.askedBefore(digest),
        cached: () => this.memory.cachedTokens(conversation),
      }
      return await this.perform(call, asked, signal)
    } finally {
      this.runningTokens -= tokens
      leave()
    }
  }

  private async perform(call: ServedCall, asked: Asked, signal: AbortSignal): Promise<ServiceAnswer> {
    const { options } = this
    if (asked.tokens > options.context_tokens) return contextExceeded(options.context_tokens, asked.tokens)
    const next = await this.next(call.request, asked)
    const draw = (name: string) => chance(`${options.seed} ${name}`)
    const fault = next.fault ?? faultAt(options.faults, momentOf(call.request, asked, next), draw)
    await pause(latencyMs(options.latency_ms, draw(`latency ${asked.digest} ${asked.before}`)), signal)
    const spoilt = spoils.find((kind) => kind === fault?.kind)
    if (fault && !isMistake(fault.kind) && !spoilt) return wireFaultAnswer(fault)
    const speech =
      fault && isMistake(fault.kind) ? mistaken({ ...fault, kind: fault.kind }, next) : speak(next, options)
    const reply = this.replyOf(call.request, speech, asked)
    const pace = paceOf(options.tokens_per_sec)
    if (!call.stream) await pause((reply.usage.outputTokens / (options.tokens_per_sec ?? Infinity)) * 1000, signal)
    return { kind: 'reply', reply, ...(pace && { pace }), ...(spoilt && { spoilt }) }
  }

  private async next(request: ModelRequest, { number, before }: Asked): Promise<NextTurn> {
    const { inOrder, turnsFor } = await this.repertoire()
    if (inOrder !== null) return turnInOrder(request, inOrder, number)
    return nextTurn(request, await turnsFor(request.messages), before)
  }

  private replyOf(request: ModelRequest, speech: Speech, asked: Asked): ServedReply {
    const { text, finish } = limited(speech, request)
    const toolCalls = speech.toolCalls.map((call, i) => ({ id: `call_${shortId(asked)}${i}`, ...call }))
    const said = (speech.reasoning ?? '') + text + toolCalls.map((call) => call.arguments).join('')
    return {
      text,
      reasoning: speech.reasoning,
      toolCalls,
      finish,
      usage: { inputTokens: asked.tokens, cacheTokens: asked.cached(), outputTokens: countTokens(said) },
      tokens: request.tokenDetails ? tokenDetails(request.messages, said) : null,
    }
  }
}

/** What is known about a request before its turn is chosen. */
interface Asked {
  readonly number: number
  readonly tokens: number
  readonly digest: string
  readonly opening: string
  /** How often the same conversation was asked before. */
  readonly before: number
  readonly cached: () => number
}

const spoils = ['cut', 'endless', 'bad-utf8'] as const

function momentOf({ messages }: ModelRequest, { number, digest, opening, before }: Asked, next: NextTurn) {
  return { requests: number, digest, opening, messages, turn: next.number, strikes: before + next.wasted }
}

/** Token limits and stop words also apply to a stand-in. */
function limited(
  { text, finish, toolCalls }: Speech,
  { maxOutputTokens, stop = [] }: ModelRequest,
): Pick<Speech, 'text' | 'finish'> {
  const ends = stop.map((word) => text.indexOf(word)).filter((at) => at >= 0)
  const kept = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text
  const isLong = maxOutputTokens !== undefined && countTokens(kept) > maxOutputTokens
  if (!isLong || toolCalls.length > 0) return { text: kept, finish }
  return { text: firstTokens(kept, maxOutputTokens), finish: 'length' }
}

function contextExceeded(limit: number, tokens: number): ServiceAnswer {
  const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens.`
  return { kind: 'fault', fault: { kind: 'context-exceeded', message } }
}

/** Even a zero wait would take a timer tick. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, signal)
}

function shortId({ digest, before }: Asked): string {
  return `${createHash('sha1').update(`${digest} ${before}`).digest('hex').slice(0, 10)}`
}

/** A number from 0 to below 1, always the same for the same name. */
function chance(name: string): number {
  return createHash('sha1').update(name).digest().readUIntBE(0, 6) / 2 ** 48
}

/**
 * How long a reply takes to begin, for a uniform random number from 0 to 1. The long-tailed distribution is
 * log-logistic.
 */
function latencyMs(latency: Latency, drawn: number): number {
  if (typeof latency === 'number') return latency
  if ('min' in latency) return latency.min + (latency.max - latency.min) * drawn
  const even = Math.min(0.999, Math.max(0.001, drawn))
  return latency.median * (even / (1 - even)) ** (Math.log(latency.p95 / latency.median) / Math.log(19))
}

/** Streams some tokens at a time at the given rate; null for all at once. */
function paceOf(tokensPerSec: number | undefined): Pace | null {
  if (tokensPerSec === undefined) return null
  const tokensAtOnce = Math.max(1, Math.round(tokensPerSec / 50))
  return { pieceChars: tokensAtOnce * 4, pieceMs: (tokensAtOnce / tokensPerSec) * 1000 }
}

/** What a server remembers between requests: the prefixes it has seen, and how often each conversation was asked. */
interface Memory {
  /** How many of a conversation's tokens are cached; from now on all of them are. */
  cachedTokens(conversation: readonly CountedMessage[]): number
  /** How often this conversation was asked about before. */
  askedBefore(digest: string): number
}

/** Makes a memory of bounded size; the oldest entries are dropped first. */
function makeMemory(limit = 200_000): Memory {
  const seen = new Set<string>()
  const asked = new Map<string, number>()
  return {
    cachedTokens(conversation) {
      const known = conversation.findLastIndex(({ digest }) => seen.has(digest))
      for (const { digest } of conversation.slice(known + 1)) seen.add(digest)
      forget(seen, limit)
      return conversation.slice(0, known + 1).reduce((sum, { tokens }) => sum + tokens, 0)
    },
    askedBefore(digest) {
      const before = asked.get(digest) ?? 0
      asked.set(digest, before + 1)
      forget(asked, limit)
      return before
    },
  }
}

function forget(kept: Set<string> | Map<string, number>, limit: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= limit) return
    kept.delete(key)
  }
}
