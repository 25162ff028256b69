import { readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { digestUpload, newCard, parseCard, renderUploads, type Upload, type UploadKind, uploadsOf } from './card.ts'
import { isSameContent, sha256File } from './digests.ts'
import { CommitConflict, hubUnreachable } from './failures.ts'
import { plainFiles } from './folder-repository.ts'
import type { DatasetRepository, RepoFile } from './repository.ts'
import { followFiles, type UploadProgress } from './upload-progress.ts'

/** A folder that is to become a dataset, or to be added to one. */
export interface UploadAsk {
  readonly repository: DatasetRepository
  readonly dir: string
  readonly kind: UploadKind
  /** True: removes files that are not in the folder. False: adds data files to the existing ones. */
  readonly replace: boolean
  readonly isPrivate: boolean
  readonly message: string
  /** The branch to write to. */
  readonly branch: string
  readonly lineage: Readonly<Record<string, number>>
  readonly madeBy: string
  readonly dryRun?: boolean
  readonly onProgress?: (progress: UploadProgress) => void
}

/** The result of an upload. */
export interface Uploaded {
  readonly repository: string
  /** False for a dry run that could not reach the dataset: every file counts as new. */
  readonly compared: boolean
  /** Null if nothing had to be written. */
  readonly commit: string | null
  readonly url: string | null
  /** Their paths in the dataset. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Files that already had the same content. */
  readonly same: number
  /** Hidden files and links in the folder, which are never sent. */
  readonly leftOut: readonly string[]
  readonly rows: number
  readonly bytes: number
}

const cardFile = 'README.md'
const hashesAtOnce = 4
/** How many concurrent commits by others are tolerated between planning and committing. */
const conflictsLimit = 5
/** More operations are split into several commits, with the card and removals in the last one. */
const operationsAtOnce = 1000

/**
 * Uploads a folder to a dataset. Files with the same content are not sent again, so the same command resumes after a
 * crash.
 */
export async function uploadFolder(ask: UploadAsk): Promise<Uploaded> {
  const found = await plainFiles(ask.dir)
  if (found === null || found.files.length === 0)
    throw new UserError(
      `${ask.dir}: expected a folder with files to upload, found ${found === null ? 'nothing there' : 'none in it'}`,
      'check the path; hidden files and links are never uploaded',
    )
  const local: LocalFile[] = []
  // A model's card is the one in its folder; a dataset's card lists every upload.
  const isModel = ask.repository.type === 'model'
  const paths = found.files.filter((path) => isModel || path !== cardFile)
  for await (const file of mapInOrder(paths, hashesAtOnce, (path) => lookAt(ask.dir, path))) local.push(file)
  const upload = uploadOf(local, ask.lineage, await dataBytesOf(ask.dir, found.files))
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-upload-'))
  try {
    const done = await tryUpload({ ...ask, local, upload, hasCard: found.files.includes(cardFile), scratch })
    return { ...done, leftOut: found.leftOut, rows: upload.rows, repository: ask.repository.name }
  } finally {
    await removeDraft(scratch)
  }
}

interface LocalFile {
  readonly path: string
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  /** Null for a file that is not a table. */
  readonly rows: number | null
}

async function lookAt(dir: string, path: string): Promise<LocalFile> {
  const file = join(dir, path)
  const rows = path.endsWith('.parquet') ? await parquetRows(file) : null
  return { path, file, bytes: (await stat(file)).size, sha256: await sha256File(file), rows }
}

async function parquetRows(file: string): Promise<number> {
  try {
    return Number((await parquetMetadataAsync(await asyncBufferFromFile(file))).num_rows)
  } catch (error) {
    throw new UserError(`${file}: expected a parquet file, got ${messageOf(error)}`, 'check that the file is complete')
  }
}

function uploadOf(local: readonly LocalFile[], lineage: Upload['lineage'], dataBytes: number): Upload {
  const tables = local.filter(({ rows }) => rows !== null)
  const data = tables.length > 0 ? tables : local
  const sum = (count: (file: LocalFile) => number) => data.reduce((total, file) => total + count(file), 0)
  return {
    digest: digestUpload(data.map(({ sha256 }) => sha256)),
    files: data.map(({ path }) => path),
    rows: sum(({ rows }) => rows ?? 0),
    bytes: sum(({ bytes }) => bytes),
    dataBytes,
    lineage,
  }
}

async function dataBytesOf(dir: string, files: readonly string[]): Promise<number> {
  if (!files.includes(cardFile)) return 0
  const { front } = parseCard(await readFile(join(dir, cardFile), 'utf8'))
  const size = Object(front.dataset_info).dataset_size
  return Number.isFinite(size) ? size : 0
}

interface Work extends UploadAsk {
  readonly local: readonly LocalFile[]
  readonly upload: Upload
  readonly hasCard: boolean
  readonly scratch: string
}

type Done = Pick<Uploaded, 'compared' | 'commit' | 'url' | 'added' | 'removed' | 'same' | 'bytes'>

async function tryUpload(work: Work): Promise<Done> {
  const { repository, branch, dryRun } = work
  const look = () => repository.head(branch === 'main' ? null : branch)
  let compared = true
  let head = await look().catch((error: unknown) => {
    if (!dryRun || !(error instanceof BoundaryError) || error.code !== hubUnreachable) throw error
    compared = false
    return null
  })
  if (head === null && !dryRun) {
    await repository.create(work.isPrivate)
    head = await look()
  }
  const tried = new Set<string>()
  for (let conflicts = 0; conflicts < conflictsLimit; conflicts++) {
    const plan = await planUpload(work, head)
    const added = plan.add.map(({ path }) => path)
    const bytes = plan.add.reduce((sum, file) => sum + file.bytes, 0)
    const done = { compared, added, removed: plan.remove, same: plan.same, bytes }
    if (dryRun) return { ...done, commit: null, url: null }
    try {
      const written = await commitAll(work, plan, head ?? '')
      // If the answer to our commit is lost, the commit looks like another user's and leaves nothing to do.
      const isLost = written === null && conflicts > 0
      if (isLost) return { ...done, added: [...tried], commit: head, url: null }
      return { ...done, commit: written?.commit ?? null, url: written?.url ?? null }
    } catch (error) {
      if (!(error instanceof CommitConflict)) throw error
      for (const path of added) tried.add(path)
      head = await look()
    }
  }
  throw new BoundaryError(
    'store',
    `${repository.name}: others changed ${branch} ${conflictsLimit} times during this upload; run the same command to try again`,
    { code: 'HubConflict', retryable: true },
  )
}

interface Plan {
  readonly add: readonly { readonly path: string; readonly file: string; readonly bytes: number }[]
  readonly remove: readonly string[]
  readonly same: number
}

/** Compares the folder with the repository, and decides the name for each file. */
async function planUpload(work: Work, head: string | null): Promise<Plan> {
  const { repository, local, replace } = work
  const there = new Map((head === null ? [] : await repository.list(head)).map((file) => [file.path, file]))
  const isModel = repository.type === 'model'
  // Tables and lists of rows, of which a dataset may have any number.
  const isData = (path: string) => !isModel && /\.(parquet|jsonl|csv)$/.test(path)
  const shas = new Set(
    [...there.values()].flatMap(({ path, sha256 }) => (isData(path) && sha256 !== null ? [sha256] : [])),
  )
  const add: { path: string; file: string; bytes: number }[] = []
  const placed = new Map<string, string>()
  for (const { path, file, bytes, sha256 } of local) {
    const remote = there.get(path)
    const isSame = remote !== undefined && (remote.sha256 === sha256 || (await isSameContent(file, remote)))
    const place = remote === undefined || isSame || replace || !isData(path) ? path : besides(path, sha256)
    placed.set(path, place)
    const isThere = isSame || there.get(place)?.sha256 === sha256 || (!replace && isData(path) && shas.has(sha256))
    if (!isThere) add.push({ path: place, file, bytes })
  }
  const kept = new Set([...placed.values(), cardFile, '.gitattributes'])
  const remove = replace ? [...there.keys()].filter((path) => !kept.has(path)) : []
  if (isModel) return { add, remove, same: local.length - add.length }
  const card = await makeCard(work, there, head, placed)
  const oldCard = there.get(cardFile)
  const cardIsSame = oldCard !== undefined && (await isSameContent(card, oldCard))
  if (!cardIsSame) add.push({ path: cardFile, file: card, bytes: (await stat(card)).size })
  return { add, remove, same: local.length + 1 - add.length }
}

/** `data/train-00000-of-00001.parquet` becomes `data/train-3f2a91c0-00000-of-00001.parquet`, which the same pattern matches. */
function besides(path: string, sha256: string): string {
  const [, stem = '', rest = ''] = /^([^-.]*)(.*)$/.exec(basename(path)) ?? []
  const name = `${stem}-${sha256.slice(0, 8)}${rest}`
  return dirname(path) === '.' ? name : `${dirname(path)}/${name}`
}

async function makeCard(
  work: Work,
  there: ReadonlyMap<string, RepoFile>,
  head: string | null,
  placed: ReadonlyMap<string, string>,
): Promise<string> {
  const { repository, replace, upload, scratch, dir, kind, madeBy } = work
  const old = head !== null && there.has(cardFile) ? await readCard(repository, head) : null
  const own = { ...upload, files: upload.files.map((path) => placed.get(path) ?? path) }
  const earlier = replace || old === null ? [] : uploadsOf(parseCard(old))
  const others = earlier.filter(({ digest, files }) => digest !== own.digest && files.every((path) => there.has(path)))
  const known = earlier.find(({ digest }) => digest === own.digest)
  const uploads = known ? earlier.filter((one) => one === known || others.includes(one)) : [...others, own]
  const rows = uploads.reduce((sum, one) => sum + one.rows, 0)
  const text = work.hasCard ? await readFile(join(dir, cardFile), 'utf8') : newCard(repository.name, kind, rows, madeBy)
  const path = join(scratch, cardFile)
  await writeFile(path, renderUploads(parseCard(text), uploads))
  return path
}

const cardLimitBytes = 10_000_000

async function readCard(repository: DatasetRepository, commit: string): Promise<string> {
  const { body } = await repository.read(commit, cardFile, 0)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > cardLimitBytes)
      throw new UserError(
        `${repository.name}: ${cardFile} is larger than ${cardLimitBytes} bytes`,
        'replace it with --replace',
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the last commit, or null if there was nothing to do. */
async function commitAll({ repository, branch, message, onProgress }: Work, { add, remove }: Plan, head: string) {
  const follow = onProgress && followFiles(add, onProgress)
  let parent = head
  let last: { commit: string; url: string } | null = null
  const batches = Math.ceil((add.length + remove.length) / operationsAtOnce)
  for (let batch = 0; batch < batches; batch++) {
    const from = batch * operationsAtOnce
    const some = add.slice(from, from + operationsAtOnce)
    const gone = remove.slice(Math.max(0, from - add.length), Math.max(0, from + operationsAtOnce - add.length))
    const part = batches === 1 ? '' : ` (${batch + 1}/${batches})`
    last = await repository.commit(branch, {
      ...{ message: `${message}${part}`, parent, add: some, remove: gone },
      ...(follow && { onProgress: follow.sending }),
    })
    parent = last.commit
    follow?.sent(some)
  }
  return last
}
