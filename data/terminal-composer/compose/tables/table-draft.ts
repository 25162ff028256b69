import type { Faults } from './input.ts'
import type { Shape } from './shapes.ts'
import type { DrawnStep } from './step.ts'
import type { Table, TableDomain } from './table.ts'

/** What was drawn for a task on records, before anything is written. */
export interface TableDraft {
  readonly domain: TableDomain
  readonly chain: readonly DrawnStep[]
  readonly from: Shape
  readonly to: Shape
  readonly faults: Faults
  readonly input: string
  readonly partCount: number
  readonly output: string
  readonly columns: { readonly before: Table['columns']; readonly after: Table['columns'] }
  readonly rejects: string
}
