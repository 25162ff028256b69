import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** No test sees a key of the person who runs it, nor writes into their caches; each file has a cache of its own. */
for (const name of Object.keys(process.env))
  if (/KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL/i.test(name)) delete process.env[name]
process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), 'cache-'))

/** Property tests try this many inputs instead of a hundred: to hunt for the one in a thousand. */
const runs = Number(process.env.OT_AGENT_TEST_RUNS ?? 0)
if (runs > 0) (await import('fast-check')).default.configureGlobal({ numRuns: runs })
