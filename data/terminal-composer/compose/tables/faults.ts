import { gzipSync } from 'node:zlib'
import type { Draws } from 'ot-agent'
import type { Shape } from './shapes.ts'
import { awk } from './step.ts'
import { type Column, cell, columnsOf, type Table } from './table.ts'

/** What is wrong with an input file, how the instruction describes it, and a shell filter that repairs it. */
export interface Fault {
  readonly name: string
  readonly say: readonly string[]
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
    fits: (shape) => shape.linewise,
    damage: (data) => Buffer.from(data.toString('utf8').replace(/\n+$/, '')),
    repair: 'awk 1',
  },
  {
    name: 'crlf',
    say: [
      'Its lines end with CR LF; what you write must have LF only.',
      'The file came from Windows (CR LF). Do not carry the CRs over.',
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
    fits: always,
    damage: (data) => Buffer.from(data.toString('utf8'), 'latin1'),
    repair: 'iconv -f ISO-8859-1 -t UTF-8',
  },
  {
    name: 'gzipped',
    say: ['It is compressed with gzip.', 'The input is gzip data.'],
    fits: always,
    damage: (data) => gzipSync(data, { level: 0 }),
    repair: 'gzip -dc',
    ending: '.gz',
  },
]
