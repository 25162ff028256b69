import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import nop from '../../src/agents/nop.ts'
import oracle from '../../src/agents/oracle.ts'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import type { TrialEnd, TrialEventName } from '../../src/core/trial.ts'
import { agentThat, deaf } from '../fakes/agents.ts'
import { agentConfig, jobConfig } from '../fakes/configs.ts'
import { faultyProvider } from '../fakes/faulty-provider.ts'
import { holdLongTimers, longSec } from '../hold-long-timers.ts'
import { leftovers, playTrial, provider, stateDir, withSandboxes } from './kit.ts'

const context = { env: {}, stateDir }
const { verifier, timeoutMultipliers } = jobConfig()
const scored = (reward: number): TrialEnd => ({ kind: 'scored', rewards: { reward }, exit: { kind: 'finished' } })
const failedAt = (boundary: string, code: string) => ({ kind: 'failed', failure: { boundary, code } })
const never = () => new Promise<never>(() => {})

withSandboxes('a trial', () => {
  afterEach(async () => expect(await leftovers()).toEqual([]))

  test('with the oracle scores 1, verified on a fresh machine, and keeps its logs', async () => {
    const { record, dir } = await playTrial({ agent: oracle.make({}, context) })
    expect(record.end).toEqual(scored(1))
    expect(record.isolation).toBe('fresh')
    expect(readFileSync(join(dir, 'agent/oracle.txt'), 'utf8')).toBe('solved\n')
    expect(readFileSync(join(dir, 'verifier/reward.txt'), 'utf8')).toBe('1\n')
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toMatch(/Z scored \{"reward":1\}\n$/)
    for (const span of Object.values(record.spans)) expect(span?.finishedAt).toBeTruthy()
  })

  test('with an agent that does nothing scores 0', async () => {
    expect((await playTrial({ agent: nop.make({}, context) })).record.end).toEqual(scored(0))
  })

  test('whose solution exits badly is still verified, and the exit code is kept', async () => {
    const { record, dir } = await playTrial({
      agent: oracle.make({}, context),
      task: { solve: 'echo 42 > /answer; exit 7' },
    })
    expect(record.end).toEqual(scored(1))
    expect(readFileSync(join(dir, 'agent/exit-code.txt'), 'utf8')).toBe('7')
  })

  test('without a solution fails at the task when the oracle runs it', async () => {
    const { record } = await playTrial({
      agent: oracle.make({}, context),
      task: { files: { 'solution/solve.sh': null } },
    })
    expect(record.end).toMatchObject(failedAt('task', 'TaskError'))
  })

  test('that asks for what the sandbox cannot give fails at the task and names who can', async () => {
    const { record } = await playTrial({ task: { toml: '[environment]\ndocker_image = "debian:12"\n' } })
    expect(record.end).toMatchObject(failedAt('task', 'UnsupportedEnvironmentError'))
    expect(JSON.stringify(record.end)).toContain('sandboxes that do: docker')
    expect(record.end).toMatchObject({ failure: { retryable: false } })
  })

  test('whose sandbox does not start fails at the sandbox', async () => {
    const faulty = faultyProvider(provider, { lease: async () => Promise.reject(new Error('no room')) })
    const { record } = await playTrial({ provider: faulty })
    expect(record.end).toMatchObject(failedAt('sandbox', 'SandboxError'))
  })

  test('whose sandbox takes too long to start is tried twice, then fails; a late one is released', async () => {
    let asked = 0
    const faulty = faultyProvider(provider, {
      lease: async (request, really) => {
        asked++
        await new Promise((resolve) => request.signal?.addEventListener('abort', resolve))
        const { signal: _, ...deafRequest } = request
        return provider.lease(deafRequest).catch(really)
      },
    })
    const { record } = await playTrial({
      provider: faulty,
      config: { timeoutMultipliers: { ...timeoutMultipliers, environmentBuild: 0.0001 } },
    })
    expect(record.end).toMatchObject(failedAt('sandbox', 'EnvironmentStartTimeoutError'))
    expect(asked).toBe(2)
  })

  test('whose sandbox dies while the agent works fails at the sandbox, whatever the agent says', async () => {
    const faulty = faultyProvider(provider, {
      inside: (real) => ({
        exec: async (argv, options) => {
          if (argv.includes('die')) await real[Symbol.asyncDispose]()
          return real.exec(argv, options)
        },
      }),
    })
    const confused = agentThat(async (at) => {
      await at.sandbox.exec(['die']).catch(() => {})
      throw new Error('I do not understand what happened')
    })
    expect((await playTrial({ provider: faulty, agent: confused })).record.end).toMatchObject(
      failedAt('sandbox', 'SandboxGoneError'),
    )
  })

  test('whose environment is never healthy fails at the sandbox', async () => {
    const toml = '[environment.healthcheck]\ncommand = "test -e /nope"\ninterval_sec = 0.01\nretries = 2\n'
    expect((await playTrial({ task: { toml } })).record.end).toMatchObject(failedAt('sandbox', 'HealthcheckError'))
  })

  test('whose environment becomes healthy in its start period continues', async () => {
    const command = 'echo x >> /tmp/n; [ $(wc -l < /tmp/n) -ge 3 ]'
    const toml = `[environment.healthcheck]\ncommand = "${command}"\nretries = 1\nstart_period_sec = 30\nstart_interval_sec = 0.01\n`
    expect((await playTrial({ task: { toml } })).record.end).toEqual(scored(1))
  })

  test('whose agent throws fails at the agent, with the logs it wrote inside', async () => {
    const thrower = agentThat(async (at) => {
      await at.sandbox.exec(['sh', '-c', 'echo almost > /logs/agent/notes.txt'])
      throw new Error('lost my way')
    })
    const { record, dir } = await playTrial({ agent: thrower })
    expect(record.end).toMatchObject(failedAt('agent', 'AgentError'))
    expect(readFileSync(join(dir, 'agent/notes.txt'), 'utf8')).toBe('almost\n')
  })

  test('whose agent is not ready in time fails at the agent', async () => {
    const slow = agentThat(async () => ({ kind: 'finished' }), { prepare: never })
    const { record } = await playTrial({
      agent: slow,
      config: { agent: agentConfig({ overrideSetupTimeoutSec: 0.05 }) },
    })
    expect(record.end).toMatchObject(failedAt('agent', 'AgentSetupTimeoutError'))
  })

  test('whose deaf agent runs out of time is still verified, and its processes are dead by then', async () => {
    const timeIsUp = holdLongTimers()
    const busy = agentThat(async (at) => {
      const spoil = '(while :; do echo 0 > /answer; sleep 0.01; done) & while ! [ -e /answer ]; do sleep 0.01; done'
      await at.sandbox.exec(['sh', '-c', spoil])
      timeIsUp()
      return never()
    })
    const test =
      'echo 42 > /answer; sleep 0.3; pgrep sleep -u 0 -f "sleep 0.01"; [ "$(cat /answer)" = 42 ] && echo 1 > /logs/verifier/reward.txt'
    const { record } = await playTrial({
      agent: busy,
      task: { test },
      config: { agent: agentConfig({ overrideTimeoutSec: longSec }) },
    })
    expect(record.end).toEqual({ kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'limit', limit: 'time' } })
  })

  const small = '[environment]\nallow_internet = false\nstorage_mb = 32\n'
  const fill = 'head -c 60M /dev/zero > /srv/big'

  test('whose agent takes more disk than the task allows is stopped, and still verified', async () => {
    const running = agentThat(async ({ sandbox }) => {
      await sandbox.exec(['sh', '-c', `echo 42 > /answer; ${fill}; sleep 600`])
      return never()
    })
    const quick = agentThat(async ({ sandbox }) => {
      await sandbox.exec(['sh', '-c', `echo 42 > /answer; ${fill}`])
      return { kind: 'finished' }
    })
    for (const agent of [running, quick]) {
      const { record, dir } = await playTrial({ agent, task: { toml: small } })
      expect(record.end).toEqual({ ...scored(1), exit: { kind: 'limit', limit: 'storage' } })
      expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toMatch(/ran out of disk space: .* storage_mb = 32\n/)
    }
  })

  test('whose tests take more disk than the task allows fails at the verifier', async () => {
    const { record } = await playTrial({
      agent: oracle.make({}, context),
      task: { toml: small, test: `echo 1 > /logs/verifier/reward.txt; ${fill}; sleep 600` },
    })
    expect(record.end).toMatchObject(failedAt('verifier', 'StorageLimitError'))
  })

  test('takes the sandbox away from an agent that continues after its time limit', async () => {
    let afterwards: Promise<unknown> | undefined
    const stubborn = agentThat(async (at) => {
      const tryIt = () => at.sandbox.exec(['true']).catch((error: Error) => error.message)
      // At once: a poll begins only when something waits for it.
      afterwards = (async () => expect.poll(tryIt).toContain('was released: the phase'))()
      return never()
    })
    await playTrial({ agent: stubborn, config: { agent: agentConfig({ overrideTimeoutSec: 0.05 }) } })
    await afterwards
  })

  test('whose agent forged a reward is scored by the tests alone', async () => {
    const forger = agentThat(async (at) => {
      const forge =
        'mkdir -p /tests; echo 1 > /logs/verifier/reward.txt; echo "echo 1 > /logs/verifier/reward.json" > /tests/test.sh'
      await at.sandbox.exec(['sh', '-c', forge])
      return { kind: 'finished' }
    })
    const { record, dir } = await playTrial({ agent: forger })
    expect(record.end).toEqual(scored(0))
    expect(existsSync(join(dir, 'verifier/reward.json'))).toBe(false)
  })

  test.each([
    [
      'a 0 because it could not install its test runner',
      'echo "curl: (6) Could not resolve host: pypi.org"; echo 0 > /logs/verifier/reward.txt',
      'VerifierNetworkError',
    ],
    ['nothing', 'true', 'RewardFileNotFoundError'],
    ['an empty file', ': > /logs/verifier/reward.txt', 'RewardFileEmptyError'],
    ['garbage', 'echo well done > /logs/verifier/reward.txt', 'VerifierOutputParseError'],
    ['a link', 'ln -s /etc/hostname /logs/verifier/reward.txt', 'RewardFileNotFoundError'],
  ])('whose tests write %s fails at the verifier, never with a score', async (_, script, code) => {
    expect((await playTrial({ task: { test: script } })).record.end).toMatchObject(failedAt('verifier', code))
  })

  test('whose tests print more than is kept is scored all the same, with the first of what they printed', async () => {
    const print = `echo first; truncate -s 300M /logs/verifier/test-stdout.txt; echo 1 > /logs/verifier/reward.txt`
    const { record, dir } = await playTrial({ task: { test: print } })
    expect(record.end).toEqual(scored(1))
    const kept = readFileSync(join(dir, 'verifier/test-stdout.txt'))
    expect([kept.subarray(0, 6).toString(), kept.length]).toEqual(['first\n', 16 * 1024 * 1024])
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toContain('was cut to its first')
  })

  test.each([
    ['remove the directory of their files', 'rm -rf /logs/verifier'],
    ['put a link in its place', 'rm -rf /logs/verifier; ln -s /etc /logs/verifier'],
    ['leave more files than are kept', 'truncate -s 300M /logs/verifier/big; echo 1 > /logs/verifier/reward.txt'],
  ])('whose tests %s fails at the verifier, not at the sandbox', async (_, script) => {
    const { record } = await playTrial({ task: { test: script } })
    expect(record.end).toMatchObject(failedAt('verifier', 'DownloadVerifierDirError'))
    expect(record.end).toMatchObject({ failure: { retryable: false } })
  })

  test('whose tests cannot even start says why in its log', async () => {
    const { record, dir } = await playTrial({
      agent: oracle.make({}, context),
      task: { toml: '[environment]\nworkdir = "/nowhere"\n' },
    })
    expect(record.end).toMatchObject(failedAt('verifier', 'RewardFileNotFoundError'))
    const log = readFileSync(join(dir, 'trial.log'), 'utf8')
    expect(log).toMatch(/solve\.sh exited with \d+: .*\/nowhere/)
    expect(log).toMatch(/tests exited with \d+: .*\/nowhere/)
  })

  test('whose tests write both files follows the asked precedence and says so', async () => {
    const task = {
      test: 'echo 0.25 > /logs/verifier/reward.txt; echo \'{"a": 1, "b": 2}\' > /logs/verifier/reward.json',
    }
    const txt = await playTrial({ task })
    const json = await playTrial({ task, config: { verifier: { ...verifier, rewardPrecedence: 'json' } } })
    expect([txt.record.end, json.record.end]).toMatchObject([
      { rewards: { reward: 0.25 } },
      { rewards: { a: 1, b: 2 } },
    ])
    expect(txt.record.bothRewardFiles && json.record.bothRewardFiles).toBe(true)
  })

  test('whose tests hang is verified a second time, then fails at the verifier', async () => {
    const timeIsUp = holdLongTimers()
    const watched = faultyProvider(provider, {
      inside: (real) => ({
        async exec(argv, options) {
          const running = real.exec(argv, options)
          if (!argv.join().includes('test-stdout.txt')) return running
          while ((await real.exec(['grep', '-qx', 'run', '/logs/verifier/test-stdout.txt'])).exitCode !== 0);
          timeIsUp()
          return running
        },
      }),
    })
    const { record, dir } = await playTrial({
      task: { test: 'echo run; sleep 600' },
      provider: watched,
      config: { verifier: { ...verifier, overrideTimeoutSec: longSec } },
    })
    expect(record.end).toMatchObject(failedAt('verifier', 'VerifierTimeoutError'))
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toContain('try 2 of 2')
    expect(readFileSync(join(dir, 'verifier/test-stdout.txt'), 'utf8')).toBe('run\n')
  })

  test('whose files of the first tests come too late is scored by the second tests alone', async () => {
    const timeIsUp = holdLongTimers()
    let downloads = 0
    let goOn = () => {}
    const late = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let wentOn: Promise<void> | undefined
    const slow = faultyProvider(provider, {
      inside: (real) => ({
        async downloadDir(source, target, options) {
          if (source !== '/logs/verifier') return real.downloadDir(source, target, options)
          if (++downloads === 1) {
            timeIsUp()
            wentOn = late.then(() => {
              mkdirSync(target, { recursive: true })
              writeFileSync(join(target, 'reward.txt'), '0')
            })
            return wentOn
          }
          await real.downloadDir(source, target, options)
          if (downloads === 2) return
          goOn()
          await wentOn
        },
      }),
    })
    const { record, dir } = await playTrial({
      provider: slow,
      config: { verifier: { ...verifier, overrideTimeoutSec: longSec } },
    })
    expect(record.end).toEqual(scored(1))
    expect(readdirSync(dir).filter((name) => name.startsWith('.'))).toEqual([])
  })

  test('whose verification is switched off is scored without rewards', async () => {
    const { record } = await playTrial({ config: { verifier: { ...verifier, disable: true } } })
    expect(record.end).toEqual({ kind: 'scored', rewards: null, exit: { kind: 'finished' } })
    expect(record.isolation).toBeNull()
  })

  test('that cannot write its log fails at the store', async () => {
    const prepareDir = (dir: string) => writeFileSync(dir, 'in the way')
    expect((await playTrial({ prepareDir })).record.end).toMatchObject(failedAt('store', 'StoreError'))
  })

  test('cancelled before it starts is cancelled and leased nothing', async () => {
    const { record } = await playTrial({ signal: AbortSignal.abort() })
    expect(record.end).toEqual({ kind: 'cancelled' })
    expect(record.sandbox).toBeNull()
  })

  test.each(['environment-start', 'agent-start', 'verification-start'] as const)(
    'cancelled at %s is cancelled',
    async (when) => {
      const controller = new AbortController()
      const heard: TrialEventName[] = []
      const hook = ({ event }: { event: TrialEventName }) => {
        heard.push(event)
        if (event === when) controller.abort()
      }
      const { record } = await playTrial({
        agent: deaf,
        hooks: [hook],
        signal: controller.signal,
        config: { agent: agentConfig({ overrideTimeoutSec: 0.05 }) },
      })
      expect(record.end).toEqual({ kind: 'cancelled' })
      expect(heard.slice(-2)).toEqual(['trial-cancel', 'trial-end'])
    },
  )

  test('cancelled while a deaf agent works ends at once', async () => {
    const controller = new AbortController()
    const deafer = agentThat(async () => {
      controller.abort()
      return never()
    })
    expect((await playTrial({ agent: deafer, signal: controller.signal })).record.end).toEqual({ kind: 'cancelled' })
  })

  test('tells its hooks every event in order', async () => {
    const heard: TrialEventName[] = []
    await playTrial({ hooks: [({ event }) => void heard.push(event)] })
    expect(heard).toEqual(['trial-start', 'environment-start', 'agent-start', 'verification-start', 'trial-end'])
  })

  test.each(['trial-start', 'agent-start', 'trial-end'] as const)('fails when a hook throws at %s', async (when) => {
    const hook = ({ event }: { event: TrialEventName }) => {
      if (event === when) throw new Error('hook broke')
    }
    expect((await playTrial({ hooks: [hook] })).record.end).toMatchObject(failedAt('store', 'HookError'))
  })
})

withSandboxes('giving a sandbox back', () => {
  test('that throws does not change the ending', async () => {
    const faulty = faultyProvider(provider, {
      inside: (real) => ({
        [Symbol.asyncDispose]: async () => {
          await real[Symbol.asyncDispose]()
          throw new Error('already gone')
        },
      }),
    })
    const { record, dir } = await playTrial({ provider: faulty })
    expect(record.end).toEqual(scored(1))
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toContain('could not be released: already gone')
    expect(await leftovers()).toEqual([])
  })

  test('that hangs does not change the ending, and is noted', async () => {
    const kept: SandboxLease[] = []
    const faulty = faultyProvider(provider, {
      inside: (real) => {
        kept.push(real)
        return { [Symbol.asyncDispose]: never }
      },
    })
    const { record, dir } = await playTrial({ provider: faulty, releaseSec: 0.1 })
    expect(record.end).toEqual(scored(1))
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toContain('was not released within 0.1 s')
    for (const lease of kept) await lease[Symbol.asyncDispose]()
  })
})
