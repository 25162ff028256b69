import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { unpackTar } from 'modern-tar'
import { expect, test } from 'vitest'
import { arbitraryTree, readTree, tempDir, writeTree } from '../../test/trees.ts'
import { extractTar } from './extract.ts'
import { packDir, packDirToBytes, tarDir } from './tar.ts'

const sample = {
  'run.sh': { content: '#!/bin/sh\n', mode: 0o755 },
  'docs/ünï cödé ☃.md': { content: 'snow', mode: 0o644 },
  [`deep/${'d'.repeat(120)}/${'e'.repeat(200)}`]: { content: 'long', mode: 0o644 },
  empty: { content: '', mode: 0o644 },
  'nothing/here': { dir: true },
} as const

test('any tree comes back the way it went in', async () => {
  const dir = await tempDir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(arbitraryTree, async (tree) => {
      const at = join(dir, String(run++))
      await writeTree(join(at, 'in'), tree)
      await extractTar(packDir(join(at, 'in')), join(at, 'out'))
      expect(await readTree(join(at, 'out'))).toEqual(tree)
      const bytes = await packDirToBytes(join(at, 'in'), { blocking: true })
      expect(Buffer.compare(bytes, await collect(packDir(join(at, 'in'))))).toBe(0)
      await extractTar(bytes, join(at, 'again'), { blocking: true })
      expect(await readTree(join(at, 'again'))).toEqual(tree)
    }),
    { numRuns: 60 },
  )
})

test('two equal trees give equal bytes, whatever their times, order and other mode bits', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 'a'), sample)
  await writeTree(join(dir, 'b'), Object.fromEntries(Object.entries(sample).reverse()))
  await utimes(join(dir, 'b/empty'), 1, 1)
  await chmod(join(dir, 'b/empty'), 0o600)
  await chmod(join(dir, 'b/run.sh'), 0o700)
  const [a, b] = [await packDirToBytes(join(dir, 'a')), await packDirToBytes(join(dir, 'b'))]
  expect(Buffer.compare(a, b)).toBe(0)
  expect(Buffer.from(a.subarray(0, 10)).toString('hex')).toBe('1f8b08000000000000ff')
})

test('writes an archive that GNU tar unpacks', async () => {
  const dir = await tempDir()
  await writeTree(join(dir, 'in'), sample)
  await writeFile(join(dir, 'a.tar.gz'), await packDirToBytes(join(dir, 'in')))
  await mkdir(join(dir, 'out'))
  execFileSync('tar', ['-xzf', join(dir, 'a.tar.gz'), '-C', join(dir, 'out')])
  expect(await readTree(join(dir, 'out'))).toEqual(sample)
})

test('writes an archive that another library reads strictly', async () => {
  const dir = await tempDir()
  await writeTree(dir, sample)
  const entries = await unpackTar(gunzipSync(await packDirToBytes(dir)), { strict: true })
  expect(entries.map(({ header }) => header.name).sort()).toEqual(
    [
      'deep/',
      `deep/${'d'.repeat(120)}/`,
      'docs/',
      'nothing/',
      'nothing/here/',
      ...Object.keys(sample).filter((name) => name !== 'nothing/here'),
    ].sort(),
  )
  expect(entries.every(({ header }) => header.mtime?.getTime() === 0 && header.uid === 0 && header.gid === 0)).toBe(
    true,
  )
})

test('refuses a link, or keeps it as it is when told to', async () => {
  const dir = await tempDir()
  await symlink('/etc/passwd', join(dir, 'secret'))
  await expect(packDirToBytes(dir)).rejects.toThrow('"secret" is a link to "/etc/passwd"')
  const names = (await unpackTar(await collect(tarDir(dir, { links: 'keep' })))).map(({ header }) => [
    header.type,
    header.linkname,
  ])
  expect(names).toEqual([['symlink', '/etc/passwd']])
})

test('refuses a pipe, or leaves it out when told to', async () => {
  const dir = await tempDir()
  execFileSync('mkfifo', [join(dir, 'pipe')])
  await expect(packDirToBytes(dir)).rejects.toThrow('"pipe" is neither a file nor a directory')
  expect(await unpackTar(await collect(tarDir(dir, { special: 'skip' })))).toEqual([])
})

test('leaves out what a filter refuses, a directory with everything in it', async () => {
  const dir = await tempDir()
  await writeTree(dir, { '.git/objects/x': { content: 'x', mode: 0o644 }, '.gitignore': { content: 'y', mode: 0o644 } })
  const bytes = await collect(tarDir(dir, { filter: (entry) => entry.path !== '.git', prefix: 'task/' }))
  expect((await unpackTar(bytes)).map(({ header }) => header.name)).toEqual(['task/.gitignore'])
})

test('says which file became shorter while it was packed', async () => {
  const dir = await tempDir()
  await writeTree(dir, {
    a: { content: 'a'.repeat(600_000), mode: 0o644 },
    b: { content: 'b'.repeat(10), mode: 0o644 },
  })
  const chunks = tarDir(dir)
  await chunks.next()
  await truncate(join(dir, 'a'), 0)
  await expect(collect(chunks)).rejects.toThrow('"a" became shorter while it was packed')
})

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return new Uint8Array(Buffer.concat(parts))
}
