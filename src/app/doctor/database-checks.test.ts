import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import { startPostgres } from '../../../test/postgres.ts'
import { runCheck } from './check.ts'
import { databaseChecks } from './database-checks.ts'

test('the recipe database exists and answers', async () => {
  expect(await look('database/duckdb')).toMatchObject({ state: 'ok', what: expect.stringMatching(/^v\d/), cure: null })
})

test('a PostgreSQL that runs answers', needs('pg_createcluster', 'setpriv'), async () => {
  const { dir, stop } = await startPostgres()
  onTestFinished(stop)
  const what = `${dir}/.s.PGSQL.5432 answers; the login was not tried`
  expect(await postgresql(`postgres://postgres:hidden@localhost/postgres?host=${dir}`)).toMatchObject({
    state: 'ok',
    what,
  })
})

test('one that offers TLS answers too', async () => {
  const port = await listen((socket) => socket.once('data', (data) => socket.write(data.length === 8 ? 'S' : 'E')))
  expect(await postgresql(`postgresql://me:hidden@127.0.0.1:${port}/x`)).toMatchObject({
    state: 'ok',
    what: `127.0.0.1:${port} answers, over TLS; the login was not tried`,
  })
})

test('what is no PostgreSQL is missing, with a cure and without its password', async () => {
  const web = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const silent = await listen((socket) => socket.end())
  const cases: [string | undefined, RegExp][] = [
    [undefined, /^no DATABASE_URL$/],
    ['mysql://me:hidden@db/x', /not the address/],
    ['hidden', /not the address/],
    [`postgres://me:hidden@127.0.0.1:${web}/x`, /is not a PostgreSQL server/],
    [`postgres://me:hidden@127.0.0.1:${silent}/x`, /is not a PostgreSQL server/],
    ['postgres://me:hidden@localhost/x?host=/no/such', /ENOENT/],
    ['postgres://me:hidden@127.0.0.1:1/x', /ECONNREFUSED/],
  ]
  for (const [address, what] of cases) {
    const found = await postgresql(address)
    expect(found).toMatchObject({ state: 'missing', what: expect.stringMatching(what), cure: expect.any(String) })
    expect(JSON.stringify(found)).not.toContain('hidden')
  }
})

function postgresql(address: string | undefined) {
  return look('database/postgresql', { DATABASE_URL: address })
}

async function look(name: string, env: Record<string, string | undefined> = {}) {
  const check = databaseChecks.find((check) => check.name === name)
  if (!check) throw new Error(`no check ${name}`)
  return runCheck(check, { env, stateDir: tmpdir(), apiBase: null, signal: new AbortController().signal })
}

async function listen(accept: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => accept(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
