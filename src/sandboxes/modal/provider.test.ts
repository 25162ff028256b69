import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { ModalStandIn } from '../../../test/fakes/modal/server.ts'
import { needs } from '../../../test/needs.ts'
import type { SandboxLease, SandboxProvider } from '../../core/sandbox.ts'
import modal from './index.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-modal-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const make = (env: Record<string, string>) =>
  modal.make(modal.options.parse({}), { env, stateDir: join(scratch, 'state') })

test('names the variable that holds no token', async () => {
  const preflight = make({ MODAL_TOKEN_ID: 'ak-1' }).preflight()
  await expect(preflight).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('MODAL_TOKEN_SECRET'),
  })
})

const [resourceExhausted, unavailable, unauthenticated] = [8, 14, 16]

describe('modal', needs('bwrap'), () => {
  let standIn: ModalStandIn
  let provider: SandboxProvider
  beforeAll(async () => {
    standIn = await ModalStandIn.start()
    Object.assign(process.env, standIn.env)
    provider = make(standIn.env)
  })
  afterAll(async () => {
    for (const name of Object.keys(standIn.env)) Reflect.deleteProperty(process.env, name)
    await standIn.close()
  })
  afterEach(() => standIn.faults.clear())

  const environmentOf = (name: string, dockerfile: string | null) => {
    const dir = join(scratch, name)
    mkdirSync(dir, { recursive: true })
    if (dockerfile !== null) writeFileSync(join(dir, 'Dockerfile'), dockerfile)
    return plainEnvironment(dir)
  }
  const lease = (): Promise<SandboxLease> =>
    provider.lease({ owner: { job: 'job', trial: 'trial' }, environment: environmentOf('plain', null) })

  test('tells a wrong token from everything else', async () => {
    const what = { answer: unauthenticated, message: 'no' }
    standIn.faults.add({ when: /^AppGetOrCreate$/, times: 1, what })
    await expect(make(standIn.env).preflight()).rejects.toMatchObject({ name: 'UserError' })
  })

  test('builds a Dockerfile once, with the files it copies, and runs as it says', async () => {
    const text = 'FROM debian:12\nENV WORD="a \'b\' $c"\nWORKDIR /work\nCOPY data.bin ./\nRUN echo "$WORD" > made\n'
    const environment = environmentOf('built', text)
    writeFileSync(
      join(environment.dir, 'data.bin'),
      Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) % 251)),
    )
    await Promise.all([provider.prepare?.(environment), provider.prepare?.(environment)])
    expect(standIn.builds).toBe(1)
    await using box = await provider.lease({ owner: { job: 'j', trial: 't' }, environment })
    const { stdout } = await box.exec(['sh', '-c', 'pwd; cat made; wc -c < data.bin; ls -A / | grep -c ot-agent'])
    expect(stdout).toBe("/work\na 'b' \n300000\n0\n")
  })

  test('blames a Dockerfile that fails on the task', async () => {
    const failing = provider.prepare?.(environmentOf('failing', 'FROM debian:12\nRUN echo nope >&2; exit 3\n'))
    await expect(failing).rejects.toMatchObject({ boundary: 'task', code: 'EnvironmentBuildError' })
  })

  test('waits while Modal is in trouble, and tells a full account', async () => {
    standIn.faults.add({ when: /^SandboxCreateV2$/, times: 2, what: { answer: unavailable, message: 'later' } })
    await using box = await lease()
    expect((await box.exec(['echo', 'up'])).stdout).toBe('up\n')
    const what = { answer: resourceExhausted, message: 'sandbox limit of this workspace' }
    standIn.faults.add({ when: /^SandboxCreateV2$/, times: 9, what })
    await expect(lease()).rejects.toMatchObject({ boundary: 'sandbox', code: 'SandboxQuotaError', retryable: true })
  })

  test('leaves nothing when it is released while its files move to another sandbox', async () => {
    const box = await lease()
    standIn.faults.add({ when: /^SandboxCreateV2$/, times: 1, what: { delayMs: 500 } })
    const asked = () => standIn.faults.seen.filter((name) => name === 'SandboxCreateV2').length
    const before = asked()
    const freezing = box.freeze().catch(() => {})
    while (asked() === before) await new Promise((resolve) => setTimeout(resolve, 5))
    await box[Symbol.asyncDispose]()
    expect([...standIn.sandboxes.keys()]).toEqual([])
    await freezing
    expect([...standIn.sandboxes.keys()]).toEqual([])
  })

  test('says that a sandbox is gone', async () => {
    const box = await lease()
    await standIn.terminate(box.id)
    expect(await box.alive()).toBe(false)
    await expect(box.exec(['true'])).rejects.toMatchObject({ boundary: 'sandbox', code: 'SandboxGoneError' })
    await box[Symbol.asyncDispose]()
  })
})
