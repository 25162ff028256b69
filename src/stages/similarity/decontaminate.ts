import { z } from 'zod'
import type { WholeFilter } from '../../core/stage.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { SimilarTexts, signatureOf, signatureSize } from '../../lib/minhash.ts'
import { runHashes, wordHashes } from '../../lib/word-hashes.ts'
import { type BenchmarkTask, knownBenchmarks, loadPacks } from './packs.ts'
import { type Judged, judgeTexts } from './texts.ts'

/** Options of decontamination. */
export const decontaminationOptions = z.strictObject({
  /** Where the instructions of benchmarks are, one NAME.jsonl each. */
  packs: z.string().default('benchmarks'),
  benchmarks: z.array(z.string()).default([...knownBenchmarks]),
  /** Benchmarks whose pack may be missing. */
  waive: z.array(z.string()).default([]),
  /** A row that has so many words in a row in common with a benchmark task is out. */
  words: z.int().min(4).max(50).default(8),
  /** So is one that shares this part of its short runs of words with one. */
  similarity: z.number().min(0.3).max(1).default(0.8),
})

type Options = z.output<typeof decontaminationOptions>

/** Drops every row that holds words of a benchmark; its result says which benchmark lost whom. */
export function decontaminate(of: Judged, options: Options): WholeFilter {
  return {
    takes: of,
    version: 4,
    fingerprint: async () => digestJson(await loadPacks(options.packs, options.benchmarks, options.waive)),
    findDrops: async (input, at) => {
      const packs = await loadPacks(options.packs, options.benchmarks, options.waive)
      const known = new Contamination(packs, options)
      const hits: { id: string; why: string }[] = []
      const table = await judgeTexts(at.sql, input, of, ({ id, text }) => {
        const why = known.find(text)
        if (why === null) return null
        hits.push({ id, why })
        return { reason: 'contaminated', detail: why }
      })
      await at.saveResult?.(reportOf(options, packs, hits))
      at.log(`${hits.length} rows hold words of ${packs.length} benchmark tasks`)
      return table
    },
  }
}

/** Words of the runs that similarity is measured by. */
const shortRun = 3

/** What the texts of benchmarks look like. */
class Contamination {
  private readonly runs = new KnownRuns()
  private readonly shortRuns = new KnownRuns()
  private readonly similar: SimilarTexts
  /** A text with more short runs that no benchmark has cannot be as similar to one as it has to be. */
  private readonly mostForeign: number
  constructor(
    private readonly tasks: readonly BenchmarkTask[],
    private readonly options: Options,
  ) {
    this.similar = new SimilarTexts(tasks.length)
    let longest = 0
    for (const [index, { instruction }] of tasks.entries()) {
      // Fewer words than a run are everyone's words: such a task is only told by its whole text.
      const words = wordHashes(instruction)
      if (words.length >= options.words) this.runs.add(runHashes(words, options.words), index)
      const shortRuns = runHashes(words, shortRun)
      this.shortRuns.add(shortRuns, index)
      longest = Math.max(longest, shortRuns.length)
      this.similar.add(signatureOf(words, shortRun) ?? new Uint16Array(signatureSize))
    }
    // At a similarity of s both have at most 1/s of its runs in all, and of those 1 - s are not shared.
    this.mostForeign = (longest * (1 - options.similarity)) / options.similarity
  }

  /** Which benchmark task a text shares words with; null when none. */
  find(text: Uint8Array): string | null {
    const { words: length, similarity } = this.options
    const words = wordHashes(text)
    const hit = words.length < length ? null : this.runs.find(runHashes(words, length))
    if (hit !== null) return `${length} words in a row of ${this.nameOf(hit)}`
    // The beginning of a text tells nearly always.
    const beginning = words.subarray(0, 2 * this.mostForeign + 32)
    if (this.shortRuns.foreign(runHashes(beginning, shortRun), this.mostForeign) > this.mostForeign) return null
    const signature = signatureOf(words, shortRun)
    const twin = signature && this.similar.find(signature, similarity)
    return twin ? `${Math.round(twin.similarity * 100)} % like ${this.nameOf(twin.index)}` : null
  }

  private nameOf(index: number): string {
    const task = this.tasks[index]
    return `${task?.benchmark} ${task?.id}`
  }
}

/** Which task has a run of words. Most runs are nobody's, which one bit tells without a look into the table. */
class KnownRuns {
  private readonly bits = new Uint32Array(2 ** 17)
  private readonly tasks = new Map<number, number>()

  add(runs: Uint32Array, task: number): void {
    for (const run of runs) {
      this.tasks.set(run, task)
      const word = run >>> 15
      this.bits[word] = (this.bits[word] ?? 0) | (1 << (run & 31))
    }
  }

  /** How many different runs are nobody's; stops counting above `most`. */
  foreign(runs: Uint32Array, most: number): number {
    const found: number[] = []
    for (let i = 0; i < runs.length && found.length <= most; i++) {
      const run = runs[i] ?? 0
      if (!(this.mayHave(run) && this.tasks.has(run)) && !found.includes(run)) found.push(run)
    }
    return found.length
  }

  /** The task of the first run that is known; null when none is. */
  find(runs: Uint32Array): number | null {
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] ?? 0
      const task = this.mayHave(run) ? this.tasks.get(run) : undefined
      if (task !== undefined) return task
    }
    return null
  }

  private mayHave(run: number): boolean {
    return ((this.bits[run >>> 15] ?? 0) & (1 << (run & 31))) !== 0
  }
}

function reportOf(options: Options, packs: readonly BenchmarkTask[], hits: readonly { id: string; why: string }[]) {
  const tasksOf = (benchmark: string) => packs.filter((task) => task.benchmark === benchmark).length
  const present = [...new Set(packs.map(({ benchmark }) => benchmark))]
  return {
    schema: 'decontamination/1',
    words: options.words,
    similarity: options.similarity,
    benchmarks: present.map((name) => ({ name, tasks: tasksOf(name) })),
    waived: options.benchmarks.filter((name) => !present.includes(name)),
    dropped: hits.length,
    rows: hits.slice(0, 1000),
  }
}
