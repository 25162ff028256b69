import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { findProgram } from '../src/lib/programs.ts'
import { withBaseFiles } from './container-engine.ts'

/** The copy that scripts/setup-apptainer.mjs downloaded for the tests, unless this machine has its own. */
const gotten = resolve('node_modules/.cache/apptainer/usr/bin/apptainer')
export const apptainerProgram =
  findProgram('apptainer') ?? findProgram('singularity') ?? (existsSync(gotten) ? gotten : null)

/** Why no Apptainer sandbox can be started here, or null. */
export const whyNotApptainer =
  apptainerProgram === null ? 'needs apptainer or singularity, not found on this machine' : null

/** An image of this machine's own programs, since tests ask no registry. `more`: as for `withBaseFiles`. */
export async function buildApptainerImage(image: string, root: string, more: readonly string[] = []): Promise<void> {
  mkdirSync(root)
  await withBaseFiles(more, (tar) => writeFile(`${image}.tar`, tar))
  execFileSync('tar', ['-xf', `${image}.tar`, '-C', root])
  await writeFile(`${image}.def`, `Bootstrap: localimage\nFrom: ${root}\n`)
  const form = process.getuid?.() === 0 ? [] : ['--sandbox', '--fakeroot']
  execFileSync(apptainerProgram ?? '', ['build', '--force', ...form, image, `${image}.def`], { stdio: 'pipe' })
}
