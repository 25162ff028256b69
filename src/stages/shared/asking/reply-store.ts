import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BoundaryError } from '../../../core/errors.ts'
import type { ModelClient, ModelRequest } from '../../../core/model.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { readTextIfExists, writeAtomic } from '../../../lib/files.ts'
import { readJson } from '../../../lib/parse-json.ts'

const keptSchema = z.object({
  schema: z.literal('reply/1'),
  model: z.string(),
  text: z.string(),
  finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls']),
  tokens: z.number(),
  costUsd: z.number().nullable(),
  /** Absent in replies stored before this field existed. */
  reasoning: z.string().nullable().default(null),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })).default([]),
})

/** A reply as stored on disk. */
export type KeptReply = z.output<typeof keptSchema>

export interface Replied {
  readonly reply: KeptReply
  /** Whether an earlier call, of this run or another, paid for it. */
  readonly wasKept: boolean
}

/** Which model to ask, and where replies are stored. */
interface Place {
  readonly model: ModelClient
  readonly workDir: string
}

/** Identical questions that are asked at the same time share one call. */
const underWay = new Map<string, Promise<Replied | 'context-exceeded'>>()

/**
 * Asks a model, or returns its stored reply to the same request, model and repeat. A reply is on disk before it is
 * returned, so a run that is killed never pays for one twice. A spent budget is an infrastructure failure: nothing is
 * stored.
 */
export async function replyTo(
  request: ModelRequest,
  repeat: number,
  at: Place & { readonly signal: AbortSignal },
  admit: () => void = () => {},
): Promise<Replied | 'context-exceeded'> {
  const path = pathOf(request, repeat, at)
  const kept = parseKept(await readTextIfExists(path))
  if (kept) return { reply: kept, wasKept: true }
  const running = underWay.get(path)
  if (running) {
    const replied = await running
    return replied === 'context-exceeded' ? replied : { ...replied, wasKept: true }
  }
  admit()
  const asking = send(request, at, path).finally(() => underWay.delete(path))
  underWay.set(path, asking)
  return asking
}

/** Forgets the reply to a request: the next time, the model is asked again. */
export async function forgetReply(request: ModelRequest, repeat: number, at: Place): Promise<void> {
  await rm(pathOf(request, repeat, at), { force: true })
}

function pathOf(request: ModelRequest, repeat: number, { model, workDir }: Place): string {
  const key = digestJson({ model: model.model, request, repeat })
  return join(workDir, 'replies', key.slice(0, 2), `${key}.json`)
}

async function send(
  request: ModelRequest,
  { model, signal }: { readonly model: ModelClient; readonly signal: AbortSignal },
  path: string,
): Promise<Replied | 'context-exceeded'> {
  const outcome = await model.complete(request, { signal })
  if (outcome.kind === 'context-exceeded') return 'context-exceeded'
  if (outcome.kind === 'budget-exceeded')
    throw new BoundaryError('model', `the budget of ${outcome.budget} is spent`, {
      code: 'BudgetSpentError',
      retryable: false,
    })
  const { text, finish, usage, costUsd, reasoning, toolCalls } = outcome.reply
  const reply: KeptReply = {
    schema: 'reply/1',
    model: model.model,
    text,
    finish,
    tokens: usage.inputTokens + usage.outputTokens,
    costUsd,
    reasoning,
    toolCalls: toolCalls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
  }
  await writeAtomic(path, JSON.stringify(reply), 0o600)
  return { reply, wasKept: false }
}

/** An unreadable reply is requested again. */
function parseKept(text: string | null): KeptReply | null {
  if (text === null) return null
  try {
    return keptSchema.parse(readJson(text))
  } catch {
    return null
  }
}
