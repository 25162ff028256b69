import { answersOf, type PostAnswer, type Question } from './question.ts'

const programs =
  'awk bash cat column comm cut date echo expand fmt fold gawk grep egrep head join jq ls mawk nl paste perl pr printf python3 rev sed seq shuf sort split tac tail tr uniq wc while for xargs'

/** A command from an answer and the file it works on; a string says why there is none. */
export function commandOf(question: Question): { readonly script: string; readonly file: string } | string {
  const commands = answersOf(question).flatMap(commandsIn)
  if (commands.length === 0) return 'the answer holds no command of the usual programs'
  for (const script of commands) {
    const file = fileOf(script)
    if (file !== null) return { script, file }
  }
  return 'the command names no file to work on'
}

function commandsIn({ code }: PostAnswer): string[] {
  return code.map(({ text }) => commandIn(text)).filter((text) => text !== null)
}

/**
 * The command in a block: the lines after a prompt if there are prompts, otherwise the whole block. Null if it is
 * something else.
 */
export function commandIn(text: string): string | null {
  const lines = text.split('\n')
  const prompted = lines.flatMap((line, i) => (prompt.test(line) ? [promptedAt(lines, i)] : []))
  const command = (prompted.length > 0 ? prompted.join('\n') : text).trim()
  const first = /^(?:#!.*\n\s*)?(?:\w+=\S*\s+)*([\w.]+)/.exec(command)?.[1] ?? ''
  if (!programs.split(' ').includes(first) || /\b(?:sudo|curl|wget|ssh|apt|yum|rm)\b/.test(command)) return null
  return command
}

const prompt = /^\s*[$%] /

/** The command after a prompt, which continues while a quote is open. */
function promptedAt(lines: readonly string[], at: number): string {
  let command = (lines[at] ?? '').replace(prompt, '')
  for (let i = at + 1; i < lines.length && isOpen(command); i++) command += `\n${(lines[i] ?? '').replace(/^> /, '')}`
  return command
}

function isOpen(command: string): boolean {
  return /['"]/.test(command.replace(/\\.|'[^']*'|"(?:[^"\\]|\\.)*"/g, ''))
}

/** Names with a special meaning to the tests or next to a Dockerfile. */
export const isTaken = /^(?:Dockerfile|(?:docker-)?compose\.ya?ml|solve\.(?:sh|py)|reference\.sh)$/i

/** The last unquoted word that looks like a file name. */
function fileOf(command: string): string | null {
  const bare = command.replace(/'[^']*'|"[^"]*"/g, ' ')
  const words = bare.split(/[\s|;<>()&]+/).filter((word) => /^[A-Za-z][\w-]*(?:\.[A-Za-z]\w{0,4})?$/.test(word))
  const named = words.filter(
    (word) =>
      /\.\w+$/.test(word) || /^(?:your|my|in|input|text|data|log|the)?_?(?:file|input|data)(?:name)?$/i.test(word),
  )
  return named.filter((word) => !isTaken.test(word)).at(-1) ?? null
}

/** Awk iterates over an array in arbitrary order. */
export function orderOf({ script }: { readonly script: string }): { readonly order?: 'any' } {
  return /\bfor\s*\(\s*\w+\s+in\s+\w+\s*\)/.test(script) && !/\bsort\b|sorted_in/.test(script) ? { order: 'any' } : {}
}
