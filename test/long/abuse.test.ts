import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { abuseSuite } from '../hostile/abuse-suite.ts'
import '../needs.ts'

const left = (stateDir: string) => readdirSync(join(stateDir, 'local/sandboxes'))

describe.skipIf(missingPrograms().length > 0)('hostile tasks in local sandboxes (needs bubblewrap)', () => {
  abuseSuite({ name: 'local', left })
})

describe.skipIf(missingPrograms().length > 0)('hostile tasks without the starter (needs bubblewrap)', () => {
  abuseSuite({ name: 'local', options: () => ['ids=host'], left })
})
