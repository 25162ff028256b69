import type { Database } from './database.ts'
import { migrate } from './migrate.ts'

/** Opens the registry at a PostgreSQL URL or in a file, and migrates its tables. */
export async function openRegistry(address: string): Promise<Database> {
  const database = await openDatabase(address)
  try {
    await migrate(database)
    return database
  } catch (error) {
    await database[Symbol.asyncDispose]()
    throw error
  }
}

/** True for a PostgreSQL URL; anything else is a file path. */
export function isUrl(address: string): boolean {
  return /^postgres(ql)?:\/\//i.test(address)
}

async function openDatabase(address: string): Promise<Database> {
  if (isUrl(address)) return (await import('./postgresql.ts')).openPostgresql(address)
  return (await import('./sqlite.ts')).openSqlite(address)
}
