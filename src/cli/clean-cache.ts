import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { CacheEntry, SandboxProvider } from '../core/sandbox.ts'
import { diskBytesOf } from '../lib/disk-bytes.ts'
import { pluginContext } from '../plugins/make.ts'
import { printJson, printTable } from './output.ts'
import { sizeText } from './size-text.ts'

export interface CleanCacheOptions {
  readonly dryRun: boolean
  readonly json: boolean
  readonly limit: string | undefined
}

/** `ot-agent clean --cache`: says what is kept for later runs, and brings what sandboxes start from within its limit. */
export async function cleanCache(provider: SandboxProvider, { dryRun, json, limit }: CleanCacheOptions): Promise<void> {
  if (!provider.prune)
    throw new UserError(
      `-e ${provider.name}: expected a kind of sandbox that keeps files of its own on this machine`,
      'leave -e out for local sandboxes; an engine of containers has its own command, for example docker image prune',
    )
  const limitBytes = limit === undefined ? undefined : parseSize(limit)
  const report = await provider.prune({ dryRun, ...(limitBytes !== undefined && { limitBytes }) })
  const others = await otherCaches()
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
  for (const { path, bytes } of others) process.stdout.write(`${path}: ${sizeText(bytes)}, without a limit\n`)
}

function stateOf({ state }: CacheEntry, dryRun: boolean): string {
  return state === 'removed' && dryRun ? 'would be removed' : state
}

/** What is kept for other purposes; all of it can be removed while nothing runs. */
async function otherCaches(): Promise<readonly { readonly path: string; readonly bytes: number }[]> {
  const { stateDir } = pluginContext()
  const paths = ['tools', 'hub', 'responses', 'judge', 'apptainer/images'].map((name) => join(stateDir, name))
  const measured = await Promise.all(paths.map(async (path) => ({ path, bytes: await diskBytesOf(path) })))
  return measured.filter(({ bytes }) => bytes > 0)
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
