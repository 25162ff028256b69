import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import { utcNow } from '../lib/time.ts'
import type { Database, Queries } from './database.ts'
import { tables } from './migrations/0001-tables.ts'
import { permissions } from './migrations/0002-permissions.ts'
import { leases } from './migrations/0003-leases.ts'
import { leasePermissions } from './migrations/0004-lease-permissions.ts'
import { raw, sql } from './sql.ts'

interface Migration {
  readonly name: string
  readonly script: string
  /** Runs on this database only; absent means both. */
  readonly only?: 'postgresql'
}

/** In order. A released migration never changes. */
export const migrations: readonly Migration[] = [
  { name: '0001-tables', script: tables },
  { name: '0002-permissions', script: permissions, only: 'postgresql' },
  { name: '0003-leases', script: leases },
  { name: '0004-lease-permissions', script: leasePermissions, only: 'postgresql' },
]

const nameRow = z.object({ name: z.string() })

/** Brings the tables up to date. Several processes may call this at once; only one does the work. */
export async function migrate(database: Database): Promise<void> {
  if (await isCurrent(database)) return
  await database.transaction(async (queries) => {
    if (queries.dialect === 'postgresql') await queries.rows(z.unknown(), sql`SELECT pg_advisory_xact_lock(7310521)`)
    const found = await tablesOf(queries)
    if (!found.has('registry_migrations')) {
      const taken = ['datasets', 'models', 'sandbox_jobs'].find((name) => found.has(name))
      if (taken !== undefined) throw foreignTables(taken)
      await queries.script('CREATE TABLE registry_migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)')
    }
    const done = await applied(queries)
    for (const { name, script, only } of migrations) {
      if (done.has(name)) continue
      if (only === undefined || only === queries.dialect) await queries.script(script)
      await queries.run(sql`INSERT INTO registry_migrations (name, applied_at) VALUES (${name}, ${utcNow()})`)
    }
  })
}

async function isCurrent(database: Database): Promise<boolean> {
  if (!(await tablesOf(database)).has('registry_migrations')) return false
  const done = await applied(database)
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = [...done].find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new UserError(
      `the registry has the change ${unknown}, which this version of ot-agent does not know`,
      'install the version of ot-agent that wrote it, or a newer one',
    )
  return migrations.every(({ name }) => done.has(name))
}

async function applied(queries: Queries): Promise<ReadonlySet<string>> {
  const rows = await queries.rows(nameRow, sql`SELECT name FROM registry_migrations`)
  return new Set(rows.map(({ name }) => name))
}

async function tablesOf(queries: Queries): Promise<ReadonlySet<string>> {
  const query =
    queries.dialect === 'sqlite'
      ? raw("SELECT name FROM sqlite_master WHERE type = 'table'")
      : raw('SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()')
  return new Set((await queries.rows(nameRow, query)).map(({ name }) => name))
}

function foreignTables(name: string): UserError {
  return new UserError(
    `the database has a table ${name} that ot-agent did not create`,
    'use an empty database, or an empty schema (?search_path=NAME in the URL)',
  )
}
