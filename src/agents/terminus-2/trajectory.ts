import type { ChatMessage, ModelReply } from '../../core/model.ts'
import type { NewStep, TrajectoryJournal, TrajectoryTail } from '../../formats/atif/journal.ts'
import {
  atifVersion,
  type FinalMetrics,
  type StepMetrics,
  type SubagentRef,
  type TrajectoryAgent,
} from '../../formats/atif/trajectory.ts'
import { utcNow } from '../../lib/time.ts'
import type { Settings } from './options.ts'
import type { Parsed } from './parsed.ts'

export interface StoryOptions {
  readonly settings: Settings
  readonly agent: { readonly name: string; readonly version: string }
  readonly model: string
  /** Settings of the calls in a form that may be recorded. */
  readonly shownCallSettings: Readonly<Record<string, unknown>>
}

/** A call outside the main conversation. */
interface AsideCall {
  readonly history: readonly ChatMessage[]
  readonly prompt: string
  readonly reply: ModelReply
}

/** Writes a run's trajectory into its journal, step by step. */
export class Story {
  private continuation = 0
  private isStarted = false

  constructor(
    private readonly journal: TrajectoryJournal,
    private readonly options: StoryOptions,
  ) {}

  /** The first message. */
  start(prompt: string): void {
    this.isStarted = true
    this.open([])
    this.asked(prompt)
  }

  asked(prompt: string): void {
    this.step({ source: 'user', message: prompt })
  }

  /** A reply as received, and how it was understood; null when it was not parsed. */
  answered(episode: number, reply: ModelReply, parsed: Parsed | null): void {
    const isRead = parsed !== null && parsed.error === '' && !this.options.settings.rawContent
    this.step({
      ...agentStep(reply, this.options),
      message: isRead ? `Analysis: ${parsed.analysis}\nPlan: ${parsed.plan}` : reply.text,
      ...(isRead && toolCalls(episode, parsed)),
      ...(reply.finish !== 'stop' && { extra: { finish_reason: reply.finish.replace('-', '_') } }),
    })
  }

  /** The result of the last reply, exactly as the model sees it next. */
  observed(content: string): void {
    this.journal.add({ kind: 'observe', file: this.file, observation: { results: [{ content }] } })
  }

  /** Gives a call outside the conversation its own trajectory; returns a reference to it. */
  aside(kind: string, index: number, { history, prompt, reply }: AsideCall): SubagentRef {
    const { sessionId } = this.options.settings
    const file = `trajectory.summarization-${index}-${kind}.json`
    const session_id = `${sessionId}-summarization-${index}-${kind}`
    const extra = { parent_session_id: sessionId, summarization_index: index }
    const head = {
      schema_version: atifVersion,
      session_id,
      agent: this.agent(`-summarization-${kind}`),
      extra,
    } as const
    this.journal.add({ kind: 'open', file, head })
    for (const message of history) this.journal.add({ kind: 'step', file, step: copied(message) })
    this.journal.add({ kind: 'step', file, step: { timestamp: utcNow(), source: 'user', message: prompt } })
    this.journal.add({ kind: 'step', file, step: { ...agentStep(reply, this.options), message: reply.text } })
    this.journal.add({ kind: 'close', file, tail: { final_metrics: totalsOf(reply) } })
    return { session_id, trajectory_path: file }
  }

  /** The conversation was replaced by a shorter one, which continues with a new question. */
  handedOff(
    refs: readonly SubagentRef[],
    messages: readonly ChatMessage[],
    prompt: string,
    totals: FinalMetrics,
  ): void {
    this.step({
      source: 'system',
      message: 'Performed context summarization and handoff to continue task.',
      ...(refs.length > 0 && { observation: { results: [{ subagent_trajectory_ref: [...refs] }] } }),
    })
    if (this.options.settings.linearHistory) {
      const next = `trajectory.cont-${this.continuation + 1}.json`
      this.close({ final_metrics: totals, continued_trajectory_ref: next })
      this.continuation++
      this.open(messages)
    }
    this.asked(prompt)
  }

  close(tail: TrajectoryTail): void {
    if (this.isStarted) this.journal.add({ kind: 'close', file: this.file, tail })
  }

  private get file(): string {
    return this.continuation === 0 ? 'trajectory.json' : `trajectory.cont-${this.continuation}.json`
  }

  private open(messages: readonly ChatMessage[]): void {
    const { sessionId } = this.options.settings
    const session_id = this.continuation === 0 ? sessionId : `${sessionId}-cont-${this.continuation}`
    const head = { schema_version: atifVersion, session_id, agent: this.agent('') } as const
    this.journal.add({ kind: 'open', file: this.file, head })
    for (const message of messages) this.journal.add({ kind: 'step', file: this.file, step: copied(message) })
  }

  private step(step: NewStep): void {
    this.journal.add({ kind: 'step', file: this.file, step: { timestamp: utcNow(), ...step } })
  }

  private agent(suffix: string): TrajectoryAgent {
    const { agent, model, settings, shownCallSettings } = this.options
    return {
      name: `${agent.name}${suffix}`,
      version: agent.version,
      model_name: model,
      extra: {
        parser: settings.parser,
        ...(settings.temperature !== null && { temperature: settings.temperature }),
        ...(Object.keys(shownCallSettings).length > 0 && { llm_kwargs: shownCallSettings }),
        ...(this.continuation > 0 && { continuation_index: this.continuation }),
      },
    }
  }
}

function agentStep(reply: ModelReply, { model, settings }: StoryOptions): Omit<NewStep, 'message'> {
  return {
    timestamp: utcNow(),
    source: 'agent',
    model_name: model,
    ...(settings.reasoningEffort !== null && { reasoning_effort: settings.reasoningEffort }),
    ...(reply.reasoning !== null && reply.reasoning !== '' && { reasoning_content: reply.reasoning }),
    metrics: metricsOf(reply),
  }
}

function toolCalls(episode: number, { commands, isComplete }: Parsed): Pick<NewStep, 'tool_calls'> {
  const calls = commands.map(({ keystrokes, durationSec }, i) => ({
    tool_call_id: `call_${episode}_${i + 1}`,
    function_name: 'bash_command',
    arguments: { keystrokes, duration: durationSec },
  }))
  const done = { tool_call_id: `call_${episode}_task_complete`, function_name: 'mark_task_complete', arguments: {} }
  const all = isComplete ? [...calls, done] : calls
  return all.length > 0 ? { tool_calls: all } : {}
}

function metricsOf({ usage, costUsd, tokens }: ModelReply): StepMetrics {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    ...(usage.cacheTokens > 0 && { cached_tokens: usage.cacheTokens }),
    ...(costUsd !== null && costUsd > 0 && { cost_usd: costUsd }),
    ...(tokens?.promptIds && { prompt_token_ids: [...tokens.promptIds] }),
    ...(tokens?.completionIds && { completion_token_ids: [...tokens.completionIds] }),
    ...(tokens?.logprobs && { logprobs: [...tokens.logprobs] }),
  }
}

function totalsOf({ usage, costUsd }: ModelReply): FinalMetrics {
  return {
    total_prompt_tokens: usage.inputTokens,
    total_completion_tokens: usage.outputTokens,
    total_cached_tokens: usage.cacheTokens,
    ...(costUsd !== null && { total_cost_usd: costUsd }),
  }
}

/** A step copied from another trajectory: context here, never a training target. */
function copied({ role, content }: ChatMessage): NewStep {
  return { source: role === 'assistant' ? 'agent' : 'user', message: content, is_copied_context: true }
}
