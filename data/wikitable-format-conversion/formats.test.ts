import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { needs } from '../../test/needs.ts'
import { checkPy } from './check.ts'
import { formatNames, formats } from './formats.ts'

const table = {
  header: ['Country', '2011', '2010', 'k0'],
  rows: [
    ['Chad', '1', '"k1":', '|'],
    ['Peru, <b>', '2', 'a "k1"', ''],
  ],
}

test.each(formatNames)(
  '%s keeps the order of columns, also of those that are called after years',
  needs('python3'),
  async (name) => {
    const dir = await makeTempDir()
    writeFileSync(join(dir, 'check.py'), checkPy)
    writeFileSync(join(dir, 'given'), formats[name].render(table))
    writeFileSync(join(dir, 'table.json'), JSON.stringify(table))
    const { stderr } = spawnSync('python3', ['-I', 'check.py', name, 'given', 'table.json'], {
      cwd: dir,
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
  },
)
