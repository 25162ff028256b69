import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { makeRandom } from '../../src/lib/random.ts'
import { needs } from '../../test/needs.ts'
import { tempDir } from '../../test/trees.ts'
import { chores } from './chores.ts'

test.each(Object.keys(chores))(
  '%s: the script finds in the files what is expected, and it is never nothing',
  needs('bash', 'awk', 'git'),
  async (name) => {
    for (const seed of [1, 2, 3]) {
      const chore = chores[name]!(makeRandom(seed, name))
      const dir = await tempDir()
      for (const [path, text] of Object.entries(chore.files)) {
        await mkdir(dirname(join(dir, path)), { recursive: true })
        await writeFile(join(dir, path), text.replaceAll('/app/', `${dir}/`))
      }
      const env = { ...process.env, LC_ALL: 'C' }
      if (chore.setup) execFileSync('bash', [join(dir, 'make.sh')], { env, stdio: 'pipe' })
      execFileSync('bash', ['-euc', chore.solution], { cwd: dir, env })
      expect(chore.expected.length).toBeGreaterThan(0)
      expect((await readFile(join(dir, 'answer.txt'), 'utf8')).trim().split('\n')).toEqual(chore.expected)
    }
  },
)

test(
  'merged-branches: the newest commit of a branch is its last one, however it is looked for',
  needs('git'),
  async () => {
    const chore = chores['merged-branches']!(makeRandom(1, 'merged-branches'))
    const dir = await tempDir()
    await writeFile(join(dir, 'make.sh'), chore.files['make.sh']!.replaceAll('/app/', `${dir}/`))
    execFileSync('bash', [join(dir, 'make.sh')], { stdio: 'pipe' })
    const git = (...words: string[]) =>
      execFileSync('git', words, { cwd: join(dir, 'project'), encoding: 'utf8' })
        .trim()
        .split('\n')
    const branches = git('for-each-ref', '--format=%(refname:short)', 'refs/heads').filter((name) => name !== 'main')
    expect(branches).toHaveLength(7)
    for (const branch of branches) {
      const dates = git('log', '--format=%ct', branch).map(Number)
      expect(dates[0]).toBe(Math.max(...dates))
    }
  },
)
