import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, vi } from 'vitest'

/** No test sees the keys of the user who runs it or writes into their caches; each file has its own cache. */
for (const name of Object.keys(process.env))
  if (/KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL/i.test(name)) delete process.env[name]
process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), 'cache-'))

/** Test files in one worker share its environment. */
afterAll(() => void vi.unstubAllEnvs())

/**
 * Property tests try the same inputs every time, so that a failure comes from the change at hand; a hunt for rare
 * failures draws new ones.
 */
const hunted = Number(process.env.OT_AGENT_TEST_RUNS ?? 0)
fc.configureGlobal(hunted > 0 ? { numRuns: hunted } : { seed: 1 })
