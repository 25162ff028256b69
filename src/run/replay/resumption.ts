import type { ChatMessage, ModelClient, ModelOutcome, ModelRequest } from '../../core/model.ts'
import type { Divergence, RecordedAttempt, RecordedRound, RecordedTurn } from '../../core/replay.ts'
import type { Resumed, TrialEnd } from '../../core/trial.ts'
import { askedAgain, handedOff, Tape } from './tape.ts'

export interface ResumptionOptions {
  /** Masks the trial's secrets, as when the requests were recorded. */
  readonly mask: (text: string) => string
  /** Called before the trial continues without the recording. */
  readonly drop: () => Promise<void>
  readonly now?: Date
}

/**
 * Lets a trial resume: its agent gets the replies of an interrupted attempt as long as its requests match, and then the
 * model's. At the first request that differs, the agent is stopped, because its sandbox is in a state that no model led
 * to, and the trial must start over; if nothing was replayed yet, the model simply answers.
 */
export class Resumption {
  private readonly tapes: ReadonlyMap<string | null, Tape>
  private readonly stop = new AbortController()
  private readonly saved = { turns: 0, inputTokens: 0, cacheTokens: 0, outputTokens: 0 }
  private costUsd: number | null = null
  private diverged: { readonly step: string | null; readonly where: Divergence } | null = null
  private unfit: string | null = null

  constructor(
    private readonly recorded: RecordedAttempt,
    private readonly options: ResumptionOptions,
  ) {
    const now = options.now ?? new Date()
    this.tapes = new Map([...recorded.rounds].map(([step, round]) => [step, new Tape(round, now)]))
  }

  /** Aborts when the agent must be stopped. */
  get signal(): AbortSignal {
    return this.stop.signal
  }

  /** The model as the agent of a step sees it; null means the only round of a task without steps. */
  client(step: string | null, live: ModelClient, log: (line: string) => void): ModelClient {
    const tape = this.tapes.get(step)
    const round = this.recorded.rounds.get(step)
    if (!tape || !round) return live
    log(`${round.turns.length} replies of an interrupted attempt will be replayed`)
    let isLive = false
    return {
      model: live.model,
      get facts() {
        return factsOf(live, round)
      },
      countTokens: (messages) => live.countTokens(messages),
      complete: async (request, options) => {
        options?.signal?.throwIfAborted()
        const outcome = this.isUseless ? null : await this.replayed(step, tape, request)
        if (outcome?.kind === 'reply' && outcome.reply.text !== '') options?.onText?.(outcome.reply.text)
        if (outcome) return outcome
        if (!isLive)
          log(
            this.isUseless
              ? 'they cannot be replayed; the model answers instead'
              : 'they are replayed, and the model continues',
          )
        isLive = true
        return live.complete(request, options)
      },
    }
  }

  /** Whether the trial must start over, given how it ended; an interruption or a failing machine is no reason to. */
  mustStartOver(end: TrialEnd): boolean {
    if (end.kind === 'cancelled') return false
    if (this.isUseless) return false
    if (this.signal.aborted) return true
    if (end.kind === 'failed' && end.failure.boundary !== 'agent') return false
    const [step, tape] = [...this.tapes].find(([, { left }]) => left.length > 0) ?? []
    const next = tape?.left[0]
    if (next === undefined) return false
    const what = 'the agent did not get as far as this turn'
    const got = end.kind === 'scored' ? JSON.stringify(end.exit) : end.failure.code
    this.diverged = {
      step: step ?? null,
      where: { turn: next.turn, message: null, what, expected: 'another request', got },
    }
    return true
  }

  /** The entry for the trial's record. */
  record(): Resumed {
    if (this.unfit !== null) return { kind: 'not-replayed', reason: this.unfit }
    if (this.diverged === null) return { kind: 'replayed', ...this.saved, costUsd: this.costUsd }
    const { step, where } = this.diverged
    const { turn, message, what, expected, got } = where
    const shown = (text: string) => this.options.mask(text).slice(0, 400)
    const texts = { what: shown(what), expected: shown(expected), got: shown(got) }
    return { kind: 'diverged', turns: this.saved.turns, step, turn, message, ...texts }
  }

  /** The trial continues without the recording, from the beginning. */
  private get isUseless(): boolean {
    return this.unfit !== null || (this.diverged !== null && !this.signal.aborted && this.saved.turns === 0)
  }

  /** The recorded outcome of a request; null when the model must be asked. Throws once the agent must be stopped. */
  private async replayed(step: string | null, tape: Tape, request: ModelRequest): Promise<ModelOutcome | null> {
    this.signal.throwIfAborted()
    if (request.tokenDetails && this.saved.turns === 0) {
      this.unfit = 'token ids are wanted, and of a reply only its words are recorded'
      await this.options.drop()
      return null
    }
    const played = tape.advance(this.masked(request))
    if (played.kind === 'turn') return this.paid(played.turn)
    if (played.kind === 'refused') return handedOff
    if (played.kind === 'over' && !this.isGoneOnElsewhere) return null
    const last = this.recorded.rounds.get(step)?.turns.at(-1)?.turn ?? 0
    this.diverged ??= { step, where: played.kind === 'over' ? { turn: last, ...askedAgain(request) } : played.where }
    if (this.isUseless) {
      await this.options.drop()
      return null
    }
    this.stop.abort(new DOMException('the replay of the interrupted attempt diverged', 'AbortError'))
    throw this.signal.reason
  }

  /** Whether the attempt was interrupted in another step, so that this one had ended. */
  private get isGoneOnElsewhere(): boolean {
    return [...this.tapes.values()].some(({ left }) => left.length > 0)
  }

  private paid({ reply, paid, usage }: RecordedTurn): ModelOutcome {
    const { saved } = this
    const counts = usage ?? { inputTokens: 0, cacheTokens: 0, outputTokens: 0 }
    saved.turns++
    saved.inputTokens += counts.inputTokens
    saved.cacheTokens += counts.cacheTokens
    saved.outputTokens += counts.outputTokens
    const costUsd = paid?.costUsd ?? null
    if (costUsd !== null) this.costUsd = (this.costUsd ?? 0) + costUsd
    return { kind: 'reply', reply: { usage: counts, costUsd, latencyMs: 0, ...paid, ...reply, tokens: null } }
  }

  private masked(request: ModelRequest): ModelRequest {
    const { mask } = this.options
    const hide = <T>(value: T): T => JSON.parse(JSON.stringify(value, (_, each) => maskText(each, mask)))
    const messages = request.messages.map((message) => maskMessage(message, mask))
    return { ...request, messages, ...(request.tools && { tools: hide(request.tools) }) }
  }
}

/** Why a recording cannot be replayed; null when it can. `hasSecrets`: some of the trial's texts were masked. */
export function whyUnfit({ rounds }: RecordedAttempt, hasSecrets: boolean, masked: string): string | null {
  if (!hasSecrets) return null
  const texts = [...rounds.values()].flatMap(({ turns }) => turns.map(({ reply }) => JSON.stringify(reply)))
  return texts.some((text) => text.includes(masked)) ? 'a recorded reply held a secret, which is not recorded' : null
}

function maskMessage(message: ChatMessage, mask: (text: string) => string): ChatMessage {
  const { content, reasoning, toolCalls } = message
  return {
    ...message,
    content: mask(content),
    ...(reasoning !== undefined && { reasoning: mask(reasoning) }),
    ...(toolCalls && { toolCalls: toolCalls.map((call) => ({ ...call, arguments: mask(call.arguments) })) }),
  }
}

function maskText(value: unknown, mask: (text: string) => string): unknown {
  return typeof value === 'string' ? mask(value) : value
}

/** An agent decides by the context size when to hand off; a server may report it only with the first request. */
function factsOf({ facts }: ModelClient, { model }: RecordedRound): ModelClient['facts'] {
  return {
    ...facts,
    contextTokens: facts.contextTokens ?? model?.contextTokens ?? null,
    outputTokens: facts.outputTokens ?? model?.outputTokens ?? null,
  }
}
