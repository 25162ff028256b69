import { Command } from '@commander-js/extra-typings'
import { expect, test } from 'vitest'
import { catchPrinted } from '../../../test/printed.ts'
import { runCommand } from './command.ts'

/** Runs a command with paths of every kind; returns what its action received. */
async function run(...argv: string[]): Promise<unknown> {
  let seen: unknown
  const make = () =>
    new Command()
      .argument('[name]')
      .argument('[file...]')
      .option('-o, --out <dir>')
      .option('-p, --path <path...>')
      .option('--job-name <name>')
      .action((...words) => {
        seen = words.slice(0, 3)
      })
  await runCommand(make, ['ot-agent', 'try'], argv)
  return seen
}

test.each([
  [['--out', ''], '--out'],
  [['--path', 'a', ''], '--path'],
  [['x', 'a', ''], 'file'],
])('an empty path is refused, whatever it was for: %j', async (argv, name) => {
  await expect(run(...argv)).rejects.toThrow(`${name}: expected a path, got an empty string`)
})

test('what is no path may be empty, and paths that were not given are no matter', async () => {
  expect(await run('', '--job-name', '')).toEqual(['', [], { jobName: '' }])
  expect(await run('x', 'a', '--out', '.')).toEqual(['x', ['a'], { out: '.' }])
})

test('help fits into 80 columns beside the longest flag', async () => {
  const make = () => new Command().option(`--${'long-'.repeat(7)}flag <x>`, 'some words of a description '.repeat(9))
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'try'], ['--help'])
  const lines = printed().split('\n')
  expect(lines.length).toBeGreaterThan(8)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
})
