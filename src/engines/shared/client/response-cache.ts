import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { WireReply } from '../../../formats/model-dialect.ts'
import { writeAtomic } from '../../../lib/files.ts'
import { readJson } from '../../../lib/parse-json.ts'

/** Replies kept on disk, keyed by the request. Equal requests get the same reply, so it is unsuitable for sampling. */
export interface ResponseCache {
  load(key: string): Promise<WireReply | null>
  /** A reply that cannot be stored is not worth failing for. */
  save(key: string, reply: WireReply): Promise<void>
}

/**
 * The key of a request, made from everything that shapes its reply, but never from an API key, an address or the
 * transport.
 */
export function cacheKey(dialect: string, model: string, body: Readonly<Record<string, unknown>>): string {
  const { stream: _, stream_options: __, session_id: ___, ...asked } = body
  return createHash('sha256')
    .update(JSON.stringify([dialect, model, asked]))
    .digest('hex')
}

export function makeResponseCache(dir: string, ttlSec: number | null, now: () => number = Date.now): ResponseCache {
  const pathOf = (key: string) => join(dir, key.slice(0, 2), `${key}.json`)
  return {
    async load(key) {
      const kept = keptSchema.safeParse(await readFileJson(pathOf(key)))
      if (!kept.success) return null
      return ttlSec !== null && now() - Date.parse(kept.data.at) > ttlSec * 1000 ? null : kept.data.reply
    },
    async save(key, reply) {
      const document = { schema: 'response/1', at: new Date(now()).toISOString(), reply }
      await writeAtomic(pathOf(key), JSON.stringify(document), 0o600).catch(() => {})
    },
  }
}

const idList = z.array(z.number()).nullable()

const replySchema = z.object({
  text: z.string(),
  reasoning: z.string().nullable(),
  reasoningBlocks: z.array(z.record(z.string(), z.unknown())).exactOptional(),
  toolCalls: z.array(
    z.object({ id: z.string(), name: z.string(), arguments: z.string(), signature: z.string().exactOptional() }),
  ),
  finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls']),
  tokens: z.object({ promptIds: idList, completionIds: idList, logprobs: idList }).nullable(),
  usage: z
    .object({
      inputTokens: z.number(),
      cacheTokens: z.number(),
      outputTokens: z.number(),
      cacheWriteTokens: z.number().exactOptional(),
      estimated: z.boolean().exactOptional(),
    })
    .nullable(),
})

const keptSchema = z.object({ schema: z.literal('response/1'), at: z.iso.datetime(), reply: replySchema })

async function readFileJson(path: string): Promise<unknown> {
  try {
    return readJson(await readFile(path, 'utf8'))
  } catch {
    // Missing or unreadable: the model is asked again.
    return null
  }
}
