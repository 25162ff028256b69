import { awk, groupBy, inOrder, type Step, sum } from './step.ts'
import { type Column, cell, columnName, columnsOf, type Table } from './table.ts'

const pivotCount: Step = {
  name: 'pivot-count',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const [down, across] = random.few(columnsOf(table, 'category'), 2)
    if (down === undefined || across === undefined) return null
    const values = [...new Set(table.rows.map((row) => cell(row, across)))].sort()
    if (values.some((value) => table.columns.some(({ name }) => name === value))) return null
    const [by, of] = [columnName(table, down), columnName(table, across)]
    const listed = values.map((value) => `\`${value}\``).join(', ')
    const say = random.pick([
      `count ${records} in a cross table: one record per \`${by}\` (in byte order) with the column \`${by}\` and then one column for each of these values of \`${of}\`, in this order: ${listed}; 0 where there are none`,
      `tabulate \`${by}\` against \`${of}\`: the columns are \`${by}\`, ${listed}, the cells the number of ${records} (0 where there are none), sorted by \`${by}\` in byte order`,
    ])
    const columns: Column[] = [{ name: by, kind: 'category' }, ...values.map((name): Column => ({ name, kind: 'int' }))]
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, down).map(([key, rows]) => [
        key,
        ...values.map((value) => String(rows.filter((row) => cell(row, across) === value).length)),
      ]),
    })
    const program = `BEGIN { n = split("${values.join(' ')}", v, " ") } { seen[$${down + 1}]; c[$${down + 1}, $${across + 1}]++ } END { for (k in seen) { line = k; for (i = 1; i <= n; i++) line = line OFS (c[k, v[i]] + 0); print line } }`
    return { say, apply, shell: `${awk(program)} | ${inOrder}` }
  },
}

const byMonth: Step = {
  name: 'by-month',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const [day] = columnsOf(table, 'date')
    if (day === undefined) return null
    const column = random.pick(columnsOf(table, 'int'))
    const [on, of] = [columnName(table, day), columnName(table, column)]
    const say = random.pick([
      `for each month of \`${on}\` give the number of ${records} and the total of \`${of}\`: columns \`month\` (YYYY-MM), \`count\` and \`total\`, in the order of time; months without ${records} are left out`,
      `summarise by month (\`month\`, written YYYY-MM, from \`${on}\`): \`count\` of ${records} and \`total\` of \`${of}\`, oldest month first, no empty months`,
    ])
    const columns: Column[] = [
      { name: 'month', kind: 'category' },
      { name: 'count', kind: 'int' },
      { name: 'total', kind: 'int' },
    ]
    const apply = (given: Table) => {
      const months = {
        ...given,
        rows: given.rows.map((row) => row.map((value, at) => (at === day ? value.slice(0, 7) : value))),
      }
      return {
        columns,
        rows: groupBy(months, day).map(([key, rows]) => [key, String(rows.length), sum(rows, column, false)]),
      }
    }
    return {
      say,
      apply,
      shell: `${awk(`{ m = substr($${day + 1}, 1, 7); n[m]++; t[m] += $${column + 1} } END { for (m in n) print m, n[m], t[m] }`)} | ${inOrder}`,
    }
  },
}

const histogram: Step = {
  name: 'histogram',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const column = random.pick(columnsOf(table, 'int'))
    const largest = Math.max(...table.rows.map((row) => Number(cell(row, column))))
    const width = [5, 10, 25, 50, 100, 250, 500, 1000, 2500].find((size) => largest / size < 12) ?? 5000
    const of = columnName(table, column)
    const say = random.pick([
      `make a histogram of \`${of}\` with bins of width ${width} that start at 0: columns \`from\` (the lower end of the bin, a multiple of ${width}) and \`count\`, lowest bin first, empty bins left out`,
      `count ${records} by \`${of}\` in steps of ${width} (0 to ${width - 1}, ${width} to ${2 * width - 1}, ...): \`from\` is where a step begins, \`count\` how many there are; ascending, without empty steps`,
    ])
    const columns: Column[] = [
      { name: 'from', kind: 'int' },
      { name: 'count', kind: 'int' },
    ]
    const apply = (given: Table) => {
      const bins = {
        ...given,
        rows: given.rows.map((row) =>
          row.map((value, at) => (at === column ? String(Math.floor(Number(value) / width) * width) : value)),
        ),
      }
      const rows = groupBy(bins, column).map(([key, members]) => [key, String(members.length)])
      return { columns, rows: rows.sort((a, b) => Number(a[0]) - Number(b[0])) }
    }
    return {
      say,
      apply,
      shell: `${awk(`{ n[int($${column + 1} / ${width}) * ${width}]++ } END { for (b in n) print b, n[b] }`)} | sort -n`,
    }
  },
}

/** Steps that make a table of counts. */
export const tabulateSteps: readonly Step[] = [pivotCount, byMonth, histogram]
