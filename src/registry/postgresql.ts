import type { Client, Connection } from 'postgres'
import type { z } from 'zod'
import { messageOf, UserError } from '../core/errors.ts'
import { codeOf } from '../lib/files.ts'
import { batchRows, type Database, type Insert, type Queries, type Snapshot } from './database.ts'
import { portable, type Sql, textOf } from './sql.ts'

const asNumber = { to: 20, from: [20, 1700], parse: Number, serialize: String }

/** Opens the registry in the PostgreSQL database at a URL, which may hold a password and is never shown. */
export async function openPostgresql(address: string): Promise<Database> {
  const options = optionsOf(address)
  const { default: postgres } = await import('postgres')
  const client = postgres(options)
  const database = new PostgresqlDatabase(client)
  try {
    await client.unsafe('SELECT 1')
    return database
  } catch (error) {
    await client.end({ timeout: 1 })
    throw new UserError(
      `cannot use the PostgreSQL database of the registry: ${codeOf(error) ?? ''} ${messageOf(error)}`.replace(
        /\s+/g,
        ' ',
      ),
      'check its URL, and that the server is running and has the account',
    )
  }
}

/** Uses unnamed statements only, so that it also works through poolers that may switch sessions between statements. */
function optionsOf(address: string) {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol))
    throw new UserError('the registry: expected postgres://USER@HOST:PORT/DATABASE', 'or the path of a file')
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part)
    } catch {
      throw new UserError('the registry: expected a URL, got one with a stray %', 'write % as %25')
    }
  }
  const host = url.searchParams.get('host') || url.hostname.replace(/^\[|\]$/g, '') || 'localhost'
  const searchPath = url.searchParams.get('search_path')
  const password = decoded(url.password) || process.env.PGPASSWORD
  return {
    host,
    port: Number(url.port || 5432),
    database: decoded(url.pathname.slice(1)) || 'postgres',
    username: decoded(url.username) || 'postgres',
    password,
    ssl: host.startsWith('/') ? false : sslOf(url.searchParams.get('sslmode')),
    max: 2,
    prepare: false,
    connect_timeout: 10,
    fetch_types: false,
    connection: { application_name: 'ot-agent', ...(searchPath && { search_path: searchPath }) },
    types: { bigint: asNumber },
    onnotice: () => {},
  } as const
}

function sslOf(mode: string | null): false | 'prefer' | 'require' | 'verify-full' {
  if (mode === null || mode === 'prefer' || mode === 'allow') return 'prefer'
  if (mode === 'disable') return false
  if (mode === 'require') return 'require'
  if (mode === 'verify-full' || mode === 'verify-ca') return 'verify-full'
  throw new UserError(
    `the registry: unknown sslmode ${JSON.stringify(mode)}`,
    'known: disable, prefer, require, verify-full',
  )
}

class PostgresqlQueries implements Queries {
  readonly dialect = 'postgresql'
  constructor(protected readonly connection: Connection) {}

  async rows<T>(schema: z.ZodType<T>, query: Sql): Promise<T[]> {
    const found = await this.ask(query)
    return found.map((row) => schema.parse(row))
  }

  async run(statement: Sql): Promise<number> {
    return (await this.ask(statement)).count
  }

  /** Sends all rows as one parameter, because PostgreSQL accepts at most 65,535 in a statement. */
  async insert({ table, columns, rows }: Insert): Promise<number> {
    if (rows.length === 0) return 0
    const names = columns.join(', ')
    const from = `json_populate_recordset(NULL::${table}, $1::text::json)`
    const objects = rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, portable(row[i] ?? null)])))
    const text = `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${from} ON CONFLICT DO NOTHING`
    return (await this.connection.unsafe(text, [JSON.stringify(objects)], { simple: false })).count
  }

  async script(text: string): Promise<void> {
    await this.connection.unsafe(text).simple()
  }

  /** The parameterized protocol accepts only a single statement, so a query cannot end the transaction. */
  ask(query: Sql) {
    const text = textOf(query, (nth) => `$${nth}`)
    return this.connection.unsafe(text, query.values.map(portable), { simple: false })
  }
}

class PostgresqlDatabase extends PostgresqlQueries implements Database {
  constructor(private readonly client: Client) {
    super(client)
  }

  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.client.begin((connection) => work(new PostgresqlQueries(connection)))
  }

  async snapshot(): Promise<Snapshot> {
    const own = await this.client.reserve()
    await own.unsafe('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    const queries = new PostgresqlQueries(own)
    return {
      batches: async function* (query) {
        for await (const rows of queries.ask(query).cursor(batchRows)) yield [...rows]
      },
      [Symbol.asyncDispose]: async () => {
        await own.unsafe('ROLLBACK').catch(() => {})
        own.release()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end({ timeout: 5 })
  }
}
