import type { ChatMessage, ModelClient, ModelFacts, ModelOutcome, ModelRequest } from '../../core/model.ts'
import type { Divergence, RecordedTrial, RecordedTurn, ReplayVerdict } from '../../core/replay.ts'
import {
  compareMessages,
  compareTools,
  type MessageDifference,
  sharedMessages,
  type Times,
} from './compare-messages.ts'

/** The outcome that makes a run stop: nothing more may be asked. */
const noMore: ModelOutcome = { kind: 'budget-exceeded', budget: 'replay' }
/** The outcome of a request that was recorded without a reply. */
export const handedOff: ModelOutcome = {
  kind: 'context-exceeded',
  message: 'recorded without a reply: the conversation was handed off here',
}
/** More tokens than fit into any context. */
const tooMany = 1e12

/** What a recording holds for a request. */
export type TapeStep =
  | { readonly kind: 'turn'; readonly turn: RecordedTurn }
  /** It did not fit into the model's context, as far as the recording shows. */
  | { readonly kind: 'refused' }
  /** Every turn was played, and the recording ends where the agent would have asked for more. */
  | { readonly kind: 'over' }
  /** It is not the recorded one; nothing more is played. */
  | { readonly kind: 'diverged'; readonly where: Divergence }

/**
 * Plays the recorded replies of one trial to the agent of a new run of that trial. Each request gets the reply recorded
 * for it; a request that matches none ends the run and is kept as the point where the replay diverged.
 */
export class Tape {
  private readonly unplayed: Set<RecordedTurn>
  private readonly times: Times
  private diverged: ({ readonly row: string } & Divergence) | null = null
  /** The request that got no reply because it did not fit into the model's context, as far as the recording shows. */
  private refused: ModelRequest | null = null

  /** Whether the agent made any request. */
  isTouched = false

  constructor(
    private readonly trial: RecordedTrial,
    now: Date,
  ) {
    this.unplayed = new Set(trial.turns)
    this.times = { recorded: trial.at, received: now }
  }

  /** The model as the agent sees it. It costs nothing; its token counts are the recorded ones, if any. */
  client(model: string, facts: ModelFacts): ModelClient {
    return {
      model,
      facts,
      complete: async (request, options) => {
        options?.signal?.throwIfAborted()
        const outcome = this.answer({ ...request, messages: [...request.messages] })
        if (outcome.kind === 'reply' && outcome.reply.text !== '') options?.onText?.(outcome.reply.text)
        return outcome
      },
      countTokens: (messages) => ({ tokens: this.hasRoomFor(messages) ? 0 : tooMany, exact: false }),
    }
  }

  /** Turns not played yet, in order. */
  get left(): readonly RecordedTurn[] {
    return [...this.unplayed]
  }

  /** What the run showed about each row, given how it ended. */
  verdicts(exit: string): ReadonlyMap<string, ReplayVerdict> {
    const { diverged } = this
    const verdicts = new Map<string, ReplayVerdict>()
    for (const { row } of this.trial.turns) verdicts.set(row, { kind: 'holds' })
    for (const { row, turn } of this.unplayed) {
      if (verdicts.get(row)?.kind !== 'holds') continue
      const got = diverged === null ? exit : `the replay ended at turn ${diverged.turn} of ${diverged.row}`
      const what = 'the agent did not get as far as this turn'
      verdicts.set(row, { kind: 'diverged', turn, message: null, what, expected: 'another request', got })
    }
    if (diverged) {
      const { row, ...where } = diverged
      verdicts.set(row, { kind: 'diverged', ...where })
    }
    return verdicts
  }

  /** Finds the recorded response to a request; each turn is played once. */
  advance(request: ModelRequest): TapeStep {
    this.isTouched = true
    if (this.diverged) return { kind: 'diverged', where: this.diverged }
    const turn = this.find(request)
    if (turn) {
      this.unplayed.delete(turn)
      this.refused = null
      return { kind: 'turn', turn }
    }
    if (this.unplayed.size === 0 && this.trial.isCut) return { kind: 'over' }
    if (this.refused === null && this.trial.wasRefused !== false && this.endsHere(request.messages)) {
      this.refused = request
      return { kind: 'refused' }
    }
    return { kind: 'diverged', where: this.diverge(this.refused ?? request) }
  }

  private answer(request: ModelRequest): ModelOutcome {
    const played = this.advance(request)
    if (played.kind === 'turn') return replyOf(played.turn)
    return played.kind === 'refused' ? handedOff : noMore
  }

  /** The first recorded turn with these messages: identical, or differing only in clocks and random names. */
  private find({ messages, tools = [] }: ModelRequest): RecordedTurn | undefined {
    const fitting = [...this.unplayed].filter(({ sent }) => sent.length === messages.length)
    return (
      fitting.find((turn) => isEqual(turn, messages) && this.compare(turn, { messages, tools }) === null) ??
      fitting.find((turn) => this.compare(turn, { messages, tools }) === null)
    )
  }

  private compare({ sent, tools }: RecordedTurn, request: ModelRequest): MessageDifference | null {
    const received = request.tools ?? []
    return compareMessages(sent, request.messages, this.times) ?? (tools && compareTools(tools, received, this.times))
  }

  /** Whether a request continues a conversation that the recording did not continue, while others are still to come. */
  private endsHere(messages: readonly ChatMessage[]): boolean {
    const open = new Set([...this.unplayed].map(({ row }) => row))
    if (open.size === 0) return false
    return this.trial.turns.some((turn) => {
      if (open.has(turn.row) || turn.sent.length + 2 > messages.length) return false
      const known = [...turn.sent, messageOf(turn)]
      return sharedMessages(known, messages, this.times) === known.length
    })
  }

  /** Records how a request differs from the most similar recorded one; among equals, the next one. */
  private diverge(request: ModelRequest): Divergence {
    let [closest] = this.unplayed
    let most = -1
    for (const turn of this.unplayed) {
      const shared = sharedMessages(turn.sent, request.messages, this.times)
      if (shared > most) [closest, most] = [turn, shared]
    }
    if (closest) {
      const { row, turn } = closest
      const difference = this.compare(closest, request) ?? { message: null, what: 'unknown', expected: '', got: '' }
      this.diverged = { row, turn, ...difference }
      return this.diverged
    }
    const { row, turn } = this.trial.turns.at(-1) ?? { row: '', turn: 0 }
    this.diverged = { row, turn, ...askedAgain(request) }
    return this.diverged
  }

  /**
   * An agent asks for the size of a conversation to decide whether to hand it off. It is too large where the recording
   * continues with a summary of it; once a request was refused, unless a recorded turn continues exactly these
   * messages.
   */
  private hasRoomFor(messages: readonly ChatMessage[]): boolean {
    const next = [...this.unplayed].filter(({ sent }) => this.goesOnWith(sent, messages))
    if (this.refused !== null) return next.length > 0
    return next.length === 0 || next.some(({ source }) => source === 'main')
  }

  /** Whether a recorded request consists of these messages, or of these and one more. */
  private goesOnWith(sent: readonly ChatMessage[], messages: readonly ChatMessage[]): boolean {
    const more = sent.length - messages.length
    if (more < 0 || more > 1) return false
    const times = { recorded: this.times.received, received: this.times.recorded }
    return sharedMessages(messages, sent, times) === messages.length
  }
}

/** A request for which no recorded turn is left. */
export function askedAgain({ messages }: ModelRequest): Omit<Divergence, 'turn'> {
  const got = messages.at(-1)?.content.slice(0, 200) ?? ''
  const what = 'the agent asked again after its last recorded turn'
  return { message: null, what, expected: 'no more requests', got }
}

function isEqual({ sent }: RecordedTurn, messages: readonly ChatMessage[]): boolean {
  return sent.every(({ role, content }, i) => role === messages[i]?.role && content === messages[i].content)
}

function messageOf({ reply: { text, toolCalls } }: RecordedTurn): ChatMessage {
  return { role: 'assistant', content: text, toolCalls }
}

function replyOf({ reply, usage }: RecordedTurn): ModelOutcome {
  const none = { inputTokens: 0, cacheTokens: 0, outputTokens: 0 }
  return {
    kind: 'reply',
    // Marked as estimated because no server counted anything. No request was sent.
    reply: {
      ...reply,
      usage: { ...none, ...usage, estimated: true },
      costUsd: 0,
      tokens: null,
      latencyMs: 0,
      attempts: 0,
    },
  }
}
