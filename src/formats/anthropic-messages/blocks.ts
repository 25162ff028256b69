import type { TokenUsage } from '../../core/budget.ts'
import type { ModelReply, ModelRequest, ToolCall } from '../../core/model.ts'
import type { Hear, WireReply } from '../model-dialect.ts'

type Loose = Readonly<Record<string, unknown>>

interface Counts {
  readonly input_tokens?: number | null | undefined
  readonly output_tokens?: number | null | undefined
  readonly cache_read_input_tokens?: number | null | undefined
  readonly cache_creation_input_tokens?: number | null | undefined
}

interface Block {
  readonly start: Loose
  text: string
  signature: string
  json: string
}

/** Collects the content blocks of a reply, complete or streamed. */
export function makeBlocks(request: ModelRequest, onText: Hear, onReasoning: Hear = () => {}) {
  const blocks = new Map<number, Block>()
  const answerTool = request.jsonSchema?.name ?? null
  return {
    start(index: number, start: Loose): void {
      const block = {
        start,
        text: textAt(start, 'text') + textAt(start, 'thinking'),
        signature: textAt(start, 'signature'),
        json: '',
      }
      blocks.set(index, block)
      if (start.type === 'text' && block.text !== '') onText(block.text)
      // Report redacted thoughts too: that the model is thinking is known before any words are.
      if (start.type === 'thinking' || start.type === 'redacted_thinking') onReasoning(block.text)
    },
    add(index: number, delta: Loose): void {
      const block = blocks.get(index)
      if (!block) return
      const words = textAt(delta, 'text')
      const thought = textAt(delta, 'thinking')
      block.text += words + thought
      if (thought !== '') onReasoning(thought)
      block.signature += textAt(delta, 'signature')
      const json = textAt(delta, 'partial_json')
      block.json += json
      const isAnswer = block.start.type === 'tool_use' && block.start.name === answerTool
      if (words !== '' || (isAnswer && json !== '')) onText(words || json)
    },
    end(stopReason: string | null, counts: Counts | null): WireReply {
      const all = [...blocks.values()]
      const ofType = (type: string) => all.filter(({ start }) => start.type === type)
      const answers = ofType('tool_use').filter(({ start }) => start.name === answerTool)
      const toolCalls = ofType('tool_use')
        .filter((block) => !answers.includes(block))
        .map(toCall)
      const thoughts = all.filter(({ start }) => start.type === 'thinking' || start.type === 'redacted_thinking')
      return {
        text:
          answers.length > 0
            ? answers.map(inputJson).join('')
            : ofType('text')
                .map(({ text }) => text)
                .join(''),
        reasoning:
          ofType('thinking').length > 0
            ? ofType('thinking')
                .map(({ text }) => text)
                .join('')
            : null,
        ...(thoughts.length > 0 && { reasoningBlocks: thoughts.map(thoughtBlock) }),
        toolCalls,
        finish: finishOf(stopReason, toolCalls.length > 0),
        usage: counts && toUsage(counts),
        tokens: null,
      }
    },
  }
}

function toCall(block: Block): ToolCall {
  return { id: textAt(block.start, 'id'), name: textAt(block.start, 'name'), arguments: inputJson(block) }
}

function inputJson({ json, start }: Block): string {
  return json !== '' ? json : JSON.stringify(start.input ?? {})
}

/** A thought as the server expects it back: the thinking with its signature, or the opaque data. */
function thoughtBlock({ start, text, signature }: Block): Loose {
  return start.type === 'thinking' ? { type: 'thinking', thinking: text, signature } : start
}

function finishOf(reason: string | null, hasCalls: boolean): ModelReply['finish'] {
  if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') return 'length'
  if (reason === 'refusal') return 'content-filter'
  return hasCalls ? 'tool-calls' : 'stop'
}

/** This API counts cached input separately from the rest. */
function toUsage(counts: Counts): TokenUsage {
  const cacheTokens = counts.cache_read_input_tokens ?? 0
  const cacheWriteTokens = counts.cache_creation_input_tokens ?? 0
  return {
    inputTokens: (counts.input_tokens ?? 0) + cacheTokens + cacheWriteTokens,
    cacheTokens,
    cacheWriteTokens,
    outputTokens: counts.output_tokens ?? 0,
  }
}

function textAt(value: Loose, key: string): string {
  const text = value[key]
  return typeof text === 'string' ? text : ''
}
