import { awk, type Step, sum } from './step.ts'
import { type Column, cell, columnName, columnsOf, freeName, type Table } from './table.ts'

/** A table with one more column at the end. */
function added(table: Table, column: Column, values: readonly string[]): Table {
  return { columns: [...table.columns, column], rows: table.rows.map((row, at) => [...row, values[at] ?? '']) }
}

const product: Step = {
  name: 'product',
  phase: 'enrich',
  draw: ({ random, table }) => {
    const [count] = random.few(columnsOf(table, 'int'), 1)
    const [price] = columnsOf(table, 'money')
    if (count === undefined || price === undefined) return null
    const name = freeName(table, random.pick(['total', 'subtotal', 'worth', 'sum_due']))
    const [by, unit] = [`\`${columnName(table, count)}\``, `\`${columnName(table, price)}\``]
    const say = random.pick([
      `add a last column \`${name}\`: ${by} times ${unit}, with two decimals`,
      `append a column \`${name}\` that is the product of ${by} and ${unit} (always two decimals)`,
    ])
    const value = (row: readonly string[]) =>
      ((Number(cell(row, count)) * Math.round(Number(cell(row, price)) * 100)) / 100).toFixed(2)
    return {
      say,
      apply: (given) => added(given, { name, kind: 'money' }, given.rows.map(value)),
      shell: awk(`{ print $0, sprintf("%.2f", $${count + 1} * $${price + 1}) }`),
    }
  },
}

const runningTotal: Step = {
  name: 'running-total',
  phase: 'enrich',
  draw: ({ random, table }) => {
    const column = random.pick(columnsOf(table, 'int', 'money'))
    const isMoney = table.columns[column]?.kind === 'money'
    const name = freeName(table, random.pick(['running', 'cumulative', 'so_far']))
    const of = `\`${columnName(table, column)}\``
    const say = random.pick([
      `add a last column \`${name}\` with the running total of ${of} (this record included${isMoney ? ', two decimals' : ''})`,
      `append \`${name}\`, the sum of ${of} from the first record up to and with this one${isMoney ? ', with two decimals' : ''}`,
    ])
    const apply = (given: Table) =>
      added(
        given,
        { name, kind: isMoney ? 'money' : 'int' },
        given.rows.map((_, at) => sum(given.rows.slice(0, at + 1), column, isMoney)),
      )
    return {
      say,
      apply,
      shell: awk(`{ total += $${column + 1}; print $0, sprintf("${isMoney ? '%.2f' : '%d'}", total) }`),
    }
  },
}

const rankInGroup: Step = {
  name: 'rank-in-group',
  phase: 'enrich',
  draw: ({ random, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const name = freeName(table, random.pick(['nth', 'occurrence', 'seq']))
    const of = `\`${columnName(table, group)}\``
    const say = random.pick([
      `add a last column \`${name}\` that counts the ${records} of the same ${of} from 1 up, in the order of the file`,
      `append \`${name}\`: the how-many-th record of its ${of} this is, starting with 1`,
    ])
    const apply = (given: Table) => {
      const counts = new Map<string, number>()
      const values = given.rows.map((row) => {
        const nth = (counts.get(cell(row, group)) ?? 0) + 1
        counts.set(cell(row, group), nth)
        return String(nth)
      })
      return added(given, { name, kind: 'int' }, values)
    }
    return { say, apply, shell: awk(`{ print $0, ++count[$${group + 1}] }`) }
  },
}

const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const weekday: Step = {
  name: 'weekday',
  phase: 'enrich',
  draw: ({ random, table }) => {
    const [column] = random.few(columnsOf(table, 'date'), 1)
    if (column === undefined) return null
    const name = freeName(table, random.pick(['weekday', 'dow', 'day_name']))
    const of = `\`${columnName(table, column)}\``
    const say = random.pick([
      `add a last column \`${name}\` with the day of the week of ${of} as \`mon\`, \`tue\`, \`wed\`, \`thu\`, \`fri\`, \`sat\` or \`sun\``,
      `append the weekday of ${of} in a column \`${name}\`, three lower-case English letters (\`mon\` to \`sun\`)`,
    ])
    const value = (row: readonly string[]) => weekdays[new Date(cell(row, column)).getUTCDay()] ?? ''
    const program = `function dow(y, m, d) { if (m < 3) y--; return (y + int(y / 4) - int(y / 100) + int(y / 400) + substr("032503514624", m, 1) + d) % 7 }
BEGIN { split("sun mon tue wed thu fri sat", name, " ") }
{ split($${column + 1}, p, "-"); print $0, name[dow(p[1] + 0, p[2] + 0, p[3] + 0) + 1] }`
    return {
      say,
      apply: (given) => added(given, { name, kind: 'category' }, given.rows.map(value)),
      shell: awk(program),
    }
  },
}

const difference: Step = {
  name: 'difference',
  phase: 'enrich',
  draw: ({ random, table }) => {
    const column = random.pick(columnsOf(table, 'int'))
    const name = freeName(table, random.pick(['change', 'delta', 'diff']))
    const of = `\`${columnName(table, column)}\``
    const say = random.pick([
      `add a last column \`${name}\`: ${of} minus the ${of} of the record before, and 0 for the first record`,
      `append \`${name}\`, by how much ${of} grew since the previous record (negative when it fell; the first record gets 0)`,
    ])
    const apply = (given: Table) =>
      added(
        given,
        { name, kind: 'int' },
        given.rows.map((row, at) =>
          String(Number(cell(row, column)) - Number(cell(given.rows[at - 1] ?? row, column))),
        ),
      )
    return { say, apply, shell: awk(`{ print $0, (NR == 1 ? 0 : $${column + 1} - last); last = $${column + 1} }`) }
  },
}

const lookup: Step = {
  name: 'lookup',
  phase: 'enrich',
  draw: ({ random, table, root }) => {
    const column = random.pick(columnsOf(table, 'category'))
    const values = random.shuffle([...new Set(table.rows.map((row) => cell(row, column)))].sort())
    const known = values.slice(0, Math.max(1, values.length - 1))
    const codes = new Map(known.map((value) => [value, `${random.pick([...'ABCDEFGH'])}${random.int(10, 99)}`]))
    const file = random.pick(['codes.txt', 'mapping.txt', 'lookup.txt'])
    const name = freeName(table, random.pick(['code', 'cost_center', 'region_code']))
    const of = `\`${columnName(table, column)}\``
    const say = random.pick([
      `add a last column \`${name}\` with the code of the record's ${of} from \`${root}/${file}\` (lines of the form \`${of.slice(1, -1)}=code\`), or \`none\` where the file has no such line`,
      `append \`${name}\`: look ${of} up in \`${root}/${file}\`, whose lines read \`value=code\`; what is not listed there gets \`none\``,
    ])
    return {
      say,
      apply: (given) =>
        added(
          given,
          { name, kind: 'category' },
          given.rows.map((row) => codes.get(cell(row, column)) ?? 'none'),
        ),
      shell: `awk -F '\\t' -v OFS='\\t' 'NR == FNR { at = index($0, "="); code[substr($0, 1, at - 1)] = substr($0, at + 1); next } { print $0, ($${column + 1} in code ? code[$${column + 1}] : "none") }' "${root}/${file}" -`,
      extras: { [file]: known.map((value) => `${value}=${codes.get(value)}\n`).join('') },
    }
  },
}

const maskId: Step = {
  name: 'mask-id',
  phase: 'enrich',
  draw: ({ random, table }) => {
    const [column] = columnsOf(table, 'id')
    if (column === undefined) return null
    const keep = random.int(1, 2)
    const sign = random.pick(['*', 'x', '_'])
    const of = `\`${columnName(table, column)}\``
    const say = random.pick([
      `hide ${of}: replace every character of it by \`${sign}\` except the last ${keep === 1 ? 'one' : 'two'}`,
      `mask ${of} so that only its last ${keep} character${keep === 1 ? '' : 's'} can be read and each one before is \`${sign}\``,
    ])
    const apply = (given: Table): Table => ({
      ...given,
      rows: given.rows.map((row) =>
        row.map((value, at) => (at === column ? sign.repeat(value.length - keep) + value.slice(-keep) : value)),
      ),
    })
    return {
      say,
      apply,
      shell: awk(
        `{ n = length($${column + 1}); s = ""; for (i = 1; i <= n - ${keep}; i++) s = s "${sign}"; $${column + 1} = s substr($${column + 1}, n - ${keep - 1}); print }`,
      ),
    }
  },
}

/** Steps that add to every record. */
export const enrichSteps: readonly Step[] = [product, runningTotal, rankInGroup, weekday, difference, lookup, maskId]
