import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { BoundaryError, messageOf, UserError } from '../../../core/errors.ts'
import type { DraftFile } from '../../../core/row.ts'
import { makeScratchDir, removeDraft } from '../../../lib/drafts.ts'
import { isMissing, kindAt } from '../../../lib/files.ts'
import { execProcess } from '../../../lib/spawn-process.ts'
import { ArchiveError, extractInto } from '../../../lib/tar.ts'
import { walkTree } from '../../../lib/tree.ts'

/** The files of a repository at one point in time, without its history. */
export type RepositoryFiles = Readonly<Record<string, DraftFile>>

/** Where a repository comes from: a folder, a source archive, a git repository, or a package of the npm registry. */
export type RepositorySpec =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'archive'; readonly path: string }
  | { readonly kind: 'git'; readonly url: string; readonly ref: string }
  /** A local clone, which may be incomplete: only the commit's files are read. */
  | { readonly kind: 'clone'; readonly path: string; readonly ref: string }
  | { readonly kind: 'npm'; readonly spec: string }

/** Anything larger is not a repository to copy into a task. */
const limits = { files: 5000, bytes: 64 * 1024 * 1024 }

/**
 * Parses `./folder`, `./archive.tar.gz`, `git+URL#REF` (or a URL that ends in .git) and `npm:NAME@VERSION`. Relative
 * paths start from `root`.
 */
export function parseRepositorySpec(text: string, root: string): RepositorySpec {
  const npm = /^npm:((?:@[\w.-]+\/)?[\w][\w.-]*(?:@[\w.^~-]+)?)$/.exec(text)
  if (npm) return { kind: 'npm', spec: npm[1] ?? '' }
  const git = /^(?:git\+)?((?:https|ssh|file):\/\/[^#\s]+|git@[^#\s]+)(?:#([\w./-]+))?$/.exec(text)
  if (git && (text.startsWith('git') || git[1]?.endsWith('.git')))
    return { kind: 'git', url: git[1] ?? '', ref: git[2]?.replace(/^-+/, '') || 'HEAD' }
  if (/^\w[\w+]*:/.test(text))
    throw new UserError(
      `repository: expected a folder, a .tar.gz, git+URL#REF or npm:NAME@VERSION, got ${JSON.stringify(text.slice(0, 200))}`,
      'for example git+https://example.org/a.git#v1.2',
    )
  const path = isAbsolute(text) ? text : resolve(root, text)
  return { kind: isArchive(text) ? 'archive' : 'folder', path }
}

/** Whether a name is that of an archive that can be read as a repository, such as a source distribution. */
function isArchive(name: string): boolean {
  return /\.(?:tar\.gz|tgz|tar)$/.test(name)
}

/**
 * Reads a repository without running any of it. Links, history and files too large to copy are left out or refused;
 * files that a clone lacks are reported to `log`.
 */
export async function openRepository(
  spec: RepositorySpec,
  workDir: string,
  signal: AbortSignal,
  log: (line: string) => void = () => {},
): Promise<RepositoryFiles> {
  if (spec.kind === 'folder') return readFolder(spec.path)
  await mkdir(workDir, { recursive: true })
  const dir = await makeScratchDir(join(workDir, 'repository-'))
  try {
    const archive = await fetchArchive(spec, dir, signal, log)
    const files = join(dir, 'files')
    await mkdir(files)
    await extractInto(createReadStream(archive), files, {
      ...{ onRefused: 'drop', limitBytes: limits.bytes, limitEntries: limits.files * 2, signal },
    })
    // npm packages and source distributions have a single folder that contains everything.
    const [only, ...more] = spec.kind === 'git' || spec.kind === 'clone' ? [] : await readdir(files)
    return await readFolder(only !== undefined && more.length === 0 ? join(files, only) : files)
  } catch (error) {
    if (!(error instanceof ArchiveError) || spec.kind !== 'archive') throw error
    throw new UserError(`${spec.path}: expected a tar archive, ${error.message}`, 'fetch it again, or remove it')
  } finally {
    await removeDraft(dir)
  }
}

async function fetchArchive(
  spec: Exclude<RepositorySpec, { kind: 'folder' }>,
  dir: string,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<string> {
  if (spec.kind === 'git') return fetchGit(spec, dir, signal)
  if (spec.kind === 'npm') return fetchNpm(spec.spec, dir, signal)
  if (spec.kind === 'clone') {
    const archive = join(dir, 'archive.tar')
    const safe = ['-c', `safe.directory=${spec.path}`, '-C', spec.path]
    const pack = (...paths: string[]) =>
      program(
        'git',
        [...safe, 'archive', '--format=tar', '-o', archive, '--end-of-options', spec.ref, ...paths],
        signal,
      )
    await pack().catch(async (error) => {
      const absent = await absentFiles(safe, spec.ref, signal)
      if (absent.length === 0) throw error
      log(
        `${spec.path} at ${spec.ref}: skipped files that the clone does not have (${absent.length}), such as ${absent[0]}`,
      )
      await pack('.', ...absent.map((path) => `:(exclude,literal)${path}`))
    })
    return archive
  }
  if ((await kindAt(spec.path)) === 'file') return spec.path
  throw new UserError(`${spec.path}: expected an archive of a repository, found none`, 'check the path')
}

/** Files of a commit whose content the clone lacks, as in a clone made without large files. */
async function absentFiles(safe: readonly string[], ref: string, signal: AbortSignal): Promise<string[]> {
  const git = (...args: string[]) => program('git', [...safe, ...args], signal)
  const objects = await git('rev-list', '--objects', '--no-walk', '--missing=print', '--end-of-options', ref)
  const absent = new Set([...objects.matchAll(/^\?([0-9a-f]+)/gm)].map(([, id]) => id))
  if (absent.size === 0) return []
  const files = (await git('ls-tree', '-r', '-z', '--full-tree', '--end-of-options', ref)).split('\0')
  return files.flatMap((line) => {
    const [, id, path] = /^\d+ blob ([0-9a-f]+)\t(.+)$/s.exec(line) ?? []
    return path !== undefined && absent.has(id) ? [path] : []
  })
}

async function fetchGit(
  { url, ref }: { readonly url: string; readonly ref: string },
  dir: string,
  signal: AbortSignal,
): Promise<string> {
  const clone = join(dir, 'clone')
  const archive = join(dir, 'archive.tar')
  const safe = ['-c', 'core.hooksPath=/dev/null', '-c', 'protocol.ext.allow=never', '-C', clone]
  const git = (...args: string[]) => program('git', [...safe, ...args], signal)
  await mkdir(clone)
  await git('init', '--quiet')
  await git('fetch', '--quiet', '--depth', '1', '--', url, ref).catch(async () => {
    // Not every server serves a commit that is not a tip; finding it then takes the history.
    await git('fetch', '--quiet', '--tags', '--', url, '+refs/*:refs/other/*')
    await git('update-ref', 'FETCH_HEAD', ref)
  })
  await git('archive', '--format=tar', '-o', archive, 'FETCH_HEAD')
  return archive
}

async function fetchNpm(spec: string, dir: string, signal: AbortSignal): Promise<string> {
  await program('npm', ['pack', spec, '--ignore-scripts', '--silent', '--pack-destination', dir], signal)
  const archive = (await readdir(dir)).find((name) => name.endsWith('.tgz'))
  if (archive === undefined) throw new BoundaryError('task', `npm pack ${spec} left no archive`)
  return join(dir, archive)
}

/** The program's output. */
async function program(name: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  try {
    const env = { ...process.env, GIT_TERMINAL_PROMPT: '0' }
    const { stdout } = await execProcess(name, args, { signal, env, timeout: 600_000, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    signal.throwIfAborted()
    if (isMissing(error))
      throw new UserError(`expected the program ${name} on this machine, found none`, `install ${name}`)
    throw new BoundaryError('task', `${name} could not fetch the repository: ${lastLine(error)}`, { cause: error })
  }
}

function lastLine(error: unknown): string {
  const stderr = Object(error).stderr
  const lines = (typeof stderr === 'string' ? stderr : messageOf(error)).trim().split('\n')
  return (lines.at(-1) ?? '').slice(0, 300)
}

async function readFolder(dir: string): Promise<RepositoryFiles> {
  const files: Record<string, DraftFile> = {}
  let bytes = 0
  try {
    for await (const { path, kind, mode, size } of walkTree(dir)) {
      if (kind !== 'file' || leftOut.test(path)) continue
      bytes += size
      if (Object.keys(files).length >= limits.files || bytes > limits.bytes) throw tooLarge(dir)
      files[path] = { data: await readFile(join(dir, path)), ...((mode & 0o111) !== 0 && { executable: true }) }
    }
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${dir}: expected the folder of a repository, found none`, 'check the path')
  }
  return files
}

const leftOut = /(?:^|\/)(?:\.git|\.hg|\.svn|__pycache__|\.pytest_cache)(?:\/|$)/

function tooLarge(dir: string): UserError {
  const { files, bytes } = limits
  return new UserError(
    `${dir}: expected a repository of at most ${files} files and ${bytes / 1024 / 1024} MiB, got a larger one`,
    'remove installed packages and build results; a setup command can add them to the environment',
  )
}
