import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import local from './index.ts'

const dir = mkdtempSync(join(tmpdir(), 'workshop-'))
writeFileSync(join(dir, 'file'), '')
const preflight = (stateDir: string) => local.make({ pids: 512, verify: 'fresh' }, { env: {}, stateDir }).preflight()

test('a place where no sandbox can be made is found before the first trial', needs('bwrap'), async () => {
  const refused = { name: 'UserError', hint: expect.stringContaining('XDG_CACHE_HOME') }
  await expect(preflight(join(dir, 'with space'))).rejects.toMatchObject(refused)
  await expect(preflight(join(dir, 'file/below'))).rejects.toMatchObject({
    ...refused,
    message: expect.stringMatching(/file\/below\/local: expected a writable directory for sandboxes, got ENOTDIR/),
  })
  await expect(preflight(join(dir, 'plain'))).resolves.toBeUndefined()
})
