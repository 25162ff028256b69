import { awk, groupBy, inOrder, type Step, sum } from './step.ts'
import { tabulateSteps } from './steps-tabulate.ts'
import { type Column, cell, columnName, columnsOf, type Table } from './table.ts'

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
      shell: `${awk(`{ t[$${group + 1}] += $${column + 1} } END { for (k in t) print k, sprintf("${isMoney ? '%.2f' : '%d'}", t[k]) }`)} | ${inOrder}`,
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
    return { say, apply, shell: `${awk(`{ n[$${group + 1}]++ } END { for (k in n) print k, n[k] }`)} | ${inOrder}` }
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
      shell: `${awk(`{ k = $${group + 1}; v = $${column + 1}; if (!(k in lo) || v < lo[k]) lo[k] = v; if (!(k in hi) || v > hi[k]) hi[k] = v } END { for (k in lo) print k, lo[k], hi[k] }`)} | ${inOrder}`,
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
      shell: `${awk(`{ k = $${group + 1}; l[k] = l[k] (n[k]++ ? "+" : "") $${id + 1} } END { for (k in l) print k, l[k] }`)} | ${inOrder}`,
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
      shell: `${awk(`{ k = $${group + 1}; if (!(k in best) || $${column + 1} + 0 > best[k]) { best[k] = $${column + 1} + 0; line[k] = $0 } } END { for (k in line) print k, line[k] }`)} | ${inOrder} | cut -f 2-`,
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
      shell: `cut -f ${group + 1},${column + 1} | ${awk(group < column ? '{ print $1, $2 }' : '{ print $2, $1 }')} | LC_ALL=C sort -t $'\\t' -k 1,1 -k 2,2n | ${awk(program)} | ${inOrder}`,
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
      shell: `${awk(`{ n[$${group + 1}]++ } END { for (k in n) print k, int(n[k] * 100 / NR) }`)} | ${inOrder}`,
    }
  },
}

/** Steps that aggregate records. */
export const reduceSteps: readonly Step[] = [
  groupSum,
  groupCount,
  groupRange,
  ...tabulateSteps,
  groupList,
  bestOfGroup,
  medianOfGroup,
  share,
]
