import type { Draws } from 'ot-agent'

/** `id` is unique, `name` is free text, `category` has few values, `money` has two decimals, `date` is YYYY-MM-DD. */
export type ColumnKind = 'id' | 'name' | 'category' | 'int' | 'money' | 'date'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
}

/** Records as text cells, in column order. */
export interface Table {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

/** What the records are about: their columns, and how to draw a cell of each. */
export interface TableDomain {
  readonly name: string
  /** The word for one record, and for several. */
  readonly record: string
  readonly records: string
  /** Names for files of such records, without an ending. */
  readonly stems: readonly string[]
  /** An opening sentence; `FILE` stands for where the records are. */
  readonly openings: readonly string[]
  readonly moreOpenings: readonly string[]
  readonly columns: Readonly<Record<string, CellSource>>
}

export interface CellSource {
  readonly kind: ColumnKind
  /** Makes the choices for a whole table, for example which categories exist. */
  begin(random: Draws): (random: Draws, row: number) => string
}

/** The cell of a row; a missing one is our bug. */
export function cell(row: readonly string[], at: number): string {
  const value = row[at]
  if (value === undefined) throw new Error(`a row has no cell ${at}`)
  return value
}

/** The positions of the columns of some kinds. */
export function columnsOf(table: Table, ...kinds: readonly ColumnKind[]): number[] {
  return table.columns.flatMap((column, at) => (kinds.includes(column.kind) ? [at] : []))
}

export function columnName(table: Table, at: number): string {
  return table.columns[at]?.name ?? ''
}

/** A name for a new column: the drawn one, unless the table already has it. */
export function freeName(table: Table, drawn: string): string {
  return table.columns.some(({ name }) => name === drawn) ? `${drawn}_2` : drawn
}

/** Draws a table of a domain. The same domain with the same `begin` choices gives another table of the same shape. */
export function beginTable(domain: TableDomain, random: Draws): (random: Draws, rows: number) => Table {
  const columns = Object.entries(domain.columns).map(([name, source]) => ({ name, kind: source.kind }))
  const sources = Object.values(domain.columns).map((source) => source.begin(random))
  return (drawing, rows) => ({
    columns,
    rows: Array.from({ length: rows }, (_, row) => sources.map((draw) => draw(drawing, row))),
  })
}
