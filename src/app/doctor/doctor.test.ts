import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { UserError } from '../../core/errors.ts'
import { registry } from '../../plugins/table.ts'
import { ok, runCheck, type Surroundings } from './check.ts'
import { machineChecks, node, program } from './machine-checks.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-doctor-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const at: Surroundings = { env: {}, stateDir: scratch, apiBase: null, signal: new AbortController().signal }

test.each([
  ['20.19.0', 'ok'],
  ['22.1.0', 'ok'],
  ['20.18.9', 'missing'],
  ['18.99.0', 'missing'],
])('Node.js %s is %s', (version, state) => expect(node(version).state).toBe(state))

test('a program that runs is ok, one that fails is limited, one that does not exist is missing, each with a fix', async () => {
  expect(await program('true', [], 'x')).toMatchObject({ state: 'ok', cure: null })
  expect(await program('false', [], 'the cure')).toMatchObject({ state: 'limited', cure: 'the cure' })
  const complaining = await program('sh', ['-c', 'echo cannot reach it >&2; echo more >&2; exit 1'], 'the cure')
  expect(complaining.what).toMatch(/sh does not run: cannot reach it$/)
  expect(await program('no-such-program', [], 'the cure')).toMatchObject({ state: 'missing', cure: 'the cure' })
})

test('what a look throws is what was found', async () => {
  const throwing = (error: Error) => runCheck({ name: 'sandbox/x', look: () => Promise.reject(error) }, at)
  expect(await throwing(new UserError('sandbox x: no socket', 'start it'))).toEqual({
    name: 'sandbox/x',
    state: 'missing',
    what: 'no socket',
    cure: 'start it',
  })
  expect(await throwing(new Error('boom'))).toMatchObject({ state: 'missing', what: 'boom' })
  expect(await runCheck({ name: 'y', look: async () => ok('fine') }, at)).toMatchObject({ name: 'y', state: 'ok' })
})

test('a token for the Hub is found wherever it is, and never shown', async () => {
  const hub = machineChecks.find(({ name }) => name === 'hub')
  const look = (env: Surroundings['env']) => hub?.look({ ...at, env: { HOME: scratch, ...env } })
  expect(await look({ HF_TOKEN: 'hf_secret' })).toEqual(ok('a token in HF_TOKEN, not tried'))
  expect(await look({})).toMatchObject({ state: 'missing' })
  expect(await look({ HF_TOKEN: ' ' })).toMatchObject({ state: 'missing' })
})

describe('ot-agent doctor', () => {
  const secret = 'sk-very-secret-0123456789'
  async function doctor(words: readonly string[], env: Record<string, string> = {}) {
    const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), 'doctor', ...words], {
      env: { PATH: process.env.PATH ?? '', HOME: scratch, XDG_CACHE_HOME: scratch, ...env },
    })
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number]>,
    ])
    return { stdout, stderr, status }
  }

  test('has a line for every sandbox, engine and agent, says which keys are set, and shows none', async () => {
    const { stdout, stderr, status } = await doctor(['--json'], { ANTHROPIC_API_KEY: secret })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).not.toContain(secret)
    const findings: { name: string; state: string; cure: string | null }[] = JSON.parse(stdout).findings
    const states = new Map(findings.map(({ name, state }) => [name, state]))
    expect([states.get('engine/anthropic'), states.get('engine/openai')]).toEqual(['ok', 'missing'])
    expect(states.get('engine/openai-compatible')).toBe('limited')
    for (const [kind, table] of [
      ['sandbox', registry.sandboxes],
      ['engine', registry.engines],
      ['agent', registry.agents],
    ] as const)
      for (const name of Object.keys(table)) expect(states.has(`${kind}/${name}`), name).toBe(true)
    for (const { state, cure } of findings) expect(cure === null).toBe(state === 'ok')
  })

  test('ends with 3 when something required is missing, and only then', async () => {
    expect(await doctor(['--require', 'engine/openai'])).toMatchObject({ status: 3 })
    expect(await doctor(['--require', 'openai', '--require', 'node'], { OPENAI_API_KEY: secret })).toMatchObject({
      status: 0,
    })
    const unknown = await doctor(['--require', 'no-such'])
    expect(unknown).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/no-such.*\n.*sandbox\/local/),
    })
  })

  test('tries a server that is named', async () => {
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'my-model' }] })),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const words = ['--api-base', base, '--require', 'openai-compatible']
    expect(await doctor(words)).toMatchObject({ status: 0, stdout: expect.stringContaining('my-model') })
    server.close()
    server.closeAllConnections()
    expect(await doctor(words)).toMatchObject({ status: 3 })
  })
})
