import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TaskDraft } from '../core/row.ts'
import { openTaskSet } from './task-set.ts'

/** Dies at the nth rename or removal. A removal that dies has removed one file. */
const dieAtNth = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
let left = Number(process.argv[4])
const filesIn = (path) => fs.readdirSync(path, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
const removeOne = (path) => {
  if (!fs.existsSync(path)) return
  const [first] = fs.statSync(path).isDirectory() ? filesIn(path).map(({ parentPath, name }) => join(parentPath, name)) : [path]
  if (first) fs.unlinkSync(first)
}
const dying = (call, before) => (path, ...rest) => {
  if (left-- > 0) return call(path, ...rest)
  before(path)
  process.kill(process.pid, 'SIGKILL')
}
fs.promises.rename = dying(fs.promises.rename, () => {})
fs.promises.rm = dying(fs.promises.rm, removeOne)
syncBuiltinESMExports()
`

const writer = `
import { openTaskSet } from ${JSON.stringify(new URL('./task-set.ts', import.meta.url).pathname)}
const [, , dir, what] = process.argv
const set = await openTaskSet(dir, { made: 'here' }, what === 'overwrite')
if (what === 'place') {
  const staged = await set.stage(${JSON.stringify(draftOf('a', 'new'))})
  await set.begin('again', ['a'])
  await staged.place()
}
if (what === 'remove') await set.removeUnfinished(new Set())
await set.close()
`

let scratch: string
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'ot-task-set-'))
  await writeFile(join(scratch, 'die.mjs'), dieAtNth)
  const outfile = join(scratch, 'writer.mjs')
  const js = `import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`
  const stdin = { contents: writer, resolveDir: process.cwd(), loader: 'ts' } as const
  await build({ stdin, bundle: true, platform: 'node', format: 'esm', banner: { js }, outfile, logLevel: 'error' })
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

test.each([
  ['placing a task where one is', 'place', ['a new', 'a old', 'b old']],
  ['removing what is unfinished', 'remove', ['a old', 'b old']],
  ['starting over', 'overwrite', ['a old', 'b old']],
])('kill -9 at any step of %s leaves whole tasks only', async (_, what, may) => {
  const dir = join(scratch, what)
  const seen = new Set<string>()
  for (let steps = 0, signal: string | null = 'SIGKILL'; signal !== null; steps++) {
    await rm(dir, { recursive: true, force: true })
    await makeUnfinished(dir)
    const args = ['--import', join(scratch, 'die.mjs'), join(scratch, 'writer.mjs'), dir, what, String(steps)]
    const child = spawnSync(process.execPath, args, { encoding: 'utf8' })
    signal = child.signal
    expect(child.status ?? 0, child.stderr).toBe(0)
    for (const task of await tasksIn(dir)) seen.add(task)
  }
  expect([...seen].sort()).toEqual(may)
})

function draftOf(name: string, age: 'old' | 'new'): TaskDraft {
  const files = Object.fromEntries(['1', '2'].map((nth) => [`environment/${age}-${nth}`, { data: age }]))
  const lineage = { pipeline: 'p', strategy: 's', rowId: name, rowDigest: '0', seed: 1 }
  return { name, instruction: age, files, lineage }
}

/** A set with two tasks from unfinished rows. */
async function makeUnfinished(dir: string): Promise<void> {
  const set = await openTaskSet(dir, { made: 'here' })
  for (const name of ['a', 'b']) {
    await set.begin(name, [name])
    await (await set.stage(draftOf(name, 'old'))).place()
  }
  await set.close()
}

/**
 * Each task of a set with its age; a task that lacks a file or has another task's is shown with the names of all its
 * files.
 */
async function tasksIn(dir: string): Promise<string[]> {
  const tasksDir = join(dir, 'tasks')
  const names = await readdir(tasksDir).catch((): string[] => [])
  return Promise.all(
    names.map(async (name) => {
      const files = (await readdir(join(tasksDir, name), { recursive: true })).sort().join(' ')
      const age = ['old', 'new'].find((age) => files === wholeOf(age))
      return `${name} ${age ?? `with ${files}`}`
    }),
  )
}

function wholeOf(age: string): string {
  return `environment environment/Dockerfile environment/${age}-1 environment/${age}-2 instruction.md task.toml`
}
