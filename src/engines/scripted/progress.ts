import type { ChatMessage } from '../../core/model.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { Manner } from './manner.ts'
import { renderTurn, shellScript } from './render-turn.ts'
import type { Turn } from './turn.ts'

/** How far a script has come, read from the conversation alone: a stand-in remembers nothing. */
export interface Progress {
  /** Which turn is next, from 0; the number of turns when all are played. */
  readonly next: number
  /** Replies since the last effective turn. */
  readonly wasted: number
  /** The answer to that turn; null when only a summary mentions the turn. */
  readonly heard: string | null
}

/** Finds the next turn. A turn counts as played when the model has visibly said it; a spoilt reply does not. */
export function progressOf(messages: readonly ChatMessage[], turns: readonly Turn[], manner: Manner): Progress {
  let next = 0
  let wasted = 0
  let heard: string[] | null = null
  for (const message of messages) {
    const marked = markedIn(message.content)
    if (marked !== null && marked > next) {
      next = Math.min(marked, turns.length)
      wasted = 0
      heard = null
    }
    if (message.role !== 'assistant') {
      heard?.push(message.content)
      continue
    }
    // Faults leave no trace in a conversation.
    while (turns[next]?.kind === 'fault') next++
    const turn = turns[next]
    if (turn && isSaid(turn, message, manner)) {
      next++
      wasted = 0
      heard = []
    } else wasted++
  }
  return { next, wasted, heard: heard?.join('\n') ?? null }
}

function isSaid(turn: Turn, { content, toolCalls = [] }: ChatMessage, manner: Manner): boolean {
  if (turn.kind === 'fault') return false
  const speech = renderTurn(turn, manner)
  if (turn.kind === 'work' && speech.toolCalls.length > 0) {
    const command = JSON.stringify(shellScript(turn.commands)).slice(1, -1)
    return toolCalls.some((call) => sameJson(call.arguments).includes(command))
  }
  if (speech.toolCalls.length > 0) {
    return speech.toolCalls.every((said, i) => sameJson(toolCalls[i]?.arguments ?? '') === sameJson(said.arguments))
  }
  return speech.text === '' ? content === '' : content.includes(speech.text.trim())
}

/** Agents re-serialize arguments with different spacing. */
function sameJson(text: string): string {
  try {
    return JSON.stringify(readJson(text))
  } catch {
    return text
  }
}

/** Put into a summary, so that a conversation that continues from it knows how far the script has come. */
export function progressMark(next: number, total: number): string {
  return `(stand-in: ${next} of ${total} turns done)`
}

function markedIn(text: string): number | null {
  const marks = [...text.matchAll(/\(stand-in: (\d+) of \d+ turns done\)/g)].map((match) => Number(match[1]))
  return marks.length === 0 ? null : Math.max(...marks)
}
