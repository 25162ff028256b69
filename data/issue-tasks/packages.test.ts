import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { byVersion, readPackages } from './packages.ts'

test('a folder of source distributions gives one row per package: its newest version, and the earlier ones', async () => {
  const dir = await makeTempDir()
  for (const name of ['parse-1.9.0.tar.gz', 'parse-1.20.2.tar.gz', 'more_itertools-10.0.tar.gz', 'notes.txt'])
    writeFileSync(join(dir, name), '')
  mkdirSync(join(dir, 'own-tools'))
  const rows = []
  for await (const row of readPackages(dir, { runner: 'pytest', install: ['pytest==8.4.2'], versions: 1 }))
    rows.push(row)
  expect(rows.map(({ id }) => id)).toEqual(['more-itertools', 'own-tools', 'parse'])
  const [plain, , parse] = rows.map(({ fields }) => fields)
  expect(parse).toMatchObject({
    repo: join(dir, 'parse-1.20.2.tar.gz'),
    older: [join(dir, 'parse-1.9.0.tar.gz')],
    test_format: 'pytest',
  })
  expect(plain).not.toHaveProperty('older')
  expect(plain?.base_setup).toContain("pip install --quiet --root-user-action=ignore 'pytest==8.4.2'")
})

test('versions are compared number by number', () => {
  expect(['1.9', '1.10', '1.10.1', '0.99', '2'].sort(byVersion)).toEqual(['0.99', '1.9', '1.10', '1.10.1', '2'])
})
