import type { ModelReply } from '../../core/model.ts'
import { emptyReplies, isEmptyReply, noValidReply } from '../../core/model-replies.ts'
import { Context } from './context.ts'
import { refuseTooLong } from './limits.ts'
import { limitOutput, observe } from './observation.ts'
import type { Caps } from './options.ts'
import type { Command, Parsed } from './parsed.ts'
import { confirmPrompt, firstPrompt, parseErrorPrompt, resultPrompt, timeLeft, tooLongPrompt } from './prompt.ts'
import type { Run, StopReason } from './run.ts'

const longestWaitMs = 60_000

/** The outcome of a turn: another question, or the end. */
type Next = { readonly prompt: string } | { readonly stop: StopReason }

/** Asks and types, turn by turn, until the task is done or a limit is reached. */
export async function runLoop(run: Run): Promise<StopReason> {
  const loop = new Loop(run)
  return loop.runToEnd()
}

class Loop {
  private readonly context: Context
  private readonly inARow = { 'parse-errors': 0, 'output-length': 0, 'content-filter': 0, context: 0 }
  /** The model has said once that the task is done. An unreadable reply does not change that. */
  private isDoneSaid = false
  /** Replies that could be parsed. */
  private validReplies = 0
  private emptyInARow = 0

  constructor(private readonly run: Run) {
    this.context = new Context(run)
  }

  async runToEnd(): Promise<StopReason> {
    try {
      return await this.converse()
    } finally {
      if (this.validReplies === 0) this.run.at.record.metadata(noValidReply)
    }
  }

  private async converse(): Promise<StopReason> {
    const { run } = this
    let prompt = this.withTime(firstPrompt(run.prompts, run.settings.parser, run.instruction, await observe(run)))
    refuseTooLong(prompt, run.settings, run.client)
    run.story.start(prompt)
    for (let episode = 0; episode < run.settings.maxTurns; episode++) {
      if (run.session.isOver) return 'terminal-closed'
      const reply = await this.ask(episode, await this.context.ensureRoom(prompt))
      if (reply === null) return 'context'
      const next = await this.react(episode, reply)
      await run.files.written()
      if ('stop' in next) return next.stop
      prompt = next.prompt
    }
    return 'max-turns'
  }

  /** One reply of the model; null when the conversation cannot be made to fit. */
  private async ask(episode: number, question: string): Promise<ModelReply | null> {
    const { calls, chat, rollouts, files, client } = this.run
    let prompt = question
    for (;;) {
      files.prompt(episode, prompt)
      const messages = chat.asking(prompt)
      const answer = await calls.make(messages, rollouts.main)
      if (answer.kind === 'reply') {
        this.inARow.context = 0
        chat.answered(prompt, answer.reply)
        this.record(episode + 1)
        files.reply(episode, answer.reply, this.callFacts(client.model, messages.length))
        return answer.reply
      }
      const shorter = await this.context.recover(prompt, ++this.inARow.context)
      if (shorter === null) return null
      prompt = shorter
    }
  }

  /** Carries out a reply, or tells the model why nothing was done. */
  private async react(episode: number, reply: ModelReply): Promise<Next> {
    const { at, settings, dialect, prompts, story } = this.run
    const isCut = reply.finish === 'length' && !dialect.isWhole(reply.text)
    this.emptyInARow = isEmptyReply(reply) ? this.emptyInARow + 1 : 0
    if (reply.finish === 'content-filter' || isCut) {
      story.answered(episode, reply, null)
      if (isCut && settings.abortOnLength) return { stop: 'output-length' }
      return isCut
        ? this.again('output-length', tooLongPrompt(prompts, this.outputLimit))
        : this.again('content-filter', prompts.render('filtered'))
    }
    const parsed = dialect.parse(reply.text)
    story.answered(episode, reply, parsed)
    if (parsed.error !== '') {
      at.record.mark(reply, 'unparsed')
      return this.again('parse-errors', parseErrorPrompt(prompts, parsed, dialect))
    }
    this.validReplies++
    Object.assign(this.inARow, { 'parse-errors': 0, 'output-length': 0, 'content-filter': 0 })
    return this.act(parsed)
  }

  private async act(parsed: Parsed): Promise<Next> {
    const { settings, prompts, story } = this.run
    for (const command of parsed.commands) await this.type(command)
    const state = await observe(this.run)
    const isConfirmed = parsed.isComplete && this.isDoneSaid
    this.isDoneSaid = parsed.isComplete
    const prompt = this.withTime(
      parsed.isComplete
        ? isConfirmed
          ? state
          : confirmPrompt(prompts, settings.parser, state)
        : this.result(state, parsed),
    )
    story.observed(prompt)
    return isConfirmed ? { stop: 'task-complete' } : { prompt }
  }

  /**
   * The result of commands. As in Harbor, a truncated pane is truncated again: the note about the first truncation
   * makes it too long once more, so the model reads a note about the length of that note.
   */
  private result(state: string, { warnings }: Parsed): string {
    const { settings, limits, prompts } = this.run
    const isPane = settings.observations === 'pane'
    return resultPrompt(prompts, isPane ? limitOutput(state, limits.observationBytes) : state, warnings)
  }

  private async type({ keystrokes, durationSec }: Command): Promise<void> {
    const { session, settings, signal } = this.run
    const ms = Math.min(Math.max(0, durationSec * 1000), longestWaitMs)
    await session.send(keystrokes, { ms, wait: settings.wait, signal })
  }

  /** Tells the model to try again, unless that has happened too often in a row. */
  private again(trouble: keyof Caps & StopReason, words: string): Next {
    const { client, settings } = this.run
    const cap = settings.caps[trouble]
    if (++this.inARow[trouble] >= cap) {
      if (this.emptyInARow >= cap) throw emptyReplies(this.emptyInARow, client.model)
      return { stop: trouble }
    }
    const prompt = this.withTime(words)
    this.run.story.observed(prompt)
    return { prompt }
  }

  private withTime(prompt: string): string {
    const { settings, prompts, at } = this.run
    return settings.tellDeadline && at.deadline ? `${prompt}\n\n${timeLeft(prompts, at.deadline)}` : prompt
  }

  private get outputLimit(): number | null {
    const { settings, client, calls } = this.run
    return calls.request.maxOutputTokens ?? settings.modelInfo.maxOutputTokens ?? client.facts.outputTokens
  }

  private record(episodes: number): void {
    const { at, rollouts, settings } = this.run
    at.record.metadata({
      n_episodes: episodes,
      summarization_count: this.context.summarizations,
      ...(settings.collectTokens && { rollout_details: rollouts.details() }),
    })
  }

  private callFacts(model: string, messages: number) {
    const { extraBody: _, ...request } = this.run.calls.request
    return { model, messages, request }
  }
}
