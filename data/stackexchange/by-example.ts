import { type Dropped, expectedOutputDraft, isDropped, type NewDraft, proveDraft, type RawRow } from 'ot-agent'
import { agreeOn, attemptsOf, casesOf, likeness, type Ran, readsSame, runAttempts } from './attempts.ts'
import { commandIn, commandOf, orderOf } from './commands.ts'
import { answersDiffer, asksToExplain, type Blocks, type Question, readQuestion } from './question.ts'
import type { CodeAt } from './run-code.ts'

/**
 * By example: an answer's code, run on one text from the question, prints another. Without sandboxes, the words around
 * the texts have to show that.
 */
export async function byExample(row: RawRow, at: CodeAt & { readonly isLast: boolean }): Promise<NewDraft | Dropped> {
  const { sandboxes } = at
  const dropped = (detail: string) => ({ drop: 'no-checkable-answer', detail, id: row.id })
  if (!sandboxes) return expectedOutputDraft(shapeExample(row), { instruction }, at.seed)
  const question = readQuestion(row)
  if (question === null) return dropped('expected a question with an answer')
  if (asksToExplain(question.title)) return dropped('the question asks for an explanation')
  const attempts = attemptsOf(question)
  if (typeof attempts === 'string') return dropped(attempts)
  const found = (await runAttempts(attempts, at)).flatMap((ran) => shownIn(question, ran))
  if (found.length === 0) return dropped('no command prints what the question shows')
  for (const { attempt, expected, like } of found.slice(0, 2)) {
    const { title, body } = question
    const fields = { title, body, ...attempt, expected }
    const options = { ...(like === 'blanks' ? looseBlanks : { instruction }), ...orderOf(attempt) }
    const made = expectedOutputDraft({ ...row, fields }, options, at.seed)
    if (isDropped(made) || (await proveDraft(made, { ...at, sandboxes })) !== null) continue
    const others = found.map((other) => other.attempt).filter((other) => readsSame(attempt, other))
    if (await agreeOn(casesOf(made), [attempt, ...others.slice(0, 3)], at)) return made
    return {
      drop: answersDiffer,
      detail: 'the answers print the same for what is shown, and not for other inputs',
      id: row.id,
    }
  }
  return dropped('what the command prints cannot be told apart on other inputs')
}

const instruction = '# {{title}}\n\n{{body}}'
const looseBlanks = {
  instruction: `${instruction}\n\n---\n\nHow many blanks are between words does not matter.`,
  normalise: ['blanks' as const],
}

/** The text from the question that was printed, unless it is the input itself. */
function shownIn({ code }: Question, { attempt, printed }: Ran) {
  const given = Object.values(attempt.files)
  const shown = code.flatMap(({ text }) => {
    const like = likeness(text, printed)
    return like === null || text.trim() === '' || given.some((file) => likeness(file, text)) ? [] : [{ text, like }]
  })
  const [best] = [...shown.filter(({ like }) => like === 'same'), ...shown]
  return best ? [{ attempt, expected: best.text, like: best.like }] : []
}

/**
 * The question shows an input and its output, and a command from an answer turns one into the other, in the form
 * makers/expected-output takes.
 */
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

function withProblem(row: RawRow, problem: string): RawRow {
  return { ...row, fields: { ...row.fields, problem } }
}

const namesOutput = /\b(?:outputs?|results?|expected|desired|wanted)\b/i
const tellsOutput = /\b(?:outputs?|results?|expect|desired|wanted|want|become|should|turn(?:ed)? into|get|after)\b/i

/** The block whose introduction mentions output, and the first earlier one whose introduction does not. */
function exampleIn(blocks: Blocks): { input: string; output: string } | null {
  const named = blocks.findIndex(({ before }, i) => i > 0 && namesOutput.test(before))
  const at = named > 0 ? named : blocks.findIndex(({ before }, i) => i > 0 && tellsOutput.test(before))
  const input = blocks.slice(0, at).find(({ before, text }) => !tellsOutput.test(before) && commandIn(text) === null)
  const output = blocks[at]
  return input && output && input.text !== output.text ? { input: input.text, output: output.text } : null
}
