/** A row as an ordered filter sees it; there only while the filter decides. */
export interface SeenRow {
  /** Grows from row to row and may skip some. */
  readonly row: number
  readonly id: string
  /** What the filter looks at; empty where that is null. */
  readonly bytes: Uint8Array
}

/** Why a row goes. With a `twin`, the id of that row ends the detail. */
export interface OrderedDrop {
  readonly reason: string
  readonly detail: string
  readonly twin?: number
}

export interface RowJudge {
  decide(row: SeenRow): OrderedDrop | null
  /** Called once after the last row, before the rows go. */
  end?(): Promise<void>
}
