import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { asideOf, draftBeside, draftOf, parseDraftName, placesDirOf, removeDraft } from './drafts.ts'
import { sweepLeftovers } from './leftovers.ts'
import { defaultStateDir, identify, markName, ownersDirOf } from './process-identity.ts'

const stateDir = defaultStateDir()
const sweep = (more: { dryRun?: boolean; olderThanSec?: number } = {}) =>
  sweepLeftovers({ stateDir, dryRun: false, claims: async () => [], ...more })
const newDir = () => mkdtempSync(join(tmpdir(), 'leftovers-'))

test('unfinished files of a killed process are removed, with their size reported; finished files stay', async () => {
  const dir = newDir()
  await killed(dir, 'half(drafts.draftBeside(dir + "/out.parquet")); half(drafts.draftOf(dir + "/part"))')
  writeFileSync(join(dir, 'whole'), 'whole')
  const would = await sweep({ dryRun: true })
  expect(would.removed.map(({ what }) => what)).toEqual(['unfinished file', 'unfinished file'])
  expect(would.removed.every(({ bytes }) => bytes >= 4)).toBe(true)
  expect(readdirSync(dir)).toHaveLength(3)
  expect((await sweep()).removed.map(({ path }) => path).sort()).toEqual(would.removed.map(({ path }) => path).sort())
  expect(readdirSync(dir)).toEqual(['whole'])
  expect(readdirSync(placesDirOf(stateDir)).filter((name) => !name.startsWith(`${process.pid}-`))).toEqual([])
})

test('directories are removed too, however deep, and the temporary directory is searched', async () => {
  const dir = newDir()
  await killed(
    dir,
    `const scratch = await drafts.makeScratchDir(dir + '/ot-agent-check-')
     process.chdir(scratch)
     for (let i = 0; i < 1500; i++) { fs.mkdirSync('deep'); process.chdir('deep') }`,
  )
  expect((await sweep()).removed).toMatchObject([{ what: 'unfinished directory' }])
  expect(readdirSync(dir)).toEqual([])
})

test('files of a living process stay, and so does everything in a directory that no process recorded', async () => {
  const dir = newDir()
  const mine = draftBeside(join(dir, 'mine'))
  writeFileSync(mine, 'half')
  const { pid } = spawnSync('true')
  const strangers = `.x.${pid}-1-1-00000000.tmp`
  writeFileSync(join(dir, strangers), 'half')
  expect(await sweep()).toEqual({ removed: [], left: [] })
  expect(readdirSync(dir)).toHaveLength(2)
  await removeDraft(mine)
})

test('an earlier version that was moved aside comes back, unless its successor is there', async () => {
  const dir = newDir()
  await killed(dir, 'half(drafts.asideOf(dir + "/a")); half(drafts.asideOf(dir + "/b")); half(dir + "/b", "new")')
  const { removed } = await sweep()
  expect(removed.map(({ what }) => what).sort()).toEqual(['earlier version, restored', 'unfinished file'])
  expect(readdirSync(dir).sort()).toEqual(['a', 'b'])
  expect([readFileSync(join(dir, 'a'), 'utf8'), readFileSync(join(dir, 'b'), 'utf8')]).toEqual(['half', 'new'])
})

test('a process of another machine may be alive: its leftovers are listed, and removed only with --older-than', async () => {
  const dir = newDir()
  const other = { ...identify(process.pid)!, pid: 7, bootId: '11111111-2222', host: 'elsewhere' }
  const mark = markName(other)!
  writeFileSync(join(dir, `.x.${mark}.tmp`), 'half')
  writeFileSync(join(placesDirOf(stateDir), mark), `${JSON.stringify(other)}\n${JSON.stringify(dir)}\n`)
  expect(await sweep()).toMatchObject({ removed: [], left: [{ pid: 7 }] })
  expect(await sweep({ olderThanSec: 3600 })).toMatchObject({ removed: [], left: [{ pid: 7 }] })
  expect(await sweep({ olderThanSec: 0 })).toMatchObject({ removed: [{ pid: 7 }], left: [] })
  expect(readdirSync(dir)).toEqual([])
})

test('marks of dead processes stay for other PID namespaces, unless they are old', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'])
  const mark = markName(identify(child.pid ?? 0)!)!
  child.kill('SIGKILL')
  await once(child, 'exit')
  const pipe = join(ownersDirOf(stateDir), mark)
  mkdirSync(ownersDirOf(stateDir), { recursive: true })
  spawnSync('mkfifo', [pipe])
  await sweep()
  expect(existsSync(pipe)).toBe(true)
  await sweep({ olderThanSec: 0 })
  expect(existsSync(pipe)).toBe(false)
})

test('a name says who made it and what to put back', () => {
  const me = { pid: process.pid }
  expect(parseDraftName(draftOf('/tmp/a').slice(5))).toMatchObject({ maker: me, putBack: null })
  expect(parseDraftName(asideOf('/tmp/a.b').slice(5))).toMatchObject({ maker: me, putBack: 'a.b' })
  for (const name of ['a.tmp', '.a.0011.tmp', 'a.1-2.tmp', '']) expect(parseDraftName(name)).toBe(null)
})

/** Runs some code in a separate process, which then dies as by `kill -9`. */
async function killed(dir: string, code: string): Promise<void> {
  const outfile = join(newDir(), 'dies.mjs')
  await build({
    stdin: {
      contents: `import fs from 'node:fs'
        import * as drafts from ${JSON.stringify(resolve('src/lib/drafts.ts'))}
        const dir = ${JSON.stringify(dir)}
        const half = (path, text = 'half') => fs.writeFileSync(path, text)
        ${code}
        process.kill(process.pid, 'SIGKILL')`,
      resolveDir: process.cwd(),
    },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile, logLevel: 'silent' },
  })
  const child = spawn(process.execPath, [outfile], { stdio: 'inherit' })
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL')
}
