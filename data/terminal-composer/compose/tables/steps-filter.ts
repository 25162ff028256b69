import { awk, type DrawnStep, type Step, type StepDraw } from './step.ts'
import { cell, columnName, columnsOf, type Table } from './table.ts'

function filtered(say: string, condition: string, keep: (row: readonly string[]) => boolean): DrawnStep {
  return { say, shell: awk(condition), apply: (table) => ({ ...table, rows: table.rows.filter(keep) }) }
}

function someValue({ random, table }: StepDraw, at: number): string {
  return cell(random.pick(table.rows), at)
}

const keepCategory: Step = {
  name: 'keep-category',
  phase: 'filter',
  draw: (at) => {
    const column = at.random.pick(columnsOf(at.table, 'category'))
    const value = someValue(at, column)
    const name = `\`${columnName(at.table, column)}\``
    const say = at.words.say(
      at.random.pick([
        `keep only the ${at.records} whose ${name} is \`${value}\``,
        `ignore every ${at.record} where ${name} is anything but \`${value}\``,
        `look at \`${value}\` alone (column ${name}); all other ${at.records} do not matter`,
      ]),
      [
        `restrict the data to the ${at.records} with ${name} equal to \`${value}\``,
        `remove all ${at.records} except those that have \`${value}\` in the column ${name}`,
        `discard any ${at.record} that does not have \`${value}\` as its ${name}`,
        `only the ${at.records} in which the field ${name} reads \`${value}\` are needed, so skip the rest`,
        `select the rows where ${name} = \`${value}\``,
        `let a row through if its ${name} is \`${value}\`, and drop it if it is something else`,
      ],
    )
    return filtered(say, `$${column + 1} == "${value}"`, (row) => cell(row, column) === value)
  },
}

const dropCategories: Step = {
  name: 'drop-categories',
  phase: 'filter',
  draw: (at) => {
    const column = at.random.pick(columnsOf(at.table, 'category'))
    const values = at.random.few([...new Set(at.table.rows.map((row) => cell(row, column)))].sort(), 2)
    if (values.length < 2) return null
    const name = `\`${columnName(at.table, column)}\``
    const listed = values.map((value) => `\`${value}\``)
    const say = at.words.say(
      at.random.pick([
        `leave out the ${at.records} whose ${name} is ${listed.join(' or ')}`,
        `drop every ${at.record} with ${listed.join(' or ')} as its ${name}`,
      ]),
      [
        `exclude the ${at.records} that have ${listed.join(' or ')} in the column ${name}`,
        `keep a row only if its ${name} is neither ${listed.join(' nor ')}`,
        `remove all entries in which ${name} equals ${listed.join(' or ')}; the other ${at.records} stay`,
        `skip any ${at.record} where the field ${name} says ${listed.join(' or ')}`,
        `treat ${listed.join(' and ')} as unwanted values of ${name}: each ${at.record} that has one of them there is dropped`,
        `filter out ${name} = ${listed.join(` and ${name} = `)}, and retain all other ${at.records}`,
      ],
    )
    const condition = values.map((value) => `$${column + 1} != "${value}"`).join(' && ')
    return filtered(say, condition, (row) => !values.includes(cell(row, column)))
  },
}

const keepRange: Step = {
  name: 'keep-range',
  phase: 'filter',
  draw: (at) => {
    const column = at.random.pick(columnsOf(at.table, 'int'))
    const values = at.table.rows.map((row) => Number(cell(row, column))).sort((a, b) => a - b)
    const low = values[Math.floor((values.length * at.random.int(10, 35)) / 100)]
    const high = values[Math.floor((values.length * at.random.int(65, 95)) / 100)]
    if (low === undefined || high === undefined || low >= high) return null
    const name = `\`${columnName(at.table, column)}\``
    const say = at.words.say(
      at.random.pick([
        `keep the ${at.records} with a ${name} from ${low} to ${high}, both included`,
        `only count ${at.records} whose ${name} is at least ${low} and at most ${high}`,
      ]),
      [
        `drop every ${at.record} whose ${name} is below ${low} or above ${high}; exactly ${low} and exactly ${high} are still fine`,
        `restrict the ${at.records} to those with ${name} in the range ${low} to ${high} inclusive`,
        `retain a row if its ${name} is no smaller than ${low} and no larger than ${high}, and discard it otherwise`,
        `exclude the ${at.records} with ${name} less than ${low}, and likewise those with ${name} greater than ${high}`,
        `select the rows where ${name} >= ${low} and ${name} <= ${high}`,
        `the ${at.records} needed are those with ${low} as the lowest and ${high} as the highest allowed ${name}; remove all the others`,
      ],
    )
    return filtered(
      say,
      `$${column + 1} >= ${low} && $${column + 1} <= ${high}`,
      (row) => Number(cell(row, column)) >= low && Number(cell(row, column)) <= high,
    )
  },
}

const keepDearer: Step = {
  name: 'keep-dearer',
  phase: 'filter',
  draw: (at) => {
    const column = at.random.pick(columnsOf(at.table, 'money'))
    const limit = someValue(at, column)
    const name = `\`${columnName(at.table, column)}\``
    const say = at.words.say(
      at.random.pick([
        `keep the ${at.records} with a ${name} above ${limit} (not equal to it)`,
        `throw away ${at.records} whose ${name} is ${limit} or less`,
      ]),
      [
        `drop every ${at.record} unless its ${name} is strictly greater than ${limit}`,
        `filter for ${name} > ${limit}; a value of exactly ${limit} is not enough`,
        `exclude all rows where ${name} is less than or equal to ${limit}`,
        `retain just those ${at.records} whose ${name} exceeds ${limit}; the ones at exactly ${limit} are dropped as well`,
        `remove the ${at.records} that have ${limit} or a smaller number in the column ${name}`,
        `what should remain are the ${at.records} with more than ${limit} as their ${name}, without those that have exactly ${limit}`,
      ],
    )
    return filtered(say, `$${column + 1} + 0 > ${limit}`, (row) => Number(cell(row, column)) > Number(limit))
  },
}

const keepDates: Step = {
  name: 'keep-dates',
  phase: 'filter',
  draw: (at) => {
    const column = at.random.pick(columnsOf(at.table, 'date'))
    const [from, to] = [someValue(at, column), someValue(at, column)].sort()
    if (from === undefined || to === undefined || from === to) return null
    const name = `\`${columnName(at.table, column)}\``
    const say = at.words.say(
      at.random.pick([
        `keep the ${at.records} whose ${name} lies between ${from} and ${to} (both days belong to it)`,
        `only ${at.records} from ${from} to ${to} count, by ${name}, the first and the last day included`,
      ]),
      [
        `drop any ${at.record} with ${name} before ${from} or after ${to}; those dated exactly ${from} or ${to} stay`,
        `restrict the data to the period from ${from} through ${to}, going by ${name}; both end dates are part of the period`,
        `filter by date: ${name} must be no earlier than ${from} and no later than ${to}`,
        `select the rows with ${name} in the interval ${from} to ${to}, inclusive at both ends`,
        `exclude every ${at.record} whose ${name} falls outside the days ${from} to ${to} (these two days are inside)`,
        `retain the ${at.records} where ${from} <= ${name} <= ${to}`,
      ],
    )
    return filtered(
      say,
      `$${column + 1} >= "${from}" && $${column + 1} <= "${to}"`,
      (row) => cell(row, column) >= from && cell(row, column) <= to,
    )
  },
}

const keepInitials: Step = {
  name: 'keep-initials',
  phase: 'filter',
  draw: (at) => {
    const column = at.random.pick(columnsOf(at.table, 'name'))
    const letters = at.random.few([...'BCEFGHKLMNPRSTVW'], at.random.int(4, 8)).sort()
    const name = `\`${columnName(at.table, column)}\``
    const say = at.words.say(
      at.random.pick([
        `keep the ${at.records} where the last word of ${name} begins with one of the letters ${letters.join(', ')}`,
        `only ${at.records} whose ${name} has a surname (its last word) starting with ${letters.join(', ')} are of interest`,
      ]),
      [
        `filter by surname: every ${name} ends with the surname as its last word, and the row is retained only if that word starts with one of ${letters.join(', ')}`,
        `drop every ${at.record} unless the last word of its ${name} has one of these initials: ${letters.join(', ')}`,
        `limit the data to the ${at.records} in which the final word of ${name} has ${letters.slice(0, -1).join(', ')} or ${letters.at(-1)} as its first letter`,
        `go by the initial of the last name (the last word in ${name}): where it is ${letters.slice(0, -1).join(', ')} or ${letters.at(-1)} the ${at.record} stays, all others are removed`,
        `exclude the ${at.records} whose ${name} has a last word with a first letter that is not in this list: ${letters.join(', ')}`,
      ],
    )
    const pattern = new RegExp(` [${letters.join('')}][^ ]*$`)
    return filtered(say, `$${column + 1} ~ / [${letters.join('')}][^ ]*$/`, (row) => pattern.test(cell(row, column)))
  },
}

const firstOfGroup: Step = {
  name: 'first-of-group',
  phase: 'filter',
  draw: (at) => {
    const columns = at.random.few(columnsOf(at.table, 'category'), 2)
    const [a, b] = columns
    if (a === undefined || b === undefined) return null
    const names = columns.map((column) => `\`${columnName(at.table, column)}\``).join(' and ')
    const say = at.words.say(
      at.random.pick([
        `of all ${at.records} with the same ${names}, keep the first one in the file`,
        `where several ${at.records} agree in ${names}, only the earliest in the file stays`,
      ]),
      [
        `deduplicate on the pair ${names}: the ${at.record} that comes first in the file survives, and each later one with the same pair is discarded`,
        `for each combination of ${names} that occurs, keep just the ${at.record} that appears first in the file`,
        `go through the ${at.records} in the order of the file and let each combination of ${names} pass only the first time it comes up`,
        `remove repetitions: if some ${at.records} have identical values in both ${names}, only the first of them in the file is retained and the rest are dropped`,
        `there should be no two ${at.records} left that have both ${names} in common; of such ${at.records}, the one nearest the beginning of the file remains`,
      ],
    )
    const apply = (table: Table): Table => {
      const seen = new Set<string>()
      return {
        ...table,
        rows: table.rows.filter(
          (row) => !seen.has(`${cell(row, a)}\t${cell(row, b)}`) && seen.add(`${cell(row, a)}\t${cell(row, b)}`),
        ),
      }
    }
    return { say, apply, shell: awk(`!seen[$${a + 1}, $${b + 1}]++`) }
  },
}

const excludeListed: Step = {
  name: 'exclude-listed',
  phase: 'filter',
  draw: (at) => {
    const [column] = columnsOf(at.table, 'id')
    if (column === undefined) return null
    const listed = at.random.few(
      at.table.rows.map((row) => cell(row, column)),
      Math.ceil(at.table.rows.length / 3),
    )
    const file = at.random.pick(['excluded.txt', 'blocklist.txt', 'ignore-ids.txt', 'void.txt'])
    const name = `\`${columnName(at.table, column)}\``
    const say = at.words.say(
      at.random.pick([
        `leave out every ${at.record} whose ${name} is a line of \`${at.root}/${file}\``,
        `\`${at.root}/${file}\` lists one ${name} per line: those ${at.records} are void and must not count`,
      ]),
      [
        `read \`${at.root}/${file}\`, which has one ${name} on each line, and remove all ${at.records} whose ${name} is found there`,
        `keep just the ${at.records} whose ${name} does not occur as a line in \`${at.root}/${file}\``,
        `use \`${at.root}/${file}\` as a list of ${name} values to skip, one per line; any ${at.record} whose ${name} is on it is dropped`,
        `filter out the ${at.records} named in \`${at.root}/${file}\` (each of its lines is one ${name})`,
        `check the ${name} of every ${at.record} against the lines of \`${at.root}/${file}\`, and discard the ${at.record} if one of these lines is equal to its ${name}`,
        `exclude what is listed in \`${at.root}/${file}\`: a line there is the ${name} of one of the ${at.records} that are not wanted`,
      ],
    )
    const gone = new Set(listed)
    return {
      say,
      apply: (table) => ({ ...table, rows: table.rows.filter((row) => !gone.has(cell(row, column))) }),
      shell: `awk -F '\\t' 'NR == FNR { void[$0]; next } !($${column + 1} in void)' "${at.root}/${file}" -`,
      extras: { [file]: listed.map((value) => `${value}\n`).join('') },
    }
  },
}

/** Steps that select records. */
export const filterSteps: readonly Step[] = [
  keepCategory,
  dropCategories,
  keepRange,
  keepDearer,
  keepDates,
  keepInitials,
  firstOfGroup,
  excludeListed,
]
