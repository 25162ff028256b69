import { Command } from '@commander-js/extra-typings'
import { clean, type Remains } from '../app/clean.ts'
import { several } from '../app/flags/values.ts'
import { parsedAssignments } from '../app/job/assignments.ts'
import { UserError } from '../core/errors.ts'
import { oneLine } from '../lib/visible.ts'
import { showCache } from './clean-cache.ts'
import { printJson, printTable } from './output.ts'
import { sizeText } from './size-text.ts'

/** `ot-agent clean`: removes what dead owners left, and nothing that may have a live one. */
export default () =>
  new Command()
    .description(
      'Removes what dead processes left behind: sandboxes, model servers, mounts, control groups, and unfinished files and ' +
        'directories next to outputs, in caches and in the temporary directory.\n' +
        'Never touches a running job, or anything that may belong to a job on another machine.',
    )
    .option('-e, --environment <sandbox>', 'kind of sandbox to clean', 'local')
    .option(
      '--ek, --environment-kwarg <key=value>',
      'option of the sandbox, for example socket=/path; repeatable',
      several,
    )
    .option(
      '--older-than <age>',
      'also remove what may have a live owner on another machine or in another container, if that owner has shown no sign of life for this long, for example 2h or 3d',
    )
    .option(
      '--cache',
      'instead, show the bases and layers cached for later sandboxes, and remove the least recently used ones until the rest is within the limit; nothing that a running job uses is removed',
    )
    .option('--limit <size>', 'with --cache: the limit, for example 5GB (default: --ek cacheLimitGb, which is 20 GB)')
    .option('--dry-run', 'print what would be removed, and remove nothing')
    .option('--json', 'print the result as JSON')
    .action(async (options) => {
      const dryRun = options.dryRun ?? false
      const olderThanSec = options.olderThan === undefined ? undefined : parseAge(options.olderThan)
      const sandbox = {
        name: options.environment,
        options: parsedAssignments('--ek', options.environmentKwarg ?? []),
      }
      if (options.cache) return showCache({ sandbox, dryRun, limit: options.limit }, options.json ?? false)
      if (options.limit !== undefined)
        throw new UserError(
          '--limit: expected --cache with it, got none',
          'add --cache: --limit is the size limit of the cache',
        )
      const { found, kept, servers } = await clean({ sandbox, dryRun, olderThanSec })
      if (options.json)
        printJson({
          dryRun,
          ...found,
          servers,
          left: kept.reaped,
          leftoversLeft: kept.leftovers,
          bytes: bytesOf(found),
        })
      else {
        for (const { name, ownerPid, pids } of servers)
          process.stdout.write(
            `${dryRun ? 'would stop' : 'stopped'} the model server ${oneLine(name)} of process ${ownerPid}, which has died (${pids.length} processes)\n`,
          )
        if (servers.length === 0 || countOf(found) + countOf(kept) > 0) printFound(found, kept, dryRun)
      }
    })

function printFound(found: Remains, kept: Remains, dryRun: boolean): void {
  const count = countOf(found)
  if (count === 0) process.stdout.write('nothing to clean\n')
  else {
    printTables(found)
    const things = count === 1 ? '1 thing' : `${count} things`
    process.stdout.write(`${dryRun ? 'would remove' : 'removed'} ${things}, ${sizeText(bytesOf(found))}\n`)
  }
  if (countOf(kept) === 0) return
  process.stdout.write('\nkept, because their owners may still be running (see --older-than):\n')
  printTables(kept)
}

function printTables({ reaped, leftovers }: Remains): void {
  if (reaped.length > 0)
    printTable(
      ['sandbox', 'job', 'trial', 'what', 'size'],
      reaped.map(({ id, owner, what, bytes }) => [
        ...[id, owner.job, owner.trial, what],
        bytes === undefined ? '' : sizeText(bytes),
      ]),
    )
  if (leftovers.length > 0)
    printTable(
      ['what', 'left by', 'size', 'path'],
      leftovers.map(({ what, pid, bytes, path }) => [what, `process ${pid}`, sizeText(bytes), path]),
    )
}

function countOf({ reaped, leftovers }: Remains): number {
  return reaped.length + leftovers.length
}

function bytesOf({ reaped, leftovers }: Remains): number {
  return [...reaped, ...leftovers].reduce((sum, { bytes = 0 }) => sum + bytes, 0)
}

const unitSec: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function parseAge(text: string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? []
  if (count === undefined)
    throw new UserError(
      `--older-than: expected a time such as 90m, 12h or 3d, got ${JSON.stringify(text)}`,
      'add a unit: s, m, h or d',
    )
  return Number(count) * (unitSec[unit] ?? 1)
}
