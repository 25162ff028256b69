import type { Draws } from 'ot-agent'

/** `id` is unique, `name` is free text, `category` has few values, `money` has two decimals, `date` is YYYY-MM-DD. */
export type ColumnKind = 'id' | 'name' | 'category' | 'int' | 'money' | 'date'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
}

/** Records as text, cell by cell, in the order of the columns. */
export interface Table {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

/** What the records are about: their columns, and how a cell of each is drawn. */
export interface TableDomain {
  readonly name: string
  /** What one record is called, and many. */
  readonly record: string
  readonly records: string
  /** Names for files of such records, without an ending. */
  readonly stems: readonly string[]
  /** An opening sentence; `FILE` stands for where the records are. */
  readonly openings: readonly string[]
  readonly columns: Readonly<Record<string, CellSource>>
}

export interface CellSource {
  readonly kind: ColumnKind
  /** Choices made once for a whole table, for example which categories there are. */
  begin(random: Draws): (random: Draws, row: number) => string
}

/** The cell of a row; a missing one is a bug of ours. */
export function cell(row: readonly string[], at: number): string {
  const value = row[at]
  if (value === undefined) throw new Error(`a row has no cell ${at}`)
  return value
}

/** Where the columns of a kind are. */
export function columnsOf(table: Table, ...kinds: readonly ColumnKind[]): number[] {
  return table.columns.flatMap((column, at) => (kinds.includes(column.kind) ? [at] : []))
}

export function columnName(table: Table, at: number): string {
  return table.columns[at]?.name ?? ''
}

/** A name for a new column: the drawn one, unless the table has it already. */
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
