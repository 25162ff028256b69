import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../../test/make-task.ts'
import { SiteDir } from './site-dir.ts'

test('an export replaces an earlier one, and leaves neighbouring folders alone', async () => {
  const dir = await makeTempDir()
  const out = join(dir, 'site')
  for (const _ of [1, 2]) await (await SiteDir.begin(out)).finish()
  mkdirSync(join(dir, 'site.old'))
  writeFileSync(join(dir, 'site.old', 'mine.txt'), 'kept by hand')
  await expect(SiteDir.begin(out)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('site.old exists, and ot-agent did not write it'),
  })
  expect(existsSync(join(dir, 'site.old', 'mine.txt'))).toBe(true)
})
