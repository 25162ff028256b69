import { describe } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { localContract } from './local.ts'

const isRoot = process.getuid?.() === 0
describe.skipIf(!isRoot || missingPrograms().length > 0)('local without the starter (needs bubblewrap and root)', () =>
  localContract('host'),
)
