import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import { runCheck } from './check.ts'
import { databaseChecks } from './database-checks.ts'

test('the database of recipes is there and answers', async () => {
  expect(await look('database/duckdb')).toMatchObject({ state: 'ok', what: expect.stringMatching(/^v\d/), cure: null })
})

test('a PostgreSQL that runs answers', { ...needs('pg_createcluster', 'setpriv'), timeout: 60_000 }, async () => {
  const dir = await startPostgres()
  const what = `${dir}/.s.PGSQL.5432 answers; the account was not tried`
  expect(await postgresql(`postgres://postgres:hidden@localhost/postgres?host=${dir}`)).toMatchObject({
    state: 'ok',
    what,
  })
})

test('one that offers TLS answers too', async () => {
  const port = await listen((socket) => socket.once('data', (data) => socket.write(data.length === 8 ? 'S' : 'E')))
  expect(await postgresql(`postgresql://me:hidden@127.0.0.1:${port}/x`)).toMatchObject({
    state: 'ok',
    what: `127.0.0.1:${port} answers, over TLS; the account was not tried`,
  })
})

test('what is no PostgreSQL is missing, with a cure and without its password', async () => {
  const web = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const silent = await listen((socket) => socket.end())
  const cases: [string | undefined, RegExp][] = [
    [undefined, /^no DATABASE_URL$/],
    ['mysql://me:hidden@db/x', /not the address/],
    ['hidden', /not the address/],
    [`postgres://me:hidden@127.0.0.1:${web}/x`, /does not speak/],
    [`postgres://me:hidden@127.0.0.1:${silent}/x`, /does not speak/],
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

/** A server of its own, reached through a socket in a directory of its own; as nobody, since it refuses to run as root. */
async function startPostgres(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'ot-postgres-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(dir, 65534, 65534)
  const [program = '', ...asNobody] = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env']
  const bin = `/usr/lib/postgresql/${readdirSync('/usr/lib/postgresql').at(-1)}/bin`
  const data = join(dir, 'data')
  const init = [`${bin}/initdb`, '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--no-locale', '-E', 'UTF8']
  await promisify(execFile)(program, [...asNobody, ...init], { cwd: '/' })
  const words = [`${bin}/postgres`, '-D', data, '-k', dir, '-c', 'listen_addresses=', '-c', 'fsync=off']
  const server = spawn(program, [...asNobody, ...words], { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(async () => {
    server.kill('SIGINT')
    await once(server, 'exit')
  })
  for await (const line of createInterface({ input: server.stderr })) if (line.includes('ready to accept')) return dir
  throw new Error('PostgreSQL did not start')
}
