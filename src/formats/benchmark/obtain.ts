import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type { BenchmarkSource } from '../../core/benchmark.ts'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { kindAt } from '../../lib/files.ts'
import { parseGlob } from '../../lib/path-glob.ts'
import { copyTree } from '../../lib/tree.ts'
import { findDatasetRows } from '../hub/dataset-rows.ts'
import { openSnapshot } from '../hub/download.ts'
import { chooseTaskFiles, downloadTasks } from '../hub/download-tasks.ts'
import { fetchFile } from '../hub/fetch-file.ts'
import { openRepository } from '../hub/open.ts'
import { parseTarget } from '../hub/target.ts'
import { openTaskRows } from '../task-parquet/read-rows.ts'
import { unpackTasks } from '../task-parquet/unpack-tasks.ts'
import { withGitTree } from './git-tree.ts'
import { fetchRegistryTasks } from './harbor-registry.ts'

/** What fetching needs from its caller. */
export interface ObtainAt {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

const limitBytes = 100e9

/**
 * Fetches a source's content, tasks or files of rows, into an empty folder. An unreachable place is a BoundaryError.
 */
export async function obtainSource(source: BenchmarkSource, into: string, at: ObtainAt): Promise<void> {
  if (source.kind === 'hub') return obtainHub(source, into, at)
  if (source.kind === 'harbor')
    return fetchRegistryTasks({ name: source.name, registry: source.registry, signal: at.signal }, into)
  if (source.kind === 'git') return obtainGit(source, into)
  await copyMatching(source.name, source.files, into)
}

/** Renders a source for messages and for a pack's header. */
export function renderSource(source: BenchmarkSource): string {
  const revision = 'revision' in source && source.revision !== undefined ? `@${source.revision}` : ''
  if (source.kind === 'hub') return `hf:${source.name}${revision}`
  if (source.kind === 'harbor') return `harbor:${source.name}`
  if (source.kind === 'git') return `git:${source.name}${revision}${source.path === undefined ? '' : `#${source.path}`}`
  return source.name
}

/** Parses `hf:org/name@revision`, `harbor:name@version`, `git:URL#path` or a path. */
export function parseSource(text: string, registry: string | undefined): BenchmarkSource {
  const [, kind, rest = ''] = /^(hf|harbor|git):(.+)$/s.exec(text) ?? []
  if (kind === 'harbor') return { kind: 'harbor', name: rest, registry }
  if (kind === 'git') {
    const [name = rest, path] = rest.split('#')
    return { kind: 'git', name, path }
  }
  if (kind !== 'hf') return { kind: 'path', name: text }
  const [, name = rest, revision] = /^([^@]+)(?:@(.+))?$/.exec(rest) ?? []
  return { kind: 'hub', name, revision }
}

async function obtainHub(source: Extract<BenchmarkSource, { kind: 'hub' }>, into: string, at: ObtainAt): Promise<void> {
  const { revision = null, config = null, split, files } = source
  const target = parseTarget(source.name, 'hf')
  const repository = openRepository(target, at)
  const asRows = source.text !== undefined || files !== undefined
  const snapshot = await openSnapshot(repository, revision)
  const hasTasks = snapshot.files.some(({ path }) => basename(path) === taskFileName)
  if (hasTasks && !asRows) {
    const tasks = chooseTaskFiles(
      { ...snapshot, files: snapshot.files.filter(({ path }) => !path.endsWith('.parquet')) },
      null,
    )
    await downloadTasks(tasks, into, { limitBytes, overwrite: true, signal: at.signal })
    return
  }
  for (const pattern of files ?? [null]) {
    const { commit, files: found } = await findSplit(target, { revision, config, pattern }, split, at)
    for (const file of found) {
      const to = join(into, file.path)
      await fetchFile({ repository, commit, file, to, signal: at.signal })
      if (!asRows && (await holdsTasks(to))) {
        await unpackTasks(to, into, { onExist: 'skip', signal: at.signal })
        await rm(to)
      }
    }
  }
}

async function holdsTasks(file: string): Promise<boolean> {
  if (!file.endsWith('.parquet')) return false
  try {
    await using _ = await openTaskRows(file)
    return true
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

/** Benchmarks are mostly in the split `test`, packed tasks in `train`. */
async function findSplit(
  target: ReturnType<typeof parseTarget>,
  choice: { revision: string | null; config: string | null; pattern: string | null },
  split: string | undefined,
  at: ObtainAt,
) {
  if (split !== undefined) return findDatasetRows(target, { ...choice, split }, at)
  try {
    return await findDatasetRows(target, { ...choice, split: 'test' }, at)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return findDatasetRows(target, { ...choice, split: 'train' }, at)
  }
}

async function obtainGit(source: Extract<BenchmarkSource, { kind: 'git' }>, into: string): Promise<void> {
  const { name: url, revision, path, files } = source
  await withGitTree({ url, revision, paths: path === undefined ? [] : [path] }, into, async (dir) => {
    const from = path === undefined ? dir : join(dir, path)
    if ((await kindAt(from)) !== 'dir')
      throw new UserError(`${url}: expected the folder ${path}, found none`, 'check path and revision')
    await copyMatching(from, files, into)
    await rm(join(into, '.git'), { recursive: true, force: true })
  })
}

async function copyMatching(from: string, patterns: readonly string[] | undefined, into: string): Promise<void> {
  if ((await kindAt(from)) === 'file') {
    await cp(from, join(into, basename(from)))
    return
  }
  if (patterns === undefined) {
    await copyTree(from, into)
    return
  }
  const tests = patterns.map(parseGlob)
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    const path = relative(from, join(entry.parentPath, entry.name))
    if (!entry.isFile() || !tests.some((test) => test.test(path))) continue
    await mkdir(dirname(join(into, path)), { recursive: true })
    await cp(join(from, path), join(into, path))
  }
}
