import type { Account, TokenUsage } from '../../../core/budget.ts'
import { BoundaryError } from '../../../core/errors.ts'
import type { CallOptions, ModelFacts, ModelOutcome, ModelReply, ModelRequest } from '../../../core/model.ts'
import type { Quirks, WireReply } from '../../../formats/model-dialect.ts'
import { droppedFrom, learnQuirk } from '../../../formats/model-quirks.ts'
import { sleep } from '../../../lib/deadline.ts'
import { estimateTokens } from '../../../lib/estimate-tokens.ts'
import type { TokenCounter } from './count-tokens.ts'
import { type Exchanged, exchange } from './exchange.ts'
import { nameOnServer } from './model-name.ts'
import type { Replica, Seat } from './replicas.ts'
import { cacheKey } from './response-cache.ts'
import { retryWaitMs } from './retry.ts'
import type { Server } from './server.ts'

/** The reply limit sent when the API requires one and none was given. */
const defaultOutputTokens = 8192

/** How often a refused request may be changed and sent again. */
const maxLessons = 6

type Body = Readonly<Record<string, unknown>>
type Trouble = Exchanged & { readonly kind: 'trouble' }

/** A seat at a replica, and the model's name there. */
type Place = Seat & { readonly name: string }

/**
 * What a client's calls remember about each other: consecutive calls form a conversation whose beginning a replica has
 * cached.
 */
export interface Conversation {
  replica: Replica | null
  /** Calls in progress. */
  calls: number
}

/** What all calls of one client share. */
export interface Caller {
  readonly server: Server
  readonly model: string
  readonly account: Account | null
  readonly counter: TokenCounter
  readonly conversation: Conversation
}

/** One model call: as many requests as it takes. The only place where requests are retried. */
export class Call {
  private requests = 0
  private attempt = 1
  private lessons = 0
  private textGiven = false
  private usage: TokenUsage | null = null
  private asked: Replica | null = null
  /** Where the last failure was; the next attempt goes to another replica. */
  private failedAt: Replica | null = null
  private moves = 0
  private readonly stream: boolean

  constructor(
    private readonly caller: Caller,
    private readonly request: ModelRequest,
    private readonly waitsUntil: number,
    private readonly hearing: Pick<CallOptions, 'onText' | 'onReasoning'>,
  ) {
    this.stream = caller.server.stream || hearing.onText !== undefined
  }

  async run(signal: AbortSignal): Promise<ModelOutcome> {
    const { cache } = this.caller.server
    const key = cache && (await this.findKey(signal))
    const kept = key === null ? null : await cache?.load(key)
    if (kept) return { kind: 'reply', reply: this.finish(kept, 0) }
    try {
      const outcome = await this.ask(signal)
      if (!('wire' in outcome)) return outcome
      if (key !== null) await cache?.save(key, outcome.wire)
      return { kind: 'reply', reply: this.finish(outcome.wire, outcome.latencyMs) }
    } finally {
      if (this.requests > 0) this.pay()
    }
  }

  private async findKey(signal: AbortSignal): Promise<string> {
    const { name, leave } = await this.findPlace(signal)
    leave()
    return cacheKey(this.caller.server.dialect.name, name, this.render(name))
  }

  /**
   * A place at a replica, which is checked first if its last check is too old; the last remaining one gets more
   * patience.
   */
  private async findPlace(signal: AbortSignal): Promise<Place> {
    const { replicas, ownPrefixes } = this.caller.server
    const { conversation } = this.caller
    for (let others = replicas.all.length - 1; ; others--) {
      const usual = conversation.calls > 1 ? null : conversation.replica
      const seat = replicas.take(this.caller.model, usual, this.failedAt)
      const { health } = seat.replica
      this.asked = seat.replica
      const checked = await health
        .checkIfStale(this.caller.model, signal, others > 0 ? 1 : undefined)
        .catch((error) => {
          seat.leave()
          throw error
        })
      if (checked.kind === 'healthy')
        return { ...seat, name: nameOnServer(this.caller.model, checked.served, ownPrefixes) }
      seat.leave()
      this.failedAt = seat.replica
      replicas.setAside(seat.replica)
      if (others === 0) throw this.failure(checked.code, checked.reason, checked.retryable)
    }
  }

  private async ask(signal: AbortSignal): Promise<{ wire: WireReply; latencyMs: number } | ModelOutcome> {
    const { rateLimit } = this.caller.server
    for (;;) {
      const settle = await rateLimit.take(() => this.caller.counter.count(this.request.messages).tokens, signal)
      const spent = this.caller.account?.admit() ?? null
      if (spent !== null) {
        settle(0)
        return { kind: 'budget-exceeded', budget: spent }
      }
      const place = await this.findPlace(signal)
      const body = this.render(place.name)
      const went = await this.send(place, body, signal).finally(place.leave)
      if (went.kind !== 'trouble') this.stayAt(place.replica)
      if (went.kind === 'reply') {
        this.usage = went.reply.usage ?? this.guessUsage(went.reply)
        settle(this.usage.inputTokens + this.usage.outputTokens)
        return { wire: went.reply, latencyMs: went.latencyMs }
      }
      if (went.kind === 'context-exceeded') return went
      if (!this.moved(went, place.replica)) await this.beforeNext(went, body, signal)
    }
  }

  private stayAt(replica: Replica): void {
    this.caller.server.replicas.hasAnswered(replica)
    this.caller.conversation.replica = replica
  }

  /** Whether the request can go to another replica at once because its own has gone down. */
  private moved(went: Trouble, replica: Replica): boolean {
    const { replicas } = this.caller.server
    this.failedAt = went.again ? replica : null
    if (went.code !== 'ApiConnectionError' || !replicas.setAside(replica)) return false
    return !this.textGiven && this.moves++ < replicas.all.length
  }

  private async send({ replica, name }: Place, body: Body, signal: AbortSignal): Promise<Exchanged> {
    this.requests++
    const { stream, request, hearing } = this
    const onText = (text: string) => {
      this.textGiven ||= hearing.onText !== undefined
      hearing.onText?.(text)
    }
    const onReasoning = (text: string) => {
      this.textGiven ||= hearing.onReasoning !== undefined
      hearing.onReasoning?.(text)
    }
    const went = await exchange(replica.wire, {
      model: name,
      body,
      request,
      stream,
      timeoutMs: this.caller.server.requestTimeoutMs,
      signal,
      onText,
      onReasoning,
    })
    if (went.kind === 'reply' && went.reply.usage)
      this.caller.counter.learn(request.messages, went.reply.usage.inputTokens)
    return went
  }

  /** Decides what follows a failed request: a changed one, the same one after a wait, or the end. */
  private async beforeNext(went: Trouble, body: Body, signal: AbortSignal): Promise<void> {
    const { quirks, retry, rateLimit } = this.caller.server
    const learnt = went.fault && this.lessons < maxLessons ? learnQuirk(went.fault, body, this.quirks) : null
    if (learnt) {
      this.lessons++
      quirks.set(this.caller.model, learnt)
      return
    }
    const waitMs = went.again && !this.textGiven ? retryWaitMs(this.attempt, retry, went.retryAfterMs) : null
    if (waitMs === null || performance.now() + waitMs > this.waitsUntil) {
      throw this.failure(went.code, went.message, went.retryable)
    }
    if (went.code === 'RateLimitError' && went.retryAfterMs !== null)
      rateLimit.pause(Math.min(went.retryAfterMs, waitMs))
    this.attempt++
    await sleep(waitMs, signal)
  }

  failure(code: string, message: string, retryable: boolean): BoundaryError {
    const { wire } = this.asked ?? this.caller.server.replicas.all[0]
    const tries = this.attempt > 1 ? ` (attempt ${this.attempt})` : ''
    const text = `${this.caller.model} at ${new URL(wire.base).host}: ${message}${tries}`
    return new BoundaryError('model', wire.hide(text), { code, retryable })
  }

  private get quirks(): Quirks {
    return this.caller.server.quirks.get(this.caller.model) ?? this.caller.server.firstQuirks
  }

  private render(name: string): Body {
    return this.caller.server.dialect.render(name, this.request, {
      stream: this.stream,
      quirks: this.quirks,
      defaultOutputTokens,
    })
  }

  private pay(): void {
    const { usage, requests } = this
    const { account, model, server } = this.caller
    account?.charge({ model, usage, costUsd: usage && costOf(usage, server.facts), requests })
  }

  private guessUsage(reply: WireReply): TokenUsage {
    const words = reply.text + (reply.reasoning ?? '') + reply.toolCalls.map((call) => call.arguments).join('')
    const { tokens } = this.caller.counter.count(this.request.messages)
    return { inputTokens: tokens, cacheTokens: 0, outputTokens: estimateTokens(words), estimated: true }
  }

  /** A cached reply took no request and costs nothing. */
  private finish(wire: WireReply, latencyMs: number): ModelReply {
    const usage = this.usage ?? wire.usage ?? this.guessUsage(wire)
    const dropped = droppedFrom(this.request, this.quirks)
    return {
      ...wire,
      usage,
      costUsd: this.requests === 0 ? 0 : costOf(usage, this.caller.server.facts),
      latencyMs,
      attempts: this.requests,
      ...(dropped.length > 0 && { dropped }),
    }
  }
}

/** The cost of a call at the known prices; null if the two main prices are unknown. */
function costOf(usage: TokenUsage, facts: ModelFacts): number | null {
  const { inputUsdPerToken, outputUsdPerToken } = facts
  if (inputUsdPerToken === null || outputUsdPerToken === null) return null
  const written = usage.cacheWriteTokens ?? 0
  const plain = Math.max(0, usage.inputTokens - usage.cacheTokens - written)
  return (
    plain * inputUsdPerToken +
    usage.cacheTokens * (facts.cacheUsdPerToken ?? inputUsdPerToken) +
    written * (facts.cacheWriteUsdPerToken ?? inputUsdPerToken) +
    usage.outputTokens * outputUsdPerToken
  )
}
