import { awk, groupBy, type Step, sum } from './step.ts'
import { type Column, cell, columnName, columnsOf, type Table } from './table.ts'

const order = "LC_ALL=C sort -t $'\\t' -k 1,1"

const groupSum: Step = {
  name: 'group-sum',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int', 'money'))
    const isMoney = table.columns[column]?.kind === 'money'
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const name = random.pick([`sum_${of}`, `${of}_sum`, `all_${of}`])
    const say = random.pick([
      `sum up \`${of}\` for each \`${by}\`: columns \`${by}\` and \`${name}\`${isMoney ? ' (two decimals)' : ''}, sorted by \`${by}\` in byte order`,
      `for every \`${by}\` that still has ${records}, give the total of \`${of}\`${isMoney ? ' with two decimals' : ''} as \`${name}\`; two columns, \`${by}\` first, in the byte order of \`${by}\``,
    ])
    const columns: Column[] = [
      { name: by, kind: 'category' },
      { name, kind: isMoney ? 'money' : 'int' },
    ]
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, group).map(([key, rows]) => [key, sum(rows, column, isMoney)]),
    })
    return {
      say,
      apply,
      shell: `${awk(`{ t[$${group + 1}] += $${column + 1} } END { for (k in t) print k, sprintf("${isMoney ? '%.2f' : '%d'}", t[k]) }`)} | ${order}`,
    }
  },
}

const groupCount: Step = {
  name: 'group-count',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const group = random.pick(columnsOf(table, 'category', 'name'))
    const by = columnName(table, group)
    const name = random.pick(['count', 'how_many', `n_${records}`])
    const kind = table.columns[group]?.kind ?? 'category'
    const say = random.pick([
      `count the ${records} of each \`${by}\`: columns \`${by}\` and \`${name}\`, sorted by \`${by}\` in byte order`,
      `how many ${records} does each \`${by}\` have? Give \`${by}\` and \`${name}\`, ordered by \`${by}\` byte by byte`,
    ])
    const columns: Column[] = [
      { name: by, kind },
      { name, kind: 'int' },
    ]
    const inBytes = (a: readonly [string, unknown], b: readonly [string, unknown]) =>
      Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0]))
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, group)
        .sort(inBytes)
        .map(([key, rows]) => [key, String(rows.length)]),
    })
    return { say, apply, shell: `${awk(`{ n[$${group + 1}]++ } END { for (k in n) print k, n[k] }`)} | ${order}` }
  },
}

const groupRange: Step = {
  name: 'group-range',
  phase: 'reduce',
  draw: ({ random, table }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int', 'date'))
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const isDate = table.columns[column]?.kind === 'date'
    const words = isDate ? 'earliest and the latest' : 'smallest and the largest'
    const say = random.pick([
      `for each \`${by}\` give the ${words} \`${of}\`: columns \`${by}\`, \`low\`, \`high\`, sorted by \`${by}\` in byte order`,
      `boil it down to one record per \`${by}\` (in byte order of it) with \`low\` and \`high\`, the ${words} \`${of}\` there`,
    ])
    const kind = isDate ? 'date' : 'int'
    const columns: Column[] = [
      { name: by, kind: 'category' },
      { name: 'low', kind },
      { name: 'high', kind },
    ]
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, group).map(([key, rows]) => {
        const values = rows
          .map((row) => cell(row, column))
          .sort((a, b) => (isDate ? (a < b ? -1 : 1) : Number(a) - Number(b)))
        return [key, values[0] ?? '', values.at(-1) ?? '']
      }),
    })
    return {
      say,
      apply,
      shell: `${awk(`{ k = $${group + 1}; v = $${column + 1}; if (!(k in lo) || v < lo[k]) lo[k] = v; if (!(k in hi) || v > hi[k]) hi[k] = v } END { for (k in lo) print k, lo[k], hi[k] }`)} | ${order}`,
    }
  },
}

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
    return { say, apply, shell: `${awk(program)} | ${order}` }
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
      shell: `${awk(`{ m = substr($${day + 1}, 1, 7); n[m]++; t[m] += $${column + 1} } END { for (m in n) print m, n[m], t[m] }`)} | ${order}`,
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

const groupList: Step = {
  name: 'group-list',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const [id] = columnsOf(table, 'id')
    if (id === undefined) return null
    const [by, of] = [columnName(table, group), columnName(table, id)]
    const say = random.pick([
      `for each \`${by}\` (in byte order) list the \`${of}\` of its ${records} in the order of the file, joined by \`+\`: columns \`${by}\` and \`members\``,
      `collect the \`${of}\` values per \`${by}\`: columns \`${by}\` and \`members\` (joined with \`+\`, order as in the file), sorted by \`${by}\` in byte order`,
    ])
    const columns: Column[] = [
      { name: by, kind: 'category' },
      { name: 'members', kind: 'name' },
    ]
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, group).map(([key, rows]) => [key, rows.map((row) => cell(row, id)).join('+')]),
    })
    return {
      say,
      apply,
      shell: `${awk(`{ k = $${group + 1}; l[k] = l[k] (n[k]++ ? "+" : "") $${id + 1} } END { for (k in l) print k, l[k] }`)} | ${order}`,
    }
  },
}

const bestOfGroup: Step = {
  name: 'best-of-group',
  phase: 'reduce',
  draw: ({ random, table, record, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int'))
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const say = random.pick([
      `for each \`${by}\` keep the one ${record} with the largest \`${of}\` (the first in the file if several are equal); what is left is sorted by \`${by}\` in byte order`,
      `of the ${records} of each \`${by}\` only the one with the highest \`${of}\` stays, on a tie the one that comes first; order the result by \`${by}\` in byte order`,
    ])
    const apply = (given: Table) => ({
      ...given,
      rows: groupBy(given, group).map(([, rows]) =>
        rows.reduce((best, row) => (Number(cell(row, column)) > Number(cell(best, column)) ? row : best)),
      ),
    })
    return {
      say,
      apply,
      shell: `${awk(`{ k = $${group + 1}; if (!(k in best) || $${column + 1} + 0 > best[k]) { best[k] = $${column + 1} + 0; line[k] = $0 } } END { for (k in line) print k, line[k] }`)} | ${order} | cut -f 2-`,
    }
  },
}

const medianOfGroup: Step = {
  name: 'median-of-group',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int'))
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const say = random.pick([
      `for each \`${by}\` give the lower median of \`${of}\` (the middle value; with an even number of ${records} the smaller of the two in the middle): columns \`${by}\` and \`median\`, in byte order of \`${by}\``,
      `reduce to \`${by}\` and \`median\`, one record per \`${by}\` in byte order: the median of \`${of}\`, and the lower one of the two middle values when their number is even`,
    ])
    const columns: Column[] = [
      { name: by, kind: 'category' },
      { name: 'median', kind: 'int' },
    ]
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, group).map(([key, rows]) => {
        const values = rows.map((row) => Number(cell(row, column))).sort((a, b) => a - b)
        return [key, String(values[Math.floor((values.length - 1) / 2)])]
      }),
    })
    const program = `{ n[$1]++; v[$1, n[$1]] = $2 } END { for (k in n) print k, v[k, int((n[k] + 1) / 2)] }`
    return {
      say,
      apply,
      shell: `cut -f ${group + 1},${column + 1} | ${awk(group < column ? '{ print $1, $2 }' : '{ print $2, $1 }')} | LC_ALL=C sort -t $'\\t' -k 1,1 -k 2,2n | ${awk(program)} | ${order}`,
    }
  },
}

const share: Step = {
  name: 'share',
  phase: 'reduce',
  draw: ({ random, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const by = columnName(table, group)
    const say = random.pick([
      `say which share of the ${records} each \`${by}\` has: columns \`${by}\` and \`percent\` (whole percent, rounded down), sorted by \`${by}\` in byte order`,
      `one record per \`${by}\`, in byte order, with \`percent\`: how many of 100 ${records} are of that \`${by}\`, without the decimals (99.9 is 99)`,
    ])
    const columns: Column[] = [
      { name: by, kind: 'category' },
      { name: 'percent', kind: 'int' },
    ]
    const apply = (given: Table) => ({
      columns,
      rows: groupBy(given, group).map(([key, rows]) => [
        key,
        String(Math.floor((rows.length * 100) / given.rows.length)),
      ]),
    })
    return {
      say,
      apply,
      shell: `${awk(`{ n[$${group + 1}]++ } END { for (k in n) print k, int(n[k] * 100 / NR) }`)} | ${order}`,
    }
  },
}

/** Steps that bring records together. */
export const reduceSteps: readonly Step[] = [
  groupSum,
  groupCount,
  groupRange,
  pivotCount,
  byMonth,
  histogram,
  groupList,
  bestOfGroup,
  medianOfGroup,
  share,
]
