import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BuildContext, ContextError, readInside } from './context.ts'

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'context-'))
})
afterEach(async () => {
  await rm(dir, { recursive: true, force: true })
})

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, 'task', path)), { recursive: true })
    await writeFile(join(dir, 'task', path), text)
  }
}

async function select(source: string) {
  const context = await BuildContext.open(join(dir, 'task'))
  const selected = await context.select(source)
  return selected.map(({ kind, entries }) => [kind, ...entries.map(({ path }) => path)])
}

test('takes a file by its name and a directory by its contents', async () => {
  await write({ a: '1', 'd/b': '2', 'd/e/c': '3', 'd/.hidden': '' })
  expect(await select('a')).toEqual([['file', 'a']])
  expect(await select('./d/')).toEqual([['dir', '.hidden', 'b', 'e', 'e/c']])
  expect(await select('/d/e/../b')).toEqual([['file', 'b']])
  expect(await select('.')).toEqual([['dir', 'a', 'd', 'd/.hidden', 'd/b', 'd/e', 'd/e/c']])
})

test('a pattern takes every match, files and directories', async () => {
  await write({ 'a.txt': '', 'b.txt': '', 'c.md': '', 'd/x.txt': '', 'e/x.txt': '' })
  expect(await select('*.txt')).toEqual([
    ['file', 'a.txt'],
    ['file', 'b.txt'],
  ])
  expect(await select('[de]')).toEqual([
    ['dir', 'x.txt'],
    ['dir', 'x.txt'],
  ])
  expect(await select('*/x.txt')).toEqual([
    ['file', 'x.txt'],
    ['file', 'x.txt'],
  ])
  expect(await select('*.none')).toEqual([])
})

test('keeps modes, sizes and what links say', async () => {
  await write({ 'd/run': 'abc' })
  await chmod(join(dir, 'task/d/run'), 0o751)
  await symlink('/etc/passwd', join(dir, 'task/d/out'))
  const context = await BuildContext.open(join(dir, 'task'))
  expect((await context.select('d'))[0]!.entries).toMatchObject([
    { path: 'out', kind: 'symlink', target: '/etc/passwd' },
    { path: 'run', kind: 'file', mode: 0o751, size: 3 },
  ])
})

test('leaves out what .dockerignore says, and keeps the parents of what comes back', async () => {
  await write({
    '.dockerignore': 'd\n!d/keep/x\n*.log',
    'd/no': '',
    'd/keep/x': '',
    'd/keep/y': '',
    'a.log': '',
    b: '',
  })
  expect(await select('.')).toEqual([['dir', '.dockerignore', 'b', 'd', 'd/keep', 'd/keep/x']])
  expect(await select('*.log')).toEqual([])
  await expect(select('a.log')).rejects.toThrow('a.log is excluded by .dockerignore')
})

test('a link that is itself the source is followed inside, and stays a link when it leads out', async () => {
  await write({ 'real/x': '1' })
  await symlink('real', join(dir, 'task/inside'))
  await symlink('/etc', join(dir, 'task/outside'))
  await symlink('nowhere', join(dir, 'task/dangling'))
  expect(await select('inside')).toEqual([['dir', 'x']])
  expect(await select('inside/x')).toEqual([['file', 'x']])
  expect(await select('outside')).toEqual([['file', 'outside']])
  expect(await select('dangling')).toEqual([['file', 'dangling']])
})

test.each(['../x', '..', 'a/../../x', 'outside/passwd', 'outside/*', 'none', 'none/x', '[a'])(
  'refuses %s',
  async (source) => {
    await write({ a: '' })
    await writeFile(join(dir, 'x'), 'outside')
    await symlink('/etc', join(dir, 'task/outside'))
    await expect(select(source)).rejects.toBeInstanceOf(ContextError)
  },
)

test('reads no text through a link that leads out', async () => {
  await write({ a: 'text' })
  await symlink('/etc/passwd', join(dir, 'task/Dockerfile'))
  await symlink('a', join(dir, 'task/fine'))
  await expect(readInside(join(dir, 'task'), 'Dockerfile')).rejects.toThrow('leads out')
  expect(await readInside(join(dir, 'task'), 'fine')).toBe('text')
  expect(await readInside(join(dir, 'task'), 'none')).toBeNull()
})
