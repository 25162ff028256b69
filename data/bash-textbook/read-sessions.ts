import { notPlain, readPrintf } from './printf-text.ts'

/** A command shown after a prompt, with its output. */
export interface Session {
  readonly command: string
  readonly printed: string
  /** Line numbers in the page: the prompt, the first line after the command, and the first after its output. */
  readonly start: number
  readonly afterCommand: number
  readonly end: number
}

/** What a page says about a command whose input is known. */
export interface PageCommand {
  /** The page without the command. */
  readonly page: string
  readonly script: string
  readonly files: Readonly<Record<string, string>>
  readonly stdin: string
  readonly expected: string
}

const prompt = /^(\s*)\$ (\S.*)$/

/** Every command after a prompt, with the lines up to the next prompt, comment or end of the listing. */
export function sessionsOf(page: string): Session[] {
  const lines = page.split('\n')
  const found: Session[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, margin = '', first = ''] = prompt.exec(lines[at] ?? '') ?? []
    if (first === '') continue
    const start = at
    let command = first
    // A command that ends with a pipe or a backslash continues on the next line.
    while (/(?:\||\\)$/.test(command) && at + 1 < lines.length)
      command = `${command.replace(/\\$/, '')} ${lines[++at]?.trim()}`
    const afterCommand = at + 1
    const printed: string[] = []
    while (at + 1 < lines.length && !endsListing(lines[at + 1] ?? ''))
      printed.push((lines[++at] ?? '').slice(margin.length))
    while (printed.length > 0 && printed.at(-1)?.trim() === '') printed.pop()
    found.push({ command, printed: printed.join('\n'), start, afterCommand, end: at + 1 })
  }
  return found
}

function endsListing(line: string): boolean {
  return prompt.test(line) || /^\s*(?:```|~~~)/.test(line) || /^\s*# /.test(line)
}

/** The files that these pages print with `cat NAME`. */
export function filesOf(sessions: readonly Session[]): Record<string, string> {
  const files: Record<string, string> = {}
  for (const { command, printed } of sessions) {
    const name = /^cat ([\w][\w-]*\.\w{1,5})$/.exec(command)?.[1]
    if (name !== undefined && printed !== '') files[name] = `${printed}\n`
  }
  return files
}

const programs = new Set(
  'awk cat column comm cut expand fmt fold grep head join nl paste pr rev sed sort tac tail tr unexpand uniq wc'.split(
    ' ',
  ),
)

/** The commands on a page that make a task: the usual programs, with known input and output that the page shows. */
export function readCommands(page: string, known: Readonly<Record<string, string>>): PageCommand[] {
  const sessions = sessionsOf(page)
  const lines = page.split('\n')
  return sessions.flatMap((session) => {
    const input = inputOf(session.command, known)
    // If the command occurs again, or another one next to it gives the same result, the page gives the answer away.
    const isTold =
      sessions.some(
        (other) =>
          other !== session &&
          (other.command.includes(input?.script ?? session.command) ||
            (session.printed.includes('\n') && other.printed === session.printed)),
      ) || /^\s*# .*\bsame as:/i.test(lines[session.start - 1] ?? '')
    // A comment such as "# wrong output" stands above a command that the page warns against.
    const isWrong = /^\s*# .*\b(?:wrong|incorrect)\b/i.test(lines[session.start - 1] ?? '')
    if (
      input === null ||
      isTold ||
      isWrong ||
      session.printed.trim() === '' ||
      session.printed === input.text.trimEnd()
    )
      return []
    const { script, files, stdin } = input
    return [
      { page: withoutCommand(page, session, stdin), script: `${script}\n`, files, stdin, expected: session.printed },
    ]
  })
}

interface Input {
  readonly script: string
  readonly files: Readonly<Record<string, string>>
  readonly stdin: string
  readonly text: string
}

/**
 * What a command reads, text from `printf` or files shown on the pages, and the rest of the command; null if unknown.
 */
function inputOf(command: string, known: Readonly<Record<string, string>>): Input | null {
  if (/[<>`;&]|\$\(|\b(?:sudo|rm|mv|curl)\b/.test(command.replace(/'[^']*'/g, ''))) return null
  const piped = /^(?:printf|echo(?: -e)?) .*? \| (?=\w)/.exec(command)
  const script = piped ? afterPrintf(command) : command
  if (script === null || !script.split('|').every((part) => programs.has(/^\s*(\w+)/.exec(part)?.[1] ?? '')))
    return null
  const bare = script.replace(/'[^']*'|"[^"]*"/g, ' ')
  const names = [...new Set(bare.match(/(?<![\w./-])[A-Za-z][\w-]*\.[A-Za-z]\w{0,4}\b/g) ?? [])]
  if (names.some((name) => known[name] === undefined)) return null
  const files = Object.fromEntries(names.map((name) => [name, known[name] ?? '']))
  const stdin = piped ? readPrintf(command) : ''
  if (stdin === notPlain || (stdin === '' && names.length === 0)) return null
  return { script: script.trim(), files, stdin, text: `${stdin}${Object.values(files).join('')}` }
}

/** Everything after the first pipe character outside quotes. */
function afterPrintf(command: string): string | null {
  const at = command.replace(/'[^']*'|"[^"]*"/g, (quoted) => ' '.repeat(quoted.length)).indexOf('|')
  return at < 0 ? null : command.slice(at + 1)
}

/** Keeps the text that is piped in: it is the input. */
function withoutCommand(page: string, { start, afterCommand, command }: Session, stdin: string): string {
  const lines = page.split('\n')
  const kept = stdin === '' ? '' : `${command.slice(0, command.length - (afterPrintf(command)?.length ?? 0))} `
  return [...lines.slice(0, start), `$ ${kept}(this was lost)`, ...lines.slice(afterCommand)].join('\n')
}
