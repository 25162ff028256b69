import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { FakeDaytona } from '../../../test/fakes/daytona/server.ts'
import { needs } from '../../../test/needs.ts'
import type { SandboxLease, SandboxProvider } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import daytona from './index.ts'

describe('daytona, against a stand-in for its service', needs('bwrap'), () => {
  let server: FakeDaytona
  let scratch: string
  beforeAll(async () => {
    server = await FakeDaytona.open()
  })
  afterAll(async () => {
    await server.close()
  })
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'ot-daytona-'))
  })
  afterEach(() => {
    server.faults.clear()
    Object.assign(server, { startMs: 0, maxSandboxes: 1000 })
    server.snapshots.max = 100
    rmSync(scratch, { recursive: true, force: true })
  })

  const provider = (options: Record<string, unknown> = {}, env: Record<string, string> = server.env): SandboxProvider =>
    daytona.make(daytona.options.parse(options), { env, stateDir: join(scratch, 'state') })
  const environment = (changes: Partial<Environment> = {}, dockerfile?: string): Environment => {
    const dir = mkdtempSync(join(scratch, 'environment-'))
    if (dockerfile !== undefined) writeFileSync(join(dir, 'Dockerfile'), dockerfile)
    return plainEnvironment(dir, changes)
  }
  const lease = (from: SandboxProvider, of = environment(), signal?: AbortSignal): Promise<SandboxLease> =>
    from.lease({ owner: { job: 'j', trial: 't' }, environment: of, ...(signal && { signal }) })
  const requests = (pattern: RegExp) => server.faults.seen.filter((request) => pattern.test(request)).length
  const gone = async () => {
    while (server.sandboxes.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  }

  test('a missing or wrong key is reported in two lines, without the key', async () => {
    const missing = provider({}, { DAYTONA_API_URL: server.url })
    await expect(missing.preflight()).rejects.toMatchObject({ name: 'UserError', message: /DAYTONA_API_KEY/ })
    const wrong = provider({}, { ...server.env, DAYTONA_API_KEY: 'dtn_wrong-key' }).preflight()
    const error: unknown = await wrong.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'UserError', message: /does not accept the API key/ })
    expect(JSON.stringify(error) + String(error)).not.toContain('dtn_wrong-key')
  })

  test('every sandbox carries its owner, a lifetime at the provider and the network asked for', async () => {
    await using box = await lease(provider({ idleMin: 7, lifetimeMin: 90 }))
    const { request } = server.sandboxes.get(box.id) ?? {}
    expect(request).toMatchObject({
      user: 'root',
      autoStopInterval: 7,
      autoDeleteInterval: 5,
      ttlMinutes: 90,
      networkBlockAll: true,
      labels: {
        'ot-agent': '1',
        'ot-job': 'j',
        'ot-trial': 't',
        'ot-process': expect.stringContaining(`${process.pid}.`),
      },
    })
    await box.setNetwork({ mode: 'allowlist', hosts: ['pypi.org', '10.0.0.1', '10.1.0.0/16'] })
    expect(server.sandboxes.get(box.id)?.network).toEqual({
      networkBlockAll: false,
      networkAllowList: '10.0.0.1/32,10.1.0.0/16',
      domainAllowList: 'pypi.org',
    })
  })

  test('the provider itself ends unused sandboxes', async () => {
    const box = await lease(provider())
    await server.passMinutes(14)
    expect(await box.alive()).toBe(true)
    await server.passMinutes(15)
    await server.passMinutes(5)
    expect(server.sandboxes.size).toBe(0)
    expect(await box.alive()).toBe(false)
    await expect(box.exec(['true'])).rejects.toMatchObject({ boundary: 'sandbox', code: 'SandboxGoneError' })
    await box[Symbol.asyncDispose]()
  })

  test('environments with the same content and size share one snapshot, also between processes', async () => {
    const dockerfile = 'FROM debian:12\nWORKDIR /srv\nCOPY a.txt /srv/\nRUN cat a.txt > b.txt\nUSER nobody\n'
    const make = (text: string, changes: Partial<Environment> = {}) => {
      const made = environment(changes, dockerfile)
      writeFileSync(join(made.dir, 'a.txt'), text)
      mkdirSync(join(made.dir, 'secret'))
      writeFileSync(join(made.dir, 'secret/key'), 'never sent')
      writeFileSync(join(made.dir, '.dockerignore'), 'secret\n')
      return made
    }
    const [first, second] = [make('one'), make('one')]
    await provider().prepare?.(first)
    expect(await provider().isPrepared?.(second)).toBe(true)
    {
      await using box = await lease(provider(), second)
      const { stdout } = await box.exec(['sh', '-c', 'id -un; pwd; cat b.txt; ls /srv'])
      expect(stdout).toBe('nobody\n/srv\nonea.txt\nb.txt\n')
    }
    expect(server.snapshots.builds).toBe(1)
    await provider().prepare?.(make('one', { cpus: 2, memoryMb: 3000, storageMb: 5000 }))
    const sized = [...server.snapshots.all.values()].at(-1)
    expect(sized?.request).toMatchObject({ cpu: 2, memory: 3, disk: 5 })
    expect(server.snapshots.builds).toBe(2)
  })

  test('a Dockerfile that cannot be built is the task’s failure, and is not tried again', async () => {
    const broken = environment({}, 'FROM debian:12\nRUN echo about to fail; exit 9\n')
    const before = server.snapshots.all.size
    await expect(lease(provider(), broken)).rejects.toMatchObject({
      boundary: 'task',
      code: 'EnvironmentBuildError',
      retryable: false,
    })
    expect(server.snapshots.all.size).toBe(before)
    expect(server.sandboxes.size).toBe(0)
  })

  test('an account full of snapshots is a clear message, or makes room by our own oldest when asked', async () => {
    server.snapshots.max = server.snapshots.all.size + 1
    await provider().prepare?.(environment({ dockerImage: 'first:1' }))
    const second = environment({ dockerImage: 'second:1' })
    await expect(provider().prepare?.(second)).rejects.toMatchObject({ name: 'UserError', hint: /whenFull=evict/ })
    const before = new Set(server.snapshots.all.keys())
    await provider({ whenFull: 'evict' }).prepare?.(second)
    expect(await provider().isPrepared?.(second)).toBe(true)
    expect([...before].filter((name) => !server.snapshots.all.has(name))).toHaveLength(1)
  })

  test('a quota is a failure that may be retried, and nothing is left', async () => {
    server.maxSandboxes = 0
    await expect(lease(provider())).rejects.toMatchObject({ code: 'SandboxQuotaError', retryable: true })
    expect(server.sandboxes.size).toBe(0)
  })

  test('too many requests and a server in trouble are waited out, for as long as the server asks', async () => {
    server.faults.add({
      when: /POST \/sandbox$/,
      times: 1,
      what: { answer: 429, message: 'slow down', headers: { 'retry-after': '1' } },
    })
    server.faults.add({ when: /POST \/sandbox$/, times: 1, what: { answer: 503, message: 'not now' } })
    await using box = await lease(provider())
    server.faults.add({ when: /execute$/, times: 2, what: { answer: 429, message: 'slow down' } })
    server.faults.add({ when: /bulk-upload$/, times: 1, what: { answer: 502, message: 'bad gateway' } })
    await box.write('/tmp/x', 'written')
    expect((await box.exec(['cat', '/tmp/x'])).stdout).toBe('written')
  })

  test('a sandbox whose creation was never answered is taken, not made twice', async () => {
    const before = server.created
    server.faults.add({ when: /POST \/sandbox$/, times: 1, what: 'drop', late: true })
    await using box = await lease(provider())
    expect((await box.exec(['echo', 'here'])).stdout).toBe('here\n')
    expect(server.created - before).toBe(1)
  })

  test('a command whose connection breaks runs once, and its result is still received', async () => {
    await using box = await lease(provider())
    server.faults.add({ when: /execute$/, times: 1, what: 'drop', late: true })
    server.faults.add({ when: /execute$/, times: 1, what: 'drop' })
    const result = await box.exec(['sh', '-c', 'echo once >> /tmp/count; cat /tmp/count; echo err >&2; exit 4'])
    expect(result).toMatchObject({ exitCode: 4, stdout: 'once\n', stderr: 'err\n' })
  })

  test('a terminal whose connection breaks is reconnected', async () => {
    await using box = await lease(provider())
    const terminal = await box.openTerminal()
    let text = ''
    terminal.onData((chunk) => {
      text += chunk
    })
    const until = async (word: string) => {
      while (!text.includes(word)) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    terminal.write('export KEPT=4; echo "a$((KEPT + 2))"\n')
    await until('a6')
    const before = requests(/^WS .*\/connect$/)
    server.toolboxes.get(box.id)?.dropConnections()
    while (requests(/^WS .*\/connect$/) === before) await new Promise((resolve) => setTimeout(resolve, 10))
    terminal.write('echo "b$((KEPT + 3))"\n')
    await until('b7')
    await terminal.close()
  })

  test('a sandbox that is taken away is a failure that may be retried', async () => {
    const box = await lease(provider())
    await server.lose(box.id)
    await expect(box.exec(['true'])).rejects.toMatchObject({
      boundary: 'sandbox',
      code: 'SandboxGoneError',
      retryable: true,
    })
    await expect(box.read('/etc/hostname')).rejects.toMatchObject({ code: 'SandboxGoneError' })
    await box[Symbol.asyncDispose]()
  })

  test('an abort while a sandbox starts leaves none behind', async () => {
    server.startMs = 700
    const controller = new AbortController()
    const starting = lease(provider(), environment(), controller.signal)
    while (server.sandboxes.size === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    controller.abort()
    await expect(starting).rejects.toMatchObject({ name: 'AbortError' })
    await gone()
  })

  test('a sandbox that takes too long to start is released', async () => {
    server.startMs = 1500
    await expect(lease(provider({ startSec: 0.3 }))).rejects.toMatchObject({
      code: 'SandboxStartError',
      retryable: true,
    })
    await gone()
  })

  test('reap leaves what a live process holds', async () => {
    await using box = await lease(provider())
    expect(await provider().reap()).toEqual([])
    expect(await box.alive()).toBe(true)
  })

  test('killing from inside instead of a restart is reported as weaker', async () => {
    await using box = await lease(provider({ freeze: 'kill' }))
    await box.exec(['sh', '-c', 'nohup setsid sleep 654 >/dev/null 2>&1 & echo x > /tests; mkdir -p /logs/verifier'])
    expect(await box.freeze()).toMatchObject({ isolation: 'shared' })
    const { stdout } = await box.exec(['sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " "'])
    expect(stdout).not.toContain('sleep 654')
    expect((await box.exec(['test', '-e', '/tests'])).exitCode).toBe(1)
  })

  test('an image with its own program is never reported as fresh', async () => {
    const of = environment({}, 'FROM debian:12\nENTRYPOINT ["/start.sh"]\n')
    await using box = await lease(provider(), of)
    expect(await box.freeze()).toMatchObject({ isolation: 'shared' })
  })
})
