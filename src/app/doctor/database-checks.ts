import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { type Check, type Found, missing, ok, type Surroundings } from './check.ts'

/** The database that recipes run in, and the user's own, if its address is in the environment. */
export const databaseChecks: readonly Check[] = [
  { name: 'database/duckdb', look: duckdb },
  { name: 'database/postgresql', look: postgresql },
]

async function duckdb(): Promise<Found> {
  try {
    await using database = await SqlDatabase.open({
      memoryMb: 64,
      threads: 1,
      tempDir: join(tmpdir(), 'ot-agent-doctor'),
    })
    const [row] = await database.rows('SELECT version() AS version')
    return ok(`${row?.version}, in this process`)
  } catch (error) {
    return missing(`does not load: ${messageOf(error)}`, 'npm ci, on Linux with x64 or arm64 and glibc')
  }
}

const variable = 'DATABASE_URL'
const example = `export ${variable}=postgres://USER@HOST:5432/NAME`

/** Whether a PostgreSQL server answers at the address. We do not log in, so no secret is sent. */
async function postgresql({ env, signal }: Surroundings): Promise<Found> {
  const address = env[variable]?.trim()
  if (!address) return missing(`no ${variable}`, `${example}; optional`)
  const place = placeOf(address)
  if (place === null) return missing(`${variable} is not the address of a PostgreSQL server`, example)
  const shown = 'path' in place ? place.path : `${place.host}:${place.port}`
  try {
    const letter = await askForTls(connect(place), signal)
    if (letter !== 'S' && letter !== 'N') return missing(`${shown} answers, but is not a PostgreSQL server`, example)
    return ok(`${shown} answers${letter === 'S' ? ', over TLS' : ''}; the login was not tried`)
  } catch (error) {
    signal.throwIfAborted()
    return missing(`${shown}: ${messageOf(error)}`, `start it, or correct ${variable}`)
  }
}

type Place = { readonly host: string; readonly port: number } | { readonly path: string }

/** The host and port of a server; null for an invalid address, which may hold a secret and is not shown. */
function placeOf(address: string): Place | null {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) return null
  const port = Number(url.port || 5432)
  const host = url.searchParams.get('host') || url.hostname || 'localhost'
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host.replace(/^\[|\]$/g, ''), port }
}

/** Sends the first question of every PostgreSQL client; the server answers with one letter, `S` or `N`. */
async function askForTls(socket: Socket, signal: AbortSignal): Promise<string> {
  const request = Buffer.alloc(8)
  request.writeInt32BE(8, 0)
  request.writeInt32BE(80877103, 4)
  try {
    socket.write(request)
    const answered = once(socket, 'data', { signal })
    const hungUp = once(socket, 'end', { signal }).then(() => [''])
    const [data] = await Promise.race([answered, hungUp])
    return String(data).slice(0, 1)
  } finally {
    socket.destroy()
  }
}
