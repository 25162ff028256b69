import { type CleanCacheRequest, cleanCache } from '../app/clean.ts'
import { UserError } from '../core/errors.ts'
import type { CacheEntry } from '../core/sandbox.ts'
import { printJson, printTable } from './output.ts'
import { sizeText } from './size-text.ts'

type Asked = Omit<CleanCacheRequest, 'limitBytes'> & { readonly limit: string | undefined }

/** `ot-agent clean --cache`: shows what is cached for later runs, and trims the sandbox cache to its limit. */
export async function showCache({ limit, ...asked }: Asked, json: boolean): Promise<void> {
  const { dryRun } = asked
  const limitBytes = limit === undefined ? undefined : parseSize(limit)
  const { report, others } = await cleanCache({ ...asked, limitBytes })
  if (json) return printJson({ dryRun, ...report, others })
  if (report.entries.length > 0)
    printTable(
      ['kind', 'name', 'last used', 'size', 'state'],
      report.entries.map((entry) => [
        ...[entry.kind, entry.name, entry.lastUsedAt.slice(0, 16).replace('T', ' '), sizeText(entry.bytes)],
        stateOf(entry, dryRun),
      ]),
    )
  process.stdout.write(`bases and layers: ${sizeText(report.bytes)} of at most ${sizeText(report.limitBytes)}\n`)
  for (const { path, bytes } of others) process.stdout.write(`${path}: ${sizeText(bytes)}, no limit\n`)
}

function stateOf({ state }: CacheEntry, dryRun: boolean): string {
  return state === 'removed' && dryRun ? 'would be removed' : state
}

const units: Readonly<Record<string, number>> = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 }

function parseSize(text: string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(kb|mb|gb|tb)$/i.exec(text) ?? []
  if (count !== undefined) return Number(count) * (units[unit.toLowerCase()] ?? 1)
  throw new UserError(
    `--limit: expected a size such as 500MB or 20GB, got ${JSON.stringify(text)}`,
    'add a unit: KB, MB, GB or TB',
  )
}
