import type { ChatMessage } from '../../core/model.ts'
import type { SubagentRef } from '../../formats/atif/trajectory.ts'
import type { Run } from './run.ts'

const screenChars = 1000
/**
 * After a handoff, the conversation must grow by this many messages before the next check, so that handoffs cannot
 * loop.
 */
const growthMessages = 4

interface Handoff {
  readonly messages: readonly ChatMessage[]
  readonly prompt: string
}

/** Keeps the conversation within the model's context by handing the work over to a successor that gets a summary. */
export class Context {
  private handoffs = 0
  private messagesAtHandoff = 0

  constructor(private readonly run: Run) {}

  get summarizations(): number {
    return this.handoffs
  }

  /** Before a call: hands off when too little room is left. Returns the question to ask, the same or a new one. */
  async ensureRoom(prompt: string): Promise<string> {
    const { settings, limits, chat } = this.run
    const grown = chat.messages.length - this.messagesAtHandoff
    if (!settings.summarize || grown < growthMessages) return prompt
    if (limits.contextTokens - chat.size() >= limits.keepFreeTokens) return prompt
    this.run.at.record.log(`fewer than ${limits.keepFreeTokens} tokens are free; handing off`)
    const refs: SubagentRef[] = []
    const handoff = await this.fullHandoff(chat.messages, refs)
    return handoff ? this.accept(handoff, refs) : prompt
  }

  /**
   * After a call that did not fit: hands off, with less context each consecutive time. Returns the question to ask
   * instead; null when nothing helps.
   */
  async recover(prompt: string, timesInARow: number): Promise<string | null> {
    const { settings, limits, chat } = this.run
    const first = chat.messages[0]
    if (!settings.summarize || first === undefined || timesInARow > settings.caps.context) return null
    // The server decides: if the conversation did not fit, the real limit is at most its size.
    const limit = Math.min(limits.contextTokens, chat.size(prompt))
    const refs: SubagentRef[] = []
    const kept = chat.unwound(limit, limits.unwindFreeTokens)
    this.run.at.record.log(
      `the context is full; ${chat.messages.length - kept.length} messages go, the rest is handed off`,
    )
    const handoff =
      (timesInARow === 1 && (await this.fullHandoff(kept, refs))) || (await this.restart(first, timesInARow <= 2, refs))
    return this.accept(handoff, refs)
  }

  /**
   * Three calls: a summary of the work, the successor's questions about it, the answers. Null when one of them failed.
   */
  private async fullHandoff(history: readonly ChatMessage[], refs: SubagentRef[]): Promise<Handoff | null> {
    const { instruction, prompts } = this.run
    const first = history[0]
    if (first === undefined) return null
    const askSummary = prompts.render('summary', { instruction })
    const summary = await this.aside('summary', history, askSummary, refs)
    if (summary === null) return null
    const askQuestions = prompts.render('questions', { instruction, summary, terminal_state: await this.screen() })
    const questions = await this.aside('questions', [], askQuestions, refs)
    if (questions === null) return null
    const known = [...history, question(askSummary), answer(summary)]
    const answers = await this.aside('answers', known, prompts.render('answers', { questions }), refs)
    if (answers === null) return null
    return {
      messages: [first, question(askQuestions), answer(questions)],
      prompt: prompts.render('handoff', { answers }),
    }
  }

  /** Starts over with the first message, the end of the screen and, if possible, a short summary. */
  private async restart(first: ChatMessage, isSummaryWanted: boolean, refs: SubagentRef[]): Promise<Handoff> {
    const { instruction, prompts } = this.run
    const terminal_state = (await this.screen()).slice(-screenChars)
    const ask = prompts.render('short-summary', { instruction, terminal_state })
    const summary = isSummaryWanted ? await this.aside('short', [], ask, refs) : null
    const known = { first_prompt: first.content, terminal_state }
    const prompt =
      summary === null ? prompts.render('restart', known) : prompts.render('restart-summary', { ...known, summary })
    return { messages: [], prompt }
  }

  private screen(): Promise<string> {
    const { settings, session } = this.run
    return settings.observations === 'pane' ? session.visiblePane() : session.visible()
  }

  /** A call outside the main conversation. Null when it did not fit either, or returned no text. */
  private async aside(
    kind: string,
    history: readonly ChatMessage[],
    prompt: string,
    refs: SubagentRef[],
  ): Promise<string | null> {
    const { calls, rollouts, story } = this.run
    const purpose = `summarization-${this.handoffs + 1}-${kind}`
    const answered = await calls.make([...history, question(prompt)], rollouts.aside(), purpose)
    if (answered.kind === 'too-long') return null
    refs.push(story.aside(kind, this.handoffs + 1, { history, prompt, reply: answered.reply }))
    return answered.reply.text.trim() === '' ? null : answered.reply.text
  }

  private accept({ messages, prompt }: Handoff, refs: readonly SubagentRef[]): string {
    this.handoffs++
    this.messagesAtHandoff = messages.length
    this.run.chat.replace(messages)
    this.run.story.handedOff(refs, messages, prompt, this.run.finalMetrics())
    return prompt
  }
}

function question(content: string): ChatMessage {
  return { role: 'user', content }
}

function answer(content: string): ChatMessage {
  return { role: 'assistant', content }
}
