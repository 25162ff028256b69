import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { runCommand } from '../src/app/flags/command.ts'
import launchCommand from '../src/cli/launch.ts'
import { splitShellWords } from '../src/lib/shell-words.ts'
import { catchPrinted } from './printed.ts'

/** A table from the guide: the command above it, and what each row adds and promises. */
const [sft, rl] = readFileSync('docs/guides/training-presets.md', 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    command: /^ {4}npx ot-agent (launch .*)$/m.exec(section)?.[1] ?? '',
    rows: section
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(1)
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map(([, first = '', second = '', third = '']) => ({ first, second, third })),
  }))

async function planned(command: string, flags: string): Promise<string> {
  vi.stubEnv('HF_HUB_OFFLINE', '1')
  vi.stubEnv('WANDB_API_KEY', '')
  const words = splitShellWords(`${command} ${flags}`) ?? []
  const shown = catchPrinted()
  await runCommand(launchCommand, ['ot-agent', 'launch'], words.slice(1))
  return shown()
}

const codeOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

test('the guide has as many variants as the original has files, and more', () => {
  expect(sft?.rows.length).toBeGreaterThanOrEqual(29)
  expect(rl?.rows.length).toBeGreaterThanOrEqual(7)
})

test.each(sft?.rows ?? [])('$first is planned, and its training file says so', async ({ second, third }) => {
  const text = await planned(sft?.command ?? '', codeOf(second)[0] ?? '')
  expect(codeOf(third).length).toBeGreaterThan(0)
  for (const promised of codeOf(third)) expect(text).toContain(promised)
  expect(text).toContain('train (8 nodes, 1 GPU each')
  expect(text).not.toMatch(/has no effect/)
})

test.each(rl?.rows ?? [])('reinforcement on $first is planned', async ({ third }) => {
  const [flags = ''] = codeOf(third)
  const text = await planned(rl?.command ?? '', flags)
  const [, data = ''] = /--train-data (\S+)/.exec(flags) ?? []
  expect(text).toContain(`hub download ${data}`)
  expect(text).toContain('train by reinforcement (8 nodes, 1 GPU each')
  for (const [, setting = ''] of flags.matchAll(/-S (\S+)/g)) expect(text).toContain(setting)
})
