import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { withGitTree } from './git-tree.ts'

/** A repository with the file tasks/one, and next to it a link to a folder. */
async function makeRepository(): Promise<string> {
  const [dir, outside] = [await makeTempDir(), await makeTempDir()]
  await writeFile(join(outside, 'secret'), '')
  await mkdir(join(dir, 'tasks'))
  await writeFile(join(dir, 'tasks/one'), '')
  await symlink(outside, join(dir, 'link'))
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-qm', 'tasks'],
  ])
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], { cwd: dir })
  return dir
}

async function namesAt(repository: string, path: string, revision?: string) {
  const tree = { url: `file://${repository}`, revision, paths: [path] }
  return withGitTree(tree, await makeTempDir(), (dir) => readdir(join(dir, path)))
}

test('a revision is never an option of git', async () => {
  const [repository, marker] = [await makeRepository(), join(await makeTempDir(), 'marker')]
  expect(await namesAt(repository, 'tasks', 'main')).toEqual(['one'])
  const hostile = `--upload-pack=touch ${marker}; git-upload-pack`
  await expect(namesAt(repository, 'tasks', hostile)).rejects.toMatchObject({ code: 'GitUnavailable' })
  expect(existsSync(marker)).toBe(false)
})

test('a link in the place of a folder does not lead out of the repository', async () => {
  const repository = await makeRepository()
  await expect(namesAt(repository, 'link')).rejects.toMatchObject({
    name: 'UserError',
    message: `file://${repository}: link leads out of the repository`,
  })
})
