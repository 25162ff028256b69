import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { exists } from '../../lib/files.ts'
import { readJsonLines } from '../../lib/jsonl.ts'

const lineSchema = z.object({ id: z.string(), instruction: z.string().min(1) })

/** One task of a benchmark, which no training row may hold. */
export interface BenchmarkTask {
  readonly benchmark: string
  readonly id: string
  readonly instruction: string
}

/** Benchmarks that training sets of agents are measured by: the seven that are reported, and the two that recipes are chosen by. */
export const knownBenchmarks = [
  'swe-bench-verified',
  'terminal-bench-2',
  'aider-polyglot',
  'bfcl',
  'medagentbench',
  'gaia',
  'financeagent',
  'swe-bench-verified-100',
  'openthoughts-tblite',
] as const

/** Reads the instruction packs of benchmarks, DIR/NAME.jsonl with `id` and `instruction` each line. A missing one is an error unless it is waived by name. */
export async function loadPacks(
  dir: string,
  benchmarks: readonly string[],
  waived: readonly string[],
): Promise<readonly BenchmarkTask[]> {
  const tasks: BenchmarkTask[] = []
  for (const benchmark of benchmarks) {
    const file = join(dir, `${benchmark}.jsonl`)
    if (await exists(file)) tasks.push(...(await readPack(file, benchmark)))
    else if (!waived.includes(benchmark))
      throw new UserError(
        `decontamination: no instructions of ${benchmark} at ${file}`,
        `put them there, or name it in \`waive\` and answer for it: waive: ['${benchmark}']`,
      )
  }
  return tasks
}

async function readPack(file: string, benchmark: string): Promise<BenchmarkTask[]> {
  const tasks: BenchmarkTask[] = []
  for await (const line of readJsonLines(file)) {
    const parsed = lineSchema.safeParse(line)
    if (!parsed.success)
      throw new UserError(
        `${file}: line ${tasks.length + 1} is no benchmark task`,
        'each line is JSON with the texts `id` and `instruction`',
      )
    tasks.push({ benchmark, ...parsed.data })
  }
  return tasks
}
