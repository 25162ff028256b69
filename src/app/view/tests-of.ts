import { z } from 'zod'
import type { ViewFile, ViewTest } from '../../core/view.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readSmall } from './trial-dir-files.ts'

const ctrf = z.object({
  results: z.object({
    tests: z.array(
      z.object({
        name: z.string(),
        status: z.string(),
        message: z.string().nullish(),
        trace: z.string().nullish(),
        duration: z.number().nullish(),
      }),
    ),
  }),
})
const mostTests = 2000

/** The tests in all CTRF reports of a trial. */
export async function testsOf(dir: string, files: readonly ViewFile[]): Promise<ViewTest[]> {
  const reports = files.filter(({ path }) => /(^|\/)verifier\/ctrf\.json$/.test(path)).slice(0, 20)
  const tests: ViewTest[] = []
  for (const { path } of reports) {
    const parsed = ctrf.safeParse(parseJson((await readSmall(dir, path, 8 << 20)) ?? ''))
    for (const { name, status, message, trace, duration } of parsed.data?.results.tests ?? []) {
      if (tests.length >= mostTests) return tests
      const said = (message ?? trace ?? '').slice(0, 4000)
      // CTRF times are in milliseconds.
      const seconds = duration === null || duration === undefined ? null : duration / 1000
      tests.push({ name: name.slice(0, 500), status, message: said || null, seconds })
    }
  }
  return tests
}
