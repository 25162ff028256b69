import { type ZodType, z } from 'zod'
import { canonicalJson } from '../../../lib/digest-json.ts'
import { readJson } from '../../../lib/parse-json.ts'

/** A reply that is not what was asked for; the message is told to the model, which may then answer again. */
export class BadReply extends Error {
  override readonly name = 'BadReply'
}

/** What a reply has to look like, and what it means. */
export interface ReplyForm<T> {
  /** Told to the model below the prompt. */
  readonly rules: string | null
  /** For servers that can be held to a shape. */
  readonly jsonSchema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
  /** Throws BadReply. */
  read(text: string): T
  /** One value for several replies to the same prompt, and how far they agree, from 0 to 1. */
  settle?(values: readonly T[]): { readonly value: T; readonly agreement: number }
}

/** The reply as it is, without blanks around it; an empty one is none. */
export const asText: ReplyForm<string> = {
  rules: null,
  read(text) {
    if (text.trim() === '') throw new BadReply('expected an answer, got nothing')
    return text.trim()
  },
}

/** JSON of a shape. */
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

/** A list of texts, none of them empty. */
export function asList(atMost: number): ReplyForm<readonly string[]> {
  const form = asJson(z.strictObject({ items: z.array(z.string().trim().min(1)).min(1).max(atMost) }), 'list')
  const { rules, jsonSchema } = form
  return { rules, ...(jsonSchema && { jsonSchema }), read: (text) => form.read(text).items }
}

/** A number within bounds; of several replies the middle one counts. */
export function asNumber(min: number, max: number): ReplyForm<number> {
  const score = z.number().min(min).max(max)
  const form = asJson(z.strictObject({ reason: z.string(), score }), 'score')
  // A server that holds a model to the limit cannot be kept busy by one that repeats itself.
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

/** The value that most replies have; of equally many the one that came first. */
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

/** The JSON of a reply: the whole of it, what a fence holds, or from its first to its last brace. */
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
