import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { exists, kindAt, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { isUrl } from '../../registry/open.ts'
import { type RegistryPlace, registryAddress } from '../registry/open.ts'
import { isAblation } from './ablations.ts'
import { Board } from './board.ts'

/** What the viewer is to show. */
export interface ViewSources {
  /** Jobs, directories of jobs, and trials. */
  readonly jobs: readonly string[]
  /** Null without a registry and ablations. */
  readonly board: Board | null
}

/**
 * Sorts paths by content: registry files, ablation reports and jobs. Without any path, shows the jobs in `jobs`. The
 * default registry is used if it exists.
 */
export async function sortPaths(paths: readonly string[], place: RegistryPlace): Promise<ViewSources> {
  const jobs: string[] = []
  const ablations: string[] = []
  const registries: string[] = []
  for (const path of paths) {
    const kind = await kindOf(path)
    if (kind === 'registry') registries.push(path)
    else if (kind === 'jobs') jobs.push(path)
    else ablations.push(kind.ablation)
  }
  const given = place.registry ?? place.registryEnv
  if (registries.length + (given === undefined ? 0 : 1) > 1)
    throw new UserError('expected one registry, got several', 'pass one; registry export and import merge them')
  const [file] = registries
  const registry = file !== undefined ? { registry: file } : await placeOf(place)
  const board = registry === null && ablations.length === 0 ? null : new Board(registry, ablations)
  const isAlone = paths.length > 0 || (given !== undefined && !(await exists('jobs')))
  return { jobs: isAlone ? jobs : ['jobs'], board }
}

/** A registry given explicitly must exist; the default one may be missing. */
async function placeOf(place: RegistryPlace): Promise<RegistryPlace | null> {
  const address = registryAddress(place)
  if (isUrl(address) || (await exists(address))) return place
  if (place.registry === undefined && place.registryEnv === undefined) return null
  throw new UserError(`${address}: expected a registry, found nothing there`, 'ot-agent registry ingest creates one')
}

async function kindOf(path: string): Promise<'registry' | 'jobs' | { ablation: string }> {
  const kind = await kindAt(path)
  if (kind === 'file' && (await isDatabase(path))) return 'registry'
  const report = kind === 'file' ? path : join(path, 'report.json')
  const small = (await kindAt(report)) === 'file' && report.endsWith('.json')
  if (small && isAblation(parseJson((await readTextIfExists(report)) ?? ''))) return { ablation: report }
  return 'jobs'
}

async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(16), 0, 16, 0)
    return buffer.toString('latin1') === 'SQLite format 3\0'
  } finally {
    await file.close()
  }
}
