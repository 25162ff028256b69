import { Command } from '@commander-js/extra-typings'
import { UserError } from '../core/errors.ts'
import type { Reaped } from '../core/sandbox.ts'
import { makeProvider } from '../plugins.ts'
import { printJson, printTable } from './output.ts'
import { parsedAssignments } from './run/values.ts'

const several = (text: string, before: string[] = []) => [...before, text]

/** `ot-agent clean`: removes what dead owners left, and nothing that may have a live one. */
export default () =>
  new Command()
    .description(
      'Removes sandboxes, mounts and control groups whose owner is dead. A running job is never touched, nor what may belong to one on another machine.',
    )
    .option('-e, --environment <sandbox>', 'kind of sandbox to clean', 'local')
    .option(
      '--ek, --environment-kwarg <key=value>',
      'option of the sandbox, for example socket=/path; repeatable',
      several,
    )
    .option(
      '--older-than <age>',
      'also remove what may have a live owner on another machine or in another container, when that gave no sign of life for this long, for example 2h or 3d',
    )
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'print the result as JSON')
    .action(async (options) => {
      const dryRun = options.dryRun ?? false
      const olderThanSec = options.olderThan === undefined ? undefined : parseAge(options.olderThan)
      const provider = await makeProvider(
        options.environment,
        parsedAssignments('--ek', options.environmentKwarg ?? []),
      )
      const left: Reaped[] = []
      const reaped = await provider.reap({
        dryRun,
        ...(olderThanSec !== undefined && { olderThanSec }),
        left: (thing) => void left.push(thing),
      })
      if (options.json) return printJson({ dryRun, reaped, left })
      printReaped(reaped)
      if (left.length === 0) return
      process.stdout.write('\nkept, because it is unknown whether the owner still runs (see --older-than):\n')
      printReaped(left)
    })

function printReaped(reaped: readonly Reaped[]): void {
  if (reaped.length === 0) process.stdout.write('nothing to clean\n')
  else
    printTable(
      ['sandbox', 'job', 'trial', 'what'],
      reaped.map((r) => [r.id, r.owner.job, r.owner.trial, r.what]),
    )
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
