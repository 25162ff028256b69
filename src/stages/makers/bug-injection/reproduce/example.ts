import { z } from 'zod'

/** The result of a program: a value, an error, or a timeout. */
export const answerSchema = z.object({
  kind: z.enum(['value', 'error', 'endless']),
  text: z.string(),
  type: z.string(),
  /** Whether printing it shows the same text. */
  plain: z.boolean(),
  /** Whether it was an iterator, whose items are shown. */
  listed: z.boolean(),
})
export type Answer = z.output<typeof answerSchema>

export const programSchema = z.object({
  imports: z.array(z.string()),
  setup: z.array(z.string()),
  expr: z.string(),
})
export type Program = z.output<typeof programSchema>

/** A program that a user could have written, and its results with and without the bug; both were actually run. */
export interface Example {
  readonly language: 'python' | 'javascript'
  readonly program: Program
  readonly expected: Answer
  readonly actual: Answer
}

/** Programs for which the versions differ in a way that can be shown, simplest first, one per text. */
export function chooseExamples(
  language: Example['language'],
  programs: readonly Program[],
  expected: readonly (Answer | null)[],
  actual: readonly (Answer | null)[],
): Example[] {
  const found = programs.flatMap((program, i): Example[] => {
    const [good, bad] = [expected[i], actual[i]]
    return good && bad && isTelling(program, good, bad) ? [{ language, program, expected: good, actual: bad }] : []
  })
  return found.sort((a, b) => costOf(a) - costOf(b))
}

/** Errors that only show that the program itself is wrong. */
const ownMistakes = /^(?:NameError|ImportError|ModuleNotFoundError|SyntaxError|ReferenceError|AssertionError)\b/
/** Addresses, disk paths and test classes, which mean nothing to a reader. */
const meaningless = / at 0x[0-9a-f]+|\/var\/tmp\/|\/app\/|file:\/\/|\btests?[._]|__main__/

/** Private attributes of a class: no user reports those. */
const hidden = /\._(?!_)\w/

function isTelling(program: Program, good: Answer, bad: Answer): boolean {
  if (good.kind === 'endless' || (good.kind === bad.kind && good.text === bad.text)) return false
  if (good.kind === 'error' && ownMistakes.test(good.text)) return false
  const texts = [good.text, bad.text, program.expr, ...program.setup]
  return (
    texts.every((text) => text.length <= 700 && !meaningless.test(text)) &&
    ![program.expr, ...program.setup].some((line) => hidden.test(line)) &&
    [...program.setup, program.expr].join('\n').split('\n').length <= 25
  )
}

/** Errors that a checker of names and types finds without running anything. */
const slips =
  /^(?:NameError|UnboundLocalError|ReferenceError)\b|^TypeError: (?:(?:(?:unsupported|bad) operand type|can't multiply sequence|can only concatenate|can't concat)(?!.*\bNoneType\b)|.*\b(?:missing|takes|got an unexpected|got multiple)\b.*\bargument|.*\bexpected (?:at (?:least|most) )?\d+ arguments?)/

/** Whether the bug shows as an undefined name or a call with arguments that no function accepts. */
export function isSlip({ actual }: Example): boolean {
  return actual.kind === 'error' && slips.test(actual.text)
}

/** Prefers short programs, short results, and results that say more than yes or no. */
function costOf({ program, expected, actual }: Example): number {
  const isYesOrNo = /^(?:True|False|true|false)$/.test(expected.text) || /^None$/.test(expected.text)
  const isCompared = /[^=!<>]==?=?[^=]|\bis\b|\bin\b/.test(program.expr)
  return (
    program.setup.join('\n').length +
    program.expr.length +
    (expected.text.length + actual.text.length) / 4 +
    (isYesOrNo ? (isCompared ? 400 : 60) : 0)
  )
}

/** The program as a user would send it. */
export function renderProgram({ language, program, expected, actual }: Example): string {
  const { imports, setup, expr } = program
  const shown = expected.listed || actual.listed ? (language === 'python' ? `list(${expr})` : `[...${expr}]`) : expr
  const isPlain = expected.plain && actual.plain
  const print =
    language === 'javascript'
      ? `console.log(${shown})`
      : expected.kind === 'error' && actual.kind === 'error'
        ? shown
        : `print(${isPlain ? shown : `repr(${shown})`})`
  return [...imports, ...(setup.length > 0 ? ['', ...setup] : []), ...(imports.length > 0 ? [''] : []), print].join(
    '\n',
  )
}
