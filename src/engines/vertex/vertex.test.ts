import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { json, type ModelServer, startModelServer } from '../../../test/fakes/model-server.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import vertex from './index.ts'

const hello = { messages: [{ role: 'user', content: 'hello' }] as const }
const geminiSays = json({
  candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
})
const claudeSays = json({
  ...{ type: 'message', content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' },
  usage: { input_tokens: 1, output_tokens: 1 },
})
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  ...{ privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } },
})

let server: ModelServer
beforeEach(async () => {
  server = await startModelServer()
  server.plan(geminiSays)
})
afterEach(() => server.close())

type Env = Readonly<Record<string, string>>

function engineOf(env: Env, options: object = {}) {
  const more = { api_base: server.origin, max_attempts: 1, healthcheck_max_attempts: 1, ...options }
  return vertex.make(vertex.options.parse(more), { env: { HOME: '/nonexistent', ...env }, stateDir: '/nonexistent' })
}

/** Issues tokens, each valid for the given time, and records the requests for them. */
async function tokenServer(expiresIn: number, status = 200) {
  const asked: URLSearchParams[] = []
  const http = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      asked.push(new URLSearchParams(text))
      response.statusCode = status
      const token = { access_token: `token-${asked.length}-secret`, expires_in: expiresIn }
      response.end(JSON.stringify(status === 200 ? token : { error: 'invalid_grant' }))
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close())
  return { asked, uri: `http://127.0.0.1:${(http.address() as AddressInfo).port}/token` }
}

async function keyFile(content: object): Promise<string> {
  const path = join(await makeTempDir(), 'credentials.json')
  writeFileSync(path, JSON.stringify(content))
  return path
}

const account = (uri: string) => ({
  ...{ type: 'service_account', client_email: 'me@p1.iam', private_key: privateKey, project_id: 'p1', token_uri: uri },
})

test('a service account signs for a token, which is used until its time is up', async () => {
  const { asked, uri } = await tokenServer(3600)
  const env = { GOOGLE_APPLICATION_CREDENTIALS: await keyFile(account(uri)), GOOGLE_CLOUD_LOCATION: 'europe-west1' }
  const client = engineOf(env).client('vertex/gemini-2.5-flash')
  await Promise.all([client.complete(hello), client.complete(hello), client.complete(hello)])
  expect(asked).toHaveLength(1)
  expect(server.requests).toHaveLength(3)
  expect(server.requests[0]).toMatchObject({
    path: '/v1/projects/p1/locations/europe-west1/publishers/google/models/gemini-2.5-flash:generateContent',
    headers: { authorization: 'Bearer token-1-secret' },
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  })
  expect(asked[0]?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
  const [head = '', claims = '', signature = ''] = asked[0]?.get('assertion')?.split('.') ?? []
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  expect(decode(head)).toEqual({ alg: 'RS256', typ: 'JWT' })
  const now = Date.now() / 1000
  expect(decode(claims)).toEqual({
    ...{ iss: 'me@p1.iam', aud: uri, scope: 'https://www.googleapis.com/auth/cloud-platform' },
    ...{ iat: expect.any(Number), exp: decode(claims).iat + 3600 },
  })
  expect(Math.abs(decode(claims).iat - now)).toBeLessThan(60)
  const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`)
  expect(verify.verify(createPublicKey(publicKey), signature, 'base64url')).toBe(true)
})

test('a token whose time is up, or that is refused, is replaced', async () => {
  const short = await tokenServer(60)
  const client = engineOf({ GOOGLE_APPLICATION_CREDENTIALS: await keyFile(account(short.uri)) }).client('gemini-x')
  await client.complete(hello)
  await client.complete(hello)
  expect(short.asked).toHaveLength(2)
  const long = await tokenServer(3600)
  server.plan(json({ error: { code: 401, message: 'expired' } }, 401), geminiSays)
  const refused = engineOf({ GOOGLE_APPLICATION_CREDENTIALS: await keyFile(account(long.uri)) }).client('gemini-x')
  expect(await refused.complete(hello)).toMatchObject({ kind: 'reply', reply: { text: 'hi' } })
  expect(long.asked).toHaveLength(2)
  expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer token-2-secret')
})

test('Claude is asked in words of Anthropic, the model in the address and the version in the body', async () => {
  server.plan(claudeSays)
  const engine = engineOf({ CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token' }, { project: 'p2', location: 'us-east5' })
  const outcome = await engine.client('vertex_ai/claude-sonnet-4@20250514').complete({ ...hello, maxOutputTokens: 9 })
  expect(outcome).toMatchObject({ kind: 'reply', reply: { text: 'hi' } })
  const [request] = server.requests
  expect(request?.path).toBe(
    '/v1/projects/p2/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514:rawPredict',
  )
  expect(request?.headers).toMatchObject({ authorization: 'Bearer a-token' })
  expect(request?.headers).not.toHaveProperty('x-api-key')
  expect(request?.body).toMatchObject({ anthropic_version: 'vertex-2023-10-16', max_tokens: 9 })
  expect(request?.body).not.toHaveProperty('model')
  server.plan(json({ type: 'error', error: { type: 'x', message: 'no, a-token!' } }, 400))
  const failure = await engine
    .client('claude-x')
    .complete(hello, { onText: () => {} })
    .catch((error: unknown) => error)
  expect(server.requests.at(-1)?.path).toMatch(/:streamRawPredict$/)
  expect(server.requests.at(-1)?.body).toMatchObject({ stream: true })
  expect(String(failure)).toContain('****')
})

test('a person who is logged in asks with a refresh token, or gcloud gives one', async () => {
  const { asked, uri } = await tokenServer(3600)
  const person = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r', token_uri: uri }
  await engineOf({}, { credentials: await keyFile(person), project: 'p' })
    .client('gemini-x')
    .complete(hello)
  expect(Object.fromEntries(asked[0] ?? [])).toEqual({
    ...{ grant_type: 'refresh_token', client_id: 'c', client_secret: 's', refresh_token: 'r' },
  })
  const bin = await makeTempDir()
  writeFileSync(join(bin, 'gcloud'), '#!/bin/sh\n[ "$*" = "auth print-access-token" ] && echo of-gcloud\n')
  chmodSync(join(bin, 'gcloud'), 0o755)
  await engineOf({ GOOGLE_CLOUD_PROJECT: 'p', PATH: bin }).client('gemini-x').complete(hello)
  expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer of-gcloud')
})

test('without credentials, a project or a good file, the message says what to do, and shows nothing of the file', async () => {
  expect(() => engineOf({})).toThrow('engine vertex: expected credentials of Google Cloud, found none')
  expect(() => engineOf({ CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token' })).toThrow('expected a project to bill')
  const odd = await keyFile({ type: 'service_account', client_email: 'planted@secret', private_key: '' })
  expect(() => engineOf({ GOOGLE_APPLICATION_CREDENTIALS: odd })).toThrow(/private_key is missing or wrong$/)
  expect(() => engineOf({ GOOGLE_APPLICATION_CREDENTIALS: '/no/such' })).toThrow('cannot read the credentials /no/such')
  const unsigned = await keyFile({ ...account('http://127.0.0.1:9/'), private_key: 'planted' })
  const client = engineOf({ GOOGLE_APPLICATION_CREDENTIALS: unsigned }).client('gemini-x')
  await expect(client.complete(hello)).rejects.toThrow('the private_key of the credentials cannot sign')
  const { uri } = await tokenServer(0, 400)
  const refused = engineOf({ GOOGLE_APPLICATION_CREDENTIALS: await keyFile(account(uri)) }).client('gemini-x')
  await expect(refused.complete(hello)).rejects.toMatchObject({
    ...{ name: 'BoundaryError', code: 'AuthenticationError', retryable: false },
    message: expect.stringContaining('returned no token: 400 invalid_grant'),
  })
})

test('who may use a model and not list models is healthy, and one that is not there is not', async () => {
  server.planList(json({ error: { code: 403, message: 'publishers.models.list denied' } }, 403))
  const engine = engineOf({ CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token' }, { project: 'p', model: 'vertex/gemini-x' })
  const { signal } = new AbortController()
  expect(await engine.health(signal)).toEqual({ healthy: true, models: ['gemini-x'] })
  server.plan(json({ error: { code: 404, message: 'no such model' } }, 404))
  expect(await engine.health(signal)).toMatchObject({ healthy: false })
})
