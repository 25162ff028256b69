import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { scratch } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const recipe = ['recipe', 'run', 'examples/05-your-own-stages.ts']
const generation = ['generate', 'data/nl2bash/generate.ts', '--limit', '3', '--no-check']

/**
 * A command in a terminal of 80 columns; its stdout goes to a file, so the terminal only has what a person sees
 * meanwhile.
 */
async function onTerminal(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as typeof import('@lydell/node-pty')
  const file = join(scratch, 'stdout')
  const argv = ['-c', '"$@" > "$0"', file, process.execPath, bin, ...words]
  const { NO_COLOR: _, ...others } = process.env
  const pty = spawn('bash', argv, { cols: 80, rows: 24, cwd: resolve('.'), env: { ...others, TERM: 'xterm', ...env } })
  let shown = ''
  pty.onData((chunk) => {
    shown += chunk
  })
  const { exitCode } = await new Promise<{ exitCode: number }>((done) => pty.onExit(done))
  return { exitCode, shown, stdout: readFileSync(file, 'utf8') }
}

/** The final content of the screen, line by line. */
async function screenOf(shown: string): Promise<string[]> {
  const { Terminal } = createRequire(import.meta.url)('@xterm/headless') as typeof import('@xterm/headless')
  const terminal = new Terminal({ cols: 80, rows: 200, allowProposedApi: true })
  await new Promise<void>((done) => terminal.write(shown, done))
  const buffer = terminal.buffer.active
  const lines = Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y)?.translateToString(true) ?? '')
  return lines.filter((line) => line !== '')
}

test('a recipe shows its stages on a terminal, with a bar that is gone in the end', async () => {
  const { exitCode, shown, stdout } = await onTerminal([...recipe, '-o', join(scratch, 'on-terminal')])
  expect(exitCode, shown).toBe(0)
  expect(shown).toMatch(/stage 1\/6/)
  expect(shown).toContain('\u001b[J')
  expect(shown).toContain('\u001b[36mstage')
  const lines = await screenOf(shown)
  expect(lines.map((line) => line.replace(/\d+s$/, 'TIME'))).toEqual([
    expect.stringMatching(/^stage 1\/\d lines: 8 rows, TIME$/),
    ...Array.from({ length: lines.length - 1 }, () => expect.stringMatching(/^stage \d\/\d [\w+ -]+: \d rows?, TIME$/)),
  ])
  expect(stdout).toContain('count-words')
})

test('NO_COLOR leaves the colors out, and --json leaves stdout to the result', async () => {
  const out = ['-o', join(scratch, 'no-color'), '--json']
  const { exitCode, shown, stdout } = await onTerminal([...recipe, ...out], { NO_COLOR: '1' })
  expect(exitCode, shown).toBe(0)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are escape sequences
  expect(shown).not.toMatch(/\u001b\[[0-9;]*m/)
  expect(JSON.parse(stdout)).toMatchObject({ schema: 'recipe-run/1' })
})

test('a pipeline shows its stage on a terminal', async () => {
  const { exitCode, shown } = await onTerminal([...generation, '--output-dir', join(scratch, 'made'), '--json'])
  expect(exitCode, shown).toBe(0)
  expect((await screenOf(shown)).at(-1)).toMatch(/^stage 1\/1 tasks: 3 rows, \d+s$/)
})

test('elsewhere each stage is one line, also of an earlier run', () => {
  const run = (words: readonly string[]) => {
    const { stderr } = spawnSync(process.execPath, [bin, ...words], { encoding: 'utf8' })
    return stderr.trimEnd().split('\n')
  }
  const again = run([...recipe, '-o', join(scratch, 'on-terminal')])
  for (const line of again) expect(line).toMatch(/^stage \d\/\d [\w+ -]+: \d rows?, from an earlier run, 0s$/)
  const lines = run([...generation, '--output-dir', join(scratch, 'made')])
  expect(lines.at(-1)).toMatch(/^stage 1\/1 tasks: 3 rows, from an earlier run, \d+s$/)
})

const composer = ['generate', 'data/terminal-composer/generate.ts', '--count', '8000', '--no-check', '-q']
test.each([
  ['a recipe', ['recipe', 'run', 'studies/tasks.ts', '-q', '-o'], 'again'],
  ['a rehearsal, which begins anew,', ['recipe', 'run', 'studies/tasks.ts', '-q', '--rehearse', '-o'], null],
  ['a generation', [...composer, '--output-dir'], 'again'],
  ['a generation that overwrites', [...composer, '--overwrite', '--output-dir'], 'again without --overwrite'],
] as const)('%s that was stopped says how it continues', async (name, words, again) => {
  const out = join(scratch, 'stopped', name)
  const child = spawn(process.execPath, [bin, ...words, out])
  const ended = once(child, 'exit')
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  while (!existsSync(out)) await wait(5)
  child.kill('SIGINT')
  expect(await ended, said).toEqual([130, null])
  expect(said).toContain('cancelled\n')
  const [, how = null] = /finished work is kept: run the same command (.*) to continue\n/.exec(said) ?? []
  expect(how).toBe(again)
})
