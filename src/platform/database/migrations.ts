/** Brings a database to the state that this release needs: migrations, the schema of the job queue, and its queues. */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { getConstructionPlans, getMigrationPlans, PgBoss, type QueueOptions, type QueueResult } from 'pg-boss'
import bossPackage from 'pg-boss/package.json' with { type: 'json' }
import { DEAD_LETTERS, type Queue, queueOptions } from '../jobs/queue.ts'
import { isDatabaseAway } from './database-errors.ts'
import { missingRight } from './missing-right.ts'

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))

/** The advisory lock that `prisma migrate` also takes, so that both never run at once. */
const DEPLOY_LOCK = 72_707_369
/** How long to wait for a deploy of another process. */
const DEPLOY_LOCK_TIMEOUT = '5min'
/** A migration that waits for a table lock blocks all later statements on the table, so it gives up early and is retried. */
const LOCK_TIMEOUT_MS = 2_000
const ATTEMPTS = 15

/** The database cannot be migrated. The message is one line. */
export class MigrationError extends Error {}

interface Migration {
  name: string
  sql: string
  /** SHA-256 of the file, in hex, as Prisma computes it. */
  checksum: string
}

export interface DeployOptions {
  /** The queues to create (background.ts). Existing queues get the current options. */
  queues?: readonly Queue[]
  migrationsDir?: string
  log?: (message: string) => void
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
  const { queues = [], migrationsDir = MIGRATIONS_DIR, log = () => {} } = options
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
    const { pending } = await status(client, migrationsDir)
    for (const migration of pending) {
      log(`Applying migration ${migration.name}`)
      await retryOnLock(() => apply(client, migration))
    }
    await prepareQueues(client, queues)
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
      `The database role ${server.role} lacks the right CREATE on the database ${server.database}, which creating tables needs: GRANT CREATE ON DATABASE "${server.database}" TO "${server.role}"`,
    )
}

/** Prisma's table of applied migrations, so that its tools work on the database. */
const HISTORY_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`

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

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(sql)
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), checksum, name],
    )
    await client.query('COMMIT')
  } catch (error) {
    await rollBack(client)
    if (isBlocked(error)) throw error
    throw new MigrationError(`Migration ${name} failed and was rolled back: ${(error as Error).message}`, { cause: error })
  }
}

/** If the connection is lost, the server rolls back, and the first error says what happened. */
const rollBack = (client: pg.Client) => client.query('ROLLBACK').catch(() => {})

async function retryOnLock(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isBlocked(error)) throw error
      if (attempt === ATTEMPTS)
        throw new MigrationError('A table stayed locked by running work; retry when there is less load', { cause: error })
      await sleep(200 * attempt * (0.5 + Math.random()))
    }
  }
}

/** A lock was not given in time, or PostgreSQL has ended a deadlock with running work. Both roll back the whole transaction. */
const isBlocked = (error: unknown) => ['55P03', '40P01'].includes((error as { code?: string }).code ?? '')

/** Creates or upgrades pg-boss's schema and queues; the service then runs with `migrate: false`. */
async function prepareQueues(client: pg.Client, queues: readonly Queue[]): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => client.query(text, values) },
    migrate: false,
    supervise: false,
    schedule: false,
  })
  // The plans are run as text, which builds their indexes at once; `migrate: true` leaves them to a worker of this process.
  if (!(await boss.isInstalled())) await retryOnLock(() => runPlan(client, getConstructionPlans()))
  const version = await boss.schemaVersion()
  if (version !== null && version < bossPackage.pgboss.schema)
    await retryOnLock(() => runPlan(client, getMigrationPlans('pgboss', version)))
  const there = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
  if (!there.has(DEAD_LETTERS)) await boss.createQueue(DEAD_LETTERS)
  for (const queue of queues) {
    const [present, options] = [there.get(queue.name), queueOptions(queue)]
    if (!present) await boss.createQueue(queue.name, options)
    else if (!hasOptions(present, options)) await boss.updateQueue(queue.name, options)
  }
}

/** True at nearly every start, which then writes nothing. */
const hasOptions = (present: QueueResult, options: QueueOptions) =>
  Object.entries(options).every(([name, value]) => present[name as keyof QueueOptions] === value)

/** Runs a plan without its own lock_timeout, which is longer than LOCK_TIMEOUT_MS. A plan contains BEGIN and COMMIT. */
async function runPlan(client: pg.Client, plan: string): Promise<void> {
  try {
    await client.query(plan.replace(/SET LOCAL lock_timeout = \d+;/, ''))
  } catch (error) {
    await rollBack(client)
    if (isBlocked(error)) throw error
    throw new MigrationError(`The schema of the job queue could not be prepared: ${(error as Error).message}`, { cause: error })
  }
}
