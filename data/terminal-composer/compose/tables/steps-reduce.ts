import { awk, groupBy, inOrder, type Step, sum } from './step.ts'
import { tabulateSteps } from './steps-tabulate.ts'
import { type Column, cell, columnName, columnsOf, type Table } from './table.ts'

const groupSum: Step = {
  name: 'group-sum',
  phase: 'reduce',
  draw: ({ random, words, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int', 'money'))
    const isMoney = table.columns[column]?.kind === 'money'
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const name = random.pick([`sum_${of}`, `${of}_sum`, `all_${of}`])
    const say = words.say(
      random.pick([
        `sum up \`${of}\` for each \`${by}\`: columns \`${by}\` and \`${name}\`${isMoney ? ' (two decimals)' : ''}, sorted by \`${by}\` in byte order`,
        `for every \`${by}\` that still has ${records}, give the total of \`${of}\`${isMoney ? ' with two decimals' : ''} as \`${name}\`; two columns, \`${by}\` first, in the byte order of \`${by}\``,
      ]),
      [
        `add up the \`${of}\` of all ${records} with the same \`${by}\`; the result has one record per \`${by}\`, in byte order of \`${by}\`, with the columns \`${by}\` and \`${name}\` (the total${isMoney ? ', with two decimals' : ''})`,
        `group the ${records} by \`${by}\` and write one record per group, ordered by \`${by}\` byte by byte: first \`${by}\`, then \`${name}\`, the sum of \`${of}\` over the group${isMoney ? ' to two decimal places' : ''}`,
        `how much \`${of}\` does each \`${by}\` have in all? Answer in two columns, \`${by}\` and then \`${name}\`, which is the sum${isMoney ? ' with two decimals' : ''}, one record per \`${by}\`, sorted in the byte order of \`${by}\``,
        `replace the ${records} by totals: for each value of \`${by}\` one record of \`${by}\` and \`${name}\`, where \`${name}\` is the sum of its \`${of}\`${isMoney ? ' (two decimals)' : ''}; the values of \`${by}\` come in byte order`,
        `only the columns \`${by}\` and \`${name}\` are wanted, with one record for each \`${by}\` that occurs, sorted by \`${by}\` in byte order; \`${name}\` is its \`${of}\` added up${isMoney ? ' and written with two decimals' : ''}`,
      ],
    )
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
  draw: ({ random, words, table, records }) => {
    const group = random.pick(columnsOf(table, 'category', 'name'))
    const by = columnName(table, group)
    const name = random.pick(['count', 'how_many', `n_${records}`])
    const kind = table.columns[group]?.kind ?? 'category'
    const say = words.say(
      random.pick([
        `count the ${records} of each \`${by}\`: columns \`${by}\` and \`${name}\`, sorted by \`${by}\` in byte order`,
        `how many ${records} does each \`${by}\` have? Give \`${by}\` and \`${name}\`, ordered by \`${by}\` byte by byte`,
      ]),
      [
        `tally the ${records} by \`${by}\`: one record for each \`${by}\` with the columns \`${by}\` and \`${name}\` (the number of its ${records}), in byte order of \`${by}\``,
        `reduce everything to two columns, \`${by}\` and \`${name}\`, where \`${name}\` says how many ${records} that \`${by}\` has; there is one record per \`${by}\`, and they are sorted by \`${by}\` byte by byte`,
        `group by \`${by}\`, count the ${records} in each group and output \`${by}\` followed by the count as \`${name}\`, the groups in byte order of \`${by}\``,
        `for every \`${by}\` that occurs, state the number of ${records} that have it; the first column is \`${by}\`, the second is \`${name}\`, and the records are put in the byte order of \`${by}\``,
        `determine how often each \`${by}\` comes up among the ${records}; write each \`${by}\` once, together with that number in a column \`${name}\` after it, sorting by the bytes of \`${by}\``,
      ],
    )
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
  draw: ({ random, words, table }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int', 'date'))
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const isDate = table.columns[column]?.kind === 'date'
    const [least, most] = isDate ? ['earliest', 'latest'] : ['smallest', 'largest']
    const ends = `${least} and the ${most}`
    const say = words.say(
      random.pick([
        `for each \`${by}\` give the ${ends} \`${of}\`: columns \`${by}\`, \`low\`, \`high\`, sorted by \`${by}\` in byte order`,
        `boil it down to one record per \`${by}\` (in byte order of it) with \`low\` and \`high\`, the ${ends} \`${of}\` there`,
      ]),
      [
        `find the range of \`${of}\` in each \`${by}\`: one record per \`${by}\` with the columns \`${by}\`, \`low\` (the ${least} \`${of}\`) and \`high\` (the ${most}), sorted by \`${by}\` in byte order`,
        `group by \`${by}\` and write three columns, \`${by}\`, \`low\` and \`high\`, where \`low\` is the ${least} \`${of}\` of the group and \`high\` the ${most}; the groups come in byte order of \`${by}\``,
        `what are the ${ends} \`${of}\` of each \`${by}\`? Give one record per \`${by}\`, ordered by \`${by}\` byte by byte, with the columns \`${by}\`, \`low\` for the former and \`high\` for the latter`,
        `collapse the records to one for each value of \`${by}\`, in byte order of these values, with three columns: first \`${by}\`, then the ${least} \`${of}\` found there as \`low\`, then the ${most} as \`high\``,
        `the result should show how far \`${of}\` reaches in every \`${by}\`, one record each, in the columns \`${by}\`, \`low\` and \`high\` and in byte order of \`${by}\`; \`low\` is the ${least} \`${of}\` and \`high\` the ${most} one`,
      ],
    )
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
  draw: ({ random, words, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const [id] = columnsOf(table, 'id')
    if (id === undefined) return null
    const [by, of] = [columnName(table, group), columnName(table, id)]
    const say = words.say(
      random.pick([
        `for each \`${by}\` (in byte order) list the \`${of}\` of its ${records} in the order of the file, joined by \`+\`: columns \`${by}\` and \`members\``,
        `collect the \`${of}\` values per \`${by}\`: columns \`${by}\` and \`members\` (joined with \`+\`, order as in the file), sorted by \`${by}\` in byte order`,
      ]),
      [
        `gather for every \`${by}\` the \`${of}\` of all its ${records} in one field \`members\`, in the order of the file and with \`+\` between them; the result has the columns \`${by}\` and \`members\` and is sorted by \`${by}\` in byte order`,
        `group the ${records} by \`${by}\` and write one record per group, groups in byte order of \`${by}\`: column \`${by}\`, then column \`members\` with the \`${of}\` values of the group in the order in which they come in the file, separated by just a \`+\``,
        `which \`${of}\` values belong to each \`${by}\`? Answer in two columns, \`${by}\` and \`members\`, one record per \`${by}\`, sorted by the bytes of \`${by}\`; in \`members\` these values are strung together with \`+\` and follow the order of the file`,
        `reduce the ${records} to \`${by}\` and \`members\`, one record for each \`${by}\` (these in byte order), where \`members\` has every \`${of}\` of that \`${by}\` in file order, with a \`+\` between one and the next`,
        `output the columns \`${by}\` and \`members\`; per \`${by}\` one record, byte order of \`${by}\`; \`members\` = its \`${of}\` values joined with \`+\`, ordered as in the file`,
      ],
    )
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
  draw: ({ random, words, table, record, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int'))
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const say = words.say(
      random.pick([
        `for each \`${by}\` keep the one ${record} with the largest \`${of}\` (the first in the file if several are equal); what is left is sorted by \`${by}\` in byte order`,
        `of the ${records} of each \`${by}\` only the one with the highest \`${of}\` stays, on a tie the one that comes first; order the result by \`${by}\` in byte order`,
      ]),
      [
        `leave a single ${record} per \`${by}\`, the one whose \`${of}\` is highest, and where several share the highest, the one that comes first in the file; sort what remains by \`${by}\` in byte order`,
        `which ${record} has the greatest \`${of}\` in each \`${by}\`? Retain that one only (of several equally great ones the first in the file) and drop all others; those that remain are to be in byte order of \`${by}\``,
        `group the ${records} by \`${by}\` and drop all of a group but the one with the maximum \`${of}\`, choosing the earliest in the file if there is a tie; the remaining ${records} go in byte order of \`${by}\``,
        `there should be exactly one ${record} left for each \`${by}\`: the one with the largest \`${of}\`, and of several with the same largest \`${of}\` the first in the file; sort them by \`${by}\`, comparing byte by byte`,
        `discard each ${record} if its \`${by}\` has another one with a larger \`${of}\`, or one with an equal \`${of}\` earlier in the file; then put the ones left over in byte order of \`${by}\``,
      ],
    )
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
  draw: ({ random, words, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const column = random.pick(columnsOf(table, 'int'))
    const [by, of] = [columnName(table, group), columnName(table, column)]
    const say = words.say(
      random.pick([
        `for each \`${by}\` give the lower median of \`${of}\` (the middle value; with an even number of ${records} the smaller of the two in the middle): columns \`${by}\` and \`median\`, in byte order of \`${by}\``,
        `reduce to \`${by}\` and \`median\`, one record per \`${by}\` in byte order: the median of \`${of}\`, and the lower one of the two middle values when their number is even`,
      ]),
      [
        `compute the median of \`${of}\` for every \`${by}\` and write the columns \`${by}\` and \`median\`, sorted by \`${by}\` in byte order; where the number of ${records} in one \`${by}\` is even, take the smaller of the two middle values, not their mean`,
        `what is the middle \`${of}\` of each \`${by}\` when its values are put in ascending order? Give \`${by}\` and, as \`median\`, this value, one record per \`${by}\` in byte order of \`${by}\`; if the number of values is even and two are in the middle, the lower one counts`,
        `group the ${records} by \`${by}\` and give each group one record, made up of \`${by}\` and \`median\`, with the groups in byte order of \`${by}\`: \`median\` is the middle one of the group's \`${of}\` values sorted by size, and the lower middle one if the group has an even number of them`,
        `per \`${by}\`, line up the \`${of}\` values from smallest to largest and pick the one in the middle, or the first of the two in the middle if their number is even; output two columns, \`${by}\` and that value as \`median\`, in byte order of \`${by}\``,
      ],
    )
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
  draw: ({ random, words, table, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const by = columnName(table, group)
    const say = words.say(
      random.pick([
        `say which share of the ${records} each \`${by}\` has: columns \`${by}\` and \`percent\` (whole percent, rounded down), sorted by \`${by}\` in byte order`,
        `one record per \`${by}\`, in byte order, with \`percent\`: how many of 100 ${records} are of that \`${by}\`, without the decimals (99.9 is 99)`,
      ]),
      [
        `work out what percentage of the ${records} falls to each \`${by}\` and write the columns \`${by}\` and \`percent\`, ordered by \`${by}\` in byte order; the percentage is a whole number, always rounded down`,
        `for each \`${by}\`, what part of the ${records} is its own, in percent? Give the columns \`${by}\` and \`percent\`, one record per \`${by}\` in byte order of \`${by}\`, with \`percent\` rounded down to a whole number`,
        `reduce this to the columns \`${by}\` and \`percent\`, one record per \`${by}\`, sorted by \`${by}\` in byte order: \`percent\` is 100 times the number of ${records} with that \`${by}\`, divided by the number of ${records} of every \`${by}\` together, the fraction dropped`,
        `express the number of ${records} of each \`${by}\` as a percentage of their total number, without decimals and rounded down (99.9 becomes 99); the output has \`${by}\` first and \`percent\` second and is in the byte order of \`${by}\``,
        `group by \`${by}\`, groups in byte order; per group output two columns, \`${by}\` and \`percent\`, the latter being the group's share of the ${records} in whole percent with any decimals cut off`,
      ],
    )
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
