import { plainInput } from './openai-chat-reply.ts'
import type { ServedCall, ServedReply, Stamp, StreamWriter, WireEvent } from './server-dialect.ts'

type Item = Readonly<Record<string, unknown>>

/** A complete response. */
export function renderReply(call: ServedCall, reply: ServedReply, stamp: Stamp): Record<string, unknown> {
  return finished(reply, stamp, outputOf(call, reply, stamp))
}

/** A response as a stream of named events: each item is announced, filled and closed. */
export function makeStream(call: ServedCall, stamp: Stamp): StreamWriter {
  return new ResponseStream(call, stamp)
}

type Spoken = 'thought' | 'message'

class ResponseStream implements StreamWriter {
  /** Items that are complete. */
  private readonly output: Item[] = []
  /** The item being filled, and its content. */
  private open: Spoken | null = null
  private said = ''
  private messageBegun = false
  private sequence = 0

  constructor(
    private readonly call: ServedCall,
    private readonly stamp: Stamp,
  ) {}

  start(): WireEvent[] {
    const response = { ...head(this.stamp), status: 'in_progress', output: [], usage: null }
    return ['response.created', 'response.in_progress'].map((type) => this.event(type, { response }))
  }

  reasoning(delta: string): WireEvent[] {
    const begun = this.begin('thought')
    this.said += delta
    return [...begun, this.event('response.reasoning_summary_text.delta', { ...this.place(), delta })]
  }

  text(delta: string): WireEvent[] {
    const begun = this.begin('message')
    this.said += delta
    return [...begun, this.event('response.output_text.delta', { ...this.place(), delta, logprobs: [] })]
  }

  end(reply: ServedReply): WireEvent[] {
    const isUnsaid = !this.messageBegun && (reply.text !== '' || reply.toolCalls.length === 0)
    const unsaid = isUnsaid ? this.begin('message') : []
    const closing = this.close()
    const rest = [
      ...unsaid,
      ...closing,
      ...callItems(this.call, reply, this.stamp).flatMap((item) => this.wholeCall(item)),
    ]
    const response = finished(reply, this.stamp, this.output)
    return [...rest, this.event(`response.${response.status}`, { response })]
  }

  private event(type: string, fields: object): WireEvent {
    return { name: type, data: JSON.stringify({ type, sequence_number: this.sequence++, ...fields }) }
  }

  private place(): object {
    const index = this.open === 'thought' ? 'summary_index' : 'content_index'
    return { item_id: this.item('').id, output_index: this.output.length, [index]: 0 }
  }

  private item(text: string): Item {
    return this.open === 'thought' ? thoughtItem(text, this.stamp) : messageItem(text, this.stamp)
  }

  private begin(which: Spoken): WireEvent[] {
    if (this.open === which) return []
    const closing = this.close()
    this.open = which
    this.said = ''
    this.messageBegun ||= which === 'message'
    const empty = which === 'thought' ? { summary: [] } : { content: [], status: 'in_progress' }
    const [type, part] =
      which === 'thought' ? ['reasoning_summary_part', summaryText('')] : ['content_part', outputText('')]
    const item = { ...this.item(''), ...empty }
    return [
      ...closing,
      this.event('response.output_item.added', { output_index: this.output.length, item }),
      this.event(`response.${type}.added`, { ...this.place(), part }),
    ]
  }

  private close(): WireEvent[] {
    if (this.open === null) return []
    const text = this.said
    const item = this.item(text)
    const [prefix, part] =
      this.open === 'thought' ? ['reasoning_summary', summaryText(text)] : ['output', outputText(text)]
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
  const { reasoning, text, toolCalls } = reply
  return [
    ...(reasoning === null ? [] : [thoughtItem(reasoning, stamp)]),
    ...(text === '' && toolCalls.length > 0 ? [] : [messageItem(text, stamp)]),
    ...callItems(call, reply, stamp),
  ]
}

function thoughtItem(text: string, { id }: Stamp): Item {
  return { id: `rs_${id}`, type: 'reasoning', summary: [summaryText(text)] }
}

function messageItem(text: string, { id }: Stamp): Item {
  return { id: `msg_${id}`, type: 'message', status: 'completed', role: 'assistant', content: [outputText(text)] }
}

function callItems({ shape }: ServedCall, { toolCalls }: ServedReply, { id }: Stamp): Item[] {
  return toolCalls.map((call, i) => {
    const base = {
      id: `fc_${id}_${i}`,
      status: 'completed',
      call_id: call.id,
      name: call.name,
      ...shape.namespaced?.[call.name],
    }
    return shape.textTools.includes(call.name)
      ? { ...base, type: 'custom_tool_call', input: plainInput(call.arguments) }
      : { ...base, type: 'function_call', arguments: call.arguments }
  })
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
