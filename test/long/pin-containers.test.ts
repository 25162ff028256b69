import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import forger from '../../src/agents/forger.ts'
import nop from '../../src/agents/nop.ts'
import oracle from '../../src/agents/oracle.ts'
import { pinTask } from '../../src/app/pin/pin-task.ts'
import type { Agent } from '../../src/core/agent.ts'
import type { Plugin } from '../../src/core/plugin.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { withBaseFiles } from '../container-engine.ts'
import { everything, onEachEngine } from '../container-kit.ts'
import { alternatives } from '../e2e/kit.ts'
import { startRegistry } from '../fakes/registry.ts'
import { writeTree } from '../make-task.ts'
import { needs } from '../needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-pin-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const agents: Record<string, Plugin<Agent>> = { forger, nop, oracle }

const stanza = (name: string, version: string) =>
  `Package: ${name}\nStatus: install ok installed\nArchitecture: all\nVersion: ${version}\nMaintainer: nobody\nDescription: none\n`

/** A package database without packages: installations are recorded, and apt has nothing to do. */
const dockerfileOn = (image: string) => `FROM ${image}
RUN mkdir -p /var/lib/dpkg/updates /var/lib/dpkg/info
COPY status /var/lib/dpkg/status
COPY apt-get.sh /usr/bin/apt-get
RUN apt-get install -y greet unheard-of
WORKDIR /app
`

onEachEngine(stateDir, ({ name, started, makeProvider }) => {
  test(
    'the base image gets the digest that the engine knows, packages the versions the container has',
    needs('dpkg-query'),
    async () => {
      await using registry = await startRegistry(await withBaseFiles(['dpkg-query'], buffer), {
        Env: ['PATH=/usr/bin'],
      })
      const dockerfile = dockerfileOn(registry.image)
      const dir = join(scratch, name)
      await writeTree(dir, {
        'task.toml': 'schema_version = "1.2"\n[environment]\nallow_internet = false\n',
        'instruction.md': 'Write the word done to /app/done.txt.\n',
        'environment/Dockerfile': dockerfile,
        'environment/status': stanza('greet', '2:1.5-3~bpo12+1'),
        'environment/apt-get.sh': '#!/bin/sh\nexit 0\n',
        'solution/solve.sh': '#!/bin/sh\necho done > /app/done.txt\n',
        'tests/test.sh':
          '#!/bin/sh\nif [ "$(cat /app/done.txt)" = done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n',
      })
      const spine = {
        provider: makeProvider({ base: undefined }),
        sandboxOptions: {},
        makeAgent: async (agent: string, options: object) =>
          agents[agent]!.make(agents[agent]!.options.parse(options), { env: {}, stateDir }),
        alternatives,
        hostEnv: {},
        repeats: 1,
        lintOnly: false,
        signal: new AbortController().signal,
        workDir: join(scratch, 'work', name),
      }
      const pin = async () => {
        const options = { check: true, dryRun: false, trustStandIn: false, target: null }
        return pinTask(await loadTask(dir), options, spine, join(spine.workDir, 'one'))
      }
      const report = await pin()
      expect(report).toMatchObject({
        status: 'pinned',
        reason: null,
        left: [{ written: 'unheard-of', why: 'not installed under this name' }],
      })
      const [image, packaged] = report.pins
      expect(image?.to).toMatch(new RegExp(`^${registry.image}@sha256:[0-9a-f]{64}$`))
      expect(packaged?.to).toBe('greet=2:1.5-3~bpo12+1')
      const pinned = dockerfile.replace(registry.image, image!.to).replace('greet', packaged!.to)
      expect(readFileSync(join(dir, 'environment/Dockerfile'), 'utf8')).toBe(pinned)
      expect(await pin()).toMatchObject({ status: 'unchanged', pins: [] })
      expect(await everything(started())).toEqual([])
    },
  )
})
