import { msUntil } from '../../lib/deadline.ts'
import { type Dialect, listed, type Parsed } from './parsed.ts'
import type { Prompts } from './prompts.ts'

type Parser = 'json' | 'xml'

/** The single message that starts a run: the rules, the task, and the current terminal. */
export function firstPrompt(prompts: Prompts, parser: Parser, instruction: string, terminalState: string): string {
  return prompts.render(`first-${parser}`, { instruction, terminal_state: terminalState })
}

/** The answer to a reply that could not be parsed. */
export function parseErrorPrompt(prompts: Prompts, { error, warnings }: Parsed, { replyName }: Dialect): string {
  const more = warnings.length > 0 ? `\nWARNINGS: ${listed(warnings)}` : ''
  return prompts.render('parse-error', { feedback: `ERROR: ${error}${more}`, response_type: replyName })
}

/** What the model sees after its commands. */
export function resultPrompt(prompts: Prompts, terminalState: string, warnings: readonly string[]): string {
  if (warnings.length === 0) return terminalState
  return prompts.render('warnings', { feedback: `WARNINGS: ${listed(warnings)}`, terminal_state: terminalState })
}

/** Asks once whether the task is really done. */
export function confirmPrompt(prompts: Prompts, parser: Parser, terminalState: string): string {
  return prompts.render(`confirm-${parser}`, { terminal_state: terminalState })
}

/** The answer to a reply that was cut off. */
export function tooLongPrompt(prompts: Prompts, limitTokens: number | null): string {
  return prompts.render('too-long', { limit: limitTokens === null ? 'the output limit' : `${limitTokens} tokens` })
}

/** The remaining time, as shown to the model. */
export function timeLeft(prompts: Prompts, deadline: Date): string {
  const seconds = Math.max(0, Math.round(msUntil(deadline) / 1000))
  return prompts.render('time-left', { seconds: String(seconds) })
}
