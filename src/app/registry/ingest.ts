import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { kindAt, namesIn } from '../../lib/files.ts'
import type { Database } from '../../registry/database.ts'
import { listJobs, loadJobDir } from '../../store/job-dir.ts'
import { Running } from '../running.ts'
import { type DatasetIngestion, ingestDatasets } from './ingest-dataset.ts'
import { type IngestedJob, ingestJob, sourceIdOf } from './ingest-job.ts'
import { ingestModel } from './ingest-model.ts'
import { type RegistryPlace, withRegistry } from './open.ts'

/** What to add to the registry. */
export interface IngestRequest extends RegistryPlace {
  /** Jobs, directories of jobs, trace datasets, recipe runs, or summaries of training runs (run_summary.json). */
  readonly from: readonly string[]
  /** The benchmark the jobs ran, as NAME or NAME@VERSION; default: as recorded in their trials. */
  readonly benchmark?: string | undefined
  /** The model the jobs used; default: as recorded in their trials. */
  readonly model?: string | undefined
  /** A dataset's name; default: that of its recipe or directory. */
  readonly name?: string | undefined
  /** The dataset's purpose, location and commit (default: SFT, at its path). */
  readonly dataset?: Pick<DatasetIngestion, 'type' | 'location' | 'commit'> | undefined
  /** Where the jobs' traces can be read: a Hub dataset org/name, or a URL. */
  readonly traces?: string | undefined
  /** Where the models' weights are: org/name on the Hub, a path or a URL; default: as in their summaries. */
  readonly weights?: string | undefined
  /** Whether readers without their own account may see it. */
  readonly isPublic?: boolean | undefined
}

/** Something that was registered. */
export type Ingested =
  | ({ readonly kind: 'job' } & IngestedJob)
  | { readonly kind: 'dataset'; readonly path: string; readonly name: string }
  | ({ readonly kind: 'model'; readonly path: string; readonly name: string } & ModelPlaces)

/** Where a model and its training record are; null if its summary does not say. */
interface ModelPlaces {
  readonly weightsLocation: string | null
  readonly wandbLink: string | null
}

export interface IngestResult {
  readonly schema: 'registry-ingest/1'
  readonly ingested: readonly Ingested[]
  /** Jobs in a directory that could not be read. */
  readonly broken: readonly { readonly path: string; readonly why: string }[]
}

export interface IngestProgress {
  readonly path: string
  readonly trials: number
}

/**
 * Registers jobs, datasets and models. Existing entries are kept, so an interrupted ingestion can simply be repeated.
 */
export function ingest(
  request: IngestRequest,
  control: { readonly signal?: AbortSignal | undefined } = {},
): Running<IngestProgress, IngestResult> {
  return new Running(async (emit) => {
    const tracesLink = request.traces === undefined ? undefined : linkOf(request.traces)
    if (request.weights !== undefined) refuseLogin('--weights', request.weights)
    const found: Found[] = []
    for (const path of request.from) found.push(await lookAt(path))
    return withRegistry(request, async (database) => {
      const ingested: Ingested[] = []
      const broken: { path: string; why: string }[] = []
      for (const { path, kind } of found) {
        control.signal?.throwIfAborted()
        if (kind === 'jobs') {
          const { jobs, broken: unreadable } = await listJobs(path)
          broken.push(...unreadable.map(({ name, why }) => ({ path: join(path, name), why })))
          for (const job of jobs)
            if (sourceIdOf(job) === null) broken.push({ path: job.dir, why: 'it has not begun' })
            else ingested.push(await one(database, 'job', job.dir))
        } else if (kind === 'dataset') {
          const ask = { ...request.dataset, name: request.name, isPublic: request.isPublic ?? false }
          ingested.push(...(await ingestDatasets(database, path, ask)))
        } else ingested.push(await one(database, kind, path))
      }
      return { schema: 'registry-ingest/1', ingested, broken }
    })

    async function one(database: Database, kind: 'job' | 'model', path: string): Promise<Ingested> {
      const isPublic = request.isPublic ?? false
      if (kind === 'model') return ingestModel(database, path, { weights: request.weights, isPublic })
      const { benchmark, model } = request
      const onTrials = (trials: number) => emit({ path, trials })
      const job = await loadJobDir(path)
      return {
        kind,
        ...(await ingestJob(database, job, {
          benchmark,
          model,
          isPublic,
          tracesLink,
          onTrials,
          signal: control.signal,
        })),
      }
    }
  })
}

/** The URL of a dataset. A bare name is that of a Hub repository. */
function linkOf(traces: string): string {
  if (/^https?:\/\/[^\s/]+\/\S*$/.test(traces) && URL.canParse(traces)) {
    refuseLogin('--traces', traces)
    return traces
  }
  const part = /^(?!.*(?:--|\.\.))[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?$/
  const [org = '', name = '', ...more] = traces.split('/')
  if (more.length === 0 && part.test(org) && part.test(name)) return `https://huggingface.co/datasets/${org}/${name}`
  throw new UserError(
    `--traces ${JSON.stringify(traces)}: expected a dataset such as org/name, or an address`,
    'names of repositories have letters, digits, dots, dashes and underscores',
  )
}

/** Everyone who reads the registry would see it. A token may stand where a user's name does. */
function refuseLogin(flag: string, address: string): void {
  const url = URL.canParse(address) ? new URL(address) : null
  const isToken = url !== null && /^https?:$/.test(url.protocol) && url.username !== ''
  if (url === null || (url.password === '' && !isToken)) return
  throw new UserError(
    `${flag}: expected an address without a user or password, got one with it`,
    'leave out what is before the @',
  )
}

interface Found {
  readonly path: string
  readonly kind: 'job' | 'jobs' | 'dataset' | 'model'
}

/** Determines what is at a path from its files. */
async function lookAt(path: string): Promise<Found> {
  const at = await kindAt(path)
  if (at === 'file' && path.endsWith('.parquet')) return { path, kind: 'dataset' }
  if (at === 'file' && path.endsWith('.json')) return { path, kind: 'model' }
  const names = at === 'dir' ? await namesIn(path) : []
  if (names.includes('run_summary.json')) return { path: join(path, 'run_summary.json'), kind: 'model' }
  if (names.includes('config.json')) return { path, kind: 'job' }
  if (names.includes('manifest.json') || names.some((name) => name.endsWith('.parquet')))
    return { path, kind: 'dataset' }
  if (at === 'dir' && (await holdsJobs(path, names))) return { path, kind: 'jobs' }
  if (at === 'dir' && (await kindAt(join(path, 'data'))) === 'dir') return { path, kind: 'dataset' }
  throw new UserError(
    `${path}: expected a job, a directory of jobs, a dataset of traces, a run of a recipe or a run_summary.json, got ${what(at)}`,
    'pass a directory that run, traces export or recipe run wrote, or the summary of a training run',
  )
}

async function holdsJobs(path: string, names: readonly string[]): Promise<boolean> {
  for (const name of names) if ((await kindAt(join(path, name, 'config.json'))) === 'file') return true
  return false
}

function what(at: Awaited<ReturnType<typeof kindAt>>): string {
  return { none: 'nothing there', file: 'another file', dir: 'a directory without any of them', other: 'no file' }[at]
}
