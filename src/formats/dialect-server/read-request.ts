import { z } from 'zod'
import { readJson, replyLimits } from '../../lib/parse-json.ts'
import type { ParsedCall, ServedCall } from './server-dialect.ts'

/** Thrown only inside parsers: the request asks for something unsupported. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly param?: string,
  ) {
    super(message)
  }
}

/** Runs a request parser and turns refusals into values. */
export function parsedBy(work: () => ServedCall): ParsedCall {
  try {
    return { kind: 'call', call: work() }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { message, param } = error
    return { kind: 'refused', fault: { kind: 'invalid-request', message, ...(param !== undefined && { param }) } }
  }
}

/** Validates a document against a schema, or refuses it naming the place. */
export function read<T>(schema: z.ZodType<T>, document: unknown): T {
  const parsed = schema.safeParse(document)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const param = issue?.path.join('.') || 'the body'
  throw new Refused(`${param}: ${issue?.message ?? 'not valid'}`, param)
}

const part = z.looseObject({ type: z.string() })
const content = z.union([z.string(), z.array(z.union([z.string(), part]))]).nullish()
export const contentSchema = content
export type Content = z.output<typeof content>

const textTypes = ['text', 'input_text', 'output_text', 'refusal', 'summary_text', 'reasoning_text']

/**
 * The text of a content that may have parts, one per line. Non-text parts are refused, because a reply could not take
 * them into account.
 */
export function textOf(value: Content, where: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  return value.map((item) => (typeof item === 'string' ? item : partText(item, where))).join('\n')
}

function partText(item: z.output<typeof part>, where: string): string {
  const words = item.text ?? item.refusal
  if (textTypes.includes(item.type) && typeof words === 'string') return words
  throw new Refused(`${where}: expected text, got a part of type ${item.type}; only text is understood here`, where)
}

/** The text of a JSON object, however the caller wrote it. */
export function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? {})
}

/** The object in a JSON text; anything else becomes `{text}`, because some APIs only accept an object. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = readJson(text, replyLimits)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Not JSON: pass it on unchanged.
  }
  return { text }
}

/** One stop word, a list of them, or none. */
export const stopSchema = z.union([z.string().transform((word) => [word]), z.array(z.string())]).nullish()

export const count = z.number().int().positive().nullish()
export const number = z.number().nullish()
export const mapping = z.record(z.string(), z.unknown())

/** Drops null and undefined entries, for types that require absent keys to be absent. */
export function given<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }
}
