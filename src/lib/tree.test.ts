import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { compareBytes, type TreeEntry, walkTree, walkTreeNow } from './tree.ts'

async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'tree-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** What both ways of walking return. */
async function collect(dir: string): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = []
  for await (const entry of walkTree(dir)) entries.push(entry)
  expect([...walkTreeNow(dir)]).toEqual(entries)
  return entries
}

test('lists a directory before its contents and siblings in byte order', async () => {
  const dir = await makeDir()
  for (const path of ['b', 'a/z', 'a/.hidden', 'a.txt', 'Z', '\u{1F600}', '\uFF5E']) {
    if (path.includes('/')) await mkdir(join(dir, 'a'), { recursive: true })
    await writeFile(join(dir, path), path)
  }
  const paths = (await collect(dir)).map((entry) => entry.path)
  expect(paths).toEqual(['Z', 'a', 'a/.hidden', 'a/z', 'a.txt', 'b', '\uFF5E', '\u{1F600}'])
})

test('reports kind, mode, size and link target, and follows nothing', async () => {
  const dir = await makeDir()
  await mkdir(join(dir, 'd'))
  await chmod(join(dir, 'd'), 0o750)
  await writeFile(join(dir, 'd/run.sh'), 'echo hi\n')
  await chmod(join(dir, 'd/run.sh'), 0o755)
  await symlink('..', join(dir, 'd/up'))
  await symlink('/nowhere', join(dir, 'gone'))
  execFileSync('mkfifo', [join(dir, 'pipe')])
  expect(await collect(dir)).toMatchObject([
    { path: 'd', kind: 'dir', mode: 0o750, size: 0, target: '' },
    { path: 'd/run.sh', kind: 'file', mode: 0o755, size: 8, target: '' },
    { path: 'd/up', kind: 'symlink', size: 0, target: '..' },
    { path: 'gone', kind: 'symlink', target: '/nowhere' },
    { path: 'pipe', kind: 'other', size: 0 },
  ])
})

test('yields nothing for an empty directory and throws for a missing one', async () => {
  const dir = await makeDir()
  expect(await collect(dir)).toEqual([])
  await expect(collect(join(dir, 'missing'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('refuses a name that is not UTF-8', async () => {
  const dir = await makeDir()
  await writeFile(Buffer.concat([Buffer.from(`${dir}/bad-`), Buffer.from([0xff])]), '')
  await expect(collect(dir)).rejects.toThrow('not UTF-8')
})

test('walks a deep tree without recursion', async () => {
  const dir = await makeDir()
  const path = Array.from({ length: 400 }, () => 'd').join('/')
  await mkdir(join(dir, path), { recursive: true })
  expect(await collect(dir)).toHaveLength(400)
})

test('compareBytes orders like code points', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (names) => {
      const byBytes = [...names].sort(compareBytes)
      const byPoints = [...names].sort((a, b) => comparePoints([...a], [...b]))
      expect(byBytes).toEqual(byPoints)
    }),
  )
})

function comparePoints(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = a[i]!.codePointAt(0)! - b[i]!.codePointAt(0)!
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
