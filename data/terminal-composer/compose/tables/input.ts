import type { Draws } from 'ot-agent'
import { type CellFault, cellFaults, type FileFault, fileFaults, type LineFault, lineFaults } from './faults.ts'
import type { Shape } from './shapes.ts'
import type { Column, Table } from './table.ts'

/** The faults of one input, by where they occur. */
export interface Faults {
  readonly cells: readonly CellFault[]
  readonly lines: readonly LineFault[]
  readonly files: readonly FileFault[]
}

/** Draws faults that are compatible with each other and with the shape. */
export function drawFaults(random: Draws, shape: Shape, count: number): Faults {
  const chosen = new Set<string>()
  const all = [...cellFaults, ...lineFaults, ...fileFaults]
  for (const fault of random.shuffle(all)) {
    const clashes = all
      .filter(({ name }) => chosen.has(name))
      .some((other) => other.clashes?.includes(fault.name) || fault.clashes?.includes(other.name))
    if (chosen.size < count && fault.fits(shape) && !clashes) chosen.add(fault.name)
  }
  const isChosen = ({ name }: { name: string }) => chosen.has(name)
  return { cells: cellFaults.filter(isChosen), lines: lineFaults.filter(isChosen), files: fileFaults.filter(isChosen) }
}

export interface DrawnInput {
  /** What a perfect reader extracts from the files. */
  readonly clean: Table
  /** The data of each part, in order. */
  readonly parts: readonly Buffer[]
  /** Lines to be set aside, in order; null where none can be. */
  readonly rejects: readonly string[] | null
}

/** How a table is written to files. */
interface InputForm {
  readonly shape: Shape
  readonly faults: Faults
  readonly partCount: number
}

/** Writes a table in a shape, in one or more parts, with all its faults. */
export function drawInput(random: Draws, table: Table, { shape, faults, partCount }: InputForm): DrawnInput {
  let clean = table
  let damaged = table
  for (const fault of faults.cells) {
    const before = damaged
    const change = fault.damage(before, random)
    damaged = change.damaged
    if (change.clean !== before) clean = follow(clean, before, change.clean)
  }
  const rejects: string[] = []
  const parts = Array.from({ length: partCount }, (_, at) => {
    const [from, to] = [at, at + 1].map((edge) => Math.floor((damaged.rows.length * edge) / partCount))
    const whole = shape.render({ ...damaged, rows: damaged.rows.slice(from, to) })
    const data = Buffer.from(damageLines(random, whole, { shape, columns: damaged.columns, faults, rejects }))
    return faults.files.reduce<Buffer>((bytes, fault) => fault.damage(bytes), data)
  })
  return { clean, parts, rejects: faults.lines.some(({ isRejected }) => isRejected) ? rejects : null }
}

/** A fault changed the actual values of some rows: makes the same change in the clean table. */
function follow(clean: Table, before: Table, after: Table): Table {
  const changed = new Map(before.rows.map((row, at) => [row[0], after.rows[at] ?? row]))
  return { ...clean, rows: clean.rows.map((row) => changed.get(row[0]) ?? row) }
}

interface LinesToDamage {
  readonly shape: Shape
  readonly columns: readonly Column[]
  readonly faults: Faults
  readonly rejects: string[]
}

function damageLines(random: Draws, whole: string, { shape, columns, faults, rejects }: LinesToDamage): string {
  if (faults.lines.length === 0) return whole
  const lines = whole.replace(/\n$/, '').split('\n')
  let body: readonly string[] = lines.slice(shape.headLines)
  for (const fault of faults.lines) {
    body = fault.damage(body, random, shape)
    rejects.push(...body.filter((line) => fault.isRejected?.(line, shape, columns)))
  }
  return [...lines.slice(0, shape.headLines), ...body].map((line) => `${line}\n`).join('')
}

/** What a reader of an input has to know. */
interface InputToRead {
  readonly shape: Shape
  readonly columns: readonly Column[]
  readonly faults: Faults
  readonly rejects: string
}

/** Shell code that reads the parts given by the words `parts` and prints clean tab-separated records. */
export function readerShell(parts: string, { shape, columns, faults, rejects }: InputToRead): string {
  const files = [...faults.files].reverse().map(({ repair }) => repair)
  const head = shape.headLines > 0 ? [`tail -n +${shape.headLines + 1}`] : []
  const [first = 'cat', ...more] = [...files, ...head]
  const lines = [...faults.lines].reverse().map((fault) => fault.repair(shape, columns, rejects))
  const cells = [...faults.cells].reverse().map((fault) => fault.repair(columns))
  const filters = [...lines, shape.read(columns), ...cells].filter((filter) => filter !== 'cat')
  const loop = `for part in ${parts}; do\n  ${[`${first} < "$part"`, ...more].join(' | ')}\ndone`
  return [loop, ...filters].join(' |\n  ')
}
