import { z } from 'zod'
import type { WholeInput, WholeStage } from '../../core/stage.ts'
import { SimilarTexts, signatureOf } from '../../lib/minhash.ts'
import { wordHashes } from '../../lib/word-hashes.ts'
import { type Judged, type RowText, readTexts, saveVerdicts, type Verdict } from './texts.ts'

/** Options of near-duplicate removal. */
export const nearOptions = z.strictObject({
  /** Rows whose texts share at least this part of their runs of words are the same. */
  similarity: z.number().min(0.5).max(1).default(0.8),
  /** Words of a run. */
  words: z.int().min(1).max(20).default(5),
})

/** Keeps the first of rows that say nearly the same, by MinHash. */
export function nearDuplicates(of: Judged, options: z.output<typeof nearOptions>): WholeStage {
  return {
    takes: of,
    filter: true,
    version: 2,
    choose: async ([input], { sql }) => {
      if (!input) throw new Error('a whole-set stage has an input')
      return saveVerdicts(sql, judge(readTexts(sql, input, of), input, options))
    },
  }
}

async function* judge(
  rows: AsyncIterable<RowText>,
  { rows: count }: WholeInput,
  { similarity, words }: z.output<typeof nearOptions>,
): AsyncIterable<Verdict> {
  const texts = new SimilarTexts(count)
  const kept: string[] = []
  for await (const { row, id, text } of rows) {
    const signature = signatureOf(wordHashes(text), words)
    const twin = signature && texts.find(signature, similarity)
    if (twin) {
      const share = Math.round(twin.similarity * 100)
      yield { row, reason: 'near-duplicate', detail: `${share} % like ${kept[twin.index]}` }
      continue
    }
    if (signature) {
      texts.add(signature)
      kept.push(id)
    }
    yield { row, reason: null }
  }
}
