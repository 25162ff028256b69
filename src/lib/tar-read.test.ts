import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDir } from '../../test/trees.ts'
import { packDirToBytes, tarDir } from './tar.ts'
import { ArchiveError } from './tar-format.ts'
import { entriesIn, readTar } from './tar-read.ts'

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
