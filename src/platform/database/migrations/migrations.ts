/** The migrations of this release: their files, and which of them a database has. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../../../prisma/migrations', import.meta.url))

/** The database cannot be migrated. The message is one line. */
export class MigrationError extends Error {}

export interface Migration {
  name: string
  sql: string
  /** SHA-256 of the file, in hex, as Prisma computes it. */
  checksum: string
}

interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string): Promise<{ rows: Row[] }>
}

export interface MigrationStatus {
  applied: string[]
  pending: Migration[]
}

/**
 * Lists applied and pending migrations. Applied migrations that this release does not know belong to a later release and are no error,
 * because migrations are additive and run beside the previous version.
 * @throws MigrationError if the file of an applied migration has another checksum
 */
export async function status(client: Queryable, migrationsDir = MIGRATIONS_DIR): Promise<MigrationStatus> {
  const { rows: tables } = await client.query<{ found: boolean }>(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS found`)
  const { rows } = tables[0]?.found
    ? await client.query<{ name: string; checksum: string }>(
        `SELECT migration_name AS name, checksum FROM _prisma_migrations
         WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name`,
      )
    : { rows: [] }
  const checksums = new Map(rows.map((row) => [row.name, row.checksum]))
  const pending = readMigrations(migrationsDir).filter(({ name, checksum }) => {
    const applied = checksums.get(name)
    if (applied !== undefined && applied !== checksum)
      throw new MigrationError(
        `Migration ${name} was changed after it had been applied: restore its file, and put the change into a new migration`,
      )
    return applied === undefined
  })
  return { applied: [...checksums.keys()], pending }
}

/** All migrations of this release, oldest first. */
export function readMigrations(migrationsDir = MIGRATIONS_DIR): Migration[] {
  if (!existsSync(migrationsDir)) return []
  return readdirSync(migrationsDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const sql = readFileSync(join(migrationsDir, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
