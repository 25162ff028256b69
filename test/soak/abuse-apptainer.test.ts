import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { apptainerProgram, buildApptainerImage, whyNotApptainer } from '../apptainer-kit.ts'
import { abuseSuite, attackPrograms } from '../hostile/abuse-suite.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-abused-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const skipReason = whyNotApptainer
const meta = skipReason === null ? {} : { skipReason }
describe('hostile tasks in apptainer', { skip: skipReason !== null, meta }, () => {
  const image = join(scratch, process.getuid?.() === 0 ? 'base.sif' : 'base')
  beforeAll(() => buildApptainerImage(image, join(scratch, 'root'), attackPrograms()))
  const options = () => [`program=${apptainerProgram}`, `image=${image}`]
  abuseSuite({ name: 'apptainer', options, left: (stateDir) => readdirSync(join(stateDir, 'apptainer/sandboxes')) })
})
