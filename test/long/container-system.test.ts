import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import forger from '../../src/agents/forger.ts'
import { everything, onEachEngine } from '../container-kit.ts'
import { playTrial } from '../e2e/kit.ts'
import { agentThat } from '../fakes/agents.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-container-system-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const agentThatRuns = (script: string) =>
  agentThat(async (at) => {
    await at.sandbox.exec(['sh', '-c', script])
    return { kind: 'finished' }
  })
const scored = (reward: number) => ({ kind: 'scored', rewards: { reward } })

/** Complete trials in containers whose agent changes the system that will run its tests. */
onEachEngine(stateDir, ({ started, makeProvider }) => {
  test('the forger is paid nothing, whatever it replaces', async () => {
    const provider = makeProvider()
    const before = await everything(started())
    for (const link of [false, true]) {
      const { record } = await playTrial({
        agent: forger.make({ link, system: true }, { env: {}, stateDir }),
        provider,
      })
      expect(record.end).toMatchObject(scored(0))
      expect(record.isolation).toBe('fresh')
      expect(record.system?.onImage).toEqual({ reward: 0 })
      expect(record.system?.restored.files.map(({ path }) => path)).toContain('/usr/bin/bash')
    }
    expect(await everything(started())).toEqual(before)
  })

  test('an agent that changes nothing of the system has no report about it', async () => {
    const agent = agentThatRuns('echo 42 > /answer; mkdir -p /root/.cache && echo x > /root/.cache/x')
    const provider = makeProvider()
    for (let round = 0; round < 2; round++) {
      const { record } = await playTrial({ agent, provider })
      expect(record.end).toMatchObject(scored(1))
      expect(record.system).toBeUndefined()
    }
  })

  test('the lower reward counts where the two systems differ, unless the task lets the agent change it', async () => {
    const check = 'if [ -e /etc/profile.d/new.sh ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt'
    const agent = agentThatRuns('echo : > /etc/profile.d/new.sh')
    const provider = makeProvider()
    const { record } = await playTrial({ agent, provider, task: { test: check } })
    expect(record.end).toMatchObject(scored(0))
    expect(record.system).toMatchObject({ onImage: { reward: 0 }, onAgent: { reward: 1 }, differ: true })
    const toml =
      'schema_version = "1.2"\n[metadata]\nagent_may_modify_system = true\n[environment]\nallow_internet = false\n'
    const { record: free } = await playTrial({ agent, provider, task: { test: check, toml } })
    expect(free.end).toMatchObject(scored(1))
    expect(free.system).toBeUndefined()
  })

  test('a file or link in the place of /tests or /logs leaves the reward to the tests', async () => {
    const provider = makeProvider()
    const plants = {
      files: 'rm -rf /tests; echo x > /tests; rm -rf /logs; echo x > /logs',
      links: 'rm -rf /tests; ln -s /usr/bin /tests; rm -rf /logs/verifier; ln -s /etc /logs/verifier',
      loops: 'rm -rf /tests; ln -s /tests /tests; rm -rf /logs; ln -s /logs /logs',
    }
    for (const [name, plant] of Object.entries(plants)) {
      const solved = await playTrial({ agent: agentThatRuns(`echo 42 > /answer; ${plant}`), provider })
      expect(solved.record.end, name).toMatchObject(scored(1))
      const unsolved = await playTrial({ agent: agentThatRuns(plant), provider })
      expect(unsolved.record.end, name).toMatchObject(scored(0))
    }
  })

  test('a user who may not read the engine’s own files gets the same verdicts', async () => {
    const someone = vi.spyOn(process, 'getuid').mockReturnValue(1000)
    try {
      const provider = makeProvider()
      const agent = forger.make({ link: false, system: true }, { env: {}, stateDir })
      const { record } = await playTrial({ agent, provider })
      expect(record.end).toMatchObject(scored(0))
      expect(record.system?.restored.files.map(({ path }) => path)).toContain('/usr/bin/bash')
      const solved = await playTrial({ agent: agentThatRuns('echo 42 > /answer'), provider })
      expect(solved.record.end).toMatchObject(scored(1))
      expect(someone).toHaveBeenCalled()
    } finally {
      someone.mockRestore()
    }
  })
})
