import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf, UserError } from '../../core/errors.ts'
import { draftBeside, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { codeOf, exists, kindAt } from '../../lib/files.ts'
import { readLines } from '../../lib/lines.ts'
import { makeDirWhole } from '../../lib/new-dir.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { Snapshot } from '../../registry/database.ts'
import { csvOf, exportLines, type ImportCount, importLines, tableNames } from '../../registry/transfer.ts'
import { explainDisk } from '../disk-errors.ts'
import { type RegistryPlace, withRegistry } from './open.ts'

/** Writes the whole registry as JSON lines, or with `csv` as a directory with a file per table. */
export async function exportRegistry(place: RegistryPlace, out: string, csv: boolean): Promise<void> {
  if (await exists(out))
    throw new UserError(`${out}: expected a new path, but it already exists`, 'choose another path, or remove it')
  const write = async (snapshot: Snapshot) => {
    if (!csv) return writeWhole(out, withFeeds(exportLines(snapshot)))
    await makeDirWhole(out, async (dir) => {
      for (const table of tableNames)
        await pipeline(Readable.from(csvOf(snapshot, table)), createWriteStream(join(dir, `${table}.csv`)))
    })
  }
  await withRegistry(
    place,
    async (database) => {
      await using snapshot = await database.snapshot()
      await explainDisk(out, () => write(snapshot))
    },
    { existing: true },
  )
}

/** Adds what an export holds and the registry lacks. */
export async function importRegistry(place: RegistryPlace, path: string): Promise<ImportCount> {
  if ((await kindAt(path)) !== 'file')
    throw new UserError(`${path}: expected the file of an export, got none`, 'registry export writes one')
  return withRegistry(place, async (database) => {
    try {
      return await database.transaction((queries) => importLines(queries, documentsIn(path), path))
    } catch (error) {
      // Only translate violated constraints: SQLite and PostgreSQL have a class of codes for them.
      if (!/^(SQLITE_CONSTRAINT|SQLITE_MISMATCH|2[23])/.test(codeOf(error) ?? '')) throw error
      throw new UserError(
        `${path}: a row is not valid: ${messageOf(error).replace(/\s+/g, ' ')}`,
        'nothing was added; pass a file that registry export wrote',
      )
    }
  })
}

async function* documentsIn(path: string): AsyncGenerator<unknown, void, void> {
  for await (const { text } of readLines(path)) yield parseJson(text)
}

async function* withFeeds(lines: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  for await (const line of lines) yield `${line}\n`
}

async function writeWhole(path: string, text: AsyncIterable<string>): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const draft = draftBeside(path)
  try {
    await pipeline(Readable.from(text), createWriteStream(draft, { flags: 'wx' }))
    await renameDraft(draft, path)
  } catch (error) {
    await removeDraft(draft)
    throw error
  }
}
