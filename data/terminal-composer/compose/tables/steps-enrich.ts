import { awk, type Step, sum } from './step.ts'
import { type Column, cell, columnName, columnsOf, freeName, type Table } from './table.ts'

/** A table with one more column at the end. */
function added(table: Table, column: Column, values: readonly string[]): Table {
  return { columns: [...table.columns, column], rows: table.rows.map((row, at) => [...row, values[at] ?? '']) }
}

const product: Step = {
  name: 'product',
  phase: 'enrich',
  draw: ({ random, words, table }) => {
    const [count] = random.few(columnsOf(table, 'int'), 1)
    const [price] = columnsOf(table, 'money')
    if (count === undefined || price === undefined) return null
    const name = freeName(table, random.pick(['total', 'subtotal', 'worth', 'sum_due']))
    const [by, unit] = [`\`${columnName(table, count)}\``, `\`${columnName(table, price)}\``]
    const say = words.say(
      random.pick([
        `add a last column \`${name}\`: ${by} times ${unit}, with two decimals`,
        `append a column \`${name}\` that is the product of ${by} and ${unit} (always two decimals)`,
      ]),
      [
        `multiply ${by} by ${unit} and store the result, always with two decimals, in a new column \`${name}\` at the very end of each record`,
        `every record gets one more field at the end, \`${name}\`, which is ${by} multiplied by ${unit} and written with exactly two decimals`,
        `compute \`${name}\` as the product ${by} * ${unit} for each record and place it after all other columns; it has two digits after the decimal point`,
        `a new column \`${name}\` is needed after the existing ones: it holds ${unit} times ${by}, to two decimal places even where they are zeros`,
        `what does each record come to if ${by} is multiplied by ${unit}? Put the answer, with two decimals in every case, in an extra last column \`${name}\``,
      ],
    )
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
  draw: ({ random, words, table }) => {
    const column = random.pick(columnsOf(table, 'int', 'money'))
    const isMoney = table.columns[column]?.kind === 'money'
    const name = freeName(table, random.pick(['running', 'cumulative', 'so_far']))
    const of = `\`${columnName(table, column)}\``
    const say = words.say(
      random.pick([
        `add a last column \`${name}\` with the running total of ${of} (this record included${isMoney ? ', two decimals' : ''})`,
        `append \`${name}\`, the sum of ${of} from the first record up to and with this one${isMoney ? ', with two decimals' : ''}`,
      ]),
      [
        `keep a running sum of ${of} from the first record on, each record's own value counted in, and write it to a new last column \`${name}\`${isMoney ? ' with two decimals' : ''}`,
        `each record is to end with a new field \`${name}\`: its own ${of} plus the ${of} of all records before it${isMoney ? ', to two decimal places' : ''}`,
        `accumulate ${of} over the records in their order; the sum so far, the current record included, goes into an added column \`${name}\` after the others${isMoney ? ' (two decimals)' : ''}`,
        `\`${name}\`, a new column at the end, should say how much ${of} adds up to so far, from the first record through the current one${isMoney ? '; write two decimals' : ''}`,
        `extend the records by a last column \`${name}\` = cumulative sum of ${of}, in the order of the records, the current one included${isMoney ? ', two decimals' : ''}`,
      ],
    )
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
  draw: ({ random, words, table, record, records }) => {
    const group = random.pick(columnsOf(table, 'category'))
    const name = freeName(table, random.pick(['nth', 'occurrence', 'seq']))
    const of = `\`${columnName(table, group)}\``
    const say = words.say(
      random.pick([
        `add a last column \`${name}\` that counts the ${records} of the same ${of} from 1 up, in the order of the file`,
        `append \`${name}\`: the how-many-th record of its ${of} this is, starting with 1`,
      ]),
      [
        `number the ${records} within each ${of} in the order they appear, beginning at 1, and put the number in a new last column \`${name}\``,
        `give each ${record} a new field \`${name}\` at the end: 1 if it is the first with its ${of}, 2 if it is the second with that ${of}, and so on, going through the ${records} in the order of the file`,
        `count, going through the ${records} in the order of the file, how many with the same ${of} have come up so far, the current one included, and write that number to an added last column \`${name}\``,
        `append a counter column \`${name}\` that counts separately for each value of ${of}: it is 1 where the value first occurs and goes up by 1 every time the value comes again in a later record`,
        `\`${name}\` becomes the new last column, the position of the ${record} among those ${records} that share its ${of} (in the order of the file, the first one being 1)`,
      ],
    )
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
  draw: ({ random, words, table }) => {
    const [column] = random.few(columnsOf(table, 'date'), 1)
    if (column === undefined) return null
    const name = freeName(table, random.pick(['weekday', 'dow', 'day_name']))
    const of = `\`${columnName(table, column)}\``
    const say = words.say(
      random.pick([
        `add a last column \`${name}\` with the day of the week of ${of} as \`mon\`, \`tue\`, \`wed\`, \`thu\`, \`fri\`, \`sat\` or \`sun\``,
        `append the weekday of ${of} in a column \`${name}\`, three lower-case English letters (\`mon\` to \`sun\`)`,
      ]),
      [
        `find out on which weekday ${of} falls and record it in a new last column \`${name}\`, abbreviated to \`mon\`, \`tue\`, \`wed\`, \`thu\`, \`fri\`, \`sat\` or \`sun\``,
        `what day of the week is ${of}? Put it in an extra column \`${name}\` at the end, using the lower-case names \`mon\`, \`tue\`, \`wed\`, \`thu\`, \`fri\`, \`sat\` and \`sun\``,
        `extend each record by a field \`${name}\` in last place that tells the weekday of ${of}; its possible values are \`mon\`, \`tue\`, \`wed\`, \`thu\`, \`fri\`, \`sat\` and \`sun\``,
        `from the date in ${of} work out the day of the week and add it after all other columns as \`${name}\`: the first three letters of its English name in lower case, from \`mon\` for Monday to \`sun\` for Sunday`,
        `a final column \`${name}\` is to be added that reads \`mon\`, \`tue\`, \`wed\`, \`thu\`, \`fri\`, \`sat\` or \`sun\`, depending on which weekday the date in ${of} falls on`,
      ],
    )
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
  draw: ({ random, words, table }) => {
    const column = random.pick(columnsOf(table, 'int'))
    const name = freeName(table, random.pick(['change', 'delta', 'diff']))
    const of = `\`${columnName(table, column)}\``
    const say = words.say(
      random.pick([
        `add a last column \`${name}\`: ${of} minus the ${of} of the record before, and 0 for the first record`,
        `append \`${name}\`, by how much ${of} grew since the previous record (negative when it fell; the first record gets 0)`,
      ]),
      [
        `subtract from each ${of} the ${of} of the record just before it and put the result in a new last column \`${name}\`; the first record, which has none before it, gets 0`,
        `how much does ${of} change from one record to the next? Write the current value minus the one before to an added last column \`${name}\`, negative where it went down, with 0 in the first record`,
        `each record gets \`${name}\` as an extra field at the end: its own ${of} less that of the previous record (so a drop is negative); for the first record write 0`,
        `compute the change of ${of} from record to record (the value in this record minus the value in the preceding one) as a new column \`${name}\` after all others, and let it be 0 in the first record`,
        `one more column goes at the end, \`${name}\`: 0 in the first record, and from the second one on the ${of} of that record minus the ${of} of the record right before it`,
      ],
    )
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
  draw: ({ random, words, table, root }) => {
    const column = random.pick(columnsOf(table, 'category'))
    const values = random.shuffle([...new Set(table.rows.map((row) => cell(row, column)))].sort())
    const known = values.slice(0, Math.max(1, values.length - 1))
    const codes = new Map(known.map((value) => [value, `${random.pick([...'ABCDEFGH'])}${random.int(10, 99)}`]))
    const file = random.pick(['codes.txt', 'mapping.txt', 'lookup.txt'])
    const name = freeName(table, random.pick(['code', 'cost_center', 'region_code']))
    const of = `\`${columnName(table, column)}\``
    const say = words.say(
      random.pick([
        `add a last column \`${name}\` with the code of the record's ${of} from \`${root}/${file}\` (lines of the form \`${of.slice(1, -1)}=code\`), or \`none\` where the file has no such line`,
        `append \`${name}\`: look ${of} up in \`${root}/${file}\`, whose lines read \`value=code\`; what is not listed there gets \`none\``,
      ]),
      [
        `translate ${of} with the help of \`${root}/${file}\`, where each line reads \`value=code\`, and put the code in a new last column \`${name}\`; a value without a line there gets \`none\``,
        `use \`${root}/${file}\`, which assigns codes to values of ${of}, one per line as \`value=code\`: write the code that belongs to each record into an added last column \`${name}\`, and \`none\` where no line has its value`,
        `which code belongs to the ${of} of each record? It is in \`${root}/${file}\`, in lines of the form \`value=code\`; put it into a new column \`${name}\` after all others, with \`none\` for every value that is missing there`,
        `join the codes from \`${root}/${file}\` (every line has the form \`value=code\`) to the records by ${of}: every record stays and gets a last field \`${name}\` with its code, or \`none\` if its value has no entry in that file`,
        `add \`${name}\` as the last column, filled from the lines \`value=code\` in \`${root}/${file}\`: it is the code of the line whose value is the record's ${of}; if there is no such line, write \`none\``,
      ],
    )
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
  draw: ({ random, words, table }) => {
    const [column] = columnsOf(table, 'id')
    if (column === undefined) return null
    const keep = random.int(1, 2)
    const sign = random.pick(['*', 'x', '_'])
    const of = `\`${columnName(table, column)}\``
    const say = words.say(
      random.pick([
        `hide ${of}: replace every character of it by \`${sign}\` except the last ${keep === 1 ? 'one' : 'two'}`,
        `mask ${of} so that only its last ${keep} character${keep === 1 ? '' : 's'} can be read and each one before is \`${sign}\``,
      ]),
      [
        `make ${of} unreadable except for its last ${keep === 1 ? 'character' : 'two characters'}: each character in front becomes one \`${sign}\``,
        `overwrite each character of ${of} with \`${sign}\`, sparing only the last ${keep === 1 ? 'one' : 'two'}`,
        `in ${of}, leave the final ${keep === 1 ? 'character as it is' : 'two characters as they are'} and put \`${sign}\` in place of each of the others, so that the length stays the same`,
        `${of} must not be shown in full: swap its characters for \`${sign}\`, one for one, apart from the last ${keep === 1 ? 'one' : 'two'}`,
        `anonymise ${of} by writing one \`${sign}\` for every character but the last ${keep === 1 ? 'one, which stays' : 'two, which stay'} visible`,
        `turn ${of} into a masked value of the same length, \`${sign}\` in each position and only the last ${keep === 1 ? 'character' : '2 characters'} left as before`,
      ],
    )
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
