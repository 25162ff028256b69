import { join } from 'node:path'
import { z } from 'zod'
import type { DatasetRepository } from '../../formats/hub/repository.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'

const schema = z.object({
  schema: z.literal('sent-traces/1'),
  uploads: z.array(
    z.object({
      repository: z.string(),
      /** Those that gave rows. */
      trials: z.array(z.string()),
      /** What each of them scored at the time. */
      rewards: z.array(z.number().nullable()).optional(),
      /** SHA-256 of its data files. */
      files: z.array(z.string()),
    }),
  ),
})

/** What one upload of a job's traces contains. */
export type SentTraces = z.output<typeof schema>['uploads'][number]

/**
 * The uploads of a job that a dataset has. They are noted before they are sent, so after a crash the dataset tells which
 * ones arrived.
 */
export async function arrivedTraces(jobDir: string, repository: DatasetRepository): Promise<SentTraces[]> {
  const noted = (await loadNoted(jobDir)).filter((upload) => upload.repository === repository.name)
  const head = noted.length === 0 ? null : await repository.head(null)
  if (head === null) return []
  const there = new Set((await repository.list(head)).map(({ sha256 }) => sha256))
  return noted.filter(({ files }) => files.every((sha256) => there.has(sha256)))
}

/** Notes an upload that is about to be sent. */
export async function noteTraces(jobDir: string, upload: SentTraces): Promise<void> {
  const document = { schema: 'sent-traces/1', uploads: [...(await loadNoted(jobDir)), upload] }
  await writeAtomic(pathIn(jobDir), `${JSON.stringify(document, null, 2)}\n`)
}

async function loadNoted(jobDir: string): Promise<SentTraces[]> {
  const parsed = schema.safeParse(parseJson((await readTextIfExists(pathIn(jobDir))) ?? ''))
  return parsed.success ? parsed.data.uploads : []
}

function pathIn(jobDir: string): string {
  return join(jobDir, 'sent-traces.json')
}
