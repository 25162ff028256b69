import { type Dropped, expectedOutputDraft, isDropped, type NewDraft, proveDraft, type RawRow } from 'ot-agent'
import { answersOf, type Blocks, type PostAnswer, type Question, readQuestion } from './question.ts'
import type { CodeAt } from './run-code.ts'

const programs =
  'awk bash cat column comm cut date echo expand fmt fold gawk grep egrep head join jq ls mawk nl paste perl pr printf python3 rev sed seq shuf sort split tac tail tr uniq wc while for xargs'

/** By example. Where another way may follow, the task is tried out first, so that the other way gets its turn. */
export async function byExample(row: RawRow, at: CodeAt & { readonly isLast: boolean }): Promise<NewDraft | Dropped> {
  const made = expectedOutputDraft(shapeExample(row), { instruction: '# {{title}}\n\n{{body}}' }, at.seed)
  const { sandboxes } = at
  if (isDropped(made) || at.isLast || !sandboxes) return made
  const wrong = await proveDraft(made, { ...at, sandboxes })
  if (wrong === null) return made
  return { drop: 'no-checkable-answer', detail: 'the command does not print what the question shows', id: row.id }
}

/** The question shows an input and its output, and a command of an answer turns one into the other: as makers/expected-output takes it. */
function shapeExample(row: RawRow): RawRow {
  const question = readQuestion(row)
  if (question === null) return withProblem(row, 'expected a question with an answer')
  const shown = exampleIn(question.code)
  if (shown === null) return withProblem(row, 'the question shows no input and output')
  const command = commandOf(question)
  if (typeof command === 'string') return withProblem(row, command)
  const { title, body } = question
  const files = { [command.file]: `${shown.input}\n` }
  return { ...row, fields: { title, body, script: command.script, files, expected: shown.output } }
}

/** A command of an answer and the file that it works on; a text says why there is none. */
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

function withProblem(row: RawRow, problem: string): RawRow {
  return { ...row, fields: { ...row.fields, problem } }
}

const tellsOutput = /\b(?:outputs?|results?|expect|desired|wanted|want|become|should|turn(?:ed)? into|get|after)\b/i

/** The block whose introduction speaks of output, and the first before it whose introduction does not. */
function exampleIn(blocks: Blocks): { input: string; output: string } | null {
  const at = blocks.findIndex(({ before }, i) => i > 0 && tellsOutput.test(before))
  const input = blocks.slice(0, at).find(({ before, text }) => !tellsOutput.test(before) && commandIn(text) === null)
  const output = blocks[at]
  return input && output && input.text !== output.text ? { input: input.text, output: output.text } : null
}

/** The command in a block: the lines after a prompt where there are prompts, else all of it. Null when it is something else. */
export function commandIn(text: string): string | null {
  const lines = text.split('\n')
  const prompted = lines.filter((line) => /^\s*[$%] /.test(line)).map((line) => line.replace(/^\s*[$%] /, ''))
  const command = (prompted.length > 0 ? prompted.join('\n') : text).trim()
  const first = /^(?:#!.*\n\s*)?(?:\w+=\S*\s+)*([\w.]+)/.exec(command)?.[1] ?? ''
  if (!programs.split(' ').includes(first) || /\b(?:sudo|curl|wget|ssh|apt|yum|rm)\b/.test(command)) return null
  return command
}

/** The last bare word that reads like a file's name. */
function fileOf(command: string): string | null {
  const bare = command.replace(/'[^']*'|"[^"]*"/g, ' ')
  const words = bare.split(/[\s|;<>()&]+/).filter((word) => /^[A-Za-z][\w-]*(?:\.[A-Za-z]\w{0,4})?$/.test(word))
  const named = words.filter(
    (word) =>
      /\.\w+$/.test(word) || /^(?:your|my|in|input|text|data|log|the)?_?(?:file|input|data)(?:name)?$/i.test(word),
  )
  return named.at(-1) ?? null
}
