import type { ModelRequest } from '../../core/model.ts'
import { makeRandom } from '../../lib/random.ts'
import { chooseToken, logProbability } from './choose-token.ts'
import type { ModelTokenizer } from './tokenizer.ts'

export interface ReplySettings {
  readonly tokenizer: ModelTokenizer
  /** The most tokens in this reply. */
  readonly most: number
  /** Equal seeds and conversations give equal replies. */
  readonly seed: number
  readonly key: string
}

/** A reply under construction, token by token. */
export class Reply {
  readonly tokens: number[] = []
  readonly logprobs: number[] = []
  finish: 'stop' | 'length' = 'length'
  private readonly bytes: Uint8Array[] = []
  private cutAt: number | null = null
  private readonly choosing
  private readonly random

  constructor(
    private readonly request: ModelRequest,
    private readonly settings: ReplySettings,
  ) {
    // As the API defines: without settings, tokens are drawn with the model's probabilities.
    this.choosing = { temperature: request.temperature ?? 1, topP: request.topP ?? 1 }
    this.random = makeRandom(settings.seed, settings.key)
  }

  /** Chooses the next token from the logits; null when the reply is complete. */
  next(logits: Float32Array): number | null {
    const { tokenizer, most } = this.settings
    const token = chooseToken(logits, this.choosing, this.random)
    if (this.request.tokenDetails) this.logprobs.push(logProbability(logits, token))
    this.tokens.push(token)
    if (tokenizer.ends.has(token)) return this.stop()
    this.bytes.push(tokenizer.bytesOf(token))
    if (this.reachedStopWord()) return this.stop()
    return this.tokens.length >= most ? null : token
  }

  get text(): string {
    const text = Buffer.concat(this.bytes).toString('utf8')
    return this.cutAt === null ? text : text.slice(0, this.cutAt)
  }

  private stop(): null {
    this.finish = 'stop'
    return null
  }

  private reachedStopWord(): boolean {
    const { stop = [] } = this.request
    if (stop.length === 0) return false
    const { text } = this
    const ends = stop.map((word) => text.indexOf(word)).filter((at) => at >= 0)
    if (ends.length > 0) this.cutAt = Math.min(...ends)
    return ends.length > 0
  }
}
