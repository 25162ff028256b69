import { type RawRow, z } from 'ot-agent'

const code = z.array(z.object({ text: z.string(), language: z.string().nullable(), before: z.string() }))
const post = z.object({ title: z.string(), body: z.string(), code, answer: z.object({ body: z.string(), code }) })
type Blocks = z.infer<typeof code>

const programs =
  'awk bash cat column comm cut date echo expand fmt fold gawk grep egrep head join jq ls mawk nl paste perl pr printf python3 rev sed seq shuf sort split tac tail tr uniq wc while for xargs'

/** An example as makers/expected-output takes it, or the question with the problem it has. */
export function shapeExample(row: RawRow): RawRow {
  const parsed = post.safeParse(row.fields)
  if (!parsed.success) return withProblem(row, 'expected a question with an answer')
  const { title, body, answer } = parsed.data
  const shown = exampleIn(parsed.data.code)
  if (shown === null) return withProblem(row, 'the question shows no input and output')
  const command = answer.code.map(({ text }) => commandIn(text)).find((text) => text !== null)
  if (command === undefined || command === null)
    return withProblem(row, 'the answer holds no command of the usual programs')
  const name = fileOf(command)
  if (name === null) return withProblem(row, 'the command names no file to work on')
  const fields = { title, body, script: command, files: { [name]: `${shown.input}\n` }, expected: shown.output }
  return { ...row, fields }
}

/** The answer's Python, for makers/row-template. */
export function shapeFunctions(row: RawRow): RawRow {
  const parsed = post.safeParse(row.fields)
  if (!parsed.success) return row
  const { title, body, answer } = parsed.data
  const program = answer.code
    .map(({ text }) => text)
    .find((text) => /^(?:def|class) /m.test(text) && /^(?:print|assert)\b/m.test(text))
  return { ...row, fields: { title, body, program: program ?? answer.body } }
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
function commandIn(text: string): string | null {
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
