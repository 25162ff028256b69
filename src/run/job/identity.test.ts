import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { agentConfig, jobConfig, taskConfig, taskNamed } from '../../../test/fakes/configs.ts'
import { differences, fingerprintsIn, identityOf, parseIdentity } from './identity.ts'

const tasks = [taskNamed('a', 'a1'), taskNamed('b', 'b1')]
const made: string[] = []
afterAll(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true })
})

function makeDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'fingerprint-'))
  made.push(dir)
  return dir
}

const base = identityOf(jobConfig(), tasks)

test('concurrency, quietness, retries, debug and the order and spelling of tasks do not matter', () => {
  const config = jobConfig({
    nConcurrentTrials: 99,
    quiet: true,
    debug: true,
    jobName: 'other',
    tasks: [taskConfig('./x/../y')],
  })
  const retry = { ...config.retry, maxRetries: 5 }
  expect(differences(base, identityOf({ ...config, retry }, [...tasks].reverse()))).toEqual([])
})

test('it survives a round through JSON', () => {
  expect(differences(JSON.parse(JSON.stringify(base)), base)).toEqual([])
})

test('a changed task is named with both digests', () => {
  const now = identityOf(jobConfig(), [taskNamed('a', '5678'), taskNamed('b', 'b1')])
  expect(differences(base, now)).toEqual(['task "a" changed: digest was a1…, is 5678…'])
})

test('an added or removed task is named', () => {
  const now = identityOf(jobConfig(), [taskNamed('a', 'a1'), taskNamed('c', 'c1')])
  expect(differences(base, now)).toEqual(['task "b" is gone', 'task "c" is new'])
})

test('a task that occurs twice differs from one that occurs once', () => {
  expect(differences(base, identityOf(jobConfig(), [...tasks, taskNamed('a', 'a1')]))).toHaveLength(1)
})

test('a task named like a property of every object is a task like any other', () => {
  const odd = identityOf(jobConfig(), [taskNamed('constructor', 'x')])
  expect(differences(identityOf(jobConfig(), []), odd)).toEqual(['task "constructor" is new'])
})

test('another agent, model or agent option is named', () => {
  const changed = (agent: Parameters<typeof agentConfig>[0]) =>
    differences(base, identityOf(jobConfig({ agents: [agentConfig(agent)] }), tasks))
  expect(changed({ name: 'nop' })).toEqual(['agent was oracle, is nop'])
  expect(changed({ modelName: 'openai/x' })).toEqual(['agent oracle: modelName was null, is "openai/x"'])
  expect(changed({ kwargs: { max_turns: 3 } })).toEqual(['agent oracle: kwargs.max_turns was null, is 3'])
})

test('sandbox, overrides, multipliers and attempts are named', () => {
  const config = jobConfig({ nAttempts: 3 })
  const environment = { ...config.environment, type: 'docker', overrideCpus: 2 }
  const timeoutMultipliers = { ...config.timeoutMultipliers, all: 2 }
  expect(differences(base, identityOf({ ...config, environment, timeoutMultipliers }, tasks))).toEqual([
    'environment.overrideCpus was null, is 2',
    'environment.type was "local", is "docker"',
    'nAttempts was 1, is 3',
    'timeoutMultipliers.all was 1, is 2',
  ])
})

test('a secret is neither kept nor compared, a template is', () => {
  const withKey = (value: string) =>
    identityOf(jobConfig({ agents: [agentConfig({ env: { API_KEY: value } })] }), tasks)
  expect(JSON.stringify(withKey('sk-secret'))).not.toContain('sk-secret')
  expect(differences(withKey('sk-one'), withKey('sk-two'))).toEqual([])
  expect(differences(withKey(`\${A}`), withKey(`\${B}`))).toHaveLength(1)
})

describe('a variable that is not a key', () => {
  const dirs = [makeDir(), makeDir()]
  const [here, elsewhere] = dirs.map(fingerprintsIn)
  const withMode = (value: string, fingerprint = here) =>
    identityOf(jobConfig({ agents: [agentConfig({ env: { MODE: value } })] }), tasks, {}, fingerprint)

  test('makes another job when its value changes, and its value is nowhere', () => {
    expect(differences(withMode('fast'), withMode('fast'))).toEqual([])
    expect(differences(withMode('fast'), withMode('slow'))).toEqual(['agent oracle: env.MODE changed'])
    expect(JSON.stringify(withMode('fast'))).not.toContain('fast')
    const plain = createHash('sha256').update('fast').digest('hex').slice(0, 16)
    expect(JSON.stringify(withMode('fast'))).not.toContain(plain)
  })

  test('has another mark under another key, is not compared with it, and keeps its mark under the same key', () => {
    expect(withMode('fast', elsewhere)).not.toEqual(withMode('fast'))
    expect(differences(withMode('fast', elsewhere), withMode('slow'))).toEqual([])
    expect(withMode('fast', fingerprintsIn(dirs[0]!))).toEqual(withMode('fast'))
    expect(statSync(join(dirs[0]!, 'fingerprint.key')).mode & 0o777).toBe(0o600)
  })

  test('is not compared with a value that an older version wrote, or where no key can be kept', () => {
    const old = { ...withMode('fast'), agents: [{ ...Object(withMode('fast').agents[0]), env: { MODE: 'fast' } }] }
    expect(differences(old, withMode('fast'))).toEqual([])
    expect(differences(withMode('fast'), withMode('slow', fingerprintsIn('/dev/null/no')))).toEqual([])
  })
})

test('of a URL only the password is hidden', () => {
  const withBase = (base: string) => identityOf(jobConfig({ agents: [agentConfig({ kwargs: { base } })] }), tasks)
  expect(differences(withBase('http://a:one@x/v1'), withBase('http://a:two@x/v1'))).toEqual([])
  expect(differences(withBase('http://a:one@x/v1'), withBase('http://a:one@y/v1'))).toHaveLength(1)
  expect(JSON.stringify(withBase('http://a:one@x/v1'))).not.toContain('one@')
})

test('changed code of an agent is named with both digests, and a job without such code stays what it was', () => {
  const path = '/lab/my-agent.ts'
  const withCode = (digest: string) => identityOf(jobConfig(), tasks, { [path]: digest })
  expect(differences(withCode('c1'), withCode('c1'))).toEqual([])
  expect(differences(withCode('c1'), withCode('c2'))).toEqual(['/lab/my-agent.ts changed: digest was c1…, is c2…'])
  const { imports: _, ...old } = base
  expect(parseIdentity(old)).toEqual(base)
})
