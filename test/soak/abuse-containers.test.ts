import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { baseImage } from '../container-engine.ts'
import { everything, onEachEngine } from '../container-kit.ts'
import { abuseSuite, attackPrograms } from '../hostile/abuse-suite.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-abused-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

const sparse =
  'engines copy holes of a file byte by byte, which takes hours; the sandbox fails after 120 s, with no reward'
const exceptions = {
  docker: { 'huge-sparse-file': sparse },
  podman: {
    'huge-sparse-file': sparse,
    'deep-tree': 'Podman takes minutes to copy such a tree; the sandbox fails after 120 s, with no reward',
  },
}

describe('hostile tasks in containers', () => {
  onEachEngine(
    stateDir,
    ({ name, started }) => {
      const options = () => [`socket=${started().socket}`, `base=${baseImage}`]
      abuseSuite({ name, options, left: () => everything(started()), exceptions: exceptions[name] })
    },
    attackPrograms(),
  )
})
