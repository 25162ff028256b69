import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { UserError } from '../../core/errors.ts'
import { digestTask } from './digests.ts'

const files: Readonly<Record<string, string>> = {
  'task.toml': 'version = "1.0"\n',
  'instruction.md': 'Do it.\n',
  'README.md': '# A task\n',
  'NOTES.txt': 'not packaged\n',
  '.hidden': 'counted by dirhash only\n',
  'environment/Dockerfile': 'FROM debian:12-slim\n',
  'environment/__pycache__/x.pyc': 'cache',
  'environment/data/é.txt': 'ü\n',
  'environment/data/a': '1',
  'environment/data/a.b': '2',
  'environment/data/a-b/c': '3',
  'environment/data/\uFF5E': 'after the byte order',
  'environment/data/\u{1F600}': 'of code points',
  'tests/test.sh': '#!/bin/sh\n',
  'tests/big.bin': 'x'.repeat(700_000),
  'elsewhere/solve.sh': '#!/bin/sh\nexit 0\n',
  'steps/one/instruction.md': 'First.\n',
}

async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'digests-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

async function makeTree(extra: Readonly<Record<string, string>> = {}): Promise<string> {
  const dir = await makeDir()
  await writeFiles(dir, { ...files, ...extra })
  await mkdir(join(dir, 'environment/empty/emptier'), { recursive: true })
  await symlink('test.sh', join(dir, 'tests/link.sh'))
  await symlink('../environment/data', join(dir, 'tests/linked'))
  await symlink('nowhere', join(dir, 'tests/dangling'))
  await symlink('elsewhere', join(dir, 'solution'))
  return dir
}

async function writeFiles(dir: string, contents: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(contents)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
}

// The expected values come from Python, run once on the same trees that makeTree builds:
// `dirhash.dirhash(dir, 'sha256')` of dirhash 0.5.0 and Harbor 0.6.4's `Packager.compute_content_hash(dir)`.

test('gives the digests that Harbor gives', async () => {
  expect(await digestTask(await makeTree())).toEqual({
    dirhash: 'a15c00d6bcd95ccfe07bfe33adbeb672b85d1365224a4d76a67e1f20446d8caf',
    content: 'b2b6a9463379a1c753f3e21de3f0d387d5db1eb62b724e2a789f540d77a0f50d',
  })
})

test('leaves out of the content what .gitignore names, and nothing else', async () => {
  const ignored = await makeTree({ '.gitignore': '*.txt\ntests/big.bin\n!é.txt\n/environment/data/a-b/\n' })
  expect(await digestTask(ignored)).toEqual({
    dirhash: '063b0478f2cef174044834e01be7df62f44f282c1a4d6227545110ad9fce2186',
    content: 'b75032dfc5ce27ae9b4d473ceac3c1cbfda3832caad8864877aeedc4f5aea997',
  })
})

test('does not care about modes, empty directories and things that are not files', async () => {
  const dir = await makeTree()
  const before = await digestTask(dir)
  await chmod(join(dir, 'tests/test.sh'), 0o755)
  await mkdir(join(dir, 'tests/nothing/here'), { recursive: true })
  execFileSync('mkfifo', [join(dir, 'tests/pipe')])
  expect(await digestTask(dir)).toEqual(before)
})

test('takes a link out of the task for one that leads nowhere', async () => {
  const dir = await makeTree()
  const before = await digestTask(dir)
  const outside = await makeDir()
  await writeFile(join(outside, 'secret'), 'of this machine')
  await symlink(join(outside, 'secret'), join(dir, 'tests/file-outside'))
  await symlink(outside, join(dir, 'tests/dir-outside'))
  expect(await digestTask(dir)).toEqual(before)
})

test('refuses links that go round in circles', async () => {
  const above = await makeTree()
  await symlink('../..', join(above, 'environment/data/up'))
  await expect(digestTask(above)).rejects.toThrow(UserError)
  const itself = await makeTree()
  await symlink('self', join(itself, 'tests/self'))
  await expect(digestTask(itself)).rejects.toThrow(/tests\/self: .*ELOOP/)
})

test('refuses a directory without a file', async () => {
  await expect(digestTask(await makeDir())).rejects.toThrow('expected files, found none')
})

test('changes with every name and every byte that is packaged', async () => {
  const name = fc.constantFrom('a', 'b', 'a/c', 'a-b', 'é', '.x')
  const tree = fc
    .dictionary(name, fc.string(), { minKeys: 1 })
    .filter((contents) => !('a' in contents && 'a/c' in contents))
  await fc.assert(
    fc.asyncProperty(tree, tree, async (one, two) => {
      const digests = await Promise.all([one, two].map(async (contents) => digestTask(await makeTests(contents))))
      const isSame = JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(two).sort())
      expect(digests[0]?.content === digests[1]?.content).toBe(isSame)
      expect(digests[0]?.dirhash === digests[1]?.dirhash).toBe(isSame)
    }),
    { numRuns: 40 },
  )
})

async function makeTests(contents: Readonly<Record<string, string>>): Promise<string> {
  const dir = await makeDir()
  await writeFiles(join(dir, 'tests'), contents)
  return dir
}
