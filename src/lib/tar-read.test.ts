import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arbitraryTree, tempDir, writeTree } from '../../test/trees.ts'
import { packDirToBytes, tarDir, tarFew } from './tar.ts'
import { ArchiveError } from './tar-format.ts'
import { entriesIn, plainFilesIn, readTar } from './tar-read.ts'

async function someArchive(): Promise<Buffer> {
  const dir = await tempDir()
  await mkdir(join(dir, 'agent', 'n'.repeat(120)), { recursive: true })
  await writeFile(join(dir, 'agent', 'n'.repeat(120), 'ü.txt'), 'x'.repeat(700))
  await writeFile(join(dir, 'empty'), '')
  await symlink('agent/elsewhere', join(dir, 'link'))
  const chunks: Uint8Array[] = []
  for await (const chunk of tarDir(dir, { links: 'keep' })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes
}

test('an archive in memory has the entries that it has as a stream', async () => {
  const archive = await someArchive()
  const streamed: object[] = []
  for await (const { head: _, body, ...entry } of readTar(once(archive))) {
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    streamed.push({ ...entry, content: Buffer.concat(chunks).toString() })
  }
  const inMemory = [...entriesIn(archive)].map((entry) => ({
    ...entry,
    content: Buffer.from(entry.content).toString(),
  }))
  expect(inMemory).toEqual(streamed)
  expect(inMemory).toHaveLength(5)
})

test('wherever an archive in memory is cut off, it is refused', async () => {
  const archive = await someArchive()
  for (let end = 0; end < archive.length - 1024; end += 100)
    expect(() => [...entriesIn(archive.subarray(0, end))], `cut at ${end}`).toThrow(ArchiveError)
})

test('a tree is packed to the same bytes by blocking calls and by others', async () => {
  const dir = await tempDir()
  await mkdir(join(dir, 'a/b'), { recursive: true })
  await writeFile(join(dir, 'a/b/c'), 'text')
  await symlink('c', join(dir, 'a/b/d'))
  const options = { links: 'keep', modes: 'kept', filter: ({ path }: { path: string }) => path !== 'a/x' } as const
  expect(await packDirToBytes(dir, { ...options, blocking: true })).toEqual(await packDirToBytes(dir, options))
})

const starts = ['agent/', 'steps/'].map((start) => Buffer.from(start))
/** The files with such a prefix, according to a walk over every entry. */
const wantedIn = (tar: Uint8Array) =>
  [...entriesIn(tar)]
    .filter(({ kind, name }) => kind === 'file' && starts.some((start) => name.startsWith(`trial/${start}`)))
    .map(({ name, content }) => ({ name, content: Buffer.from(content).toString('hex') }))
const plainIn = (tar: Uint8Array) =>
  plainFilesIn(tar, 'trial/'.length, starts)?.map(({ name, content }) => ({
    name,
    content: Buffer.from(content).toString('hex'),
  }))

const plainFile = fc.record({ content: fc.string(), mode: fc.constant(0o644) })
const plainTree = fc.dictionary(fc.stringMatching(/^[a-z0-9]{1,8}$/), plainFile, { maxKeys: 6 })
const anyTree = fc.oneof({ weight: 3, arbitrary: plainTree }, { weight: 1, arbitrary: arbitraryTree })

test('plain files are found as reading all entries finds them, or not at all', async () => {
  const dir = await tempDir()
  let run = 0
  let plain = 0
  await fc.assert(
    fc.asyncProperty(anyTree, anyTree, async (agent, other) => {
      const root = join(dir, String(run++))
      await writeTree(join(root, 'agent'), agent)
      await writeTree(join(root, 'agents'), other)
      await writeTree(join(root, 'steps/one'), other)
      const tar = tarFew(root, { prefix: 'trial/', links: 'keep', special: 'skip', modes: 'kept' })
      const found = plainIn(tar ?? new Uint8Array())
      if (found) expect(found).toEqual(wantedIn(tar ?? new Uint8Array()))
      if (found) plain++
    }),
    { numRuns: 40 },
  )
  expect(plain).toBeGreaterThan(0)
})

test('an archive with long or foreign names, or one that is cut off, is not read as plain', async () => {
  const dir = await tempDir()
  await writeTree(dir, {
    'agent/a': { content: 'x'.repeat(600), mode: 0o644 },
    'agent/link': { link: 'a' },
    other: { content: 'y', mode: 0o644 },
  })
  const options = { prefix: 'trial/', links: 'keep' } as const
  const tar = tarFew(dir, options) ?? new Uint8Array()
  expect(plainIn(tar)).toEqual(wantedIn(tar))
  expect(wantedIn(tar)).toHaveLength(1)
  for (let end = 0; end < tar.length - 512; end += 256) expect(plainIn(tar.subarray(0, end))).toBeUndefined()
  for (const name of ['é', 'n'.repeat(120)]) {
    await writeTree(dir, { [name]: { content: '', mode: 0o644 } })
    expect(plainIn(tarFew(dir, options) ?? new Uint8Array())).toBeUndefined()
    await rm(join(dir, name))
  }
})
