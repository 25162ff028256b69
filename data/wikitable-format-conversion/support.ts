/** A table that a question is about. */
export interface AskedTable {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/**
 * An answer as someone following the instruction would write it, or null if neither a cell nor a simple calculation
 * gives it. Annotators added units ("8 years") and used their own words for names ("Brazil" for `BRA`).
 */
export function supported(answer: string, { header, rows }: AskedTable): string | null {
  const text = [header, ...rows].flat().map(folded).join(' | ')
  if (stands(folded(answer), text)) return answer
  const [, digits] = /^([$]?-?\d[\d,]*(?:\.\d+)?%?)(?: [a-z]+){0,2}$/.exec(answer) ?? []
  if (digits === undefined) return null
  const value = numbersIn(digits)[0] ?? Number.NaN
  const isCount = Number.isInteger(value) && value >= 0 && value <= Math.max(rows.length, header.length)
  const columns = header.map((_, i) => rows.map((cells) => cells[i] ?? ''))
  return isCount || [...columns, ...rows].some((cells) => isComputed(digits, cells.flatMap(numbersIn).slice(0, 300)))
    ? digits
    : null
}

/**
 * Whether an answer is a name that no cell holds on its own: "Maryland" for `#2 Maryland`. A solver who copies names
 * from the table would then fail. Trailing brackets are ignored, and numbers, dates and months are not names.
 */
export function isPartOfCells(answer: string, { header, rows }: AskedTable): boolean {
  const name = bare(answer)
  if (/^[^a-z]*$|^\$?-?[\d.,]+%?(?: [a-z]+){1,2}$/.test(name) || dates.test(name)) return false
  return ![header, ...rows].flat().some((cell) => bare(cell) === name)
}

const months =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
const dates = new RegExp(`^(?:\\d{1,2} )?${months}\\.?(?:,? \\d{1,4})?(?:,? \\d{4})?$`)

/** A text in the form the check compares. */
function bare(text: string): string {
  for (let [before, after] = ['', folded(text)]; ; ) {
    before = after
    after = after
      .replace(/(?:(?<!^)\[[^\]]*\]|^\[\d+\]|[•†‡*#+])*$/, '')
      .trim()
      .replace(/(?<!^)(?: \([^)]*\))*$/, '')
      .trim()
      .replace(/^"([^"]*)"$/, '$1')
      .trim()
    if (after === before) return after.replace(/\.+$/, '').trim()
  }
}

/** Whether a text contains an answer, and not just some digits of a longer number. */
function stands(answer: string, text: string): boolean {
  const start = /^\d/.test(answer) ? '(?<!\\d[.,]?)' : ''
  const end = /\d$/.test(answer) ? '(?![.,]?\\d)' : ''
  return new RegExp(`${start}${answer.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}${end}`).test(text)
}

/**
 * Whether a number is one of these, their sum, the sum or difference of two, or their mean, rounded to the same number
 * of places.
 */
function isComputed(digits: string, numbers: readonly number[]): boolean {
  const value = numbersIn(digits)[0] ?? Number.NaN
  const places = /\.(\d+)/.exec(digits)?.[1]?.length ?? 0
  const known = new Set(numbers.map(rounded))
  const sum = numbers.reduce((total, each) => total + each, 0)
  const mean = numbers.length === 0 ? Number.NaN : sum / numbers.length
  return (
    known.has(rounded(value)) ||
    Math.abs(sum - value) < 0.01 ||
    Math.abs(mean - value) <= 0.5 * 10 ** -places + 1e-9 ||
    numbers.some((each) => [each + value, value - each, each - value].some((other) => known.has(rounded(other))))
  )
}

const rounded = (value: number) => Math.round(value * 10_000) / 10_000

function numbersIn(text: string): number[] {
  return [...text.matchAll(/(?<![\d.])-?\d[\d,]*(?:\.\d+)?/g)].map(([digits]) => Number(digits.replaceAll(',', '')))
}

/** Without differences in case, accents, quotes and dashes. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .replace(/[‘’´]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}
