import { readFileSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Answer, clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { openCallRecorder } from '../../../formats/atif/recorder/call-recorder.ts'
import { readExchanges } from '../../../formats/exchanges/read-exchanges.ts'
import { openExchangeFiles } from '../../../store/exchange-files.ts'
import { type GatewayLimits, gatewayPool } from './gateway-options.ts'
import { openGateway } from './open-gateway.ts'

const agent = { name: 'hostile', version: '1', model: 'fake/model', sessionId: 's1' }
const question = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })

async function start(limits: Partial<GatewayLimits> = {}, ...answers: Answer[]) {
  const dir = await makeTempDir()
  const files = openExchangeFiles(
    (text) => text,
    () => {},
  )
  const recorder = await openCallRecorder(dir, agent, (text) => text)
  const client = clientThat(...(answers.length > 0 ? answers : [replies('hi')]))
  const gateway = openGateway({
    client: files.recorded(client, dir),
    recorder,
    refused: (call) => files.refused(dir, call),
    limits,
  })
  const door = createServer((socket) => gateway.accept(socket)).listen(0, '127.0.0.1')
  await new Promise((resolve) => door.once('listening', resolve))
  const { port } = door.address() as AddressInfo
  let finished: Promise<void> | null = null
  const finish = () => {
    finished ??= gateway.close().then(async () => {
      await recorder.finish()
      await files.close()
      door.close()
    })
    return finished
  }
  onTestFinished(finish)
  /** A connection that sends the given text; `heard` resolves with the whole answer when the other side ends it. */
  const say = (text: string) => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let answer = ''
    const heard = new Promise<string>((resolve) => {
      socket.setEncoding('latin1').on('data', (piece: string) => {
        answer += piece
      })
      socket.on('error', () => {}).on('close', () => resolve(answer))
    })
    socket.write(text)
    return { socket, heard }
  }
  const head = (length: number | 'chunked', key = gateway.key) =>
    [
      'POST /v1/chat/completions HTTP/1.1',
      'host: gateway',
      `authorization: Bearer ${key}`,
      length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`,
      '\r\n',
    ].join('\r\n')
  const ask = async () =>
    (await say(`${head(question.length).replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')}${question}`).heard).slice(
      9,
      12,
    )
  return { dir, say, head, ask, recorder, finish, client }
}

const hanging: Answer = (_, { signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))

test('more connections than allowed are answered with 429, until one of them ends', async () => {
  const { say, ask } = await start({ connections: 3 })
  const idle = [say(''), say(''), say('')]
  await Promise.all(idle.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))))
  expect(await ask()).toBe('429')
  for (const { socket } of idle) socket.destroy()
  await Promise.all(idle.map(({ heard }) => heard))
  while ((await ask()) !== '200');
})

test('a connection that never says what it wants is ended with 408', async () => {
  const { say, ask } = await start({ headMs: 30, connections: 1 })
  expect(await say('POST /v1/chat').heard).toMatch(/^HTTP\/1.1 408 /)
  while ((await ask()) !== '200');
})

test('bodies that are sent in part are answered with 408, and cost nothing afterwards', async () => {
  const { say, head, ask } = await start({ idleMs: 30, bytes: 100_000 })
  const half = 'x'.repeat(20_000)
  const answers = await Promise.all([1, 2, 3, 4].map(() => say(head(1_000_000) + half).heard))
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 408 /)
  expect(await ask()).toBe('200')
})

test.each([
  ['by what it says about its length', 5_000_000],
  ['byte by byte', 'chunked'],
] as const)('a body that is too large %s is answered with 413, and its connection is closed', async (_, length) => {
  const { say, head, ask, client } = await start({ bodyBytes: 1000 })
  const body = length === 'chunked' ? '1\r\nx\r\n'.repeat(5000) : ''
  expect(await say(head(length) + body).heard).toMatch(/^HTTP\/1.1 413 /)
  expect(client.asked).toEqual([])
  expect(await ask()).toBe('200')
})

test('more bytes at a time than allowed are answered with 429, and those before them are served', async () => {
  const { say, head, ask } = await start({ bytes: 50_000, bodyBytes: 49_000 })
  const waiting = say(head(48_000) + 'x'.repeat(45_000))
  let answer = ''
  while (!answer.startsWith('HTTP/1.1 429 ')) answer = await say(head(48_000) + 'x'.repeat(45_000)).heard
  waiting.socket.destroy()
  await waiting.heard
  while ((await ask()) !== '200');
})

test('more requests at a time than allowed are answered with 429', async () => {
  const { say, head, ask, client } = await start({ requests: 2 }, hanging, hanging, replies('hi'))
  const waiting = [say(head(question.length) + question), say(head(question.length) + question)]
  while (client.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(await ask()).toBe('429')
  for (const { socket } of waiting) socket.destroy()
  while ((await ask()) !== '200');
})

test('one agent that takes all it can takes nothing that others are sure of', async () => {
  const bytes = gatewayPool.limits.bytes - gatewayPool.used.bytes
  gatewayPool.used.bytes += bytes
  onTestFinished(() => {
    gatewayPool.used.bytes -= bytes
  })
  const { ask } = await start()
  expect(await ask()).toBe('200')
})

test('thousands of refused calls leave a hundred lines and a count', async () => {
  const { dir, say, head, ask, finish } = await start()
  const wrong = `${head(0, 'sk-other')}`
  for (let i = 0; i < 30; i++) await Promise.all(Array.from({ length: 10 }, () => say(wrong).heard))
  expect(await ask()).toBe('200')
  await finish()
  const path = join(dir, 'exchanges.jsonl')
  const { refused, threads, failed, cut } = readExchanges(readFileSync(path))
  expect({ refused, failed, cut, calls: threads.flatMap(({ calls }) => calls).length }).toEqual({
    refused: 300,
    failed: [],
    cut: null,
    calls: 1,
  })
  expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(110)
  expect(statSync(path).size).toBeLessThan(30_000)
})

test('an agent that begins conversations without end is refused before its files are thousands', async () => {
  const { recorder, ask, client } = await start()
  for (let i = 0; i < 1999; i++) recorder.begin({ messages: [{ role: 'user', content: `conversation ${i}` }] })
  expect(await ask()).toBe('200')
  expect(await ask()).toBe('413')
  expect(client.asked).toHaveLength(1)
})
