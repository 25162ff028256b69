import { z } from 'zod'
import { BoundaryError } from '../../../core/errors.ts'
import type { Need, StageContext } from '../../../core/stage.ts'
import { cosine, hashedVector, meanVector } from './vectors.ts'

/** Where embeddings come from: an OpenAI-compatible endpoint, or hashed words if there is none. */
export const embeddingOptions = z.strictObject({
  apiBase: z.url(),
  model: z.string(),
  apiKeyEnv: z.string().default('OPENAI_API_KEY').describe('The variable that holds the key.'),
})
type EmbeddingOptions = z.output<typeof embeddingOptions>

/** The endpoint required for embeddings. Its key may be omitted: many servers need none. */
export function needsOfEmbeddings(options: EmbeddingOptions | undefined): readonly Need[] {
  if (options === undefined) return []
  const { apiBase, model, apiKeyEnv } = options
  const key = process.env[apiKeyEnv] ? { apiKeyEnv } : {}
  return [{ kind: 'model', model: { model, engine: 'openai-compatible', apiBase, ...key } }]
}

/** A mean of examples, in a form private to its embedder. */
export type Mean = Float64Array

export interface Embedder {
  mean(texts: readonly string[]): Promise<Mean>
  /** How much closer a text is to one mean than to the other. */
  score(text: string, near: Mean, far: Mean | null): Promise<number>
}

/** The embedder that the options ask for. */
export function embedderOf(options: EmbeddingOptions | undefined, at: StageContext): Embedder {
  if (options === undefined || at.rehearsal) {
    if (options) at.rehearsal?.substituted(`hashed words for embeddings of ${options.model}`)
    return hashedWords
  }
  return endpoint(options, at)
}

const hashedWords: Embedder = {
  mean: async (texts) => meanVector(texts.map(hashedVector)),
  score: async (text, near, far) => {
    const vector = hashedVector(text)
    return cosine(vector, near) - (far ? cosine(vector, far) : 0)
  },
}

function endpoint(options: EmbeddingOptions, { signal }: StageContext): Embedder {
  const embed = (texts: readonly string[]) => askEndpoint(options, texts, signal)
  return {
    mean: async (texts) => {
      const vectors = await embed(texts)
      const sum = new Float64Array(vectors[0]?.length ?? 0)
      for (const vector of vectors) for (const [i, value] of unit(vector).entries()) sum[i] = (sum[i] ?? 0) + value
      return unit(sum)
    },
    score: async (text, near, far) => {
      const [vector = new Float64Array()] = await embed([text])
      const own = unit(vector)
      return dot(own, near) - (far ? dot(own, far) : 0)
    },
  }
}

const replySchema = z.object({ data: z.array(z.object({ embedding: z.array(z.number()) })) })

async function askEndpoint(
  { apiBase, model, apiKeyEnv }: EmbeddingOptions,
  input: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float64Array[]> {
  const key = process.env[apiKeyEnv]
  const response = await fetch(`${apiBase.replace(/\/$/, '')}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify({ model, input }),
    signal,
  }).catch((cause: unknown) => {
    signal.throwIfAborted()
    throw new BoundaryError('model', `no embeddings from ${apiBase}: the server cannot be reached`, { cause })
  })
  if (!response.ok) throw new BoundaryError('model', `no embeddings from ${apiBase}: status ${response.status}`)
  const parsed = replySchema.safeParse(await response.json().catch(() => null))
  if (!parsed.success || parsed.data.data.length !== input.length)
    throw new BoundaryError('model', `no embeddings from ${apiBase}: the reply is not in the usual format`)
  return parsed.data.data.map(({ embedding }) => Float64Array.from(embedding))
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector))
  return length > 0 ? vector.map((value) => value / length) : vector
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
}
