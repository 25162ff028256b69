// Runs a TypeScript file of this checkout, for example: node scripts/example.mjs examples/01-one-trial.ts [ARGUMENT...]
import { spawnSync } from 'node:child_process'
import { constants } from 'node:os'
import { bundle, makeScratchDir } from './bundle.mjs'

const [file, ...rest] = process.argv.slice(2)
if (file === undefined) {
  process.stderr.write('error: no file named\nhint: npm run example examples/01-one-trial.ts\n')
  process.exit(2)
}
const program = await bundle(file, makeScratchDir())
const done = spawnSync(process.execPath, ['--enable-source-maps', program, ...rest], { stdio: 'inherit' })
process.exitCode = done.status ?? 128 + (constants.signals[done.signal] ?? 0)
