import { type Dropped, isDropped } from '../../../core/stage.ts'
import { mapInOrder } from '../../../lib/map-in-order.ts'
import { MissingField } from '../../../lib/template.ts'
import { type Answer, type AskAt, ask, modelOf, type Question } from './ask.ts'
import { Spending, type SpendingLimits } from './spending.ts'

/** One question for every row. */
export interface AskEach<Row, T> extends Omit<Question<T>, 'prompt' | 'id'>, SpendingLimits {
  /** If it throws MissingField, the row is dropped. */
  readonly prompt: (row: Row) => string
  /** How many rows are asked about at once (default 8). */
  readonly concurrency?: number | undefined
}

/** A row and the model's answer. */
export interface Asked<Row, T> {
  readonly row: Row
  readonly answer: Answer<T>
}

/** Asks about every row, several at once, and yields them in order; a row without an answer comes with the reason. */
export async function* askEach<Row extends { readonly id: string }, T = string>(
  rows: AsyncIterable<Row> | Iterable<Row>,
  { prompt, concurrency = 8, maxCalls, maxCostUsd, ...question }: AskEach<Row, T>,
  at: AskAt & { log?(line: string): void },
): AsyncGenerator<Asked<Row, T> | Dropped, void, void> {
  modelOf(at)
  const spending = new Spending({ maxCalls, maxCostUsd })
  yield* mapInOrder(rows, concurrency, async (row) => {
    const asked = promptOf(row, prompt)
    if (isDropped(asked)) return asked
    const answer = await ask({ ...question, prompt: asked.prompt, id: row.id }, { ...at, spending })
    return isDropped(answer) ? answer : { row, answer }
  })
  at.log?.(`asked ${at.model?.model}: ${spending}`)
}

function promptOf<Row extends { readonly id: string }>(
  row: Row,
  prompt: (row: Row) => string,
): { readonly prompt: string } | Dropped {
  try {
    return { prompt: prompt(row) }
  } catch (error) {
    if (!(error instanceof MissingField)) throw error
    return { drop: 'missing-field', detail: error.message, id: row.id }
  }
}
