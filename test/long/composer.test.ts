import { describe, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { checkComposer } from '../composer-sample.ts'

describe.skipIf(missingPrograms().length > 0)('the composer (needs bubblewrap)', () => {
  test(
    '10,000 tasks are all distinct, and a seeded sample of 36 all pass the spine',
    () => checkComposer(36),
    1_800_000,
  )
})
