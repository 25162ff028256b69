import { UserError } from '../../../core/errors.ts'
import type { ChatMessage, ModelClient, ModelRequest } from '../../../core/model.ts'
import type { TaskLineage } from '../../../core/row.ts'
import type { Dropped } from '../../../core/stage.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { asText, BadReply, commonest, type ReplyForm } from './forms.ts'
import { forgetReply, replyTo } from './reply-store.ts'
import { Spending } from './spending.ts'

/** What asking needs: the context of a stage, or what a pipeline's `make` receives. */
export interface AskAt {
  readonly model?: ModelClient | null | undefined
  /** Replies are kept here. */
  readonly workDir: string
  readonly signal: AbortSignal
  /** Tracks spending and its limits; by default calls are not counted. */
  readonly spending?: Spending | undefined
}

export interface Question<T = string> {
  readonly prompt: string
  readonly system?: string | undefined
  /** The form the answer must have (default: any text). */
  readonly form?: ReplyForm<T>
  readonly temperature?: number | undefined
  readonly maxOutputTokens?: number | undefined
  /** How many replies to the same prompt are settled into one value (default 1). */
  readonly repeats?: number | undefined
  /** The answer is dropped when a smaller share of the repeats agrees. */
  readonly minAgreement?: number | undefined
  /** How many times in all a reply of the wrong form is requested (default 3). */
  readonly tries?: number | undefined
  /**
   * Whether replies that gave no answer are forgotten, so that asking again may give another (default: they are kept).
   */
  readonly forgetFailure?: boolean | undefined
  /** The row it is about, for the drop reason. */
  readonly id?: string
}

export interface Answer<T> {
  readonly value: T
  /** One for every repeat, in order. */
  readonly values: readonly T[]
  /** Share of the repeats that gave this value. */
  readonly agreement: number
  /** SHA-256 of the question, hex. */
  readonly promptDigest: string
  readonly model: string
  /** What the replies cost when they were made; null when no price is known. */
  readonly costUsd: number | null
}

/**
 * Asks a model one question. A reply of the wrong form is requested again with an explanation; if that does not help,
 * the answer is a dropped row. A server that is down or a spent budget throws BoundaryError.
 */
export async function ask<T = string>(question: Question<T>, at: AskAt): Promise<Answer<T> | Dropped> {
  const model = modelOf(at)
  const form = question.form ?? (asText as unknown as ReplyForm<T>)
  const messages = openingOf(question, form)
  const promptDigest = digestJson({ messages, shape: form.jsonSchema ?? null })
  const values: T[] = []
  const costs: (number | null)[] = []
  for (let repeat = 0; repeat < (question.repeats ?? 1); repeat++) {
    const sent: ModelRequest[] = []
    const said = await askOnce(question, form, { opening: messages, repeat }, { ...at, model, sent })
    if ('drop' in said && question.forgetFailure)
      for (const request of sent) await forgetReply(request, repeat, { ...at, model })
    if ('drop' in said) return { ...said, ...(question.id !== undefined && { id: question.id }) }
    values.push(said.value)
    costs.push(said.costUsd)
  }
  const { value, agreement } = (form.settle ?? commonest)(values)
  if (agreement < (question.minAgreement ?? 0))
    return {
      drop: 'no-agreement',
      detail: `${Math.round(agreement * 100)} % of ${values.length} replies agree`,
      ...(question.id !== undefined && { id: question.id }),
    }
  const known = costs.filter((cost) => cost !== null)
  const costUsd = known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0)
  return { value, values, agreement, promptDigest, model: model.model, costUsd }
}

/** The lineage entry for the model that helped to make a task. */
export function lineageOf(...answers: readonly Answer<unknown>[]): Pick<TaskLineage, 'promptDigest' | 'model'> {
  const [first, ...others] = answers
  if (!first) return {}
  const promptDigest =
    others.length === 0 ? first.promptDigest : digestJson(answers.map((answer) => answer.promptDigest))
  return { promptDigest, model: first.model }
}

/** The model, for a run that requires one. */
export function modelOf({ model }: { readonly model?: ModelClient | null | undefined }): ModelClient {
  if (model) return model
  throw new UserError(
    'expected a model to ask, got none',
    'pass -m on the command line, or set `model` in the stage of a recipe',
  )
}

interface Round {
  readonly opening: readonly ChatMessage[]
  readonly repeat: number
}

async function askOnce<T>(
  question: Question<T>,
  form: ReplyForm<T>,
  { opening, repeat }: Round,
  at: AskAt & { readonly model: ModelClient; readonly sent: ModelRequest[] },
): Promise<{ readonly value: T; readonly costUsd: number | null } | Dropped> {
  const { tries = 3 } = question
  const { spending = new Spending() } = at
  let messages = opening
  let complaint = ''
  let last = ''
  let costUsd: number | null = null
  for (let nth = 1; nth <= tries; nth++) {
    at.signal.throwIfAborted()
    const request = requestOf(question, form, messages)
    at.sent.push(request)
    const replied = await booked(request, repeat, at, spending)
    if (replied === 'context-exceeded')
      return { drop: 'context-exceeded', detail: 'the prompt is too long for the model' }
    const { text, finish, costUsd: cost } = replied
    costUsd = cost === null ? costUsd : (costUsd ?? 0) + cost
    if (finish === 'length')
      return { drop: 'reply-cut', detail: `the reply was ${cutOff(text, request)}${endOf(text)}` }
    if (finish === 'content-filter')
      return { drop: 'reply-filtered', detail: 'the content filter of the server withheld the reply' }
    try {
      return { value: form.read(text), costUsd }
    } catch (error) {
      if (!(error instanceof BadReply)) throw error
      complaint = error.message
      last = text
      messages = [...messages, { role: 'assistant', content: text }, { role: 'user', content: again(complaint) }]
    }
  }
  return { drop: 'bad-reply', detail: `${complaint}${beginningOf(last, tries)}` }
}

const shownChars = 120

/** The beginning of the reply, for the drop reason: it shows what the model does wrong without opening each reply. */
function beginningOf(text: string, tries: number): string {
  const said = text.replace(/\s+/g, ' ').trim()
  return said === '' ? '' : `; reply ${tries} of ${tries} begins ${JSON.stringify(said.slice(0, shownChars))}`
}

/** Where a reply was cut off, and by which limit. */
export function cutOff(text: string, { maxOutputTokens }: ModelRequest): string {
  const limit =
    maxOutputTokens === undefined
      ? 'at the limit of request_params or of the server'
      : `at maxOutputTokens, ${maxOutputTokens}`
  return `cut off after ${text.length} characters, ${limit}`
}

/** A model that repeats itself shows it at the end. */
function endOf(text: string): string {
  const said = text.replace(/\s+/g, ' ').trim()
  return said === '' ? '' : `; it ends ${JSON.stringify(said.slice(-shownChars))}`
}

/** A model's reply, new or stored, with its cost counted. */
export async function booked(
  request: ModelRequest,
  repeat: number,
  at: AskAt & { readonly model: ModelClient },
  spending: Spending,
) {
  let admitted = false
  try {
    const replied = await replyTo(request, repeat, at, () => {
      spending.admit()
      admitted = true
    })
    if (replied === 'context-exceeded') return replied
    spending.add(replied)
    return replied.reply
  } finally {
    if (admitted) spending.settle()
  }
}

function requestOf<T>(question: Question<T>, form: ReplyForm<T>, messages: readonly ChatMessage[]): ModelRequest {
  const { temperature, maxOutputTokens } = question
  return {
    messages,
    ...(form.jsonSchema && { jsonSchema: form.jsonSchema }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  }
}

function openingOf<T>({ prompt, system }: Question<T>, { rules }: ReplyForm<T>): ChatMessage[] {
  const told: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: system }]
  return [...told, { role: 'user', content: rules === null ? prompt : `${prompt.trimEnd()}\n\n${rules}` }]
}

function again(complaint: string): string {
  return `That reply cannot be used: ${complaint}. Answer again, in full.`
}
