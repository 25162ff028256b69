import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** No test sees a key of the person who runs it, nor writes into their caches; each file has a cache of its own. */
for (const name of Object.keys(process.env))
  if (/KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL/i.test(name)) delete process.env[name]
process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), 'cache-'))
