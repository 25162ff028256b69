import { z } from 'zod'
import type { RawRow, TaskRow } from '../../../core/row.ts'
import type { Dropped, Expectation, MapStage, Need, StageContext } from '../../../core/stage.ts'
import { isDropped } from '../../../core/stage.ts'
import { renderTemplate } from '../../../lib/template.ts'
import { identityOfModel, modelSettings } from '../rolling/options.ts'
import type { RecipeTrace } from '../rollout-text/trace-row.ts'
import type { AskAt } from './ask.ts'
import { type Asked, askEach } from './ask-each.ts'
import type { ReplyForm } from './forms.ts'
import type { Spending } from './spending.ts'

/** How a stage asks, whatever the question. */
export const askOptions = {
  model: modelSettings.optional(),
  system: z.string().optional(),
  temperature: z.number().min(0).optional(),
  maxOutputTokens: z
    .number()
    .int()
    .positive()
    .optional()
    .describe(
      'longest reply; a longer one is cut off and its row dropped. No default: thoughts count too, and servers refuse a limit above what their context has left. Set it for small models, which may repeat themselves',
    ),
  /** How many times in all a reply of the wrong form is requested. */
  tries: z.number().int().min(1).default(3),
  concurrency: z.number().int().min(1).default(8),
  maxCalls: z.number().int().positive().optional(),
  maxCostUsd: z.number().positive().optional(),
}
const askSchema = z.strictObject(askOptions)
export type AskOptions = z.output<typeof askSchema>

/** Options of a map: a prompt with `{{field}}` of the row, and where the answer goes. */
export const mapOptions = {
  ...askOptions,
  prompt: z.string().min(1),
  into: z.string().min(1),
  /** The number of replies to the same prompt that are settled into one. */
  repeats: z.number().int().min(1).default(1),
  /** Rows are dropped when a smaller share of the repeats agrees. */
  minAgreement: z.number().min(0).max(1).default(0),
}
const mapSchema = z.strictObject(mapOptions)
export type MapOptions = z.output<typeof mapSchema>

/**
 * The options that determine a stage's rows: not how many are asked at once, the cost limits, or the model's address.
 */
export function identityOf<O extends AskOptions>(options: O): object {
  const { concurrency: _, maxCalls: __, maxCostUsd: ___, model, ...identity } = options
  return { ...identity, ...(model && { model: identityOfModel(model) }) }
}

/** What a stage that asks requires. */
export function needsOfAsking({ model }: AskOptions): readonly Need[] {
  if (model) return [{ kind: 'model', model }]
  const provide = "set it in the options of the stage: model: { model: 'NAME', apiBase: 'http://HOST:PORT/v1' }"
  return [{ kind: 'missing', what: 'a model to ask', provide }]
}

/** The context of a stage that asks. */
export type AskingContext = StageContext & Pick<AskAt, 'spending'>

/** A stage's context with the model that its options name, if any, and with its spending. */
export async function withModel(at: StageContext, { model }: AskOptions, spending?: Spending): Promise<AskingContext> {
  const client = model && at.services ? await at.services.model(model) : at.model
  return { ...at, log: (line) => at.log(line), model: client, spending }
}

/** A map over rows of a source. */
export function mapRaw<T>(
  options: MapOptions,
  form: ReplyForm<T>,
  give: (asked: Asked<RawRow, T>) => readonly (RawRow | Dropped)[],
): MapStage<RawRow, RawRow> {
  return mapRows('raw', options, form, { fieldsOf: ({ fields }) => fields, give })
}

/** A map over tasks, which stores its answer as a signal. */
export function mapTasks<T>(
  options: MapOptions,
  form: ReplyForm<T>,
  give: (asked: Asked<TaskRow, T>) => readonly (TaskRow | Dropped)[],
): MapStage<TaskRow, TaskRow> {
  const fieldsOf = ({ id, name, source, instruction, signals }: TaskRow) => ({
    id,
    name,
    source,
    instruction,
    ...signals,
  })
  return mapRows('task', options, form, { fieldsOf, give })
}

/** A map over traces; `{{conversation}}` is the whole conversation. */
export function mapTraces<T>(
  options: MapOptions,
  form: ReplyForm<T>,
  give: (asked: Asked<RecipeTrace, T>) => readonly (RecipeTrace | Dropped)[],
): MapStage<RecipeTrace, RecipeTrace> {
  const fieldsOf = ({
    id,
    task,
    source,
    instruction,
    result,
    conversations,
    tool_calls: calls,
    signals,
  }: RecipeTrace) => {
    const called = (i: number) => calls.filter(({ message }) => message === i)
    const said = conversations.map(({ role, content }, i) =>
      [`[${role}]`, content, ...called(i).map(({ name, arguments: args }) => `${name} ${args}`)].join('\n'),
    )
    return { id, task, source, instruction, result, conversation: said.join('\n\n'), ...signals }
  }
  return mapRows('trace', options, form, { fieldsOf, give })
}

interface RowMapping<Row, T> {
  readonly fieldsOf: (row: Row) => Readonly<Record<string, unknown>>
  readonly give: (asked: Asked<Row, T>) => readonly (Row | Dropped)[]
}

function mapRows<Row extends { readonly id: string }, T>(
  kind: 'raw' | 'task' | 'trace',
  options: MapOptions,
  form: ReplyForm<T>,
  { fieldsOf, give }: RowMapping<Row, T>,
): MapStage<Row, Row> {
  const { prompt, into: _, model: __, ...asking } = options
  return {
    kind: 'map',
    takes: kind,
    gives: kind,
    expensive: true,
    identity: identityOf(options),
    needs: () => needsOfAsking(options),
    expect: (taken): Expectation => ({
      rows: taken,
      modelCalls: taken === null ? null : taken * options.repeats,
      assumes: ['every reply is of the right form at once'],
    }),
    async *run(rows, at) {
      const questions = { ...asking, form, prompt: (row: Row) => renderTemplate(prompt, fieldsOf(row)) }
      for await (const asked of askEach(rows, questions, await withModel(at, options))) {
        at.signal.throwIfAborted()
        if (isDropped(asked)) yield asked
        else yield* give(asked)
      }
    },
  }
}
