import type { ChatMessage, ModelReply, ModelRequest, ToolCall } from '../../../core/model.ts'
import type { NewStep, TrajectoryHead, TrajectoryJournal } from '../journal.ts'
import { atifVersion, type FinalMetrics } from '../trajectory.ts'
import { spokenIn } from './conversation.ts'
import { atifTools, type FailedCall, observationOf, stepOfMessage, stepOfReply } from './steps.ts'

/** The agent being recorded. */
export interface RecordedAgent {
  readonly name: string
  readonly version: string
  readonly model: string
  readonly sessionId: string
}

/** Only the first of a series of consecutive failed calls are recorded. */
const mostFailures = 100

function charsOf({ content, reasoning = '', toolCalls = [] }: ChatMessage): number {
  // Empty messages also take up space.
  return toolCalls.reduce((sum, call) => sum + call.arguments.length, 100 + content.length + reasoning.length)
}

/** One conversation of an agent with its model, and its file. */
export class Thread {
  /** What both sides have said so far, without system messages. */
  known: readonly ChatMessage[] = []
  steps = 0
  /** How much of what the agent said has been recorded. */
  heardChars = 0
  private calls: readonly ToolCall[] = []
  private failed: FailedCall[] = []
  private readonly total = { prompt: 0, completion: 0, cached: 0, cost: 0, priced: false }
  private closed = false

  /** Tells agents with the same model apart by their system prompt and tools. */
  readonly role: string

  constructor(
    readonly file: string,
    private readonly journal: TrajectoryJournal,
    private readonly agent: RecordedAgent,
    { role, tools = [] }: Pick<Thread, 'role'> & Pick<ModelRequest, 'tools'>,
  ) {
    this.role = role
    const { name, version, model, sessionId } = agent
    const head: TrajectoryHead = {
      schema_version: atifVersion,
      session_id: sessionId,
      trajectory_id: `${sessionId}-${file.slice(0, -'.json'.length)}`,
      agent: { name, version, model_name: model, ...(tools.length > 0 && { tool_definitions: atifTools(tools) }) },
    }
    journal.add({ kind: 'open', file, head })
  }

  /** Records what a request adds; the first `copied` messages are marked as present in an earlier trajectory. */
  hear(messages: readonly ChatMessage[], newFrom: number, copied = 0): void {
    let results: ChatMessage[] = []
    const flush = () => {
      if (results.length > 0) this.observe(results)
      results = []
    }
    for (const [i, message] of messages.entries()) {
      if (i < newFrom) continue
      this.heardChars += charsOf(message)
      if (message.role === 'tool' && this.steps > 0) results.push(message)
      else {
        flush()
        this.add(stepOfMessage(message, i < copied), message.toolCalls)
      }
    }
    flush()
    this.known = spokenIn(messages)
  }

  /** Records a model's reply to a request. */
  reply(messages: readonly ChatMessage[], reply: ModelReply, again: boolean): void {
    this.add(stepOfReply(this.agent.model, reply, this.failed, again), reply.toolCalls)
    this.failed = []
    this.known = spokenIn([...messages, { role: 'assistant', content: reply.text, toolCalls: reply.toolCalls }])
    const { total } = this
    total.prompt += reply.usage.inputTokens
    total.completion += reply.usage.outputTokens
    total.cached += reply.usage.cacheTokens
    total.cost += reply.costUsd ?? 0
    total.priced ||= reply.costUsd !== null
  }

  fail(call: FailedCall): void {
    if (this.failed.length < mostFailures) this.failed.push(call)
  }

  close(continuedIn?: string): void {
    if (this.closed) return
    this.closed = true
    const tail = {
      final_metrics: this.finalMetrics(),
      ...(continuedIn !== undefined && { continued_trajectory_ref: continuedIn }),
    }
    this.journal.add({ kind: 'close', file: this.file, tail })
  }

  private add(step: NewStep, calls: readonly ToolCall[] = []): void {
    this.journal.add({ kind: 'step', file: this.file, step })
    this.steps++
    this.calls = calls
  }

  private observe(results: readonly ChatMessage[]): void {
    this.journal.add({ kind: 'observe', file: this.file, observation: observationOf(results, this.calls) })
  }

  private finalMetrics(): FinalMetrics {
    const { total, failed } = this
    return {
      total_prompt_tokens: total.prompt,
      total_completion_tokens: total.completion,
      total_cached_tokens: total.cached,
      ...(total.priced && { total_cost_usd: total.cost }),
      total_steps: this.steps,
      ...(failed.length > 0 && { extra: { failed_calls_after: failed } }),
    }
  }
}
