import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { ShapeHints } from './recognize.ts'

/** The file that LLaMA-Factory looks datasets up in. */
export const datasetInfoFile = 'dataset_info.json'

const text = z.string().min(1)

/** One dataset in that file; unlisted keys are kept. */
const infoEntry = z.looseObject({
  file_name: text.optional(),
  hf_hub_url: text.optional(),
  ms_hub_url: text.optional(),
  om_hub_url: text.optional(),
  script_url: text.optional(),
  cloud_file_name: text.optional(),
  formatting: z.enum(['alpaca', 'sharegpt', 'openai']).optional(),
  ranking: z.boolean().optional(),
  columns: z.record(z.string(), z.string()).optional(),
  tags: z.record(z.string(), z.string()).optional(),
})

export type InfoEntry = z.output<typeof infoEntry>

const placeKeys = ['file_name', 'hf_hub_url', 'ms_hub_url', 'om_hub_url', 'script_url', 'cloud_file_name'] as const

/** The datasets in a folder's dataset_info.json; null if there is none, or if it is the file that `datasets` writes. */
export async function readDatasetInfo(dir: string): Promise<ReadonlyMap<string, InfoEntry> | null> {
  const path = join(dir, datasetInfoFile)
  const found = await readTextIfExists(path)
  return found === null ? null : parseDatasetInfo(found, path)
}

/** The same from the text of such a file. */
export function parseDatasetInfo(found: string, path: string): ReadonlyMap<string, InfoEntry> | null {
  let value: unknown
  try {
    value = readJson(found)
  } catch {
    throw new UserError(`${path}: expected JSON, got something else`, 'LLaMA-Factory would not read it either')
  }
  const entries = Object.entries(Object(value)).filter(([, each]) => placeKeys.some((key) => key in Object(each)))
  if (entries.length === 0) return null
  return new Map(entries.map(([name, each]) => [name, parseEntry(each, `${path}: ${name}`)]))
}

function parseEntry(value: unknown, where: string): InfoEntry {
  const parsed = infoEntry.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(
    `${where}: ${issue?.path.join('.')}: ${issue?.message}`,
    'as LLaMA-Factory spells dataset_info.json',
  )
}

/** Makes the paths in an entry absolute. */
export function rootedEntry(entry: InfoEntry, dir: string): InfoEntry {
  const rooted = (path: string | undefined) => (path === undefined || isAbsolute(path) ? path : join(dir, path))
  return {
    ...entry,
    ...(entry.file_name !== undefined && { file_name: rooted(entry.file_name) }),
    ...(entry.script_url !== undefined && { script_url: rooted(entry.script_url) }),
  }
}

/** What an entry says about its rows, with LLaMA-Factory's defaults. */
export function hintsOf({ formatting = 'alpaca', columns, tags }: InfoEntry): ShapeHints {
  if (formatting === 'alpaca') return { formatting, ...(columns && { columns }) }
  const sharegpt = { role_tag: 'from', content_tag: 'value', user_tag: 'human', assistant_tag: 'gpt' }
  return { formatting, columns: columns ?? { messages: 'conversations' }, tags: tags ?? sharegpt }
}

/** Whether rows under this name are held out for evaluation. */
export function isHeldOut(name: string): boolean {
  return /(^|[^a-z])(validation|valid|val|eval|test|dev|held[_-]?out)([^a-z]|$)/i.test(name)
}
