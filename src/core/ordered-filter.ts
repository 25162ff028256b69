/** A row as an ordered filter sees it; valid only while the filter decides. */
export interface SeenRow {
  /** Grows from row to row, possibly with gaps. */
  readonly row: number
  readonly id: string
  /** The value of the filter's `looksAt`; empty when that is null. */
  readonly bytes: Uint8Array
}

/** Why a row is dropped. With a `twin`, that row's id is appended to the detail. */
export interface OrderedDrop {
  readonly reason: string
  readonly detail: string
  readonly twin?: number
}

export interface RowJudge {
  decide(row: SeenRow): OrderedDrop | null
  /** Called once after the last row, before the rows are released. */
  end?(): Promise<void>
}
