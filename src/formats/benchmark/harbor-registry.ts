import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import { makeHttpClient } from '../../lib/http-client.ts'
import { nearest } from '../../lib/nearest.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { copyTree } from '../../lib/tree.ts'
import { whyUnsafe } from '../../lib/tree-writer.ts'
import { withGitTree } from './git-tree.ts'

/** Where Harbor publishes the tasks of its datasets. */
const publicRegistry = 'https://raw.githubusercontent.com/laude-institute/harbor/main/registry.json'

const taskSchema = z.object({
  name: z.string().optional(),
  git_url: z.string().nullish(),
  git_commit_id: z.string().nullish(),
  path: z.string().min(1),
})
const registrySchema = z.array(
  z.object({ name: z.string(), version: z.string(), tasks: z.array(taskSchema).default([]) }),
)
type Dataset = z.output<typeof registrySchema>[number]

/** A dataset in a Harbor registry, NAME or NAME@VERSION. */
export interface RegistryAsk {
  readonly name: string
  /** A file or URL; absent: the public one. */
  readonly registry?: string | undefined
  readonly signal: AbortSignal
}

/** Copies the tasks of a Harbor registry's dataset into a folder, each under its name. */
export async function fetchRegistryTasks(ask: RegistryAsk, into: string): Promise<void> {
  const registry = ask.registry ?? publicRegistry
  const dataset = chooseDataset(await readRegistry(registry, ask.signal), ask.name, registry)
  const tasks = dataset.tasks.map((task) => ({ ...task, as: nameOf(task, registry) }))
  if (tasks.length === 0)
    throw new UserError(`${registry}: ${dataset.name}@${dataset.version} has no tasks`, 'choose another version')
  for (const group of byCommit(tasks)) {
    ask.signal.throwIfAborted()
    const { git_url: url, git_commit_id: commit } = group[0] ?? {}
    const copyFrom = async (dir: string) => {
      for (const { path, as } of group) await copyTask(join(dir, path), join(into, as))
    }
    if (url)
      await withGitTree({ url, revision: commit ?? undefined, paths: group.map(({ path }) => path) }, into, copyFrom)
    else await copyFrom(dirname(resolve(registry)))
  }
}

/** Groups tasks by repository and commit, so that they are fetched together. */
function byCommit<T extends z.output<typeof taskSchema>>(tasks: readonly T[]): Iterable<readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const task of tasks) {
    const key = JSON.stringify([task.git_url ?? '', task.git_commit_id ?? ''])
    groups.set(key, [...(groups.get(key) ?? []), task])
  }
  return groups.values()
}

async function copyTask(from: string, to: string): Promise<void> {
  try {
    await copyTree(from, to)
  } catch (error) {
    if (isMissing(error))
      throw new UserError(`${from}: the registry lists a task that does not exist`, 'choose another version')
    throw error
  }
}

async function readRegistry(registry: string, signal: AbortSignal): Promise<readonly Dataset[]> {
  const text = /^https?:\/\//.test(registry) ? await download(registry, signal) : await readLocal(registry)
  const parsed = registrySchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new UserError(
    `${registry}: expected a Harbor registry, found another file`,
    'a registry is a JSON list of datasets',
  )
}

async function readLocal(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${path}: expected a Harbor registry, found nothing there`, 'check --registry')
  }
}

async function download(url: string, signal: AbortSignal): Promise<string> {
  const call = { method: 'GET', url, headers: {}, timeoutMs: 60_000, limitBytes: 64 << 20, signal } as const
  const answer = await makeHttpClient(process.env)
    .send(call)
    .catch((cause: unknown) => {
      signal.throwIfAborted()
      throw new BoundaryError('store', `${url}: the registry could not be reached: ${messageOf(cause)}`, { cause })
    })
  if (answer.status === 200) return answer.body.toString('utf8')
  throw new BoundaryError('store', `${url}: the registry answered with status ${answer.status}`)
}

function chooseDataset(all: readonly Dataset[], asked: string, registry: string): Dataset {
  const [, name = asked, version] = /^(.+?)(?:@(.+))?$/.exec(asked) ?? []
  const versions = all.filter((each) => each.name === name)
  const found = version === undefined ? newest(versions) : versions.find((each) => each.version === version)
  if (found) return found
  const near = nearest(
    name,
    all.map((each) => each.name),
  )
  const known = versions.map((each) => each.version).join(', ')
  throw new UserError(
    `${registry}: expected the dataset ${asked}, found none`,
    known ? `its versions: ${known}` : near === null ? 'check the name after harbor:' : `did you mean ${near}?`,
  )
}

/** Chooses like Harbor: `head`, else the highest number, else the last by name. */
function newest(versions: readonly Dataset[]): Dataset | undefined {
  const rank = ({ version }: Dataset) => (version === 'head' ? 2 : /^\d+(\.\d+)*$/.test(version) ? 1 : 0)
  return [...versions]
    .sort((a, b) => rank(a) - rank(b) || a.version.localeCompare(b.version, 'en', { numeric: rank(a) === 1 }))
    .at(-1)
}

/** The folder name for a task; names and paths in a registry are hostile. */
function nameOf({ name, path }: z.output<typeof taskSchema>, registry: string): string {
  const as = name ?? path.split('/').filter(Boolean).at(-1) ?? ''
  const why = whyUnsafe(path) ?? (as.includes('/') ? 'it is not the name of a single folder' : whyUnsafe(as))
  if (why === null && as !== '' && as !== '.') return as
  throw new UserError(
    `${registry}: task ${JSON.stringify(as.slice(0, 100))} at ${JSON.stringify(path.slice(0, 200))} is refused: ${why ?? 'it has no name'}`,
    'expected plain relative paths in a registry',
  )
}
