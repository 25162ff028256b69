import type { ChatMessage, ModelClient, ModelReply } from '../../core/model.ts'

/** The main conversation: everything asked and answered so far, and its size. */
export class Chat {
  private history: ChatMessage[] = []
  /** The server's token count at the last reply; null when the conversation has changed since. */
  private counted: number | null = null
  /**
   * Prompts that got no text back. They are sent again with the next one, because a conversation has no empty turns.
   */
  private unanswered = ''

  constructor(
    private readonly client: ModelClient,
    private readonly keepsReasoning: boolean,
  ) {}

  get messages(): readonly ChatMessage[] {
    return this.history
  }

  /** The conversation with one more question. */
  asking(prompt: string): ChatMessage[] {
    return [...this.history, { role: 'user', content: this.unanswered + prompt }]
  }

  answered(prompt: string, reply: ModelReply): void {
    if (reply.text.trim() === '') {
      this.unanswered += `${prompt}\n\n`
      return
    }
    const { reasoning, reasoningBlocks } = reply
    this.history = this.asking(prompt)
    this.history.push({
      role: 'assistant',
      content: reply.text,
      ...(this.keepsReasoning && reasoning !== null && { reasoning }),
      ...(this.keepsReasoning && reasoningBlocks !== undefined && { reasoningBlocks }),
    })
    this.unanswered = ''
    const { inputTokens, outputTokens, estimated } = reply.usage
    this.counted = estimated || inputTokens === 0 ? null : inputTokens + outputTokens
  }

  /** Replaces the conversation. */
  replace(messages: readonly ChatMessage[]): void {
    this.history = [...messages]
    this.counted = null
    this.unanswered = ''
  }

  /** Tokens of the conversation so far, plus one more question. */
  size(prompt = ''): number {
    const count = (messages: readonly ChatMessage[]) => this.client.countTokens(messages).tokens
    if (this.counted === null) return count(prompt === '' ? this.history : this.asking(prompt))
    return this.counted + (prompt === '' ? 0 : count([{ role: 'user', content: this.unanswered + prompt }]))
  }

  /**
   * The conversation without its last exchanges, so that this many tokens are free in a context of that size; the first
   * message stays.
   */
  unwound(limitTokens: number, freeTokens: number): ChatMessage[] {
    let kept = this.history.slice(0, Math.max(1, this.history.length - 2))
    while (kept.length > 2 && limitTokens - this.client.countTokens(kept).tokens < freeTokens) kept = kept.slice(0, -2)
    return kept
  }
}
