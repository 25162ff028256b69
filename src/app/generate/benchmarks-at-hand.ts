import type { TaskDraft } from '../../core/row.ts'
import { loadPacks, missingPacks } from '../../formats/benchmark/find-packs.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { programName } from '../../lib/program-name.ts'
import { Contamination } from '../../stages/shared/similarity/contamination.ts'
import { decontaminationOptions } from '../../stages/shared/similarity/decontaminate.ts'
import type { Notify } from '../job/tasks-request.ts'

/** The benchmarks that new tasks are compared with. */
export interface BenchmarksAtHand {
  /** A digest of their packs: different packs may give different tasks. */
  readonly digest: string
  /** The benchmark task whose words a draft contains, or null. */
  benchmarkOf(draft: TaskDraft): string | null
}

/**
 * Loads the available packs of the usual benchmarks, from ./benchmarks and from the package. Missing ones are reported
 * and not compared with: a first run must not fail over a benchmark that has to be fetched.
 */
export async function loadBenchmarksAtHand(notify: Notify, cwd = process.cwd()): Promise<BenchmarksAtHand> {
  const options = { ...decontaminationOptions.parse({}), cwd }
  const missing = (await missingPacks(options)).map(({ benchmark }) => benchmark)
  const { packs } = await loadPacks({ ...options, waive: missing })
  if (missing.length > 0)
    notify(
      `tasks are not compared with ${missing.join(', ')}, which have no pack here; ${programName()} benchmarks pack ${missing[0]} builds one`,
    )
  const once = [...new Map(packs.map((each) => [each.file, each.pack])).values()]
  const known = new Contamination(once, options)
  return {
    digest: digestJson(packs.map(({ asked, digest }) => [asked, digest])),
    benchmarkOf: ({ instruction }) => known.find(instruction),
  }
}
