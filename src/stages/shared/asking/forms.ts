import { type ZodType, z } from 'zod'
import { canonicalJson } from '../../../lib/digest-json.ts'
import { readJson } from '../../../lib/parse-json.ts'

/** A reply of the wrong form; the message is sent to the model, which may then answer again. */
export class BadReply extends Error {
  override readonly name = 'BadReply'
}

/** The required form of a reply, and how to interpret it. */
export interface ReplyForm<T> {
  /** Given to the model below the prompt. */
  readonly rules: string | null
  /** For servers that can enforce a schema. */
  readonly jsonSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
  /** Throws BadReply. */
  read(text: string): T
  /** Combines several replies to the same prompt into one value, with their agreement from 0 to 1. */
  settle?(values: readonly T[]): { readonly value: T; readonly agreement: number }
}

/** The trimmed reply; an empty one is invalid. */
export const asText: ReplyForm<string> = {
  rules: null,
  read(text) {
    if (text.trim() === '') throw new BadReply('expected an answer, got nothing')
    return text.trim()
  },
}

/** JSON of a given schema. */
export function asJson<T>(schema: ZodType<T>, name = 'answer'): ReplyForm<T> {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { io: 'input' })
  return {
    rules: `Answer with one JSON document of this schema and nothing else:\n${JSON.stringify(shape)}`,
    jsonSchema: { name, schema: shape },
    read(text) {
      const parsed = schema.safeParse(findJson(text))
      if (parsed.success) return parsed.data
      const [issue] = parsed.error.issues
      throw new BadReply(`expected JSON of the schema, got at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`)
    },
  }
}

/** Yes or no: the last line, or the first word, that is one of the two. */
export const asYesNo: ReplyForm<boolean> = {
  rules: 'Think about it in a few sentences if that helps. Then write a last line that is only YES or only NO.',
  read(text) {
    const lines = text
      .trim()
      .split('\n')
      .map((line) => line.replace(/[^A-Za-z]/g, '').toLowerCase())
    const said = lines.findLast((line) => line === 'yes' || line === 'no') ?? /^\W*(yes|no)\b/i.exec(text)?.[1]
    if (said === undefined) throw new BadReply('expected a last line that is YES or NO, found none')
    return said.toLowerCase() === 'yes'
  },
}

/** A list of non-empty texts. */
export function asList(atMost: number): ReplyForm<readonly string[]> {
  const form = asJson(z.strictObject({ items: z.array(z.string().trim().min(1)).min(1).max(atMost) }), 'list')
  const { rules, jsonSchema } = form
  return { rules, ...(jsonSchema && { jsonSchema }), read: (text) => form.read(text).items }
}

/** A number within bounds; the median of several replies is used. */
export function asNumber(min: number, max: number): ReplyForm<number> {
  const score = z.number().min(min).max(max)
  const form = asJson(z.strictObject({ reason: z.string(), score }), 'score')
  // With this limit enforced by the server, a model that repeats itself cannot keep it busy.
  const { rules, jsonSchema } = asJson(z.strictObject({ reason: z.string().max(4000), score }), 'score')
  return {
    rules,
    ...(jsonSchema && { jsonSchema }),
    read: (text) => form.read(text).score,
    settle(values) {
      const sorted = [...values].sort((a, b) => a - b)
      const at = (index: number) => sorted[index] ?? Number.NaN
      const half = Math.floor(sorted.length / 2)
      const value = sorted.length % 2 === 1 ? at(half) : (at(half - 1) + at(half)) / 2
      const near = values.filter((each) => Math.abs(each - value) <= (max - min) / 10)
      return { value, agreement: near.length / values.length }
    },
  }
}

/** The most frequent value; among equally frequent ones, the first. */
export function commonest<T>(values: readonly T[]): { readonly value: T; readonly agreement: number } {
  const counts = new Map<string, { value: T; count: number }>()
  for (const value of values) {
    const key = canonicalJson(value)
    const seen = counts.get(key)
    if (seen) seen.count++
    else counts.set(key, { value, count: 1 })
  }
  const [first, ...others] = counts.values()
  if (!first) throw new Error('no values to settle')
  const best = others.reduce((winner, each) => (each.count > winner.count ? each : winner), first)
  return { value: best.value, agreement: best.count / values.length }
}

/** The JSON in a reply: the whole reply, the content of a fence, or from the first to the last brace. */
function findJson(text: string): unknown {
  const fenced = /```(?:json)?[ \t]*\n([\s\S]*)\n```/.exec(text)?.[1]
  const braced = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)
  for (const part of [text, fenced, braced]) {
    if (part === undefined) continue
    try {
      return readJson(part)
    } catch {
      // Another part may hold it.
    }
  }
  throw new BadReply('expected one JSON document, found none')
}
