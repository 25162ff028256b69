import { awk, type Step } from './step.ts'
import { type Column, cell, columnName, columnsOf, freeName, type Table } from './table.ts'

const sortBy: Step = {
  name: 'sort-by',
  phase: 'arrange',
  draw: ({ random, words, table, records }) => {
    const column = random.pick(columnsOf(table, 'int', 'money', 'date'))
    const isDate = table.columns[column]?.kind === 'date'
    const down = random.chance(0.5)
    const of = columnName(table, column)
    const from = isDate ? (down ? 'latest first' : 'earliest first') : down ? 'largest first' : 'smallest first'
    const direction = down ? 'descending' : 'ascending'
    const [first, way] = isDate
      ? down
        ? ['the latest date', 'from the latest date to the earliest']
        : ['the earliest date', 'from the earliest date to the latest']
      : down
        ? ['the highest value', 'from the highest value to the lowest']
        : ['the lowest value', 'from the lowest value to the highest']
    const top = `${first} at the top`
    const say = words.say(
      random.pick([
        `sort by \`${of}\`, ${from}; ${records} with the same \`${of}\` keep their order`,
        `arrange the result by \`${of}\` (${from}), leaving equal ones in the order they had`,
      ]),
      [
        `order the rows by \`${of}\` with ${top}; rows in which \`${of}\` is equal do not change places with one another`,
        `put the records in ${direction} order of \`${of}\` (${from}) and keep ties in the order they were in before`,
        `do a stable sort on the column \`${of}\`, ${direction}: where values are equal, the row that came earlier stays ahead`,
        `the rows should come in order of \`${of}\`, ${from}, without any change to the relative order of those that have the same value there`,
        `use \`${of}\` as the only sort key, with ${top}, and leave entries that tie on it in their previous order`,
        `rearrange the entries so that \`${of}\` goes ${way}; if it is the same in several of them, they follow each other as they did before`,
      ],
    )
    return { say, apply: (given) => sorted(given, column, down), shell: sortCommand(column, isDate, down) }
  },
}

const topN: Step = {
  name: 'top-n',
  phase: 'arrange',
  draw: ({ random, words, table, records }) => {
    if (table.rows.length < 6) return null
    const column = random.pick(columnsOf(table, 'int', 'money'))
    const down = random.chance(0.7)
    const n = random.int(3, Math.min(12, table.rows.length - 2))
    const of = columnName(table, column)
    const which = down ? 'largest' : 'smallest'
    const direction = down ? 'descending' : 'ascending'
    const say = words.say(
      random.pick([
        `of that, give the ${n} with the ${which} \`${of}\`, ${which} first; equal ones stay in the order they had`,
        `only the top ${n} by \`${of}\` (${which} first, on a tie the earlier one first) go into the result, not all ${records}`,
      ]),
      [
        `sort by \`${of}\`, ${which} first (on a tie, the earlier row first), and keep just the first ${n} records`,
        `cut the result down to the ${n} records with the ${which} \`${of}\`, in ${direction} order of \`${of}\`; among equal ones the earlier goes first, also in deciding which are kept`,
        `rank what you have by \`${of}\` with the ${which} at the top and equal ones in the order they had, and drop everything after the first ${n} entries`,
        `limit the output to ${n} records, namely those that come first when all are put in order of \`${of}\`, ${which} first, with an earlier record before a later one that has the same value`,
        `discard all but the ${n} entries that have the ${which} values in \`${of}\`, where of equal ones the earlier takes precedence; list them ${which} first, an earlier entry before a later one with the same value`,
      ],
    )
    const apply = (given: Table) => ({ ...given, rows: sorted(given, column, down).rows.slice(0, n) })
    return { say, apply, shell: `${sortCommand(column, false, down)} | sed -n '1,${n}p'` }
  },
}

const selectColumns: Step = {
  name: 'select-columns',
  phase: 'arrange',
  draw: ({ random, words, table }) => {
    if (table.columns.length < 4) return null
    const chosen = random.few(
      table.columns.map((_, at) => at),
      random.int(3, Math.min(5, table.columns.length)),
    )
    const renamed = random.chance(0.5) ? chosen[0] : undefined
    const names = chosen.map((at) => (at === renamed ? `${columnName(table, at)}_out` : columnName(table, at)))
    const rename =
      renamed === undefined
        ? ''
        : words.say(`, where \`${columnName(table, renamed)}\` is now called \`${names[0]}\``, [
            `; rename \`${columnName(table, renamed)}\` to \`${names[0]}\``,
            `, with \`${columnName(table, renamed)}\` renamed to \`${names[0]}\``,
            ` (and \`${columnName(table, renamed)}\` gets the new name \`${names[0]}\`)`,
            `; the column that was \`${columnName(table, renamed)}\` is named \`${names[0]}\` from now on`,
          ])
    const listed = chosen.map((at) => `\`${columnName(table, at)}\``).join(', ')
    const say = words.say(
      random.pick([
        `write only these columns, in this order: ${listed}${rename}`,
        `reduce the result to the columns ${listed} (in that order)${rename}`,
      ]),
      [
        `drop all columns except ${listed}, and put these in exactly this order${rename}`,
        `select the fields ${listed}, in the order given here and without any others${rename}`,
        `the result should have just ${chosen.length} columns (from first to last): ${listed}${rename}`,
        `retain ${listed} as the only columns, arranged in the sequence in which they are listed here${rename}`,
        `leave out every field that is not one of ${listed}, and write the fields that remain in this sequence${rename}`,
      ],
    )
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
  draw: ({ random, words, table }) => {
    const name = freeName(table, random.pick(['line', 'no', 'position']))
    const start = random.pick([0, 1, 1, 100])
    const say = words.say(
      random.pick([
        `put a first column \`${name}\` in front that counts from ${start} up`,
        `number the result: a new first column \`${name}\`, starting with ${start}`,
      ]),
      [
        `insert a column \`${name}\` before all others and number the records in it, beginning at ${start} and going up by 1`,
        `add \`${name}\` as the leftmost column; from the first record down its values are ${start}, ${start + 1}, ${start + 2} and so on`,
        `prepend a counter called \`${name}\` as a new column (${start} in the first record, 1 more in each record after it)`,
        `every record should get a consecutive number, which goes into a new column \`${name}\` ahead of the existing ones; the first record has ${start}`,
        `give the result a new field \`${name}\` in first place that holds the number of the record, counting up from ${start}`,
      ],
    )
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
  draw: ({ random, words, table }) => {
    if (table.rows.length < 2) return null
    const say = words.say(
      random.pick([
        'turn the order around, so that what came last comes first',
        'write the result backwards, its last record first',
      ]),
      [
        'reverse the records: the last becomes the first and the first becomes the last',
        'put the records in the opposite order, from the last one to the first',
        'flip the list of records, with the final one at the top and the first one at the bottom',
        'start with the record that is now at the end and go back one by one to the beginning',
        'output the entries in the reverse of the order they are in now',
        'the sequence of the records should be inverted, so that the first one ends up last',
      ],
    )
    return { say, apply: (given) => ({ ...given, rows: [...given.rows].reverse() }), shell: 'tac' }
  },
}

const everyNth: Step = {
  name: 'every-nth',
  phase: 'arrange',
  draw: ({ random, words, table }) => {
    const n = random.int(2, 5)
    if (table.rows.length < n * 2) return null
    const say = words.say(
      random.pick([
        `thin it out: keep the records number ${n}, ${2 * n}, ${3 * n} and so on`,
        `take every ${n}${['', '', 'nd', 'rd'][n] ?? 'th'} record only, beginning with number ${n}`,
      ]),
      [
        `drop all records but those at positions ${n}, ${2 * n}, ${3 * n} and so forth (the first record is at position 1)`,
        `with the records counted from 1, retain just those whose number is a multiple of ${n}`,
        `skip ${n - 1} record${n === 2 ? '' : 's'}, keep the next one, and go on like this to the end`,
        `divide the records, in their order, into groups of ${n} and keep only the last one of each group; fewer than ${n} left over at the end give nothing`,
        `only one entry in ${n} is wanted: number ${n} comes first, then number ${2 * n}, then number ${3 * n}, and so on`,
      ],
    )
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
