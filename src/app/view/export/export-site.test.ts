import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../../test/make-task.ts'
import { Library } from '../library.ts'
import { exportSite } from './export-site.ts'

test('of two tasks with the same name both are exported, and trials of that name lead to the first', async () => {
  const dir = await makeTempDir()
  for (const folder of ['easy', 'hard'])
    await writeTree(join(dir, folder, 'count'), {
      'task.toml': 'version = "1.0"\n',
      'instruction.md': `Count the ${folder} words.\n`,
      'environment/Dockerfile': 'FROM ubuntu:24.04\n',
      'tests/test.sh': 'echo 1 > /logs/verifier/reward.txt\n',
    })
  const assetsDir = join(dir, 'web')
  const page = { 'index.html': '<html><head></head></html>', 'app.js': '', 'style.css': '', 'icon.svg': '' }
  await writeTree(assetsDir, { ...page, 'chunks/one.js': '' })
  const { library } = await Library.open([join(dir, 'easy'), join(dir, 'hard')])
  const out = join(dir, 'site')
  const { signal } = new AbortController()
  const done = await exportSite({ library, board: null, assetsDir, out, rows: 10, signal, onJob: () => {} })
  await library.close()
  expect(done.tasks).toBe(2)
  const named = JSON.parse(readFileSync(join(out, 'api', 'tasks', '~40count.json'), 'utf8'))
  expect(named.item).toMatchObject({ id: '1:count', begins: 'Count the easy words.' })
})
