import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { defaultStateDir, identitySchema, isRunningHere, ourselves } from '../../lib/process-identity.ts'

const fileSchema = z.object({
  schema: z.literal('view/1'),
  process: identitySchema,
  origin: z.string().regex(/^http:\/\/[\w.:[\]-]+$/),
  token: z.string().nullable(),
  runKey: z.string().nullable().default(null),
})

/** The address of a running viewer. */
export interface RunningView {
  readonly origin: string
  readonly token: string | null
  /** The key its page needs to start runs; null if it is read-only. */
  readonly runKey: string | null
}

/**
 * The note by which a second `view` of the same paths finds the first. Only its owner can read it, because it may hold
 * a token or key.
 */
export function viewNote(
  paths: readonly string[],
  { host, allowRuns = false }: { readonly host: string; readonly allowRuns?: boolean | undefined },
  stateDir = defaultStateDir(),
): string {
  // A viewer that may start runs must not be found by a command that did not ask for that.
  const kind = allowRuns ? [host, 'runs'] : [host]
  const key = JSON.stringify([...kind, ...paths.map((path) => resolve(path)).sort()])
  return join(stateDir, 'views', `${createHash('sha256').update(key).digest('hex').slice(0, 24)}.json`)
}

/** The viewer a note describes, if it still runs and answers. */
export async function findRunningView(note: string): Promise<RunningView | null> {
  const parsed = fileSchema.safeParse(parseJson((await readTextIfExists(note)) ?? ''))
  if (!parsed.success || !isRunningHere(parsed.data.process)) return null
  const { origin, token, runKey } = parsed.data
  try {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(`${origin}/api/health`, { headers, signal: AbortSignal.timeout(2000) })
    const body: unknown = await answer.json()
    return Object(body).server === 'ot-agent view' ? { origin, token, runKey } : null
  } catch {
    return null
  }
}

/** Writes a note and returns a function that removes it. */
export async function announceView(note: string, { origin, token, runKey }: RunningView): Promise<() => Promise<void>> {
  const file: z.output<typeof fileSchema> = { schema: 'view/1', process: ourselves(), origin, token, runKey }
  await writeAtomic(note, `${JSON.stringify(file)}\n`, 0o600)
  return () => rm(note, { force: true })
}
