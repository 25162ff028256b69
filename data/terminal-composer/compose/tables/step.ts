import type { Draws } from 'ot-agent'
import type { Words } from '../wording.ts'
import { cell, type Table } from './table.ts'

/** Steps run in the order of their phases: filter records, enrich them, reduce them, arrange the result. */
export const phases = ['filter', 'enrich', 'reduce', 'arrange'] as const
export type Phase = (typeof phases)[number]

/** One step with its parameters drawn. */
export interface DrawnStep {
  /** What it does, as a request without a full stop: "keep only the loans whose branch is `north`". */
  readonly say: string
  readonly apply: (table: Table) => Table
  /** Shell code: a filter for tab-separated records without a header. */
  readonly shell: string
  /** Other files in the work folder that the step reads. */
  readonly extras?: Readonly<Record<string, string>>
}

export interface StepDraw {
  readonly random: Draws
  readonly words: Words
  readonly table: Table
  /** The word for one record, and for several. */
  readonly record: string
  readonly records: string
  readonly root: string
}

/** A kind of step. Null: it does not fit this table. */
export interface Step {
  readonly name: string
  readonly phase: Phase
  draw(at: StepDraw): DrawnStep | null
}

/** An awk program over tab-separated fields. */
export function awk(program: string): string {
  return `awk -F '\\t' -v OFS='\\t' '${program}'`
}

/** Rows grouped by the value of a column, groups in byte order. */
export function groupBy(table: Table, at: number): [string, (readonly string[])[]][] {
  const groups = new Map<string, (readonly string[])[]>()
  for (const row of table.rows) {
    const key = cell(row, at)
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Sums cells without rounding errors: money is added up in cents. */
export function sum(rows: readonly (readonly string[])[], at: number, money: boolean): string {
  if (!money) return String(rows.reduce((total, row) => total + Number(cell(row, at)), 0))
  const cents = rows.reduce((total, row) => total + Math.round(Number(cell(row, at)) * 100), 0)
  return (cents / 100).toFixed(2)
}

/** Sorts lines by their first column, byte by byte. */
export const inOrder = "LC_ALL=C sort -t $'\\t' -k 1,1"
