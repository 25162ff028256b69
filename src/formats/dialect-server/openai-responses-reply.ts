import { plainInput } from './openai-chat-reply.ts'
import type { ServedCall, ServedReply, Stamp, StreamWriter, WireEvent } from './server-dialect.ts'

type Item = Readonly<Record<string, unknown>>

/** A response in one document. */
export function renderReply(call: ServedCall, reply: ServedReply, stamp: Stamp): Record<string, unknown> {
  return finished(reply, stamp, outputOf(call, reply, stamp))
}

/** A response as a stream of named events, each item announced, filled and closed. */
export function makeStream(call: ServedCall, reply: ServedReply, stamp: Stamp): StreamWriter {
  return new ResponseStream(call, reply, stamp)
}

class ResponseStream implements StreamWriter {
  private readonly thought: Item | null
  private readonly message: Item | null
  private readonly calls: readonly (Item | null)[]
  /** Items that are complete. */
  private readonly output: Item[] = []
  /** The item that is being filled. */
  private open: Item | null = null
  private sequence = 0

  constructor(
    call: ServedCall,
    private readonly reply: ServedReply,
    private readonly stamp: Stamp,
  ) {
    const [thought = null, message = null, ...calls] = slots(call, reply, stamp)
    this.thought = thought
    this.message = message
    this.calls = calls
  }

  start(): WireEvent[] {
    const response = { ...head(this.stamp), status: 'in_progress', output: [], usage: null }
    return ['response.created', 'response.in_progress'].map((type) => this.event(type, { response }))
  }

  reasoning(delta: string): WireEvent[] {
    const begun = this.begin(this.thought)
    return [...begun, this.event('response.reasoning_summary_text.delta', { ...this.place(), delta })]
  }

  text(delta: string): WireEvent[] {
    const begun = this.begin(this.message)
    return [...begun, this.event('response.output_text.delta', { ...this.place(), delta, logprobs: [] })]
  }

  end(): WireEvent[] {
    const unsaid = this.message && !this.output.includes(this.message) ? this.begin(this.message) : []
    const rest = [...unsaid, ...this.close(), ...this.calls.flatMap((item) => (item ? this.wholeCall(item) : []))]
    const response = finished(this.reply, this.stamp, this.output)
    return [...rest, this.event(`response.${response.status}`, { response })]
  }

  private event(type: string, fields: object): WireEvent {
    return { name: type, data: JSON.stringify({ type, sequence_number: this.sequence++, ...fields }) }
  }

  private place(): object {
    const index = this.open === this.thought ? 'summary_index' : 'content_index'
    return { item_id: this.open?.id, output_index: this.output.length, [index]: 0 }
  }

  private begin(item: Item | null): WireEvent[] {
    if (this.open === item || !item) return []
    const closing = this.close()
    this.open = item
    const empty = item === this.thought ? { summary: [] } : { content: [], status: 'in_progress' }
    const [type, part] =
      item === this.thought ? ['reasoning_summary_part', summaryText('')] : ['content_part', outputText('')]
    return [
      ...closing,
      this.event('response.output_item.added', { output_index: this.output.length, item: { ...item, ...empty } }),
      this.event(`response.${type}.added`, { ...this.place(), part }),
    ]
  }

  private close(): WireEvent[] {
    const item = this.open
    if (!item) return []
    const [prefix, part, text] =
      item === this.thought
        ? ['reasoning_summary', summaryText(this.reply.reasoning ?? ''), this.reply.reasoning]
        : ['output', outputText(this.reply.text), this.reply.text]
    const events = [
      this.event(`response.${prefix}_text.done`, { ...this.place(), text }),
      this.event(`response.${prefix === 'output' ? 'content' : prefix}_part.done`, { ...this.place(), part }),
      this.event('response.output_item.done', { output_index: this.output.length, item }),
    ]
    this.output.push(item)
    this.open = null
    return events
  }

  private wholeCall(item: Item): WireEvent[] {
    const place = { output_index: this.output.length }
    const [prefix, key] =
      item.type === 'function_call' ? ['function_call_arguments', 'arguments'] : ['custom_tool_call_input', 'input']
    const events = [
      this.event('response.output_item.added', { ...place, item: { ...item, [key]: '', status: 'in_progress' } }),
      this.event(`response.${prefix}.delta`, { item_id: item.id, ...place, delta: item[key] }),
      this.event(`response.${prefix}.done`, { item_id: item.id, ...place, [key]: item[key] }),
      this.event('response.output_item.done', { ...place, item }),
    ]
    this.output.push(item)
    return events
  }
}

function outputOf(call: ServedCall, reply: ServedReply, stamp: Stamp): Item[] {
  return slots(call, reply, stamp).filter((item) => item !== null)
}

/** The thought, the message and the calls; null where there is none. */
function slots({ shape }: ServedCall, reply: ServedReply, { id }: Stamp): (Item | null)[] {
  const { reasoning, text, toolCalls } = reply
  return [
    reasoning === null ? null : { id: `rs_${id}`, type: 'reasoning', summary: [summaryText(reasoning)] },
    text === '' && toolCalls.length > 0
      ? null
      : { id: `msg_${id}`, type: 'message', status: 'completed', role: 'assistant', content: [outputText(text)] },
    ...toolCalls.map((call, i): Item => {
      const base = { id: `fc_${id}_${i}`, status: 'completed', call_id: call.id, name: call.name }
      return shape.textTools.includes(call.name)
        ? { ...base, type: 'custom_tool_call', input: plainInput(call.arguments) }
        : { ...base, type: 'function_call', arguments: call.arguments }
    }),
  ]
}

function summaryText(text: string): object {
  return { type: 'summary_text', text }
}

function outputText(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function head({ id, createdSec, model }: Stamp): Record<string, unknown> {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: createdSec,
    model,
    error: null,
    parallel_tool_calls: true,
    store: false,
  }
}

function finished({ finish, usage }: ServedReply, stamp: Stamp, output: readonly Item[]) {
  const reason = finish === 'length' ? 'max_output_tokens' : finish === 'content-filter' ? 'content_filter' : null
  return {
    ...head(stamp),
    status: reason === null ? 'completed' : 'incomplete',
    incomplete_details: reason && { reason },
    output,
    usage: {
      input_tokens: usage.inputTokens,
      input_tokens_details: { cached_tokens: usage.cacheTokens },
      output_tokens: usage.outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.inputTokens + usage.outputTokens,
    },
  }
}
