import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { makeTask } from '../../../test/make-task.ts'
import { loadTask } from './load.ts'

const tasks = fileURLToPath(new URL('../../../test/fixtures/harbor-task/tasks', import.meta.url))

// The values were compared once with Harbor 0.6.4 and 0.25.0 on the same directories; the digests are the output of its
// `Packager.compute_content_hash` and `dirhash(dir, 'sha256')`.

test('reads a task of the first schema with its aliases and defaults', async () => {
  const dir = join(tasks, 'hello')
  expect(await loadTask(dir)).toEqual({
    name: 'hello',
    dir,
    schemaVersion: '1.0',
    description: '',
    authors: [],
    keywords: [],
    metadata: {
      author_name: 'Ada Example',
      author_email: 'ada@example.org',
      difficulty: 'easy',
      category: 'files',
      tags: ['trivial', 'files'],
      expert_time_estimate_min: 2.5,
      written: '2026-01-02',
    },
    instruction: 'Write `hello` to /app/hello.txt.\n\n  Keep this line.  \n',
    environment: {
      dir: join(dir, 'environment'),
      buildTimeoutSec: 60,
      os: 'linux',
      cpus: 2,
      memoryMb: 2048,
      storageMb: 512,
      gpus: 0,
      network: { mode: 'no-network' },
      mcpServers: [],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of the task's.
      env: { GREETING: '${GREETING:-hello}' },
    },
    agent: { timeoutSec: 300.5 },
    verifier: { timeoutSec: 120, env: {}, mode: 'shared', collect: [] },
    solution: { env: { WORD: 'hello' } },
    artifacts: [],
    steps: [],
    stepReward: 'mean',
    digests: {
      dirhash: '8d7c2bf9b3ebd82530ad6ed53589e88435e6f38337eed2e9bed1ccbea8b1e0ba',
      content: 'ac63194e4ca2c136082fcb7d46ce0acd30cfeb52a9b29bc7a56581863b7def41',
    },
  })
})

test('reads a multi-step task', async () => {
  const dir = join(tasks, 'two-steps')
  const healthcheck = { intervalSec: 5, timeoutSec: 30, startPeriodSec: 0, startIntervalSec: 5, retries: 3 }
  expect(await loadTask(dir)).toEqual({
    name: 'example/two-steps',
    dir,
    schemaVersion: '1.2',
    source: 'example',
    description: 'Two files, one after the other',
    authors: [{ name: 'Ada Example', email: 'ada@example.org' }, { name: 'Ben Example' }],
    keywords: ['files'],
    metadata: {},
    instruction: '',
    environment: {
      dir: join(dir, 'environment'),
      buildTimeoutSec: 600,
      os: 'linux',
      cpus: 1,
      memoryMb: 2048,
      storageMb: 10240,
      gpus: 1,
      gpuTypes: ['H100'],
      network: { mode: 'public' },
      mcpServers: [{ name: 'files', transport: 'stdio', command: 'mcp-files', args: ['--root', '/app'] }],
      env: {},
      skillsDir: '/skills',
      healthcheck: { ...healthcheck, command: 'true', startPeriodSec: 2 },
      workdir: '/app',
    },
    agent: {},
    verifier: { timeoutSec: 45, env: {}, mode: 'shared', collect: [] },
    solution: { env: {} },
    artifacts: [
      { source: '/app/first.txt', exclude: [] },
      { source: '/app/out', destination: 'out', exclude: ['*.tmp'] },
    ],
    steps: [
      {
        name: 'first',
        dir: join(dir, 'steps/first'),
        instruction: 'Write `first` to /app/first.txt.\n',
        agent: { timeoutSec: 60, user: 'agent' },
        verifier: { timeoutSec: 30, env: { STEP: '1' }, user: 1000, mode: 'shared', collect: [] },
        minReward: { reward: 1 },
        healthcheck: { ...healthcheck, command: 'test -d /app', retries: 5 },
        artifacts: [{ source: '/app/log.txt', exclude: [] }],
      },
      {
        name: 'second',
        dir: join(dir, 'steps/second'),
        instruction: 'Write `second` to /app/second.txt.\n',
        agent: {},
        verifier: { timeoutSec: 600, env: {}, mode: 'shared', collect: [] },
        minReward: { style: 0.5, reward: 1 },
        artifacts: [],
      },
    ],
    stepReward: 'final',
    digests: {
      dirhash: '45ecf9a4bd041729a55c8f874785a2ea14b6efc0bad6ca9b278cbef02fd51525',
      content: '7c1f6c877e580be2146e3329779f2ceee39df559880d315f7a678c83237b0d33',
    },
  })
})

test('reads the networks and the separate verifier of schema 1.4', async () => {
  const dir = join(tasks, 'modern')
  const task = await loadTask(dir)
  const environment = {
    buildTimeoutSec: 600,
    os: 'linux',
    cpus: 0.5,
    memoryMb: 1024,
    gpus: 0,
    tpu: { type: 'v6e', topology: '2x4' },
    network: { mode: 'public' },
    mcpServers: [{ name: 'search', transport: 'streamable-http', url: 'http://search:8000/mcp', args: [] }],
    env: {},
  }
  expect(task).toMatchObject({ name: 'example/modern', version: '2.1', schemaVersion: '1.4' })
  expect(task.environment).toEqual({ ...environment, dir: join(dir, 'environment') })
  expect(task.agent).toEqual({
    network: { mode: 'allowlist', hosts: ['api.example.org', '*.example.com', '192.0.2.0/24', '2001:db8::1'] },
  })
  expect(task.verifier).toEqual({
    timeoutSec: 600,
    env: {},
    network: { mode: 'no-network' },
    mode: 'separate',
    environment: { ...environment, dir: join(dir, 'tests') },
    collect: [
      { command: 'dump > /var/lib/db/dump.sql', service: 'database', timeoutSec: 10, user: 'postgres' },
      { command: 'true', service: 'main', timeoutSec: 60 },
    ],
  })
  expect(task.artifacts).toEqual([{ source: '/var/lib/db', destination: 'db', exclude: [], service: 'database' }])
  expect(task.digests.content).toBe('3e5ffce4f9c4e68c99d53601c1aa0f69944304c2d3c461a7ce46418812b8907d')
})

test.each([
  ['', 1, 2048, 10240],
  ['version = "1.0"', 1, 2048, 10240],
  ['schema_version = "1.2"', 1, 2048, 10240],
  ['schema_version = "draft"', 1, 2048, 10240],
  ['schema_version = "1.2"\nversion = "1.4"', 1, 2048, 10240],
  ['schema_version = "1.3"', undefined, undefined, undefined],
  ['schema_version = "1.10"', undefined, undefined, undefined],
  ['version = "2.0"', undefined, undefined, undefined],
])('gives a task with %j the sizes of its schema', async (toml, cpus, memoryMb, storageMb) => {
  const { environment } = await loadTask(await makeTask({ 'task.toml': toml }))
  expect([environment.cpus, environment.memoryMb, environment.storageMb]).toEqual([cpus, memoryMb, storageMb])
})

test.each([
  ['version = "1.0"\n[environment]\nmemory = "1.5G"\nmemory_mb = 10\nstorage = "2048K"', 1536, 2],
  ['version = "1.4"\n[environment]\nmemory = "512m"\nmemory_mb = 512', 512, undefined],
])('reads old sizes from %j', async (toml, memoryMb, storageMb) => {
  const { environment } = await loadTask(await makeTask({ 'task.toml': toml }))
  expect([environment.memoryMb, environment.storageMb]).toEqual([memoryMb, storageMb])
})

test('accepts windows scripts for a windows task only', async () => {
  const windows = { 'task.toml': '[environment]\nos = "Windows"', 'tests/test.sh': null }
  const task = await loadTask(await makeTask({ ...windows, 'tests/test.bat': 'exit 0' }))
  expect(task.environment.os).toBe('windows')
  await expect(loadTask(await makeTask({ 'tests/test.sh': null, 'tests/test.bat': 'exit 0' }))).rejects.toThrow(
    'test.sh',
  )
  await expect(loadTask(await makeTask({ ...windows, 'tests/test.sh': 'exit 0' }))).rejects.toThrow('test.bat')
})

test('takes a prebuilt image instead of environment/', async () => {
  const toml = '[environment]\ndocker_image = "debian:12-slim"'
  const task = await loadTask(await makeTask({ 'task.toml': toml, 'environment/Dockerfile': null }))
  expect(task.environment.dockerImage).toBe('debian:12-slim')
})

test('takes a task without tests when nobody will verify', async () => {
  const dir = await makeTask({ 'tests/test.sh': null })
  expect((await loadTask(dir, { allowNoTests: true })).name).toBe('done')
})

test('builds a separate verifier like the environment when its tests have no Dockerfile', async () => {
  const toml = 'version = "1.4"\n[environment]\ncpus = 2\n[verifier.environment]\nmemory_mb = 64'
  const dir = await makeTask({ 'task.toml': toml })
  expect((await loadTask(dir)).verifier).toMatchObject({
    mode: 'separate',
    environment: { dir: join(dir, 'environment'), memoryMb: 64, os: 'linux' },
  })
})

test('takes the nearest image for the separate verifier of a step', async () => {
  const dir = await makeTask({
    'task.toml': [
      'version = "1.4"',
      '[verifier.environment]\ndocker_image = "judge:1"',
      '[[steps]]\nname = "own"',
      '[[steps]]\nname = "inherits"',
      '[[steps]]\nname = "shares"\nverifier.environment_mode = "shared"',
    ].join('\n'),
    'steps/own/instruction.md': 'One.',
    'steps/own/tests/Dockerfile': 'FROM debian:12-slim',
    'steps/inherits/instruction.md': 'Two.',
    'steps/shares/instruction.md': 'Three.',
  })
  const [own, inherits, shares] = (await loadTask(dir)).steps.map((step) => step.verifier)
  expect(own?.environment?.dir).toBe(join(dir, 'steps/own/tests'))
  expect(own?.environment?.dockerImage).toBeUndefined()
  expect(inherits?.environment).toMatchObject({ dir: join(dir, 'tests'), dockerImage: 'judge:1' })
  expect(shares).toEqual({ timeoutSec: 600, env: {}, mode: 'shared', collect: [] })
})
