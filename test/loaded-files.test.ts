import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from './make-task.ts'
import { needs } from './needs.ts'

/** Runs a command line from the sources; returns the source files it loaded. */
async function filesLoadedBy(...words: string[]): Promise<string[]> {
  const list = join(await makeTempDir(), 'loaded')
  const hook = ['--import', './test/loader-hook.mjs', 'src/cli/main.ts']
  const env = { ...process.env, LOADED_FILES: list }
  const { status, stderr } = spawnSync(process.execPath, [...hook, ...words], { env, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const paths = readFileSync(list, 'utf8').trim().split('\n')
  return paths.map((path) => relative(process.cwd(), path))
}

/** Limits that may only be lowered. */
const most = { help: 8, 'run --help': 15, run: 199 }

test('help loads no command', async () => {
  const files = await filesLoadedBy('--help')
  expect(files.length, `ot-agent --help loads ${files.length} files`).toBeLessThanOrEqual(most.help)
})

test('the help of run loads little of what a run needs', async () => {
  const files = await filesLoadedBy('run', '--help')
  expect(files.length, `ot-agent run --help loads ${files.length} files`).toBeLessThanOrEqual(most['run --help'])
})

test('a plain run loads only what it needs', needs('bwrap', 'unshare', 'nsenter'), async () => {
  const out = await makeTempDir()
  const files = await filesLoadedBy('run', '-p', 'examples/tasks/csv-to-json', '-a', 'oracle', '-o', out, '--quiet')
  expect(files.length, `ot-agent run loads ${files.length} files`).toBeLessThanOrEqual(most.run)
  const others = /^src\/(?:engines|schedulers|registry|server|stages)\/|^src\/sandboxes\/(?:docker|cloud|apptainer)\//
  expect(files.filter((file) => others.test(file))).toEqual([])
})
