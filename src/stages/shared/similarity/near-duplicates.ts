import { z } from 'zod'
import type { RowJudge } from '../../../core/ordered-filter.ts'
import type { OrderedFilter } from '../../../core/stage.ts'
import { signatureSize, signInto } from '../../../lib/minhash.ts'
import { SimilarTexts } from '../../../lib/similar-texts.ts'
import { passingWordHashes } from '../../../lib/word-hashes.ts'
import { type ComparedRow, textOf } from './texts.ts'

/** Options of near-duplicate removal. */
export const nearOptions = z.strictObject({
  similarity: z
    .number()
    .min(0.5)
    .max(1)
    .default(0.8)
    .describe('Rows whose texts share at least this part of their runs of words are the same.'),
  words: z.int().min(1).max(20).default(5).describe('Words of a run.'),
})

/** Keeps the first of nearly identical rows, by MinHash. */
export function nearDuplicates(of: ComparedRow, options: z.output<typeof nearOptions>): OrderedFilter {
  return {
    kind: 'ordered-filter',
    takes: of,
    version: 3,
    looksAt: textOf[of],
    begin: (rows) => makeJudge(rows, options),
  }
}

function makeJudge(count: number, { similarity, words }: z.output<typeof nearOptions>): RowJudge {
  const texts = new SimilarTexts(count)
  const rows = new Float64Array(count)
  const signature = new Uint16Array(signatureSize)
  let kept = 0
  return {
    decide({ row, bytes }) {
      if (!signInto(signature, passingWordHashes(bytes), words)) return null
      const twin = texts.findOrAdd(signature, similarity)
      if (twin === null) {
        rows[kept++] = row
        return null
      }
      const share = Math.round(twin.similarity * 100)
      return { reason: 'near-duplicate', detail: `${share} % like `, twin: rows[twin.index] ?? 0 }
    },
  }
}
