import { describe } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { localContract } from './local.ts'

describe.skipIf(missingPrograms().length > 0)('local (needs bubblewrap)', () => localContract('own'))
