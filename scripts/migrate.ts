/** Migrations by hand: `npm run migrate -- new <name> | deploy | status | check` (docs/upgrades.md). */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts'
import { connect, deploy } from '../src/platform/database/migrations/deploy.ts'
import { MIGRATIONS_DIR, MigrationError, readMigrations, status } from '../src/platform/database/migrations/migrations.ts'
import { readSettings } from '../src/settings.ts'
import { asksForHelp, commandOf, runScript, ScriptError } from './runtime.ts'

const USAGE = `npm run migrate -- new <name>   write a migration from what changed in prisma/schema.prisma
npm run migrate -- deploy       apply what is missing, to DATABASE_URL or the embedded database
npm run migrate -- status       list what is applied and what is missing
npm run migrate -- check        do the migrations still give what prisma/schema.prisma describes?`

// `new` and `check` load Prisma's engine, which production does not have.
const SCHEMA = fileURLToPath(new URL('../prisma/schema.prisma', import.meta.url))
/** The schema after the last migration. */
const MIGRATED = fileURLToPath(new URL('../prisma/migrated.prisma', import.meta.url))

const [command, name, ...rest] = process.argv.slice(2)
const commands: Record<string, () => Promise<void>> = { new: writeNew, deploy: deployAll, status: printStatus, check: checkDrift }

await runScript(async () => {
  if (asksForHelp(process.argv.slice(2))) return console.log(USAGE)
  const run = commandOf('migrate', commands, command)
  if (command !== 'new' && name !== undefined) throw new ScriptError(`${command} takes no argument; npm run migrate -- --help`)
  if (rest.length) throw new ScriptError('new takes one argument, the name; npm run migrate -- --help')
  await run()
})

async function writeNew(): Promise<void> {
  if (!name || !/^[a-z0-9_]{1,60}$/.test(name)) throw new MigrationError('A migration is named in a-z, 0-9 and _, say add_task_priority')
  const { diffSchemas } = await import('./schema-engine.ts')
  const schema = readFileSync(SCHEMA, 'utf8')
  const sql = await onScratchServer((connection) =>
    diffSchemas(connection, existsSync(MIGRATED) ? readFileSync(MIGRATED, 'utf8') : null, schema),
  )
  if (!sql) console.log('The schema has not changed: the file is for SQL written by hand.')
  const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
  const folder = join(MIGRATIONS_DIR, `${stamp}_${name}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'migration.sql'), `${sql || '-- Nothing that Prisma knows has changed.'}\n`)
  writeFileSync(MIGRATED, schema)
  console.log(`Wrote ${folder}/migration.sql: read it, make it safe beside the previous version, then run npm run migrate -- check.`)
}

async function deployAll(): Promise<void> {
  // Loaded only here: the queues come with all parts of the service.
  const [{ queues }, { queueSchema }] = await Promise.all([import('../src/background.ts'), import('../src/platform/jobs/queue-schema.ts')])
  await onOwnDatabase(async (connection) => {
    const applied = await deploy(connection, { prepare: queueSchema(queues), progress: console.log })
    console.log(applied.length ? `${applied.length} applied.` : 'Nothing to apply.')
  })
}

async function printStatus(): Promise<void> {
  await onOwnDatabase(async (connection) => {
    const client = new pg.Client(connection)
    try {
      await connect(client)
      const { applied, pending } = await status(client)
      for (const one of applied) console.log(`applied  ${one}`)
      for (const one of pending) console.log(`missing  ${one.name}`)
      if (pending.length) process.exitCode = 2
    } finally {
      await client.end()
    }
  })
}

/** Checks that a migration contains every change of the schema, and that the migrations create this schema in an empty database. */
async function checkDrift(): Promise<void> {
  const [{ diffSchemas }, { compareWithSchema }] = await Promise.all([import('./schema-engine.ts'), import('./catalogue.ts')])
  const schema = readFileSync(SCHEMA, 'utf8')
  await onScratchServer(async (connection) => {
    const unwritten = await diffSchemas(connection, existsSync(MIGRATED) ? readFileSync(MIGRATED, 'utf8') : null, schema)
    if (unwritten)
      throw new MigrationError(`prisma/schema.prisma has changes that no migration holds (npm run migrate -- new <name>):\n${unwritten}`)
    const { drift, extras } = await compareWithSchema(connection, await diffSchemas(connection, null, schema))
    if (drift.length) throw new MigrationError(`The migrations and prisma/schema.prisma disagree:\n${drift.join('\n')}`)
    console.log(`${readMigrations().length} migrations give the schema, and beside it ${extras.length} things that Prisma cannot express:`)
    for (const extra of extras) console.log(`  ${extra}`)
  })
}

/** The database of the settings. */
async function onOwnDatabase(use: (connection: pg.ClientConfig) => Promise<void>): Promise<void> {
  const { databaseUrl, dataDir } = readSettings()
  if (databaseUrl) return use({ connectionString: databaseUrl })
  const postgres = await openEmbeddedPostgres({ dataDir, log: console.error, progress: console.error })
  try {
    await use(postgres.connection)
  } finally {
    await postgres.leave()
  }
}

/** Starts a temporary Postgres, which is deleted afterwards. */
async function onScratchServer<T>(use: (connection: pg.PoolConfig) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gridpost-migrate-'))
  try {
    const postgres = await openEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } })
    try {
      return await use(postgres.connection)
    } finally {
      await postgres.leave()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
