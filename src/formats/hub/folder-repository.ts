import { createReadStream } from 'node:fs'
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { draftBeside, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { codeOf, isMissing } from '../../lib/files.ts'
import { syncDir } from '../../lib/sync-dir.ts'
import { whyUnsafe } from '../../lib/tree-writer.ts'
import { sha256File } from './digests.ts'
import type { DatasetRepository, RepoFile, RepoType } from './repository.ts'

/** A folder laid out like a repository, for use without the Hub. Its only revision is its current content. */
export function openFolderRepository(dir: string, type: RepoType): DatasetRepository {
  const name = `file:${dir}`
  return {
    name,
    type,
    head: async (revision) => {
      if (revision !== null)
        throw new UserError(
          `${name}: expected no revision, got ${revision}`,
          'remove --revision: a folder has no history',
        )
      const there = await statesIn(dir)
      return there === null ? null : digestJson(there)
    },
    list: () => listFolder(dir),
    read: async (_, path, fromByte) => ({ fromByte, body: createReadStream(within(dir, path), { start: fromByte }) }),
    create: async () => void (await mkdir(dir, { recursive: true })),
    commit: async (_, { add, remove, onProgress }) => {
      for (const { path, file } of add) {
        await putFile(file, within(dir, path))
        onProgress?.(path, 1)
      }
      for (const path of remove) await removeFile(dir, path)
      return { commit: digestJson((await statesIn(dir)) ?? []), url: name }
    },
  }
}

/**
 * Regular files below a folder, without links; hidden ones, which are not data, are left out too. Null if there is no
 * folder.
 */
export async function plainFiles(dir: string): Promise<{ files: string[]; leftOut: string[] } | null> {
  const files: string[] = []
  const leftOut: string[] = []
  const walk = async (below: string): Promise<void> => {
    const entries = await readdir(join(dir, below), { withFileTypes: true })
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.name.startsWith('.') && entry.name !== '.gitattributes') leftOut.push(path)
      else if (entry.isDirectory()) await walk(path)
      else if (entry.isFile()) files.push(path)
      else leftOut.push(path)
    }
  }
  try {
    await walk('')
    return { files, leftOut }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

async function statesIn(dir: string): Promise<unknown[] | null> {
  const found = await plainFiles(dir)
  if (found === null) return null
  const states: unknown[] = []
  for (const path of found.files) {
    const { size, mtimeMs } = await stat(join(dir, path))
    states.push([path, size, mtimeMs])
  }
  return states
}

async function listFolder(dir: string): Promise<RepoFile[]> {
  const files: RepoFile[] = []
  for (const path of (await plainFiles(dir))?.files ?? []) {
    const file = join(dir, path)
    files.push({ path, sizeBytes: (await stat(file)).size, sha256: await sha256File(file), gitOid: null })
  }
  return files
}

function within(dir: string, path: string): string {
  const why = whyUnsafe(path)
  const place = resolve(dir, path)
  if (why === null && place.startsWith(dir + sep)) return place
  throw new UserError(
    `file:${dir}: path ${JSON.stringify(path)} is refused: ${why ?? 'it leads out'}`,
    'expected a plain relative path',
  )
}

async function putFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  const temporary = draftBeside(to)
  try {
    await copyFile(from, temporary)
    await renameDraft(temporary, to)
    await syncDir(dirname(to))
  } finally {
    await removeDraft(temporary)
  }
}

/** Also removes folders that become empty, as git does. */
async function removeFile(dir: string, path: string): Promise<void> {
  await rm(within(dir, path), { force: true })
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    try {
      if ((await readdir(join(dir, parent))).length > 0) return
      await rm(join(dir, parent), { recursive: true })
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
}
