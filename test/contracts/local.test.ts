import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { ControlGroups } from '../../src/lib/control-group.ts'
import local from '../../src/sandboxes/local/index.ts'
import { findPrivileges, missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { allowlistLaw } from './allowlist.ts'
import { sandboxContract } from './sandbox.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-local-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

describe.skipIf(missingPrograms().length > 0)('local (needs bubblewrap)', async () => {
  const { enforces } =
    missingPrograms().length > 0 ? { enforces: {} } : ControlGroups.find(`ot-agent-contract-${process.pid}`)
  const manyUsers = missingPrograms().length > 0 || (await findPrivileges()).manyUsers
  const exceptions = {
    ...(!('memory' in enforces && enforces.memory) && { 'limits memory': 'no control groups for this user' }),
    ...(!('pids' in enforces && enforces.pids) && { 'limits processes': 'no control groups for this user' }),
    ...(!manyUsers && { 'runs commands as the user asked for': 'no subordinate ids for this user' }),
  }
  const makeProvider = () => local.make({ pids: 512, verify: 'fresh' }, { env: {}, stateDir })
  sandboxContract('local', { makeProvider, exceptions })
  allowlistLaw(makeProvider)
})
