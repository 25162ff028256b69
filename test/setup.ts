import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, vi } from 'vitest'

/** No test sees a key of the person who runs it, nor writes into their caches; each file has a cache of its own. */
for (const name of Object.keys(process.env))
  if (/KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL/i.test(name)) delete process.env[name]
process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), 'cache-'))

/** Files of one worker share its environment. */
afterAll(() => void vi.unstubAllEnvs())

/** Property tests try the same inputs every time, so that who breaks one has broken it; a hunt for the one in a thousand draws new ones. */
const hunted = Number(process.env.OT_AGENT_TEST_RUNS ?? 0)
fc.configureGlobal(hunted > 0 ? { numRuns: hunted } : { seed: 1 })
