import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { E2bStandIn } from '../../../test/fakes/e2b/server.ts'
import { needs } from '../../../test/needs.ts'
import type { SandboxLease, SandboxProvider } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import e2b from './index.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-e2b-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const make = (env: Record<string, string>, options = {}) =>
  e2b.make(e2b.options.parse(options), { env, stateDir: join(scratch, 'state') })

test('names the variable that holds no key, and needs none to say what it can', async () => {
  const provider = make({})
  expect(provider.can.images).toBe(true)
  await expect(provider.preflight()).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('E2B_API_KEY'),
  })
})

describe('e2b', needs('bwrap'), () => {
  let standIn: E2bStandIn
  let provider: SandboxProvider
  beforeAll(async () => {
    standIn = await E2bStandIn.start()
    provider = make(standIn.env)
  })
  afterAll(() => standIn.close())
  afterEach(() => standIn.faults.clear())

  const environmentOf = (name: string, dockerfile: string | null, changes: Partial<Environment> = {}) => {
    const dir = join(scratch, name)
    mkdirSync(dir, { recursive: true })
    if (dockerfile !== null) writeFileSync(join(dir, 'Dockerfile'), dockerfile)
    return plainEnvironment(dir, changes)
  }
  const lease = (changes: Partial<Environment> = {}, signal?: AbortSignal): Promise<SandboxLease> =>
    provider.lease({
      owner: { job: 'job', trial: 'trial' },
      environment: environmentOf('plain', null, changes),
      ...(signal && { signal }),
    })

  test('tells a wrong key from everything else', async () => {
    const wrong = make({ ...standIn.env, E2B_API_KEY: `e2b_${'1'.repeat(40)}` })
    await expect(wrong.preflight()).rejects.toMatchObject({ name: 'UserError' })
    await provider.preflight()
  })

  test('builds a Dockerfile once for all environments that say the same, and runs as it says', async () => {
    const text = `FROM debian:12
ARG WORD=built
ENV GREETING="hello $WORD" PATH=/opt/tools:$PATH
WORKDIR /work/place
COPY --chmod=755 tool /opt/tools/
RUN echo "$GREETING" > made && id -un > who
`
    const environments = ['first', 'second'].map((name) => {
      const environment = environmentOf(name, text)
      writeFileSync(join(environment.dir, 'tool'), '#!/bin/sh\necho from the tool\n')
      return environment
    })
    expect(await provider.isPrepared?.(environments[0]!)).toBe(false)
    await Promise.all(environments.map((environment) => provider.prepare?.(environment)))
    expect(standIn.control.builds).toBe(1)
    expect(await make(standIn.env).isPrepared?.(environments[1]!)).toBe(true)
    await using box = await provider.lease({ owner: { job: 'j', trial: 't' }, environment: environments[1]! })
    const { stdout } = await box.exec(['sh', '-c', 'pwd; cat made who; echo "$GREETING"; tool'])
    expect(stdout).toBe('/work/place\nhello built\nroot\nhello built\nfrom the tool\n')
    expect(standIn.control.builds).toBe(1)
  })

  test('blames a Dockerfile that fails on the task', async () => {
    const failing = environmentOf('failing', 'FROM debian:12\nRUN echo nope >&2; exit 3\n')
    await expect(provider.prepare?.(failing)).rejects.toMatchObject({
      boundary: 'task',
      code: 'EnvironmentBuildError',
      message: expect.stringContaining('nope'),
    })
    const stages = environmentOf('stages', 'FROM a AS x\nFROM b\nCOPY --from=x /f /f\n')
    await expect(provider.prepare?.(stages)).rejects.toThrow('environment/Dockerfile:3')
  })

  test('gives every sandbox an owner and an end at the provider', async () => {
    await using box = await lease()
    const sandbox = standIn.control.sandboxes.get(box.id)
    expect(sandbox?.metadata).toMatchObject({ 'ot-agent': '1', 'ot-job': 'job', 'ot-trial': 'trial' })
    expect(sandbox?.endAt.getTime()).toBeLessThanOrEqual(Date.now() + 900_000)
    expect(await provider.reap({ dryRun: true })).toEqual([])
  })

  test('waits while E2B is busy or in trouble', async () => {
    for (const answer of [429, 500, 503])
      standIn.faults.add({ when: /POST \/v2\/sandboxes$/, times: 1, what: { answer, message: 'later' } })
    await using box = await lease()
    expect((await box.exec(['echo', 'up'])).stdout).toBe('up\n')
  })

  test('reports a full account as a temporary failure, and does not wait for it', async () => {
    const message = 'you have reached the maximum number of concurrent E2B sandboxes (20)'
    standIn.faults.add({ when: /POST \/v2\/sandboxes$/, times: 9, what: { answer: 429, message } })
    const before = standIn.faults.seen.length
    await expect(lease()).rejects.toMatchObject({ boundary: 'sandbox', code: 'SandboxQuotaError', retryable: true })
    expect(standIn.faults.seen.slice(before).filter((at) => at === 'POST /v2/sandboxes')).toHaveLength(1)
  })

  test('leaves nothing behind when the answer to a start is lost', async () => {
    const before = standIn.control.sandboxes.size
    standIn.faults.add({ when: /POST \/v2\/sandboxes$/, times: 1, what: 'drop', late: true })
    await expect(lease()).rejects.toMatchObject({ code: 'SandboxLostError', retryable: true })
    expect(standIn.control.sandboxes.size).toBe(before)
  })

  test('leaves nothing behind when a start is aborted midway', async () => {
    const before = standIn.control.sandboxes.size
    standIn.faults.add({ when: /POST \/v2\/sandboxes$/, times: 1, what: { delayMs: 300 } })
    const controller = new AbortController()
    const starting = lease({}, controller.signal)
    while (!standIn.faults.seen.at(-1)?.includes('/v2/sandboxes')) await new Promise((go) => setTimeout(go, 5))
    controller.abort()
    await expect(starting).rejects.toMatchObject({ name: 'AbortError' })
    expect(standIn.control.sandboxes.size).toBe(before)
  })

  test('reconnects to a command whose connection was lost', async () => {
    await using box = await lease()
    standIn.faults.add({ when: /Process\/Start$/, times: 1, what: 'drop', late: true })
    const result = await box.exec(['sh', '-c', 'echo once >> /tmp/count; sleep 1; echo out; exit 5'])
    expect(result).toMatchObject({ exitCode: 5, stdout: 'out\n' })
    expect((await box.exec(['cat', '/tmp/count'])).stdout).toBe('once\n')
  })

  test('says that a sandbox is gone', async () => {
    const box = await lease()
    await standIn.control.kill(box.id)
    expect(await box.alive()).toBe(false)
    await expect(box.exec(['true'])).rejects.toMatchObject({ boundary: 'sandbox', code: 'SandboxGoneError' })
    await box[Symbol.asyncDispose]()
  })

  test('says shared when the account cannot restart a sandbox, after killing what it can', async () => {
    await using box = await lease()
    await box.exec(['sh', '-c', 'nohup sleep 777 > /dev/null 2>&1 &'])
    standIn.faults.add({ when: /\/pause$/, times: 1, what: { answer: 400, message: 'not supported' } })
    expect(await box.freeze()).toMatchObject({ isolation: 'shared' })
    const { stdout } = await box.exec(['sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "[s]leep 777"'])
    expect(stdout).toBe('0\n')
  })

  test('changes the network between phases', async () => {
    await using box = await lease({ network: { mode: 'public' } })
    await box.setNetwork({ mode: 'no-network' })
    expect((await box.exec(['sh', '-c', 'wc -l < /proc/net/route'])).stdout.trim()).toBe('1')
  })
})
