import { z } from 'zod'
import { type PluginContext, pathFrom } from '../../../core/plugin.ts'
import type { Need, OrderedFilter, StageContext } from '../../../core/stage.ts'
import { isPackPath, type LoadedPack, loadPacks, missingPacks } from '../../../formats/benchmark/find-packs.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { Contamination } from './contamination.ts'
import { type ComparedRow, textOf } from './texts.ts'

/** The benchmarks used for agents: the seven usually reported, an earlier one, and the two used to choose recipes. */
const usualBenchmarks = [
  'swe-bench-verified',
  'terminal-bench-2',
  'terminal-bench-core',
  'aider-polyglot',
  'bfcl',
  'medagentbench',
  'gaia',
  'financeagent',
  'swe-bench-verified-100',
  'openthoughts-tblite',
]

/** Options of decontamination. */
export const decontaminationOptions = z.strictObject({
  packs: z
    .string()
    .optional()
    .describe(
      'A folder of packs, NAME.pack, or of texts, NAME.jsonl; looked in before ./benchmarks and what comes with the package.',
    ),
  benchmarks: z.array(z.string().min(1)).default(usualBenchmarks).describe('Names of benchmarks, or paths of packs.'),
  waive: z.array(z.string()).default([]).describe('Benchmarks whose pack may be missing.'),
  words: z
    .int()
    .min(4)
    .max(50)
    .default(8)
    .describe('A row that shares this many words in a row with a benchmark task is dropped.'),
  similarity: z
    .number()
    .min(0.3)
    .max(1)
    .default(0.8)
    .describe('So is one that shares this part of its short runs of words with one.'),
})

type Options = z.output<typeof decontaminationOptions>

/** Drops every row that contains a benchmark's words; its result lists dropped rows, each with what it matched. */
export function decontaminate(of: ComparedRow, written: Options, context: PluginContext): OrderedFilter {
  const options = located(written, context)
  return {
    kind: 'ordered-filter',
    takes: of,
    version: 5,
    needs: () => needsOf(options),
    fingerprint: async (at) => {
      const { packs, waived } = await loadPacks(await rehearsed(options, at))
      return digestJson([packs.map(({ asked, digest }) => [asked, digest]), waived])
    },
    looksAt: textOf[of],
    begin: async (_, at) => {
      const { packs, waived } = await loadPacks(await rehearsed(options, at))
      const once = [...new Map(packs.map((each) => [each.file, each.pack])).values()]
      const known = new Contamination(once, options)
      const hits: { id: string; why: string }[] = []
      return {
        decide(row) {
          const why = known.find(row.bytes)
          if (why === null) return null
          hits.push({ id: row.id, why })
          return { reason: 'contaminated', detail: why }
        },
        async end() {
          await at.saveResult?.(reportOf(options, packs, waived, hits))
          const tasks = once.reduce((sum, pack) => sum + pack.tasks.length, 0)
          at.log(`${hits.length} rows hold words of ${tasks} benchmark tasks`)
        },
      }
    },
  }
}

/** Paths start from where they were written. */
function located(options: Options, context: PluginContext): Options {
  const { packs, benchmarks } = options
  return {
    ...options,
    ...(packs !== undefined && { packs: pathFrom(context, packs) }),
    benchmarks: benchmarks.map((name) => (isPackPath(name) ? pathFrom(context, name) : name)),
  }
}

async function needsOf(options: Options): Promise<readonly Need[]> {
  return (await missingPacks(options)).map(({ benchmark, command, why }) => ({
    kind: 'missing',
    what: `the decontamination pack of ${benchmark}${why === undefined ? '' : ` (${why})`}`,
    provide: `${command}, or skip this benchmark explicitly with waive: ['${benchmark}']`,
  }))
}

/** A rehearsal compares with the packs that exist. */
async function rehearsed(options: Options, { rehearsal }: StageContext): Promise<Options> {
  if (!rehearsal) return options
  const missing = (await missingPacks(options)).map(({ benchmark }) => benchmark)
  if (missing.length > 0) rehearsal.notExercised(`benchmarks whose packs are missing: ${missing.join(', ')}`)
  return { ...options, waive: [...options.waive, ...missing] }
}

function reportOf(
  { words, similarity }: Options,
  packs: readonly LoadedPack[],
  waived: readonly string[],
  hits: readonly { id: string; why: string }[],
) {
  return {
    schema: 'decontamination/1',
    words,
    similarity,
    benchmarks: packs.map(({ asked, benchmark, pack }) => ({
      name: asked,
      tasks: pack.tasks.length,
      ...(benchmark === asked ? {} : { pack: benchmark }),
    })),
    waived,
    dropped: hits.length,
    rows: hits.slice(0, 1000),
  }
}
