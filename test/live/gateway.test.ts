import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openGateway } from '../../src/agents/shared/gateway/open-gateway.ts'
import { openCallRecorder } from '../../src/formats/atif/recorder/call-recorder.ts'
import { readExchanges } from '../../src/formats/exchanges/read-exchanges.ts'
import { openExchangeFiles } from '../../src/store/exchange-files.ts'
import { plainEnvironment } from '../contracts/environment.ts'
import { provider, scratch, withSandboxes } from '../e2e/kit.ts'
import { clientThat, replies } from '../fakes/told-client.ts'
import { makeTempDir } from '../make-task.ts'
import { parseTrajectory } from '../parse-trajectory.ts'

const agent = { name: 'tester', version: '1', model: 'fake/model', sessionId: 's1' }

/** Sends a request in one of the APIs, as a program inside would; prints the status and the body. */
const asker = `
const [url, header, key, body] = process.argv.slice(1)
const response = await fetch(url, { method: 'POST', headers: { [header]: key, 'content-type': 'application/json' }, body })
console.log(response.status, await response.text())
`

const question = [{ role: 'user', content: 'hello' }]
const apis = [
  { path: '/v1/chat/completions', header: 'authorization', body: { model: 'm', messages: question } },
  { path: '/v1/responses', header: 'authorization', body: { model: 'm', input: 'hello', stream: true } },
  { path: '/v1/messages', header: 'x-api-key', body: { model: 'm', max_tokens: 9, messages: question, stream: true } },
  {
    path: '/v1beta/models/m:generateContent',
    header: 'x-goog-api-key',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  },
]

withSandboxes('the gateway, from inside a sandbox without network', () => {
  test('four APIs answer only requests with the key, and nothing but the gateway is reachable', async () => {
    const dir = await makeTempDir()
    const files = openExchangeFiles(
      (text) => text,
      () => {},
    )
    const recorder = await openCallRecorder(dir, agent, (text) => text)
    const client = files.recorded(clientThat(replies('hi there')), dir)
    const gateway = openGateway({ client, recorder, refused: (call) => files.refused(dir, call) })
    const environment = join(scratch, 'gateway-environment')
    mkdirSync(environment, { recursive: true })
    const lease = await provider.lease({
      owner: { job: 'gateway', trial: 'door' },
      environment: plainEnvironment(environment),
    })
    onTestFinished(() => lease[Symbol.asyncDispose]())
    const door = await lease.openDoor(gateway.accept)
    const ask = (url: string, header: string, key: string, body: unknown) => {
      const shown = header === 'authorization' ? `Bearer ${key}` : key
      const argv = ['node', '--input-type=module', '-e', asker, url, header, shown, JSON.stringify(body)]
      return lease.exec(argv, { timeoutSec: 30 })
    }
    for (const { path, header, body } of apis) {
      const good = await ask(door.url + path, header, gateway.key, body)
      expect(good.stdout, good.stderr).toMatch(/^200 [\s\S]*hi there/)
      expect((await ask(door.url + path, header, 'sk-other', body)).stdout).toMatch(/^401 /)
    }
    const outside = await ask('http://192.0.2.1/v1/responses', 'authorization', gateway.key, {})
    expect(outside.exitCode).not.toBe(0)
    expect(gateway.counts()).toMatchObject({ calls: 4, succeeded: 4, inputTokens: 40, outputTokens: 12, costUsd: 1 })
    await door.close()
    await gateway.close()
    await recorder.finish()
    const { steps } = parseTrajectory(readFileSync(join(dir, 'trajectory.json'), 'utf8'))
    expect(steps.map(({ message }) => message)).toEqual(['hello', ...apis.map(() => 'hi there')])
    await files.close()
    const { threads, refused } = readExchanges(readFileSync(join(dir, 'exchanges.jsonl')))
    expect(threads.flatMap(({ calls }) => calls)).toHaveLength(4)
    expect(refused).toBe(4)
  })
})
