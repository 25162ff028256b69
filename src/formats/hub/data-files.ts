import { parseGlob } from '../../lib/path-glob.ts'
import { parseCard } from './card.ts'
import type { RepoFile } from './repository.ts'

/** Selects rows of a dataset, in the Hub's terms. */
export interface DataChoice {
  /** Null: the dataset's own default. */
  readonly config: string | null
  readonly split: string
}

/** File extensions of readable rows. */
const readable = /\.(parquet|jsonl|ndjson|json|csv|tsv|xlsx)$/i

/** The data files of a split, in order: as the dataset's card says, or by name. Empty if none is readable. */
export function chooseDataFiles(files: readonly RepoFile[], cardText: string | null, choice: DataChoice): RepoFile[] {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1))
  const patterns = patternsOf(cardText, choice)
  if (patterns === null) return byName(sorted, choice)
  const tests = patterns.map(parseGlob)
  const chosen = sorted.filter(({ path }) => tests.some((test) => test.test(path)))
  return chosen.every(({ path }) => readable.test(path)) ? chosen : []
}

/** The configurations named in a card. */
export function configsOf(cardText: string | null): string[] {
  return listedConfigs(cardText).map(({ config_name: name }) => String(name))
}

function listedConfigs(cardText: string | null): Readonly<Record<string, unknown>>[] {
  const { configs } = cardText === null ? {} : parseCard(cardText).front
  return Array.isArray(configs) ? configs.map((config) => Object(config)) : []
}

/** Null if the card does not mention this configuration. */
function patternsOf(cardText: string | null, { config, split }: DataChoice): string[] | null {
  const listed = listedConfigs(cardText)
  const named = config ?? listed.find((one) => one.default === true)?.config_name ?? 'default'
  const found = listed.find((one) => one.config_name === named) ?? (config === null ? listed[0] : undefined)
  if (found === undefined || found.data_files === undefined) return null
  const below = typeof found.data_dir === 'string' ? `${found.data_dir.replace(/\/+$/, '')}/` : ''
  const entries: unknown[] = [found.data_files].flat()
  return entries.flatMap((entry): string[] => {
    // A bare pattern means the split `train`.
    if (typeof entry === 'string') return split === 'train' ? [below + entry] : []
    const { split: name, path } = Object(entry)
    return name === split ? [path].flat().map((text) => below + String(text)) : []
  })
}

/** Without such a card, folders are named after configurations, and file names contain the split. */
function byName(files: readonly RepoFile[], { config, split }: DataChoice): RepoFile[] {
  const parquet = files.filter(({ path }) => /\.parquet$/i.test(path))
  const tables = parquet.length > 0 ? parquet : files.filter(({ path }) => readable.test(path))
  const ofConfig = config === null ? tables : tables.filter(({ path }) => path.split('/').includes(config))
  const names = (word: string) => new RegExp(`(?:^|[/_.-])${escaped(word)}(?:[/_.-]|$)`, 'i')
  const isNamed = ofConfig.filter(({ path }) => names(split).test(path))
  if (isNamed.length > 0) return isNamed
  const others = ['train', 'test', 'validation', 'valid', 'dev', 'eval'].filter((word) => word !== split).map(names)
  return split === 'train' ? ofConfig.filter(({ path }) => !others.some((other) => other.test(path))) : []
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
