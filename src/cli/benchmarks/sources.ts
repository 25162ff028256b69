import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchmarkSource } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { obtainSource, renderSource } from '../../formats/benchmark/obtain.ts'
import type { BenchmarkText } from '../../formats/benchmark/pack.ts'
import { readBenchmarkTexts } from '../../formats/benchmark/read-texts.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'

/** The texts at a place; what has to be fetched for that goes again. */
export async function textsAt(place: BenchmarkSource, signal: AbortSignal): Promise<readonly BenchmarkText[]> {
  const choice = place.kind === 'harbor' ? {} : place
  if (place.kind === 'path') return readBenchmarkTexts(place.name, choice)
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-benchmark-'))
  const dir = join(scratch, 'tasks')
  try {
    await mkdir(dir)
    await obtainSource(place, dir, { env: process.env, signal })
    return await readBenchmarkTexts(dir, choice).catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      throw new UserError(error.message.replaceAll(dir, renderSource(place)), error.hint)
    })
  } finally {
    await removeDraft(scratch)
  }
}
