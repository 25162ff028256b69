import { join } from 'node:path'
import { z } from 'zod'
import { writeAtomic } from '../../../lib/files.ts'
import { type JsonLines, openJsonLines, readJsonLines } from '../../../lib/jsonl.ts'

/** The verdict on a mutant. All but `kept` are reasons why it was discarded. */
const verdicts = ['kept', 'breaks-nothing', 'breaks-everything', 'never-ends', 'flaky', 'does-not-parse'] as const

const entrySchema = z.object({
  /** Digest of the repository, its tests and the change. */
  key: z.string(),
  mutator: z.string(),
  verdict: z.enum(verdicts),
  failToPass: z.array(z.string()),
  /** The output of the failing tests. */
  symptoms: z.array(z.string()),
})
export type MutantRecord = z.output<typeof entrySchema>

/** Every mutant ever measured here, so that none is measured twice and yields can be counted. */
export class Journal {
  private constructor(
    private readonly dir: string,
    private readonly lines: JsonLines,
    private readonly known: Map<string, MutantRecord>,
  ) {}

  static async open(dir: string): Promise<Journal> {
    const path = join(dir, 'mutants.jsonl')
    const known = await readRecords(path)
    return new Journal(dir, await openJsonLines(path), known)
  }

  find(key: string): MutantRecord | undefined {
    return this.known.get(key)
  }

  async add(record: MutantRecord): Promise<void> {
    this.known.set(record.key, record)
    this.lines.append(record)
    await this.lines.flush()
  }

  /** Rewrites yields.json from everything that rows have written so far, including rows running in parallel. */
  async saveYields(): Promise<void> {
    const mutators = countYields((await readRecords(join(this.dir, 'mutants.jsonl'))).values())
    await writeAtomic(
      join(this.dir, 'yields.json'),
      `${JSON.stringify({ schema: 'bug-yields/1', mutators }, null, 2)}\n`,
    )
  }

  async close(): Promise<void> {
    await this.lines.close()
  }
}

async function readRecords(path: string): Promise<Map<string, MutantRecord>> {
  const records = new Map<string, MutantRecord>()
  for await (const line of readJsonLines(path)) {
    const parsed = entrySchema.safeParse(line)
    if (parsed.success) records.set(parsed.data.key, parsed.data)
  }
  return records
}

/** How many mutants of a mutator were tried, and their verdicts. */
export interface Yield {
  readonly tried: number
  readonly verdicts: Readonly<Partial<Record<MutantRecord['verdict'], number>>>
}

/** By mutator, sorted by name. */
export function countYields(records: Iterable<MutantRecord>): Record<string, Yield> {
  const counts = new Map<string, Map<MutantRecord['verdict'], number>>()
  for (const { mutator, verdict } of records) {
    const own = counts.get(mutator) ?? new Map<MutantRecord['verdict'], number>()
    own.set(verdict, (own.get(verdict) ?? 0) + 1)
    counts.set(mutator, own)
  }
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    sorted.map(([mutator, own]) => {
      const tried = [...own.values()].reduce((sum, count) => sum + count, 0)
      return [mutator, { tried, verdicts: Object.fromEntries(own) }]
    }),
  )
}
