import type { RunInstruction } from '../instruction.ts'
import { type LogicalLine, parseHeredocMark } from '../lines.ts'
import { readCommands, type ShellWord } from './shell.ts'

/** What a RUN runs, its words placed in the file itself. */
export type Script = readonly (readonly ShellWord[])[]

/** A line for the shell, the text of a heredoc that a shell reads, or a program with its arguments. */
export function readScript({ command, heredocs }: RunInstruction, line: LogicalLine): Script {
  const inFile = (at: number) => line.offsets[at] ?? 0
  if (command.form === 'exec') return placed([readStrings(line.rest)], inFile)
  const [heredoc] = heredocs
  const isScript = heredoc !== undefined && heredocs.length === 1 && parseHeredocMark(command.text) !== null
  if (!isScript) return placed(readCommands(line.rest), inFile)
  const { raw, start } = heredoc
  const ofShell = !raw.trimStart().startsWith('#!') || /^\s*#!.*\b(ba|da|z)?sh\b/.test(raw)
  return ofShell ? placed(readCommands(raw), (at) => start + at) : []
}

function placed(commands: Script, inFile: (at: number) => number): Script {
  return commands.map((words) => words.map((word) => ({ ...word, at: word.at.map(inFile) })))
}

/** The strings of a JSON array; one with an escape in it counts as unknown. */
function readStrings(text: string): ShellWord[] {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(({ 1: value = '', index }) => {
    const at = Array.from({ length: value.length }, (_, i) => index + 1 + i)
    return { value, at, dynamic: value.includes('\\') }
  })
}
