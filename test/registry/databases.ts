import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgresql } from '../../src/registry/postgresql.ts'
import { raw } from '../../src/registry/sql.ts'
import { needs } from '../needs.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'

/** What a test uses to create registries. */
export interface Kit {
  /** A directory for the test's files. */
  readonly scratch: string
  /** The address of a new, empty database. */
  fresh(): Promise<string>
}

/** Runs the same tests on a file and on a PostgreSQL server started for them. */
export function onBothDatabases(title: string, suite: (kit: Kit) => void): void {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-registry-'))
  afterAll(() => rmSync(scratch, { recursive: true, force: true }))
  let made = 0
  describe(`${title} in a file`, () => {
    suite({ scratch: join(scratch, 'file'), fresh: async () => join(scratch, 'files', `${++made}.db`) })
  })
  describe(`${title} in PostgreSQL`, needs('pg_createcluster', 'setpriv'), () => {
    let server: PostgresServer | undefined
    beforeAll(async () => {
      server = await startPostgres()
    })
    afterAll(() => server?.stop())
    suite({
      scratch: join(scratch, 'postgresql'),
      fresh: async () => {
        const name = `registry${++made}`
        await using admin = await openPostgresql(`postgres://postgres@localhost/postgres?host=${server?.dir}`)
        await admin.script(`CREATE DATABASE ${name}`)
        return `postgres://postgres@localhost/${name}?host=${server?.dir}`
      },
    })
  })
}

/** The number that a test's query returns. */
export async function numberOf(address: string, query: string): Promise<number> {
  const { openRegistry } = await import('../../src/registry/open.ts')
  const { z } = await import('zod')
  await using database = await openRegistry(address)
  const [row = {}] = await database.rows(z.record(z.string(), z.unknown()), raw(query))
  return Number(Object.values(row)[0])
}
