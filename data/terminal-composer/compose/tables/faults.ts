import { gzipSync } from 'node:zlib'
import type { Draws } from 'ot-agent'
import type { Shape } from './shapes.ts'
import { awk } from './step.ts'
import { type Column, cell, columnsOf, type Table } from './table.ts'

/** What is wrong with an input file, how the instruction describes it, and a shell filter that repairs it. */
export interface Fault {
  readonly name: string
  readonly say: readonly string[]
  /** More ways to say the same. */
  readonly sayElse: readonly string[]
  readonly fits: (shape: Shape) => boolean
  /** Faults that cannot be told apart, or whose repairs would conflict. */
  readonly clashes?: readonly string[]
}

/** Faults in cells. `clean` is what a repair gives, `damaged` is what the file contains. */
export interface CellFault extends Fault {
  damage(table: Table, random: Draws): { readonly clean: Table; readonly damaged: Table }
  /** A filter for tab-separated records. */
  repair(columns: readonly Column[]): string
}

/** Faults in the lines after the header. */
export interface LineFault extends Fault {
  damage(lines: readonly string[], random: Draws, shape: Shape): readonly string[]
  repair(shape: Shape, columns: readonly Column[], rejects: string): string
  /** Whether a line has to be set aside. */
  isRejected?(line: string, shape: Shape, columns: readonly Column[]): boolean
}

/** Faults of the file as a whole. */
export interface FileFault extends Fault {
  damage(data: Buffer): Buffer
  readonly repair: string
  readonly ending?: string
}

const always = () => true
const isSeparated = (shape: Shape) => shape.separator !== undefined

function mapCells(table: Table, at: readonly number[], change: (value: string) => string): Table {
  return {
    ...table,
    rows: table.rows.map((row) => row.map((value, column) => (at.includes(column) ? change(value) : value))),
  }
}

function forColumns(
  columns: readonly Column[],
  kinds: readonly Column['kind'][],
  statement: (field: string) => string,
): string {
  const at = columns.flatMap((column, index) => (kinds.includes(column.kind) ? [index + 1] : []))
  return awk(`{ ${at.map((index) => statement(`$${index}`)).join('; ')}; print }`)
}

/** In the order they are applied to a table; repairs run in reverse. */
export const cellFaults: readonly CellFault[] = [
  {
    name: 'missing-numbers',
    say: [
      'Where a whole number is not known the file says `N/A`; take that as 0.',
      'Whole-number columns may hold `N/A`, which means 0 (and is written as 0 in the result).',
    ],
    sayElse: [
      'An unknown whole number is given as `N/A` in the input; count it as 0, and write 0 for it.',
      '`N/A` in a column of whole numbers stands for 0: calculate with 0 and write 0 to the result.',
      'Read `N/A` as 0 wherever a whole number should be, so that the result shows 0 there.',
      'Columns of whole numbers contain `N/A` in some places, for unknown values. Treat each of them as 0, in the result too.',
    ],
    fits: always,
    damage: (table, random) => {
      const ints = columnsOf(table, 'int')
      const holes = new Set(
        random.few(
          table.rows.map((_, at) => at),
          Math.max(2, Math.floor(table.rows.length / 8)),
        ),
      )
      const hole = random.pick(ints)
      const filled = (value: string): Table => ({
        ...table,
        rows: table.rows.map((row, at) =>
          holes.has(at) ? row.map((old, column) => (column === hole ? value : old)) : row,
        ),
      })
      return { clean: filled('0'), damaged: filled('N/A') }
    },
    repair: (columns) => forColumns(columns, ['int'], (field) => `if (${field} == "N/A") ${field} = 0`),
  },
  {
    name: 'duplicate-records',
    say: [
      'Some records are there more than once; records that are equal in every field (once everything else is put right) count once, where the first of them is.',
      'A record may be repeated, equal in all fields. Use its first appearance only.',
    ],
    sayElse: [
      'Records may occur repeatedly. Once all else is repaired, keep the first of those that agree in every field, in its place, and drop the later ones.',
      'There are exact repetitions among the records (equal in all fields as soon as everything else is put right); only the first of equal ones counts, at its own position.',
      'Remove duplicates: of several records that agree in every field (after every other repair), the first stays where it is and the rest go.',
      'Do not count a record twice. If one equals an earlier one in every field (compare them after putting everything else right), ignore it.',
    ],
    fits: always,
    damage: (table, random) => {
      const rows = [...table.rows]
      const twice = random.few(table.rows, Math.max(2, Math.floor(rows.length / 12)))
      for (const row of twice) rows.splice(random.int(rows.indexOf(row) + 1, rows.length), 0, row)
      return { clean: table, damaged: { ...table, rows } }
    },
    repair: () => `awk '!seen[$0]++'`,
  },
  {
    name: 'mixed-case',
    say: [
      'Upper and lower case are mixed up in the columns with fixed words (CATEGORIES); they mean the same, and the result has them in lower case.',
      'People typed CATEGORIES in any case they liked. `North` and `NORTH` are `north`; write lower case.',
    ],
    sayElse: [
      'The values of CATEGORIES are written in upper, lower or mixed case. Case makes no difference there; turn these values into lower case, in the result as well.',
      'Ignore the difference between upper and lower case in CATEGORIES, and write the values of these columns in lower case.',
      'In CATEGORIES, letters may be capital or small without any difference in meaning (`North`, `NORTH` and `north` are one value). In the result, the values of these columns are all in lower case.',
      'CATEGORIES hold fixed words that were typed in any case; convert all of them to lower case before you compare, group or write them.',
    ],
    fits: always,
    damage: (table, random) => ({
      clean: table,
      damaged: mapCells(table, columnsOf(table, 'category'), (value) =>
        random.pick([value, value.toUpperCase(), value.slice(0, 1).toUpperCase() + value.slice(1)]),
      ),
    }),
    repair: (columns) => forColumns(columns, ['category'], (field) => `${field} = tolower(${field})`),
  },
  {
    name: 'mixed-dates',
    say: [
      'Some dates are written DD.MM.YYYY instead of YYYY-MM-DD; treat and write all of them as YYYY-MM-DD.',
      'Dates come in two forms, YYYY-MM-DD and DD.MM.YYYY. Use the first everywhere.',
    ],
    sayElse: [
      'A date may be in the form DD.MM.YYYY. Bring every such date into the form YYYY-MM-DD, which the others already have, and go on with that.',
      'Both YYYY-MM-DD and DD.MM.YYYY occur as dates in the input; work with YYYY-MM-DD throughout, in the result too.',
      'Convert dates of the form DD.MM.YYYY to YYYY-MM-DD before you use or write them; the other dates have that form already.',
      'Not all dates look alike: some are YYYY-MM-DD, some are DD.MM.YYYY. Make it YYYY-MM-DD for all.',
    ],
    fits: always,
    damage: (table, random) => ({
      clean: table,
      damaged: mapCells(table, columnsOf(table, 'date'), (value) =>
        random.chance(0.4) ? value.split('-').reverse().join('.') : value,
      ),
    }),
    repair: (columns) =>
      forColumns(
        columns,
        ['date'],
        (field) => `if (${field} ~ /[.]/) { split(${field}, p, "."); ${field} = p[3] "-" p[2] "-" p[1] }`,
      ),
  },
  {
    name: 'decimal-comma',
    say: [
      'Amounts of money have a decimal comma (`3,50`); calculate and write with a point.',
      'In the input, decimals follow a comma. The result uses a decimal point.',
    ],
    sayElse: [
      'Money is written with a comma before the decimals (`3,50`). Read the comma as a decimal point, and write a point in the result.',
      'The decimal separator of the input is a comma, as in `3,50`; in the result it is a point.',
      'For amounts of money, replace the decimal comma (`3,50`) by a point, both for calculating and for writing.',
      'Take `3,50` in the input for 3.50: its amounts of money use a decimal comma, whereas the result has a decimal point.',
    ],
    fits: isSeparated,
    damage: (table) => ({
      clean: table,
      damaged: mapCells(table, columnsOf(table, 'money'), (value) => value.replace('.', ',')),
    }),
    repair: (columns) => forColumns(columns, ['money'], (field) => `sub(/,/, ".", ${field})`),
  },
  {
    name: 'padded-cells',
    say: [
      'There may be spaces around a field that do not belong to it.',
      'Fields are padded with spaces here and there; trim them.',
    ],
    sayElse: [
      'Remove the spaces before and after the fields: they are not part of the values.',
      'Some fields have extra spaces in front or behind, which are not part of the value and do not belong in the result.',
      'Strip leading and trailing spaces from every field.',
      'A field may have spaces at its beginning, at its end or both. They mean nothing; go on with the trimmed value.',
      'What does a field contain? Its text without the spaces that some fields have before or after it.',
    ],
    fits: isSeparated,
    damage: (table, random) => ({
      clean: table,
      damaged: mapCells(
        table,
        table.columns.map((_, at) => at),
        (value) =>
          random.chance(0.2) ? `${' '.repeat(random.int(0, 2))}${value}${' '.repeat(random.int(1, 3))}` : value,
      ),
    }),
    repair: () => awk('{ for (i = 1; i <= NF; i++) { sub(/^ +/, "", $i); sub(/ +$/, "", $i) } $1 = $1; print }'),
  },
]

function inserted(lines: readonly string[], extra: readonly string[], random: Draws): string[] {
  const result = [...lines]
  for (const line of extra) result.splice(random.int(0, result.length), 0, line)
  return result
}

export const lineFaults: readonly LineFault[] = [
  {
    name: 'malformed-lines',
    say: [
      'Some lines are damaged (a line is, if RULE). They do not count; write them unchanged and in their order to `REJECTS`.',
      'A line is broken if RULE. Collect the broken ones, exactly as they are and in order, in `REJECTS`, and go on without them.',
    ],
    sayElse: [
      'Not every line is intact: a line is damaged if RULE. Write the damaged ones to `REJECTS`, unchanged and in their order, and use only the others.',
      'If RULE, a line is defective. Such lines are no records: set them aside in `REJECTS`, each one unaltered, in the order in which they appear.',
      '`REJECTS` has to receive every broken line, unaltered and in the original order; take a line as broken if RULE. The rest of the work leaves these lines out.',
      'There are defective lines in between. You recognise one by this: RULE. Leave them out of the work, and save them to `REJECTS`, in order and without any change.',
    ],
    fits: (shape) => isSeparated(shape) || shape.name === 'jsonl',
    clashes: ['latin-1', 'padded-cells', 'crlf'],
    damage: (lines, random, shape) =>
      inserted(
        lines,
        random.few(lines, random.int(2, 5)).map((line) => broken(line, random, shape)),
        random,
      ),
    repair: (shape, columns, rejects) => {
      const good = shape.separator === undefined ? '/^[{].*[}]$/' : `NF == ${columns.length}`
      const fields =
        shape.separator === undefined
          ? ''
          : `-F '${shape.separator === '|' ? '[|]' : shape.separator.replace('\t', '\\t')}' `
      return `awk ${fields}'${good} { print; next } { print > "${rejects}" }'`
    },
    isRejected: (line, shape, columns) =>
      shape.separator === undefined ? !/^\{.*\}$/.test(line) : line.split(shape.separator).length !== columns.length,
  },
  {
    name: 'comments',
    say: ['Lines that begin with `#` are remarks.', 'Skip remarks: lines whose first character is `#`.'],
    sayElse: [
      'A `#` at the beginning of a line makes it a remark, to be ignored.',
      'Ignore every line that starts with `#`; it is only a remark.',
      'Remarks are mixed in among the records: lines with `#` as their first character. Pass over them.',
      'Skip all lines whose first character is `#`, since they are remarks and not records.',
    ],
    fits: (shape) => shape.linewise,
    damage: (lines, random) =>
      inserted(
        lines,
        Array.from({ length: random.int(2, 5) }, () =>
          random.pick(['# checked', '#', '# page break', '# see appendix', '#reviewed by hand']),
        ),
        random,
      ),
    repair: () => `sed '/^#/d'`,
  },
  {
    name: 'blank-lines',
    say: ['Empty lines mean nothing.', 'There are empty lines in between; ignore them.'],
    sayElse: [
      'Ignore empty lines.',
      'The input contains empty lines, which are to be skipped.',
      'Do not take an empty line for a record: it means nothing and is simply skipped.',
      'Empty lines are scattered among the records and carry no meaning.',
      'Pass over lines that are empty.',
    ],
    fits: (shape) => shape.linewise,
    damage: (lines, random) =>
      inserted(
        lines,
        Array.from({ length: random.int(2, 6) }, () => ''),
        random,
      ),
    repair: () => `sed '/^$/d'`,
  },
]

function broken(line: string, random: Draws, shape: Shape): string {
  if (shape.separator === undefined) return line.slice(0, Math.floor((line.length * random.int(40, 80)) / 100))
  const fields = line.split(shape.separator)
  const at = random.int(1, fields.length - 1)
  return (random.chance(0.6) ? fields.toSpliced(at, 1) : fields.toSpliced(at, 0, cell(fields, at))).join(
    shape.separator,
  )
}

/** In the order they are applied to a file; repairs run in reverse. */
export const fileFaults: readonly FileFault[] = [
  {
    name: 'no-final-newline',
    say: ['The last line has no line feed at its end.', 'Mind that the last line is not terminated.'],
    sayElse: [
      'No line feed follows the last line of an input file.',
      'Note that the last line of an input file is unterminated: its line feed is missing.',
      'Take care not to lose the last line of an input file, which lacks its line feed.',
      'An input file ends without a line feed: the last character of its last line is also the last one of the file.',
    ],
    fits: (shape) => shape.linewise,
    damage: (data) => Buffer.from(data.toString('utf8').replace(/\n+$/, '')),
    repair: 'awk 1',
  },
  {
    name: 'crlf',
    say: [
      'Its lines end with CR LF; what you write must have LF only, unless something else is said here.',
      'The file came from Windows (CR LF). Do not carry the CRs over.',
    ],
    sayElse: [
      'Lines of the input are terminated by CR LF; drop the CRs when you read them.',
      'The input uses Windows line ends, CR LF. The CR is part of the line end and not of the last field, so it must not come through.',
      'When you read the input, drop the CR at the end of each line, since its lines end with CR LF.',
      'You will find CR LF at the end of every line of the input; none of these CRs belongs to the data.',
    ],
    fits: always,
    damage: (data) => Buffer.from(data.toString('utf8').replaceAll('\n', '\r\n')),
    repair: `tr -d '\\r'`,
  },
  {
    name: 'byte-order-mark',
    say: [
      'It starts with a UTF-8 byte order mark, which must not come through.',
      'A byte order mark precedes the first character of the input; the result has none.',
    ],
    sayElse: [
      'A UTF-8 byte order mark stands at the very start of an input file; leave it out of the result.',
      'Do not carry over the UTF-8 byte order mark with which an input file begins.',
      'An input file begins with a UTF-8 byte order mark, but the result must not contain one.',
      'Skip the UTF-8 byte order mark at the beginning of an input file; it is not part of the data and has no place in the result.',
    ],
    fits: always,
    clashes: ['latin-1'],
    damage: (data) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), data]),
    repair: `sed '1s/^\\xef\\xbb\\xbf//'`,
  },
  {
    name: 'latin-1',
    say: [
      'The input is encoded in ISO-8859-1; the result must be UTF-8.',
      'Careful: the text is Latin-1, and you have to deliver UTF-8.',
    ],
    sayElse: [
      'The input is Latin-1 (ISO-8859-1) text, whereas the result has to be in UTF-8.',
      'Convert the text from ISO-8859-1, the encoding of the input, to UTF-8, the encoding of the result.',
      'Encoding of the input: ISO-8859-1. Encoding of the result: UTF-8.',
      'Note that the input is not UTF-8 but ISO-8859-1; what you write must be UTF-8.',
    ],
    fits: always,
    damage: (data) => Buffer.from(data.toString('utf8'), 'latin1'),
    repair: 'iconv -f ISO-8859-1 -t UTF-8',
  },
  {
    name: 'gzipped',
    say: ['It is compressed with gzip.', 'The input is gzip data.'],
    sayElse: [
      'The input has been gzipped.',
      'The input is stored in gzip-compressed form.',
      'To read the input, decompress it: it is gzip data.',
      'Gzip was used to compress the input.',
      'You get the input compressed with gzip.',
    ],
    fits: always,
    damage: (data) => gzipSync(data, { level: 0 }),
    repair: 'gzip -dc',
    ending: '.gz',
  },
]
