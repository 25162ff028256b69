import { UserError } from '../../core/errors.ts'
import { parseGlob } from '../../lib/path-glob.ts'
import { chooseDataFiles, configsOf, type DataChoice } from './data-files.ts'
import { openSnapshot, type Snapshot } from './download.ts'
import { type HubSurroundings, openRepository } from './open.ts'
import type { DatasetRepository, RepoFile } from './repository.ts'
import type { HubTarget } from './target.ts'

/** The files holding a split's rows, in order, at one commit. */
export interface DatasetRows {
  readonly repository: DatasetRepository
  readonly commit: string
  readonly files: readonly RepoFile[]
}

export interface RowsChoice extends DataChoice {
  readonly revision: string | null
  /** Only files matching this pattern, whatever the card says. */
  readonly pattern: string | null
}

/** The branch where the Hub keeps a parquet version of any dataset. */
const convertedBranch = 'refs/convert/parquet'

/** Finds a dataset's data files: by a pattern, by its card, by name, or in the Hub's conversion. */
export async function findDatasetRows(
  target: HubTarget,
  choice: RowsChoice,
  at: HubSurroundings,
): Promise<DatasetRows> {
  const repository = openRepository(target, at)
  const snapshot = await openSnapshot(repository, choice.revision)
  const card = await readCard(snapshot)
  const files =
    choice.pattern === null ? chooseDataFiles(snapshot.files, card, choice) : matching(snapshot, choice.pattern)
  if (files.length > 0) return { repository, commit: snapshot.commit, files }
  const canConvert = target.kind === 'hub' && choice.revision === null && choice.pattern === null
  const converted = canConvert ? await findConverted(repository, choice) : null
  if (converted !== null) return converted
  throw noRows(snapshot, choice, configsOf(card))
}

function matching({ files }: Snapshot, pattern: string): RepoFile[] {
  const test = parseGlob(pattern)
  return files.filter(({ path }) => test.test(path)).sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function findConverted(
  repository: DatasetRepository,
  { config, split }: DataChoice,
): Promise<DatasetRows | null> {
  const snapshot = await openSnapshot(repository, convertedBranch).catch((error: unknown) => {
    if (error instanceof UserError) return null
    throw error
  })
  if (snapshot === null) return null
  const folders = [...new Set(snapshot.files.map(({ path }) => path.split('/')[0] ?? ''))].filter(
    (name) => !name.includes('.'),
  )
  const folder = config ?? (folders.includes('default') ? 'default' : folders.length === 1 ? folders[0] : undefined)
  if (folder === undefined) return null
  const files = ['', 'partial-']
    .map((prefix) => matching(snapshot, `${folder}/${prefix}${split}/*.parquet`))
    .find((some) => some.length > 0)
  return files === undefined ? null : { repository, commit: snapshot.commit, files }
}

const cardLimitBytes = 10_000_000

async function readCard({ repository, commit, files }: Snapshot): Promise<string | null> {
  const card = files.find(({ path }) => path === 'README.md')
  if (card === undefined || card.sizeBytes > cardLimitBytes) return null
  const chunks: Uint8Array[] = []
  for await (const chunk of (await repository.read(commit, card.path, 0)).body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function noRows(
  { repository, files }: Snapshot,
  { config, split, pattern }: RowsChoice,
  configs: readonly string[],
): UserError {
  const wanted = pattern === null ? `split ${split}${config === null ? '' : ` of config ${config}`}` : pattern
  return new UserError(
    `${repository.name}: expected data files for ${wanted}, found none among ${files.length} files`,
    configs.length > 0 ? `its configs: ${configs.slice(0, 10).join(', ')}` : 'check config, split and revision',
  )
}
