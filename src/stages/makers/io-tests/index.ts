import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped, MapStage } from '../../../core/stage.ts'
import { rowDigest } from '../../../lib/digest-json.ts'
import { draftEach } from '../../shared/records/draft-each.ts'
import { type Language, languages, renderIoTest, runCasesPy } from './run-cases.ts'

const options = z.strictObject({
  language: z.enum(Object.keys(languages) as [Language]).default('python'),
  /** How many cases are used in addition to the statement's examples, from the start of the row. */
  maxTests: z.number().int().min(1).default(15),
  /** Rows with fewer cases that the statement does not show are dropped. */
  minHidden: z.number().int().min(1).default(1),
  /** Longer cases are not used. */
  maxCaseChars: z.number().int().min(1).default(200_000),
  /** The minimum time limit per case; a row may set a higher one. */
  caseSec: z.number().min(1).default(10),
  maxChars: z.number().int().min(1).default(20_000),
  pipeline: z.string().min(1).default('problems'),
})
type Options = z.output<typeof options>

const cases = z.array(z.object({ input: z.string(), output: z.string() }))
/** The fields a row must have; `problem` says why it is invalid. */
const contest = z.object({
  statement: z.string().min(20),
  /** Cases that the statement shows. */
  examples: cases.default([]),
  /** Cases that it does not show. */
  tests: cases,
  /** Correct programs, by language. */
  solutions: z.partialRecord(z.enum(Object.keys(languages) as [Language]), z.string()),
  /**
   * Python that judges an output if several are correct: called with the files of the input, the expected and the given
   * output, it prints 1 to accept.
   */
  checker: z.string().optional(),
  timeSec: z.number().positive().optional(),
})

/** V1: a program that reads an input and prints an output is tested on inputs that the statement does not show. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'makers/io-tests',
  summary: 'One task a row: a program that is tried on hidden inputs, with a known solution as the oracle',
  options,
  make: (given) => draftEach((row, seed) => makeDraft(row, given, seed)),
})

function makeDraft(row: RawRow, given: Options, seed: number): TaskDraft | Dropped {
  const { id } = row
  if (typeof row.fields.problem === 'string') return { drop: 'no-checkable-answer', detail: row.fields.problem, id }
  const parsed = contest.safeParse(row.fields)
  if (!parsed.success) return { drop: 'missing-field', detail: z.prettifyError(parsed.error).slice(0, 300), id }
  const { statement, solutions, checker, timeSec = 0 } = parsed.data
  const { pipeline, language, maxChars } = given
  if (statement.length > maxChars) return { drop: 'too-long', detail: `${statement.length} characters`, id }
  if (isInteractive(statement)) return { drop: 'interactive', detail: 'expected inputs that are known beforehand', id }
  if (hasLostFormula(statement)) return { drop: 'lost-formula', detail: 'a sentence goes on with a picture', id }
  const several = checker === undefined ? acceptsSeveral(statement) : null
  if (several !== null) return { drop: 'several-answers', detail: `expected a checker, for it says "${several}"`, id }
  const solution = solutions[language]
  if (solution === undefined)
    return { drop: 'no-reference-solution', detail: `expected a right program in ${language}`, id }
  const chosen = chooseCases(parsed.data, given)
  if (typeof chosen === 'string') return { drop: 'too-few-tests', detail: chosen, id }
  const { file, words, image, build, run } = languages[language]
  // Slower than the judges that the limits were made for: the machine is shared, and the language may differ.
  const seconds = Math.max(given.caseSec, timeSec * 5)
  const plan = {
    program: file,
    build,
    run,
    seconds,
    anyCase: acceptsAnyCase(statement) || chosen.every(({ output }) => saysYesOrNo.test(output)),
    error: acceptedError(statement),
    cases: chosen,
  }
  return {
    name: `${pipeline}-${id}`,
    instruction: `${withPowers(statement.trim())}\n\nWrite a program in ${words} to \`${file}\`. It reads the input from standard input and prints the output to standard output. It is tried on the examples and on inputs that are not shown here, and may take up to ${seconds} seconds for each.\n`,
    files: {
      'environment/Dockerfile': { data: `FROM ${image}\n\nWORKDIR /app\n` },
      'tests/test.sh': { data: renderIoTest() },
      'tests/run_cases.py': { data: runCasesPy },
      'tests/cases.json': { data: `${JSON.stringify(plan, null, 1)}\n` },
      ...(checker !== undefined && { 'tests/checker.py': { data: checker } }),
      'solution/program': { data: solution.endsWith('\n') ? solution : `${solution}\n` },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/program" ${file}\n` },
    },
    config: { verifier: { timeout_sec: Math.ceil(120 + chosen.length * seconds * 1.5) } },
    lineage: { pipeline, strategy: 'io-tests', rowId: id, rowDigest: rowDigest(row), seed },
  }
}

/**
 * The examples and the first hidden cases; if all outputs would be the same, a later case replaces one of them. Returns
 * a text when the cases would prove too little.
 */
function chooseCases({ examples, tests }: z.output<typeof contest>, given: Options): z.output<typeof cases> | string {
  const fits = ({ input, output }: { input: string; output: string }) =>
    input.length + output.length <= given.maxCaseChars && output.trim() !== ''
  const shown = new Set(examples.map(({ input }) => input.trim()))
  const usable = tests.filter((test) => fits(test) && !shown.has(test.input.trim()))
  const hidden = usable.slice(0, given.maxTests)
  if (hidden.length < given.minHidden)
    return `expected ${given.minHidden} that the statement does not show, found ${hidden.length}`
  const fitting = examples.filter(fits)
  // A program that knows the examples and prints a constant for all other inputs must not pass.
  const told = (hidden.length > 1 ? hidden : [...fitting, ...hidden]).map(plainOutput)
  if (new Set(told).size > 1) return [...fitting, ...hidden]
  const other = usable.slice(given.maxTests).find((test) => plainOutput(test) !== told[0])
  return other === undefined
    ? 'expected outputs that differ, found one for all inputs that are not shown'
    : [...fitting, ...hidden.slice(0, -1), other]
}

const plainOutput = ({ output }: { output: string }) => output.trim().replace(/\s+/g, ' ')

/** Verbs for what the program does with its answer. */
const says = String.raw`\b(?:print|output|write|display|report)(?:ed|ted|s)?\b`
const patterns: readonly RegExp[] = [
  new RegExp(`${says}(?: (?:one|a single) \\w+)?[^.?]{0,30}?[ —–-] ?any (?!case|register|number of|other)`, 'i'),
  new RegExp(`${says}[^.?]{0,60}\\bin (?:any|arbitrary) order\\b`, 'i'),
  /\b(?:multiple|several|many|more than one|various|different) (?:\w+ ){0,3}(?:answers?|solutions?|ways?|optimal|outputs?|such|possibilities|possible|valid|correct|suitable|options)\b[^.?]{0,80}(?:\bany\b|accepted|one of)/i,
  /\bany (?:\w+ ){0,3}(?:is|are|will be|would be|can be) (?:accepted|allowed as an answer|printed)\b/i,
]

const inputHeading = /^\s*(?:#+ |\*\*)?Input\b:?(?:\*\*)?:?\s*$/i
const outputHeading = /^\s*(?:#+ |\*\*)?Output\b/i

/** A statement without its input section, which describes what is given and not what is asked. */
function withoutInput(statement: string): string {
  const lines = statement.split('\n')
  const lastOutput = lines.findLastIndex((line) => outputHeading.test(line))
  const kept: string[] = []
  let isInput = false
  for (const [at, line] of lines.entries()) {
    if (isInput && outputHeading.test(line)) isInput = false
    else if (!isInput && at < lastOutput && inputHeading.test(line)) {
      isInput = true
      kept.push('')
    }
    if (!isInput) kept.push(line)
  }
  return kept.join('\n')
}

/**
 * Judges of such problems accept `Yes` for `YES` whatever the statement says, so tests and correct programs contain
 * both.
 */
const saysYesOrNo = /^\s*(?:(?:yes|no)\s+)*(?:yes|no)\s*$/i

/**
 * The words with which a statement accepts several answers to the same input; null when there are none. Comparing with
 * a single answer would be unfair.
 */
function acceptsSeveral(statement: string): string | null {
  const asked = withoutInput(statement)
  for (const pattern of patterns) {
    const found = pattern.exec(asked)
    if (found) return found[0].replace(/\s+/g, ' ')
  }
  return null
}

/** Restores the usual modulus 10^9 + 7, which some sources write without a power sign as 109 + 7. */
function withPowers(statement: string): string {
  return statement.replace(/\b109(?= ?\+ ?[79]\b)/g, '10^9')
}

/**
 * Whether a picture appears in the middle of a sentence: it probably showed a formula, so the question is incomplete.
 * Missing input bounds and remarks on the examples do no harm.
 */
function hasLostFormula(statement: string): boolean {
  const asked = withoutInput(statement).replace(/^[^\S\n]*(?:#+ |\*\*)?Notes?\b:?(?:\*\*)?:?[^\S\n]*\n[\s\S]*/im, '')
  const isInside = /[^\s.!?:][ \t]*<image>/.test(asked)
  return (
    isInside ||
    /\b(?:formula|defined|calculated|equals?|expression|value|condition)\b[^.\n]{0,40}:\s*<image>/i.test(asked)
  )
}

/** Whether the answer is case-insensitive. */
function acceptsAnyCase(statement: string): boolean {
  return /\bin (?:any|either|arbitrary) (?:case|register|letter ?case)\b|\bcase[- ]insensitive|\b(?:upper|lower)(?:case)?,? or (?:upper|lower)(?:case)?\b[^.]{0,30}\b(?:any|either|arbitrary|both|accepted)/i.test(
    statement,
  )
}

/** The error that a statement accepts in decimal numbers: "must not exceed 10^{-4}". */
export function acceptedError(statement: string): number | undefined {
  const found =
    /\b(?:error|differ\w*|precision|accura\w*)\b[^.]{0,80}?(?:10\s*\^?\s*\{?\s*[-−–]\s*(\d{1,2})\b|1e-(\d{1,2})\b|0\.(0+)1\b)/i.exec(
      statement,
    )
  if (!found) return undefined
  const digits = Number(found[1] ?? found[2] ?? (found[3] ?? '').length + 1)
  return digits >= 1 && digits <= 12 ? Number(`1e-${digits}`) : undefined
}

/** Whether the program talks to the judge, in which case no input files can test it. */
function isInteractive(statement: string): boolean {
  return /\b(?:this is an interactive|interactive (?:problem|task)|flush (?:the )?(?:output|stdout)|fflush)\b/i.test(
    statement,
  )
}
