import { digestJson } from '../../lib/digest-json.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { renderYaml } from '../../lib/render-yaml.ts'
import { sizeCategory } from '../size-category.ts'

/** What one upload added, as recorded in the dataset's card. */
export interface Upload {
  /** A digest of its data files: the same data is the same upload. */
  readonly digest: string
  readonly files: readonly string[]
  readonly rows: number
  readonly bytes: number
  /** Uncompressed size, if known. */
  readonly dataBytes: number
  /** Where the rows come from, with counts: `pipeline nl2bash`, `model x`, ... */
  readonly lineage: Readonly<Record<string, number>>
}

export function digestUpload(shas: readonly string[]): string {
  return digestJson([...shas].sort()).slice(0, 16)
}

interface Card {
  readonly front: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Parses a card; an unreadable one is treated as having no front matter. */
export function parseCard(text: string): Card {
  const match = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?([\s\S]*)$/.exec(text)
  if (!match) return { front: {}, body: text }
  try {
    const front: unknown = readYaml(match[1] ?? '', { maxAliasCount: 0 })
    const isTable = typeof front === 'object' && front !== null && !Array.isArray(front)
    return { front: isTable ? { ...front } : {}, body: match[2] ?? '' }
  } catch {
    return { front: {}, body: text }
  }
}

const key = 'ot_agent'

/** The uploads recorded in a card; malformed entries are skipped. */
export function uploadsOf(card: Card): Upload[] {
  const listed: unknown = Object(card.front[key]).uploads
  return (Array.isArray(listed) ? listed : []).flatMap((entry: unknown) => {
    const { digest, files, rows, bytes, dataBytes, lineage } = Object(entry)
    const isWhole =
      typeof digest === 'string' &&
      Array.isArray(files) &&
      [rows, bytes, dataBytes].every((count) => Number.isFinite(count))
    if (!isWhole) return []
    const counts = Object.entries(Object(lineage)).filter(([, count]) => Number.isFinite(count)) as [string, number][]
    return [{ digest, files: files.map(String), rows, bytes, dataBytes, lineage: Object.fromEntries(counts) }]
  })
}

/** Renders a card covering all uploads: its numbers are their sums, and its last part lists them. */
export function renderUploads(card: Card, uploads: readonly Upload[]): string {
  const total = (count: (upload: Upload) => number) => uploads.reduce((sum, upload) => sum + count(upload), 0)
  const front = {
    ...card.front,
    size_categories: [sizeCategory(total(({ rows }) => rows))],
    ...(card.front.dataset_info !== undefined &&
      uploads.length > 1 && { dataset_info: summed(Object(card.front.dataset_info), total) }),
    [key]: { uploads },
  }
  const rows = uploads.map(({ digest, rows, files, bytes, lineage }) => {
    const from = Object.entries(lineage).map(([name, count]) => `${plain(name)} (${count})`)
    return `| ${digest} | ${rows} | ${files.length} | ${bytes} | ${from.join(', ') || '-'} |`
  })
  const table = ['| upload | rows | files | bytes | made by |', '| --- | --- | --- | --- | --- |', ...rows].join('\n')
  const body = card.body.replace(/\n## Uploads\n[\s\S]*$/, '').trimEnd()
  return `---\n${renderYaml(front, { lineWidth: 0 })}---\n\n${body.trimStart()}\n\n## Uploads\n\n${table}\n`
}

function summed(info: Record<string, unknown>, total: (count: (upload: Upload) => number) => number): unknown {
  const bytes = total(({ dataBytes }) => dataBytes)
  const split = { name: 'train', num_bytes: bytes, num_examples: total(({ rows }) => rows) }
  return { ...info, splits: [split], download_size: total(({ bytes: sent }) => sent), dataset_size: bytes }
}

/** What an upload contains: packed tasks, packed jobs, or just files. */
export type UploadKind = 'tasks' | 'jobs' | 'files'

/** The card for a dataset without one. */
export function newCard(name: string, kind: UploadKind, rows: number, madeBy: string): string {
  const title = plain(name.split('/').at(-1) ?? name)
  const front = {
    pretty_name: title,
    tags: kind === 'files' ? ['ot-agent'] : ['agent', kind, 'harbor', 'ot-agent'],
    ...(kind !== 'files' && {
      ...(kind === 'tasks' && { task_categories: ['text-generation'] }),
      configs: [
        {
          config_name: 'default',
          data_files: [{ split: 'train', path: kind === 'tasks' ? 'tasks*.parquet' : 'logs*.parquet' }],
        },
      ],
    }),
  }
  const ofJobs = `Raw jobs of agents, ${rows} rows: column \`path\` is job/trial, or job/_job for the files of a job itself, and \`task_binary\` that directory as tar.gz.\n\n    ot-agent hub download ${plain(name)} --out logs\n    ot-agent jobs unpack logs/logs.parquet --jobs-dir jobs`
  const what =
    kind === 'jobs'
      ? ofJobs
      : kind === 'tasks'
        ? `${rows} tasks for agents, packed: column \`path\` is a task's name, \`task_binary\` its directory as tar.gz.\n\n    ot-agent hub download ${plain(name)} --tasks --out tasks`
        : rows > 0
          ? `${rows} rows.`
          : 'Files as they are.'
  return `---\n${renderYaml(front, { lineWidth: 0 })}---\n\n# ${title}\n\n${what}\n\nWritten by ${madeBy}.\n`
}

/** Names come from untrusted tasks: no markup, no line breaks. */
function plain(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\\`*[\]<>|#]/g, '')
    .slice(0, 200)
}
