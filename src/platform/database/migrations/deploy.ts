/** Brings a database to the state that this release needs. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { isDatabaseAway } from '../database-errors.ts'
import { MIGRATIONS_DIR, type Migration, MigrationError, status } from './migrations.ts'
import { missingRight } from './missing-right.ts'

/** The advisory lock that `prisma migrate` also takes, so that both never run at once. */
const DEPLOY_LOCK = 72_707_369
/** How long to wait for a deploy of another process. */
const DEPLOY_LOCK_TIMEOUT = '5min'
/** A migration that waits for a table lock blocks all later statements on the table, so it gives up early and is retried. */
const LOCK_TIMEOUT_MS = 2_000
const ATTEMPTS = 15

export interface DeployOptions {
  /** What else this release needs, under the same lock: the schema of the job queue and its queues (jobs/queue-schema.ts). */
  prepare?: (client: pg.Client) => Promise<void>
  migrationsDir?: string
  /** Called before work that can take seconds: once for a new database, otherwise for each migration. */
  progress?: (step: string) => void
}

/** @throws MigrationError when the database cannot be reached */
export async function connect(client: pg.Client): Promise<void> {
  await client.connect().catch((error) => {
    throw new MigrationError(`The database cannot be reached: ${reasonOf(error)}`, { cause: error })
  })
}

/**
 * Applies pending migrations. If several processes call it at once, one of them applies them.
 * @returns the names of the applied migrations
 * @throws MigrationError if the file of an applied migration was changed, or a statement fails; that migration is rolled back
 */
export async function deploy(connection: pg.ClientConfig, options: DeployOptions = {}): Promise<string[]> {
  const { prepare, migrationsDir = MIGRATIONS_DIR, progress = () => {} } = options
  // A connection outside of the pool, because the lock belongs to the session.
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 10_000, application_name: 'gridpost deploy' })
  client.on('error', () => {})
  try {
    await connect(client)
    await requireServer(client)
    await client.query('SET statement_timeout = 0')
    await client.query(`SET lock_timeout = '${DEPLOY_LOCK_TIMEOUT}'`)
    await client.query('SELECT pg_advisory_lock($1)', [DEPLOY_LOCK])
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`)
    // The many small commits need not wait for the disk one by one: a crash loses the last of them at most, which are then done again.
    await client.query('SET synchronous_commit = off')
    await client.query(HISTORY_TABLE)
    const { applied, pending } = await status(client, migrationsDir)
    const isNew = applied.length === 0
    if (isNew && pending.length) progress(`Creating its tables (${pending.length} migrations)`)
    for (const migration of pending) {
      if (!isNew) progress(`Applying migration ${migration.name}`)
      await apply(client, migration)
    }
    await prepare?.(client)
    await flush(client)
    return pending.map(({ name }) => name)
  } catch (error) {
    if (error instanceof MigrationError) throw error
    const line = isDatabaseAway(error)
      ? `The database went away while it was being prepared: ${reasonOf(error as Error)}`
      : missingRight(error)
    throw line ? new MigrationError(line, { cause: error }) : error
  } finally {
    await client.end()
  }
}

/** Waits until everything that was committed before is on the disk. */
async function flush(client: pg.Client): Promise<void> {
  await client.query('SET synchronous_commit = on')
  // A commit without a change would not wait.
  await client.query("SELECT pg_logical_emit_message(true, 'gridpost', 'deployed')")
}

/** A refused connection to a host with several addresses has only the messages of its attempts. */
function reasonOf(error: Error): string {
  const [first] = error instanceof AggregateError ? error.errors : [error]
  return String(first?.message ?? error).split('\n')[0] ?? ''
}

interface Server {
  version: string
  number: string
  encoding: string
  database: string
  role: string
  may_create: boolean
}

/** The collation pg_c_utf8 exists since PostgreSQL 17; text is stored as UTF-8; each user table is a schema of its own. */
async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<Server>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number,
       current_setting('server_encoding') AS encoding, current_database() AS database, current_user AS role,
       has_database_privilege(current_database(), 'CREATE') AS may_create`,
  )
  const [server] = rows
  if (Number(server?.number) < 170_000) throw new MigrationError(`The database must be PostgreSQL 17 or newer, and is ${server?.version}`)
  if (server?.encoding !== 'UTF8') throw new MigrationError(`The database must have the encoding UTF8, and has ${server?.encoding}`)
  if (!server.may_create)
    throw new MigrationError(
      `The database role ${server.role} lacks the right CREATE on the database ${server.database}, which creating tables needs: ` +
        `GRANT CREATE ON DATABASE "${server.database}" TO "${server.role}"`,
    )
}

/** Prisma's table of applied migrations, so that its tools work on the database. */
const HISTORY_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`

function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  return changeSchema(client, `Migration ${name} failed and was rolled back`, async () => {
    await client.query('BEGIN')
    await client.query(sql)
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
        VALUES ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    )
    await client.query('COMMIT')
  })
}

/**
 * Makes a change that begins and commits a transaction, and repeats it while running work keeps a table locked.
 * @param failure what the message of the error begins with
 * @throws MigrationError after the change was rolled back
 */
export async function changeSchema(client: pg.Client, failure: string, change: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await change()
      return
    } catch (error) {
      // If the connection is lost, the server rolls back, and the first error says what happened.
      await client.query('ROLLBACK').catch(() => {})
      if (!isBlocked(error)) throw new MigrationError(`${failure}: ${(error as Error).message}`, { cause: error })
      if (attempt === ATTEMPTS)
        throw new MigrationError('A table stayed locked by running work; retry when there is less load', { cause: error })
      await sleep(200 * attempt * (0.5 + Math.random()))
    }
  }
}

/** A lock was not given in time, or PostgreSQL has ended a deadlock with running work. Both roll back the whole transaction. */
const isBlocked = (error: unknown) => ['55P03', '40P01'].includes((error as { code?: string }).code ?? '')
