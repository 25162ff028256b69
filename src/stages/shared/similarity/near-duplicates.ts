import { z } from 'zod'
import type { WholeFilter } from '../../../core/stage.ts'
import { SimilarTexts, signatureOf } from '../../../lib/minhash.ts'
import { wordHashes } from '../../../lib/word-hashes.ts'
import { type ComparedRow, dropByText, type RowText, type TextDrop } from './texts.ts'

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

/** Keeps the first of rows that say nearly the same, by MinHash. */
export function nearDuplicates(of: ComparedRow, options: z.output<typeof nearOptions>): WholeFilter {
  return {
    kind: 'set-filter',
    takes: of,
    version: 3,
    findDrops: (input, { sql }) => dropByText(sql, input, of, makeJudge(input.rows, options)),
  }
}

function makeJudge(count: number, { similarity, words }: z.output<typeof nearOptions>) {
  const texts = new SimilarTexts(count)
  const kept: string[] = []
  return ({ id, text }: RowText): TextDrop | null => {
    const signature = signatureOf(wordHashes(text), words)
    const twin = signature && texts.find(signature, similarity)
    if (twin) {
      const share = Math.round(twin.similarity * 100)
      return { reason: 'near-duplicate', detail: `${share} % like ${kept[twin.index]}` }
    }
    if (signature) {
      texts.add(signature)
      kept.push(id)
    }
    return null
  }
}
