#!/usr/bin/env node
import { existsSync } from 'node:fs'

const program = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(program)) await import(program.href)
else {
  process.stderr.write('error: ot-agent is not built\nhint: npm ci builds it\n')
  process.exitCode = 2
}
