import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { listFiles } from './trial-dir-files.ts'

test('very many folders of an agent are listed in part, and said to be', async () => {
  const dir = await makeTempDir()
  writeFileSync(join(dir, '0.txt'), 'x')
  for (let i = 0; i <= 5000; i++) mkdirSync(join(dir, `d${i}`))
  expect(await listFiles(dir)).toEqual({ files: [{ path: '0.txt', bytes: 1 }], cut: true })
})
