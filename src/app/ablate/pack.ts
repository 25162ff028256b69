import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { draftBeside, makeScratchDir, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { exists, isMissing, kindAt, writeAtomic } from '../../lib/files.ts'
import { ArchiveError, extractTar, packDir } from '../../lib/tar.ts'
import { linkTree, walkTree } from '../../lib/tree.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { cellDir, type IndexedCell, loadIndex, saveIndex } from './cells.ts'
import { loadResult, saveResult } from './result.ts'
import { loadCell } from './run-commands.ts'

/** What was moved: finished cells without their datasets, and unfinished cells with theirs. */
export interface MovedCells {
  readonly finished: number
  readonly ready: number
}

/** What a pack holds of a cell. Cells with the same dataset share it: only the first one carries it. */
type Part = 'result' | 'dataset' | 'shares'

/**
 * Packs the cells of a directory into one file: the results of finished cells, the commands of all others and their
 * datasets, each dataset once.
 */
export async function packCells(dir: string, file: string): Promise<MovedCells> {
  const release = await acquireOwner(dir)
  try {
    const kept = new Map<string, Part>()
    const carriers = new Map<string, string>()
    for (const { id } of await loadIndex(dir)) {
      const own = cellDir(dir, id)
      if (await loadResult(own)) {
        kept.set(id, 'result')
        continue
      }
      const cell = await loadCell(own)
      if (cell === null) continue
      if (!carriers.has(cell.data) && (await exists(join(own, 'dataset')))) carriers.set(cell.data, id)
      kept.set(id, carriers.get(cell.data) === id ? 'dataset' : 'shares')
    }
    if (kept.size === 0)
      throw new UserError(
        `${dir}: expected cells to pack, found none`,
        'ot-agent ablate run FILE --stage data makes them',
      )
    await writeChunks(resolve(file), packDir(dir, { filter: ({ path }) => isPacked(path, kept), links: 'keep' }))
    return countOf([...kept.values()].map((part) => (part === 'result' ? 'finished' : 'ready')))
  } finally {
    await release()
  }
}

function isPacked(path: string, kept: ReadonlyMap<string, Part>): boolean {
  const [top, id, name] = path.split('/')
  if (top !== 'cells') return path === 'cells.json'
  if (id === undefined) return true
  const part = kept.get(id)
  if (part === undefined || name === undefined) return part !== undefined
  return name === 'cell.json' || name === (part === 'result' ? 'result.json' : part)
}

async function writeChunks(file: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  const draft = draftBeside(file)
  const out = await open(draft, 'wx')
  try {
    for await (const chunk of chunks) await out.write(chunk)
    await out.sync()
    await out.close()
    await renameDraft(draft, file)
  } finally {
    await out.close().catch(() => {})
    await removeDraft(draft)
  }
}

/** The upper limit on a pack's size. */
const limitBytes = 2 ** 36

/** Unpacks cells into a directory, leaving finished cells there unchanged. The pack is not trusted. */
export async function unpackCells(file: string, dir: string): Promise<MovedCells> {
  const source = await open(file).catch((error: unknown) => {
    if (isMissing(error)) throw new UserError(`${file}: expected a pack of cells, found nothing`, 'check the path')
    throw error
  })
  await mkdir(dir, { recursive: true })
  const release = await acquireOwner(dir)
  const scratch = await makeScratchDir(join(dir, 'unpacking-'))
  try {
    await extractTar(source.createReadStream(), join(scratch, 'pack'), { limitBytes }).catch((error: unknown) => {
      if (error instanceof ArchiveError) throw new UserError(`${file}: ${error.message}`, 'pack the cells again')
      throw error
    })
    const pack = join(scratch, 'pack')
    const index = await loadIndex(pack)
    if (index.length === 0)
      throw new UserError(`${file}: expected a pack of cells, found none in it`, 'write one with --pack')
    await shareDatasets(pack, index, file)
    const moved: ('finished' | 'ready')[] = []
    const known: IndexedCell[] = []
    for (const cell of index) {
      const state = await moveCell(cellDir(pack, cell.id), cellDir(dir, cell.id))
      if (state === null) continue
      known.push(cell)
      moved.push(state)
    }
    await saveIndex(dir, await loadIndex(dir), known)
    return countOf(moved)
  } finally {
    await source.close()
    await removeDraft(scratch)
    await release()
  }
}

/** The upper limit on files and folders of all its cells together: as many as a pack of whole cells may have. */
const limitEntries = 500_000

/** Gives each unfinished cell of an unpacked pack its dataset, which another cell may carry. */
async function shareDatasets(pack: string, index: readonly IndexedCell[], file: string): Promise<void> {
  const datasets = new Map<string, { carrier: string | null; readonly without: string[] }>()
  for (const id of new Set(index.map((cell) => cell.id))) {
    const cell = await loadCell(cellDir(pack, id))
    if (cell === null) continue
    const place = join(cellDir(pack, id), 'dataset')
    const kind = await kindAt(place)
    if (kind !== 'none' && kind !== 'dir')
      throw new UserError(`${file}: expected a folder as the dataset of cell ${id}, got a ${kind}`, 'pack them again')
    const dataset = datasets.get(cell.data) ?? { carrier: null, without: [] }
    datasets.set(cell.data, dataset)
    if (kind === 'dir') dataset.carrier = place
    else dataset.without.push(place)
  }
  let entries = 0
  for (const { carrier, without } of datasets.values())
    if (carrier !== null && without.length > 0) for await (const _ of walkTree(carrier)) entries += without.length
  if (entries > limitEntries)
    throw new UserError(
      `${file}: expected cells with at most ${limitEntries} files together, got ${entries}`,
      'pack the cells of fewer variants together',
    )
  for (const { carrier, without } of datasets.values())
    if (carrier !== null) for (const place of without) await linkTree(carrier, place)
}

/** Null if the pack does not hold the cell. */
async function moveCell(from: string, to: string): Promise<'finished' | 'ready' | null> {
  const result = await loadResult(from)
  if (result !== null) {
    if (await loadResult(to)) return 'finished'
    const cell = await loadCell(from)
    await saveResult(to, result)
    if (cell !== null && !(await exists(join(to, 'cell.json'))))
      await writeAtomic(join(to, 'cell.json'), `${JSON.stringify(cell, null, 2)}\n`)
    return 'finished'
  }
  if ((await loadCell(from)) === null) return null
  if ((await loadResult(to)) !== null) return 'finished'
  if ((await loadCell(to)) === null || (await readdir(to)).every((name) => name !== 'dataset')) {
    await rm(to, { recursive: true, force: true })
    await mkdir(dirname(to), { recursive: true })
    await rename(from, to)
  }
  return 'ready'
}

function countOf(states: readonly ('finished' | 'ready')[]): MovedCells {
  const finished = states.filter((state) => state === 'finished').length
  return { finished, ready: states.length - finished }
}
