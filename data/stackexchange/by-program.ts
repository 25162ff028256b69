import {
  type Dropped,
  expectedOutputDraft,
  isDropped,
  type NewDraft,
  proveDraft,
  type RawRow,
  readJson,
  z,
} from 'ot-agent'
import { type Attempt, agreeOn, attemptsOf, casesOf, likeness, readsSame, runAttempts } from './attempts.ts'
import { commandIn, commandOf, orderOf } from './commands.ts'
import { functionTest, runFunctionPy } from './program/function-test.ts'
import { probePy } from './program/probe-py.ts'
import { answersDiffer, answersOf, asksToExplain, type Question, readQuestion } from './question.ts'
import { type CodeAt, runCode } from './run-code.ts'

/** By program: the answer's code runs on generated inputs in a sandbox, and the agent's has to do the same. */
export async function byProgram(row: RawRow, at: CodeAt): Promise<NewDraft | Dropped> {
  const question = readQuestion(row)
  const dropped = (detail: string) => ({ drop: 'no-checkable-answer', detail, id: row.id })
  if (question === null) return dropped('expected a question with an answer')
  if (asksToExplain(question.title)) return dropped('the question asks for an explanation')
  const made = looksLikePython(question) ? await byFunction(question, at) : await byCommand(row, question, at)
  return typeof made === 'string' ? dropped(made) : 'drop' in made ? { ...made, id: row.id } : made
}

function looksLikePython(question: Question): boolean {
  return answersOf(question).some(({ code }) => code.some(({ text }) => /^(?:def|class) \w+.*:/m.test(text)))
}

/** A command from the answer on an input that the question shows; the agent sees what it prints for that input. */
async function byCommand(row: RawRow, question: Question, at: CodeAt): Promise<NewDraft | Dropped | string> {
  const command = commandOf(question)
  if (typeof command === 'string') return command
  const input = question.code.find(({ text }) => text.split('\n').length >= 3 && commandIn(text) === null)?.text
  if (input === undefined) return 'the question shows no input of several lines'
  const { script, file } = command
  const files = { [file]: `${input}\n`, 'reference.sh': `${script}\n` }
  const ran = await runCode(
    { image: 'debian:12-slim', files, command: ['bash', '/app/reference.sh'], timeoutSec: 20 },
    at,
  )
  if (ran === null || ran.exitCode !== 0 || ran.stderr.trim() !== '')
    return 'the command fails on the input that is shown'
  const printed = ran.stdout.trimEnd()
  if (printed.trim() === '' || printed === input.trimEnd())
    return 'the command does nothing with the input that is shown'
  const { title, body } = question
  const fields = { title, body, file, printed, script, files: { [file]: `${input}\n` }, expected: printed }
  const draft = expectedOutputDraft({ ...row, fields }, { ...askFor(printed), ...orderOf(command) }, at.seed)
  if (isDropped(draft) || !at.sandboxes) return draft
  const wrong = await proveDraft(draft, { ...at, sandboxes: at.sandboxes })
  if (wrong !== null) return 'the command prints the same for all inputs, or never the same twice'
  const own = { script, interpreter: 'bash' as const, files: { [file]: `${input}\n` } }
  return (await othersAgree(question, { own, printed, cases: casesOf(draft) }, at))
    ? draft
    : { drop: answersDiffer, detail: 'the answers print the same for what is shown, and not for other inputs' }
}

/** Whether other code in the answers that prints the same for the shown input also agrees on the other inputs. */
async function othersAgree(
  question: Question,
  {
    own,
    printed,
    cases,
  }: { readonly own: Attempt; readonly printed: string; readonly cases: ReturnType<typeof casesOf> },
  at: CodeAt,
): Promise<boolean> {
  const attempts = attemptsOf(question)
  const others = typeof attempts === 'string' ? [] : attempts.filter((attempt) => readsSame(own, attempt))
  if (others.length === 0) return true
  const alike = (await runAttempts(others, at)).filter((ran) => likeness(printed, ran.printed) !== null)
  return agreeOn(cases, [own, ...alike.map(({ attempt }) => attempt).slice(0, 3)], at)
}

/** Where words are aligned in columns, posts and answers differ in spacing, and no spacing is the correct one. */
export function askFor(printed: string): { readonly instruction: string; readonly normalise?: ['blanks'] } {
  if (!/\S(?: {2,}|\t)\s*\S/.test(printed)) return { instruction: commandInstruction }
  const loose = `${commandInstruction}\n\nHow many blanks are between words does not matter.`
  return { instruction: loose, normalise: ['blanks'] }
}

const commandInstruction = `# {{title}}

{{body}}

---

The text above is in \`/app/{{file}}\`. For it, the result is:

\`\`\`
{{printed}}
\`\`\``

const probed = z.object({
  name: z.string(),
  signature: z.string(),
  code: z.string(),
  cases: z.array(z.object({ args: z.string(), result: z.string() })).min(10),
})

const refused = z.object({ problem: z.string(), differ: z.boolean().optional() })

/** A Python function from the answer, called with inputs shaped like the calls in the posts. */
async function byFunction(question: Question, at: CodeAt): Promise<NewDraft | Dropped | string> {
  const { title, body } = question
  const answers = answersOf(question).map(({ code }) => code.map(({ text }) => text))
  const posts = { asked: question.code.map(({ text }) => text), answers, said: answers.flat() }
  const files = { 'posts.json': JSON.stringify(posts), 'probe.py': probePy }
  // Twice, with a different set order: any difference depends on more than the input.
  const runs = []
  for (const hash of ['1', '2']) {
    const command = ['env', `PYTHONHASHSEED=${hash}`, 'python3', '-I', '/app/probe.py', String(at.seed)]
    const ran = await runCode({ image: 'python:3.12-slim', files, command, timeoutSec: 300 }, at)
    if (ran === null || ran.exitCode !== 0) return 'the answer could not be tried out'
    runs.push(ran.stdout.trim())
  }
  const [first = '', second] = runs
  if (first !== second) return 'the function does not give the same every time'
  const found: unknown = readJson(first)
  const parsed = probed.safeParse(found)
  if (!parsed.success) {
    const { problem = 'nothing to call', differ = false } = refused.safeParse(found).data ?? {}
    return differ ? { drop: answersDiffer, detail: problem } : problem
  }
  const { name, signature, code, cases } = parsed.data
  const file = '/app/solution.py'
  const shown = cases.slice(0, 2).map(({ args, result }) => `- \`${name}${callOf(args)}\` gives \`${result}\``)
  return {
    instruction: `# ${title}\n\n${body}\n\n---\n\nWrite Python 3 code to \`${file}\` that defines \`${signature}\` and needs nothing but the standard library. Tests call it on other values of the same shape and compare what it returns:\n\n${shown.join('\n')}\n`,
    files: {
      'environment/Dockerfile': { data: 'FROM python:3.12-slim\n\nWORKDIR /app\n' },
      'tests/test.sh': { data: functionTest(file) },
      'tests/run_cases.py': { data: runFunctionPy(file) },
      'tests/cases.json': { data: `${JSON.stringify({ name, cases }, null, 1)}\n` },
      'solution/solution.py': { data: `${code}\n` },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/solution.py" ${file}\n` },
    },
  }
}

/** A tuple as Python prints it, turned into call arguments. */
function callOf(args: string): string {
  return args.replace(/,\)$/, ')')
}
