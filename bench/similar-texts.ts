import { signatureSize } from '../src/lib/minhash.ts'
import { SimilarTexts } from '../src/lib/similar-texts.ts'
import type { Row } from './lib/rows.ts'

const sizes = (process.env.SIMILAR_TEXTS ?? '100000,1000000').split(',').map(Number)
/** The share that texts have in common without being similar: none, or as much as a long prompt. */
const parts = [0, 0.6]
const most = 1.2

/** Finding near-duplicates among signatures of unrelated texts, and of texts that share more than half. */
export default {
  name: 'similar-texts',
  run: async (): Promise<Row[]> =>
    parts.flatMap((shared) => {
      const perText = sizes.map((count) => microseconds(count, shared))
      const about = `texts with ${shared * 100} % in common`
      const rows = sizes.map((count, i) => ({
        ...{ name: `${count} ${about}: CPU of finding those like each`, value: perText[i] ?? Number.NaN, unit: 'µs' },
      }))
      const value = (perText.at(-1) ?? Number.NaN) / (perText[0] ?? Number.NaN)
      const growth = { name: `${about}: CPU per text at ${sizes.at(-1)}, times that at ${sizes[0]}`, value, unit: 'x' }
      return [...rows, { ...growth, goal: `at most ${most}`, ok: value <= most }]
    }),
}

/** CPU time per text, not counting the computation of signatures. */
function microseconds(count: number, shared: number): number {
  const next = numbers(7)
  const prompt = Uint16Array.from({ length: signatureSize }, next)
  const texts = new SimilarTexts(count)
  const batch = Array.from({ length: 1000 }, () => new Uint16Array(signatureSize))
  let total = 0
  for (let done = 0; done < count; done += batch.length) {
    for (const signature of batch)
      for (let place = 0; place < signatureSize; place++)
        signature[place] = (next() & 0xffff) < shared * 65_536 ? (prompt[place] ?? 0) : next()
    const before = process.cpuUsage()
    for (const signature of batch) texts.findOrAdd(signature, 0.8)
    const { user, system } = process.cpuUsage(before)
    total += user + system
  }
  process.stderr.write(`  ${count} texts, ${shared} in common: ${(total / 1e6).toFixed(1)} s\n`)
  return total / count
}

/** A fast source of pseudo-random numbers. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}
