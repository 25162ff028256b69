// Links this package's own program into node_modules/.bin, so that `npx ot-agent` in a checkout needs no network and no cache.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'

mkdirSync('node_modules/.bin', { recursive: true })
rmSync('node_modules/.bin/ot-agent', { force: true })
symlinkSync('../../bin/ot-agent.js', 'node_modules/.bin/ot-agent')
