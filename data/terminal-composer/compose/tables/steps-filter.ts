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
    const say = at.random.pick([
      `keep only the ${at.records} whose ${name} is \`${value}\``,
      `ignore every ${at.record} where ${name} is anything but \`${value}\``,
      `look at \`${value}\` alone (column ${name}); all other ${at.records} do not matter`,
    ])
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
    const say = at.random.pick([
      `leave out the ${at.records} whose ${name} is ${listed.join(' or ')}`,
      `drop every ${at.record} with ${listed.join(' or ')} as its ${name}`,
    ])
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
    const say = at.random.pick([
      `keep the ${at.records} with a ${name} from ${low} to ${high}, both included`,
      `only count ${at.records} whose ${name} is at least ${low} and at most ${high}`,
    ])
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
    const say = at.random.pick([
      `keep the ${at.records} with a ${name} above ${limit} (not equal to it)`,
      `throw away ${at.records} whose ${name} is ${limit} or less`,
    ])
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
    const say = at.random.pick([
      `keep the ${at.records} whose ${name} lies between ${from} and ${to} (both days belong to it)`,
      `only ${at.records} from ${from} to ${to} count, by ${name}, the first and the last day included`,
    ])
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
    const say = at.random.pick([
      `keep the ${at.records} where the last word of ${name} begins with one of the letters ${letters.join(', ')}`,
      `only ${at.records} whose ${name} has a surname (its last word) starting with ${letters.join(', ')} are of interest`,
    ])
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
    const say = at.random.pick([
      `of all ${at.records} with the same ${names}, keep the first one in the file`,
      `where several ${at.records} agree in ${names}, only the earliest in the file stays`,
    ])
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
    const say = at.random.pick([
      `leave out every ${at.record} whose ${name} is a line of \`${at.root}/${file}\``,
      `\`${at.root}/${file}\` lists one ${name} per line: those ${at.records} are void and must not count`,
    ])
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
