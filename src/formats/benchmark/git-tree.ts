import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { execProgram } from '../../lib/exec-program.ts'
import { isInside } from '../harbor-task/read.ts'

/** A part of a git repository. */
export interface GitTree {
  readonly url: string
  /** A branch, tag or commit; absent: the head of the main branch. */
  readonly revision?: string | undefined
  /** The folders or files to check out; empty: all. */
  readonly paths: readonly string[]
}

const patienceSec = 1800

/** Checks out part of a git repository while `work` needs it; an unreachable repository is blamed on the store. */
export async function withGitTree<T>(
  { url, revision, paths }: GitTree,
  scratchDir: string,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  if (!/^(https?:\/\/|ssh:\/\/|git:\/\/|file:\/\/|git@|\/)/.test(url))
    throw new UserError(
      `expected the address of a git repository, got ${JSON.stringify(url.slice(0, 200))}`,
      'for example https://...',
    )
  const dir = await makeScratchDir(join(scratchDir, '.git-'))
  try {
    await git(['clone', '--quiet', '--filter=blob:none', '--depth=1', '--no-checkout', '--', url, dir], url)
    if (paths.length > 0) {
      const patterns = paths.map((path) => `/${path.replace(/[\\*?[]/g, '\\$&')}`)
      await git(['-C', dir, 'sparse-checkout', 'set', '--no-cone', ...patterns], url)
    }
    if (revision !== undefined)
      await git(['-C', dir, 'fetch', '--quiet', '--filter=blob:none', '--depth=1', '--', 'origin', revision], url)
    await git(['-C', dir, 'checkout', '--quiet', '--detach', revision === undefined ? 'HEAD' : 'FETCH_HEAD'], url)
    for (const path of paths) await refuseOutside(dir, path, url)
    return await work(dir)
  } finally {
    await removeDraft(dir)
  }
}

/** Refuses links that lead out of a third-party repository: through them, files of this machine would become tasks. */
async function refuseOutside(dir: string, path: string, url: string): Promise<void> {
  const real = await realpath(join(dir, path)).catch(() => null)
  if (real === null || isInside(await realpath(dir), real)) return
  throw new UserError(
    `${url}: ${path} leads out of the repository`,
    'the folder of tasks must not be a link to another place',
  )
}

async function git(args: readonly string[], url: string): Promise<void> {
  const env = {
    ...process.env,
    GIT_TERMINAL_PROMPT: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    // The URL may come from a third-party registry: allow no helper programs.
    GIT_ALLOW_PROTOCOL: 'https:http:ssh:git:file',
  }
  const { code, stderr } = await execProgram(['git', ...args], { env, timeoutSec: patienceSec })
  if (code === 0) return
  const said = stderr.trim().split('\n').at(-1) ?? ''
  throw new BoundaryError('store', `${url}: git could not fetch it: ${said.slice(0, 300)}`, {
    ...{ code: 'GitUnavailable', retryable: true },
  })
}
