import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultSettings, defined, type TaskSettings } from './environment.ts'
import { parseTaskToml } from './parse.ts'
import { renderTaskToml } from './render.ts'

test('writes tables in order, seconds as floats, and nothing that says nothing', () => {
  const settings: TaskSettings = {
    ...defaultSettings,
    name: 'example/hello',
    description: 'Say "hello"',
    authors: [{ name: 'Ada', email: 'ada@example.org' }],
    metadata: { tags: ['a'], none: [], minutes: 5, ratio: 0.5, nothing: null },
    agent: { timeoutSec: 600, user: 1000 },
    environment: { ...defaultSettings.environment, cpus: 1, memoryMb: 512, network: { mode: 'no-network' } },
    artifacts: [{ source: '/app/out', exclude: [] }],
    steps: [
      {
        name: 'one',
        agent: {},
        verifier: { ...defaultSettings.verifier, mode: 'separate' },
        minReward: { reward: 1 },
        artifacts: [],
      },
    ],
  }
  expect(renderTaskToml(settings)).toBe(`schema_version = "1.4"
multi_step_reward_strategy = "mean"
artifacts = [ "/app/out" ]

[task]
name = "example/hello"
description = "Say \\"hello\\""

[[task.authors]]
name = "Ada"
email = "ada@example.org"

[[steps]]
name = "one"
min_reward = 1.0

[steps.verifier]
timeout_sec = 600.0
environment_mode = "separate"

[metadata]
tags = [ "a" ]
none = []
minutes = 5
ratio = 0.5

[verifier]
timeout_sec = 600.0

[agent]
timeout_sec = 600.0
user = 1000

[environment]
build_timeout_sec = 600.0
os = "linux"
cpus = 1
memory_mb = 512
gpus = 0
network_mode = "no-network"
`)
})

test('refuses to lose a description for want of a name', () => {
  expect(() => renderTaskToml({ ...defaultSettings, description: 'x' })).toThrow('needs a name')
})

const text = fc.string({ unit: 'grapheme', minLength: 1 })
/** Both JSON and TOML parsers drop the one name that would reach an object's prototype. */
const key = text.filter((name) => name !== '__proto__')
const env = fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), fc.string({ unit: 'grapheme' }), { maxKeys: 3 })
const seconds = fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.double({ min: 0.001, max: 1e6, noNaN: true }))
const maybe = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined })
const user = fc.oneof(text, fc.nat())
const hosts = fc.array(fc.constantFrom('a.org', '*.b.org', '192.0.2.1', '10.0.0.0/8', '::1'), { maxLength: 3 })
const network = fc.oneof(
  fc.constant({ mode: 'public' } as const),
  fc.constant({ mode: 'no-network' } as const),
  hosts.map((list) => ({ mode: 'allowlist', hosts: list }) as const),
)
const healthcheck = fc.record({
  command: text,
  intervalSec: seconds,
  timeoutSec: seconds,
  startPeriodSec: seconds,
  startIntervalSec: seconds,
  retries: fc.nat(),
})
const mcpServer = fc.oneof(
  fc.record({ name: text, transport: fc.constantFrom('sse', 'streamable-http'), url: text, args: fc.array(text) }),
  fc.record({ name: text, transport: fc.constant('stdio' as const), command: text, args: fc.array(text) }),
)
const environment = fc
  .record({
    buildTimeoutSec: seconds,
    dockerImage: maybe(text),
    os: fc.constantFrom('linux', 'windows'),
    cpus: maybe(seconds),
    memoryMb: maybe(fc.integer({ min: 1 })),
    storageMb: maybe(fc.integer({ min: 1 })),
    gpus: fc.nat(),
    gpuTypes: maybe(fc.array(text, { minLength: 1 })),
    tpu: maybe(fc.record({ type: text, topology: text })),
    network,
    mcpServers: fc.array(mcpServer, { maxLength: 2 }),
    env,
    skillsDir: maybe(text),
    healthcheck: maybe(healthcheck),
    workdir: maybe(text),
  })
  .map(defined)
const agent = fc.record({ timeoutSec: maybe(seconds), user: maybe(user), network: maybe(network) }).map(defined)
const collect = fc.record({ command: text, service: text, timeoutSec: seconds, user: maybe(user) }).map(defined)
const verifier = fc
  .record({
    timeoutSec: seconds,
    env,
    user: maybe(user),
    network: maybe(network),
    mode: fc.constantFrom('shared', 'separate'),
    environment: maybe(environment),
    collect: fc.array(collect, { maxLength: 2 }),
  })
  .map((all) => defined({ ...all, mode: all.environment ? ('separate' as const) : all.mode }))
const artifact = fc
  .record({
    source: fc.stringMatching(/^\/[a-z]{1,9}$/),
    destination: maybe(fc.stringMatching(/^[a-z]{1,9}$/)),
    exclude: fc.array(text, { maxLength: 2 }),
    service: maybe(fc.constantFrom('main', 'db')),
  })
  .map(defined)
const artifacts = fc.uniqueArray(artifact, { maxLength: 3, selector: (a) => a.destination ?? a.source.slice(1) })
const step = fc
  .record({
    name: fc.stringMatching(/^[a-z0-9-]{1,12}$/),
    agent,
    verifier,
    minReward: maybe(
      fc.dictionary(key, fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-9 }), { minKeys: 1 }),
    ),
    healthcheck: maybe(healthcheck),
    artifacts: fc.constant([]),
  })
  .map(defined)
const json = fc.jsonValue({ maxDepth: 2 }).map(tomlCanHold)
const settings: fc.Arbitrary<TaskSettings> = fc
  .record({
    schemaVersion: fc.constantFrom('1.3', '1.4', '2.0'),
    name: fc.stringMatching(/^[a-z0-9]{1,9}\/[a-z0-9][a-z0-9_-]{0,9}$/),
    version: maybe(text),
    source: maybe(text),
    description: fc.string({ unit: 'grapheme' }),
    authors: fc.array(fc.record({ name: text, email: maybe(text) }).map(defined), { maxLength: 2 }),
    keywords: fc.array(text, { maxLength: 3 }),
    metadata: fc.dictionary(text, json, { maxKeys: 4 }).map((table) => tomlCanHold(table) as Record<string, unknown>),
    environment,
    agent,
    verifier,
    solution: fc.record({ env }),
    artifacts,
    steps: fc.uniqueArray(step, { maxLength: 3, selector: (s) => s.name }),
    stepReward: fc.constantFrom('mean', 'final'),
  })
  .map(defined)

test('reads back every task it writes', () => {
  fc.assert(
    fc.property(settings, (given) => {
      expect(parseTaskToml(renderTaskToml(given), 'task.toml')).toEqual(given)
    }),
    { numRuns: 200 },
  )
})

/** Removes nulls and -0 from a JSON value, which TOML does not have. */
function tomlCanHold(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(tomlCanHold)
  if (typeof value === 'number') return value === 0 ? 0 : value
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name, item]) => item !== null && name !== '__proto__')
  return Object.fromEntries(kept.map(([key, item]) => [key, tomlCanHold(item)]))
}
