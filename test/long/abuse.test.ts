import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { apptainerProgram, buildApptainerImage, whyNotApptainer } from '../apptainer-kit.ts'
import { abuseSuite, attackPrograms } from '../hostile/abuse-suite.ts'
import '../needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-abused-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe.skipIf(missingPrograms().length > 0)('hostile tasks in local sandboxes (needs bubblewrap)', () => {
  abuseSuite({ name: 'local', left: (stateDir) => readdirSync(join(stateDir, 'local/sandboxes')) })
})

const skipReason = whyNotApptainer
const meta = skipReason === null ? {} : { skipReason }
describe('hostile tasks in apptainer', { skip: skipReason !== null, meta }, () => {
  const image = join(scratch, process.getuid?.() === 0 ? 'base.sif' : 'base')
  beforeAll(() => buildApptainerImage(image, join(scratch, 'root'), attackPrograms()), 120_000)
  const options = () => [`program=${apptainerProgram}`, `image=${image}`]
  abuseSuite({ name: 'apptainer', options, left: (stateDir) => readdirSync(join(stateDir, 'apptainer/sandboxes')) })
})
