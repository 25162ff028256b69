import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** A PostgreSQL server for one test. */
export interface PostgresServer {
  /** The directory of its socket. */
  readonly dir: string
  stop(): Promise<void>
}

/** Starts a server on a socket in a new directory, as an unprivileged user because it refuses to run as root. */
export async function startPostgres(): Promise<PostgresServer> {
  const dir = mkdtempSync(join(tmpdir(), 'ot-postgres-'))
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(dir, 65534, 65534)
  const [program = '', ...asUser] = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env']
  const bin = `/usr/lib/postgresql/${readdirSync('/usr/lib/postgresql').at(-1)}/bin`
  const data = join(dir, 'data')
  const init = [`${bin}/initdb`, '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--no-locale', '-E', 'UTF8']
  await promisify(execFile)(program, [...asUser, ...init], { cwd: '/' })
  const words = [`${bin}/postgres`, '-D', data, '-k', dir, '-c', 'listen_addresses=', '-c', 'fsync=off']
  const server = spawn(program, [...asUser, ...words], { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = async () => {
    const ended = server.exitCode === null ? once(server, 'exit') : null
    server.kill('SIGINT')
    await ended
    rmSync(dir, { recursive: true, force: true })
  }
  const lines = createInterface({ input: server.stderr })
  for await (const line of lines) {
    if (!line.includes('ready to accept')) continue
    // Unread output fills the pipe, and then the server blocks.
    server.stderr.resume()
    return { dir, stop }
  }
  await stop()
  throw new Error('PostgreSQL did not start')
}
