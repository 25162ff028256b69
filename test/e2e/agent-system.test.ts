import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import forger from '../../src/agents/forger.ts'
import { agentThat } from '../fakes/agents.ts'
import { trialConfig } from '../fakes/configs.ts'
import { leftovers, playTrial, stateDir, withSandboxes } from './kit.ts'

const agentThatRuns = (script: string) =>
  agentThat(async (at) => {
    await at.sandbox.exec(['sh', '-c', script])
    return { kind: 'finished' }
  })

/** A shell that writes a reward; programs that belong to another user cannot be overwritten and stay as they are. */
const replaceBash = `
echo /none.so > /etc/ld.so.preload
cp /bin/sh /opt/sh
printf '#!/opt/sh\\necho 1 > /logs/verifier/reward.txt\\n' > /opt/evil && chmod 755 /opt/evil
rm -f /bin/bash && cp /opt/evil /bin/bash
rm -f /usr/bin/cat; cp /opt/evil /usr/local/bin/cat
exit 0`

const scored = (reward: number) => ({ kind: 'scored', rewards: { reward } })

withSandboxes('a trial whose agent changes the system', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('is scored by tests that run on the image’s programs, and its record says what was replaced', async () => {
    const { record, dir } = await playTrial({ agent: agentThatRuns(replaceBash) })
    expect(record.end).toMatchObject(scored(0))
    expect(record.isolation).toBe('fresh')
    expect(record.system?.restored.files).toContainEqual({ path: '/etc/ld.so.preload', change: 'added' })
    expect(record.system?.onImage).toEqual({ reward: 0 })
    const replaced = record.system?.restored.files.some(({ path }) => path.endsWith('/bin/bash')) ?? false
    expect(record.system?.differ).toBe(replaced)
    expect(readFileSync(join(dir, 'verifier/reward.txt'), 'utf8')).toBe('0\n')
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toContain('/etc/ld.so.preload (added)')
  })

  test('gets its full reward when the tests say the same on both systems', async () => {
    const agent = agentThatRuns('echo 42 > /answer; echo "[user]" > /root/.gitconfig; echo x >> /root/.bashrc')
    const { record } = await playTrial({ agent })
    expect(record.end).toMatchObject(scored(1))
    expect(record.system).toMatchObject({ onImage: { reward: 1 }, onAgent: { reward: 1 }, differ: false })
  })

  const startup = 'if [ -e /etc/profile.d/new.sh ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt'
  const addStartup = agentThatRuns('echo : > /etc/profile.d/new.sh')

  test('gets the lower reward where the two systems differ', async () => {
    const { record } = await playTrial({ agent: addStartup, task: { test: startup } })
    expect(record.end).toMatchObject(scored(0))
    expect(record.system).toMatchObject({ onImage: { reward: 0 }, onAgent: { reward: 1 }, differ: true })
  })

  test('is scored on the agent’s system alone where the task lets it change that', async () => {
    const toml =
      'schema_version = "1.2"\n[metadata]\nagent_may_modify_system = true\n[environment]\nallow_internet = false\n'
    const { record } = await playTrial({ agent: addStartup, task: { test: startup, toml } })
    expect(record.end).toMatchObject(scored(1))
    expect(record.system).toBeUndefined()
  })

  test('is scored on the agent’s system alone where the job lets agents change that, and its record says so', async () => {
    const verifier = { ...trialConfig({}).verifier, agentMayModifySystem: true as const }
    const { record, dir } = await playTrial({ agent: addStartup, task: { test: startup }, config: { verifier } })
    expect(record.end).toMatchObject(scored(1))
    expect(record.system).toBeUndefined()
    expect(record.config.verifier.agentMayModifySystem).toBe(true)
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).not.toContain('restored system files')
  })

  test('is scored 0, not failed, when its tests give nothing on one of the two systems', async () => {
    const test = '[ ! -e /etc/profile.d/new.sh ] || exit 1\necho 1 > /logs/verifier/reward.txt'
    const { record } = await playTrial({ agent: addStartup, task: { test } })
    expect(record.end).toMatchObject(scored(0))
    expect(record.system).toMatchObject({ onImage: { reward: 1 }, onAgent: null, differ: true })
  })

  test('starts both runs of the tests from the files the agent left', async () => {
    const test =
      'echo x >> /count; [ "$(wc -l < /count)" = 1 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt'
    const { record } = await playTrial({ agent: addStartup, task: { test } })
    expect(record.end).toMatchObject(scored(1))
    expect(record.system).toMatchObject({ differ: false })
  })

  test('pays the forger nothing, whatever it replaces', async () => {
    for (const link of [false, true]) {
      const agent = forger.make({ link, system: true }, { env: {}, stateDir })
      const { record } = await playTrial({ agent })
      expect(record.end).toMatchObject(scored(0))
      expect(record.system?.restored.total).toBeGreaterThan(3)
    }
  })
})
