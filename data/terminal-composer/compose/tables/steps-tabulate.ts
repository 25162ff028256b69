import { awk, groupBy, inOrder, type Step, sum } from './step.ts'
import { type Column, cell, columnName, columnsOf, type Table } from './table.ts'

const pivotCount: Step = {
  name: 'pivot-count',
  phase: 'reduce',
  draw: ({ random, words, table, records }) => {
    const [down, across] = random.few(columnsOf(table, 'category'), 2)
    if (down === undefined || across === undefined) return null
    const values = [...new Set(table.rows.map((row) => cell(row, across)))].sort()
    if (values.some((value) => table.columns.some(({ name }) => name === value))) return null
    const [by, of] = [columnName(table, down), columnName(table, across)]
    const listed = values.map((value) => `\`${value}\``).join(', ')
    const say = words.say(
      random.pick([
        `count ${records} in a cross table: one record per \`${by}\` (in byte order) with the column \`${by}\` and then one column for each of these values of \`${of}\`, in this order: ${listed}; 0 where there are none`,
        `tabulate \`${by}\` against \`${of}\`: the columns are \`${by}\`, ${listed}, the cells the number of ${records} (0 where there are none), sorted by \`${by}\` in byte order`,
      ]),
      [
        `cross-tabulate the ${records}: one record for each \`${by}\`, sorted by \`${by}\` in byte order, whose first column is \`${by}\` and whose further columns are these values of \`${of}\`, in this order: ${listed}; under each value stands the number of ${records} that have that \`${by}\` and that \`${of}\`, 0 if there are none`,
        `how many ${records} are there for each pair of \`${by}\` and \`${of}\`? Lay the numbers out in a table with the columns \`${by}\`, ${listed} (in exactly that order; all but the first are values of \`${of}\`) and one record per \`${by}\`, in byte order of \`${by}\`; pairs that do not occur get 0`,
        `pivot the ${records}, with \`${by}\` down and \`${of}\` across: the columns are \`${by}\`, ${listed}, in this order, every \`${by}\` has one record, these are sorted by \`${by}\` in byte order, and a cell says how many ${records} have its \`${by}\` and its \`${of}\` (0 for none)`,
        `group by \`${by}\` (one record each, in byte order of \`${by}\`) and count in every group the ${records} with each of these values of \`${of}\`: ${listed}; the columns are \`${by}\` and then these values in the order given, and a value that a group lacks gets 0`,
      ],
    )
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
  draw: ({ random, words, table, records }) => {
    const [day] = columnsOf(table, 'date')
    if (day === undefined) return null
    const column = random.pick(columnsOf(table, 'int'))
    const [on, of] = [columnName(table, day), columnName(table, column)]
    const say = words.say(
      random.pick([
        `for each month of \`${on}\` give the number of ${records} and the total of \`${of}\`: columns \`month\` (YYYY-MM), \`count\` and \`total\`, in the order of time; months without ${records} are left out`,
        `summarise by month (\`month\`, written YYYY-MM, from \`${on}\`): \`count\` of ${records} and \`total\` of \`${of}\`, oldest month first, no empty months`,
      ]),
      [
        `total up the ${records} month by month, taking the month from \`${on}\`: column \`month\` as YYYY-MM, column \`count\` with the number of ${records}, column \`total\` with the sum of their \`${of}\`; earliest month first, and only months that have ${records}`,
        `group by the month of \`${on}\` and write one record per month that occurs, in chronological order, with the columns \`month\` (in the form YYYY-MM), \`count\` (how many ${records}) and \`total\` (their \`${of}\` added up)`,
        `how many ${records} are there in each month of \`${on}\`, and what is the sum of their \`${of}\`? Give \`month\` (as YYYY-MM), \`count\` and \`total\`, in that order, from the oldest month to the newest, skipping months with no ${records}`,
        `replace the ${records} by monthly figures in the columns \`month\`, \`count\` and \`total\`, where \`month\` is the YYYY-MM of \`${on}\`, \`count\` the number of ${records} in that month and \`total\` the sum of their \`${of}\`; sort from the first month to the last and do not list months without ${records}`,
        `the result has one record for each month in which some \`${on}\` falls, oldest first and none for months without ${records}: \`month\`, written YYYY-MM, then \`count\`, the number of ${records}, then \`total\`, the sum of their \`${of}\``,
      ],
    )
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
  draw: ({ random, words, table, record, records }) => {
    const column = random.pick(columnsOf(table, 'int'))
    const largest = Math.max(...table.rows.map((row) => Number(cell(row, column))))
    const width = [5, 10, 25, 50, 100, 250, 500, 1000, 2500].find((size) => largest / size < 12) ?? 5000
    const of = columnName(table, column)
    const say = words.say(
      random.pick([
        `make a histogram of \`${of}\` with bins of width ${width} that start at 0: columns \`from\` (the lower end of the bin, a multiple of ${width}) and \`count\`, lowest bin first, empty bins left out`,
        `count ${records} by \`${of}\` in steps of ${width} (0 to ${width - 1}, ${width} to ${2 * width - 1}, ...): \`from\` is where a step begins, \`count\` how many there are; ascending, without empty steps`,
      ]),
      [
        `divide \`${of}\` into bins of width ${width}, the first one from 0 to ${width - 1}, the next from ${width} to ${2 * width - 1} and so on, and count the ${records} in each: column \`from\` is where the bin begins, column \`count\` the number of ${records}; bins in ascending order, empty ones omitted`,
        `how are the values of \`${of}\` distributed? Count the ${records} in intervals of ${width} beginning at 0 (0 to ${width - 1}, ${width} to ${2 * width - 1}, ...) and write \`from\`, the lower end of the interval, and \`count\` for every interval that is not empty, smallest \`from\` first`,
        `round each \`${of}\` down to a multiple of ${width}, call that \`from\`, and give for each \`from\` that occurs the number of ${records} as \`count\`; write just these two columns, \`from\` first, in ascending numerical order of \`from\``,
        `put the ${records} into classes by \`${of}\`, each class ${width} wide and starting at a multiple of ${width} (0, ${width}, ${2 * width}, ...); output the start of the class as \`from\` and its number of ${records} as \`count\`, lowest class first, with no record for a class without ${records}`,
        `the result is to have two columns, \`from\` and \`count\`, with one record for each range of \`${of}\` that contains at least one ${record}; the ranges are ${width} wide (0 to ${width - 1}, ${width} to ${2 * width - 1}, ...), \`from\` is the lower end of the range and \`count\` how many ${records} lie in it, and they are ordered from low to high`,
      ],
    )
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
