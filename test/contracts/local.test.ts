import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import local from '../../src/sandboxes/local/index.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { sandboxContract } from './sandbox.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-local-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

describe.skipIf(missingPrograms().length > 0)('local (needs bubblewrap)', () => {
  sandboxContract('local', { makeProvider: () => local.make({ pids: 512 }, { env: {}, stateDir }) })
})
