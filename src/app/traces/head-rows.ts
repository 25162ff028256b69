import { type RowFacts, scanRow } from '../../formats/conversations/facts.ts'
import { type Message, messagesOf, plainValue } from '../../formats/conversations/messages.ts'
import { openRows } from '../../formats/conversations/open-rows.ts'
import { datasetAt } from '../../run/recipe/run-datasets.ts'

/** A row of a dataset, for people and machines. */
export interface HeadRow {
  /** Starts at 0. */
  readonly number: number
  readonly facts: RowFacts
  readonly messages: readonly Message[]
  /** Every column, unchanged. */
  readonly row: object
}

/**
 * The first rows of a dataset of conversations, ours or third-party: parquet or JSON lines, a file, a folder or a
 * recipe run.
 */
export async function* headRows(path: string, count: number): AsyncGenerator<HeadRow, void, void> {
  const source = await openRows(await datasetAt(path))
  try {
    let left = count
    for await (const { number } of source.scan(new AbortController().signal)) {
      const row = (await source.read(number)) ?? {}
      yield { number, facts: scanRow(row).facts, messages: messagesOf(row), row: Object(plainValue(row)) }
      if (--left === 0) return
    }
  } finally {
    await source.close()
  }
}
