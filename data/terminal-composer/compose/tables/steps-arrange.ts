import { awk, type Step } from './step.ts'
import { type Column, cell, columnName, columnsOf, freeName, type Table } from './table.ts'

const sortBy: Step = {
  name: 'sort-by',
  phase: 'arrange',
  draw: ({ random, table, records }) => {
    const column = random.pick(columnsOf(table, 'int', 'money', 'date'))
    const isDate = table.columns[column]?.kind === 'date'
    const down = random.chance(0.5)
    const of = columnName(table, column)
    const from = isDate ? (down ? 'latest first' : 'earliest first') : down ? 'largest first' : 'smallest first'
    const say = random.pick([
      `sort by \`${of}\`, ${from}; ${records} with the same \`${of}\` keep their order`,
      `arrange the result by \`${of}\` (${from}), leaving equal ones in the order they had`,
    ])
    return { say, apply: (given) => sorted(given, column, down), shell: sortCommand(column, isDate, down) }
  },
}

const topN: Step = {
  name: 'top-n',
  phase: 'arrange',
  draw: ({ random, table, records }) => {
    if (table.rows.length < 6) return null
    const column = random.pick(columnsOf(table, 'int', 'money'))
    const down = random.chance(0.7)
    const n = random.int(3, Math.min(12, table.rows.length - 2))
    const of = columnName(table, column)
    const which = down ? 'largest' : 'smallest'
    const say = random.pick([
      `of that, give the ${n} with the ${which} \`${of}\`, ${which} first; equal ones stay in the order they had`,
      `only the top ${n} by \`${of}\` (${which} first, on a tie the earlier one first) go into the result, not all ${records}`,
    ])
    const apply = (given: Table) => ({ ...given, rows: sorted(given, column, down).rows.slice(0, n) })
    return { say, apply, shell: `${sortCommand(column, false, down)} | sed -n '1,${n}p'` }
  },
}

const selectColumns: Step = {
  name: 'select-columns',
  phase: 'arrange',
  draw: ({ random, table }) => {
    if (table.columns.length < 4) return null
    const chosen = random.few(
      table.columns.map((_, at) => at),
      random.int(3, Math.min(5, table.columns.length)),
    )
    const renamed = random.chance(0.5) ? chosen[0] : undefined
    const names = chosen.map((at) => (at === renamed ? `${columnName(table, at)}_out` : columnName(table, at)))
    const rename =
      renamed === undefined ? '' : `, where \`${columnName(table, renamed)}\` is now called \`${names[0]}\``
    const listed = chosen.map((at) => `\`${columnName(table, at)}\``).join(', ')
    const say = random.pick([
      `write only these columns, in this order: ${listed}${rename}`,
      `reduce the result to the columns ${listed} (in that order)${rename}`,
    ])
    const columns = (given: Table) =>
      chosen.flatMap((at, nth): Column[] =>
        given.columns[at] ? [{ ...given.columns[at], name: names[nth] ?? '' }] : [],
      )
    const apply = (given: Table) => ({
      columns: columns(given),
      rows: given.rows.map((row) => chosen.map((at) => cell(row, at))),
    })
    return { say, apply, shell: awk(`{ print ${chosen.map((at) => `$${at + 1}`).join(', ')} }`) }
  },
}

const numberRows: Step = {
  name: 'number-rows',
  phase: 'arrange',
  draw: ({ random, table }) => {
    const name = freeName(table, random.pick(['line', 'no', 'position']))
    const start = random.pick([0, 1, 1, 100])
    const say = random.pick([
      `put a first column \`${name}\` in front that counts from ${start} up`,
      `number the result: a new first column \`${name}\`, starting with ${start}`,
    ])
    const apply = (given: Table): Table => ({
      columns: [{ name, kind: 'int' }, ...given.columns],
      rows: given.rows.map((row, at) => [String(at + start), ...row]),
    })
    return { say, apply, shell: awk(`{ print NR - 1 + ${start}, $0 }`) }
  },
}

const reverse: Step = {
  name: 'reverse',
  phase: 'arrange',
  draw: ({ random, table }) => {
    if (table.rows.length < 2) return null
    const say = random.pick([
      'turn the order around, so that what came last comes first',
      'write the result backwards, its last record first',
    ])
    return { say, apply: (given) => ({ ...given, rows: [...given.rows].reverse() }), shell: 'tac' }
  },
}

const everyNth: Step = {
  name: 'every-nth',
  phase: 'arrange',
  draw: ({ random, table }) => {
    const n = random.int(2, 5)
    if (table.rows.length < n * 2) return null
    const say = random.pick([
      `thin it out: keep the records number ${n}, ${2 * n}, ${3 * n} and so on`,
      `take every ${n}${['', '', 'nd', 'rd'][n] ?? 'th'} record only, beginning with number ${n}`,
    ])
    return {
      say,
      apply: (given) => ({ ...given, rows: given.rows.filter((_, at) => (at + 1) % n === 0) }),
      shell: awk(`NR % ${n} == 0`),
    }
  },
}

function sorted(table: Table, at: number, down: boolean): Table {
  const isDate = table.columns[at]?.kind === 'date'
  const compare = (a: string, b: string) => (isDate ? (a < b ? -1 : a > b ? 1 : 0) : Number(a) - Number(b))
  return { ...table, rows: [...table.rows].sort((a, b) => (down ? -1 : 1) * compare(cell(a, at), cell(b, at))) }
}

function sortCommand(at: number, isDate: boolean, down: boolean): string {
  return `LC_ALL=C sort -s -t $'\\t' -k ${at + 1},${at + 1}${isDate ? '' : 'n'}${down ? 'r' : ''}`
}

/** Steps that arrange the result. */
export const arrangeSteps: readonly Step[] = [sortBy, topN, selectColumns, numberRows, reverse, everyNth]
