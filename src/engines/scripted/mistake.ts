import { readJson } from '../../lib/parse-json.ts'
import type { Fault, Mistake } from './fault.ts'
import type { Manner } from './manner.ts'
import type { NextTurn } from './next-turn.ts'
import { renderTurn, type Speech } from './render-turn.ts'
import type { Turn, WorkTurn } from './turn.ts'
import { completion, work } from './turn.ts'

/** What a model says when it makes a mistake instead of a good turn. */
export function mistaken({ kind, bytes }: Fault & { kind: Mistake }, { turn, last, manner }: NextTurn): Speech {
  const good = renderTurn(turn, manner)
  switch (kind) {
    case 'malformed':
      return { ...good, text: cut(good.text, 0.6), toolCalls: withArguments(good, (text) => cut(text, 0.6)) }
    case 'fenced':
      return {
        ...good,
        text: `Here is what I do next.\n\n\`\`\`${fence(manner)}\n${good.text}\n\`\`\`\n\nThat should help.`,
      }
    case 'missing-fields':
      return { ...good, text: withoutCommands(good.text, manner), toolCalls: withArguments(good, () => '{}') }
    case 'wrong-command':
      return renderTurn(wrongTurn(turn), manner)
    case 'repeat':
      return renderTurn(last ?? turn, manner)
    case 'early-completion':
      return renderTurn(completion, manner)
    case 'truncated':
      return { ...good, text: cut(good.text, 0.5), toolCalls: [], finish: 'length' }
    case 'refusal':
      return { ...good, text: 'I cannot help with that.', toolCalls: [], finish: 'content-filter' }
    case 'empty':
      return { ...good, text: '', toolCalls: [], finish: 'stop' }
    case 'huge':
      return { ...good, text: `${good.text}\n${'and so on '.repeat(Math.ceil(bytes / 10)).slice(0, bytes)}` }
  }
}

function cut(text: string, part: number): string {
  return text.slice(0, Math.floor(text.length * part))
}

function withArguments({ toolCalls }: Speech, change: (text: string) => string): Speech['toolCalls'] {
  return toolCalls.map((call) => ({ ...call, arguments: change(call.arguments) }))
}

function fence({ kind }: Manner): string {
  return kind === 'json' || kind === 'xml' ? kind : ''
}

function withoutCommands(text: string, { kind }: Manner): string {
  if (kind === 'xml') return text.replace(/<commands>[\s\S]*<\/commands>\n?/, '')
  if (kind !== 'json') return ''
  const { analysis } = readJson(text) as { analysis?: string }
  return JSON.stringify({ analysis })
}

/** A command that fails and changes nothing. */
function wrongTurn(turn: Turn): WorkTurn {
  const plan = turn.kind === 'work' ? turn.plan : ''
  return work({
    analysis: 'I think I know where this is.',
    plan,
    commands: [{ keystrokes: 'cat /no/such/file\n', durationSec: 0.5 }],
  })
}
