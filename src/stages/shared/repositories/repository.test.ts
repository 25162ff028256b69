import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../../test/make-task.ts'
import { needs } from '../../../../test/needs.ts'
import { UserError } from '../../../core/errors.ts'
import { packDirToBytes } from '../../../lib/tar.ts'
import { openRepository, parseRepositorySpec } from './repository.ts'

const { signal } = new AbortController()

test.each([
  ['./x', { kind: 'folder', path: '/root-dir/x' }],
  ['./x-1.0.tar.gz', { kind: 'archive', path: '/root-dir/x-1.0.tar.gz' }],
  ['/abs/x', { kind: 'folder', path: '/abs/x' }],
  ['npm:@scope/name@1.2.3', { kind: 'npm', spec: '@scope/name@1.2.3' }],
  ['git+https://example.org/a#v1', { kind: 'git', url: 'https://example.org/a', ref: 'v1' }],
  ['https://example.org/a.git', { kind: 'git', url: 'https://example.org/a.git', ref: 'HEAD' }],
])('%s is understood', (text, spec) => {
  expect(parseRepositorySpec(text, '/root-dir')).toEqual(spec)
})

test.each(['npm:--evil', 'ext::sh -c true', 'https://example.org/page'])('%s is refused', (text) => {
  expect(() => parseRepositorySpec(text, '/')).toThrow(/expected a folder/)
})

test('a folder is read without its history and without links', async () => {
  const dir = await makeTempDir()
  mkdirSync(join(dir, '.git'))
  writeFileSync(join(dir, '.git/HEAD'), 'secret')
  writeFileSync(join(dir, 'run.sh'), 'echo\n', { mode: 0o755 })
  symlinkSync('/etc/passwd', join(dir, 'link'))
  const files = await openRepository({ kind: 'folder', path: dir }, dir, signal)
  expect(Object.keys(files)).toEqual(['run.sh'])
  expect(files['run.sh']?.executable).toBe(true)
})

test('a git repository is read at a commit, also one that is no tip', needs('git'), async () => {
  const dir = await makeTempDir()
  const repo = join(dir, 'repo')
  mkdirSync(repo)
  const git = (...args: string[]) => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']
    const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], { cwd: repo, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    return stdout.trim()
  }
  git('init', '-q')
  const commit = (text: string) => {
    writeFileSync(join(repo, 'a.txt'), text)
    git('add', 'a.txt')
    git('commit', '-q', '-m', text)
    return git('rev-parse', 'HEAD')
  }
  const first = commit('first')
  commit('second')
  const read = async (ref: string) => {
    const files = await openRepository({ kind: 'git', url: `file://${repo}`, ref }, join(dir, 'work'), signal)
    return String(files['a.txt']?.data)
  }
  expect(await read('HEAD')).toBe('second')
  expect(await read(first)).toBe('first')
  await expect(read('no-such-ref')).rejects.toMatchObject({ boundary: 'task' })
})

test('of a clone without its large files the others are read, and the log says so', needs('git'), async () => {
  const dir = await makeTempDir()
  const repo = join(dir, 'repo')
  mkdirSync(repo)
  const git = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: repo, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    return stdout.trim()
  }
  git('init', '-q')
  writeFileSync(join(repo, 'a.txt'), 'a')
  writeFileSync(join(repo, 'large (1).txt'), 'large')
  git('add', '.')
  git('-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false', 'commit', '-q', '-m', 'all')
  const id = git('rev-parse', 'HEAD:large (1).txt')
  rmSync(join(repo, '.git/objects', id.slice(0, 2), id.slice(2)))
  const lines: string[] = []
  const read = (ref: string) =>
    openRepository({ kind: 'clone', path: repo, ref }, join(dir, 'work'), signal, (line) => lines.push(line))
  expect(Object.keys(await read('HEAD'))).toEqual(['a.txt'])
  expect(lines).toEqual([`${repo} at HEAD: skipped files that the clone does not have (1), such as large (1).txt`])
  await expect(read('no-such-ref')).rejects.toMatchObject({ boundary: 'task' })
})

test('a source distribution is read without the folder that holds all of it', async () => {
  const dir = await makeTempDir()
  const inside = join(dir, 'in/tool-1.0/src')
  mkdirSync(inside, { recursive: true })
  writeFileSync(join(inside, 'tool.py'), 'x = 1\n')
  const archive = join(dir, 'tool-1.0.tar.gz')
  writeFileSync(archive, await packDirToBytes(join(dir, 'in')))
  const files = await openRepository({ kind: 'archive', path: archive }, join(dir, 'work'), signal)
  expect(Object.keys(files)).toEqual(['src/tool.py'])
  writeFileSync(archive, 'no archive at all')
  for (const path of [archive, join(dir, 'none.tar.gz')])
    await expect(openRepository({ kind: 'archive', path }, join(dir, 'work'), signal)).rejects.toThrow(UserError)
})
