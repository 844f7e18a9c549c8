/** The server, the role, the migrations and the queue. */

import { readMigrations } from '../../src/platform/database/migrations/migrations.ts'
import { DEAD_LETTERS } from '../../src/platform/jobs/queue.ts'
import { fingerprintOf } from '../../src/platform/secrets/secrets.ts'
import { counted, type Examined, type ExaminedDatabase, type Finding, findingOf } from './finding.ts'

interface Server {
  role: string
  database: string
  is_superuser: boolean
  may_create: boolean
  may_use: boolean
  fsync: string
  full_page_writes: string
}

/** The rights of the role, and whether the server keeps what it has acknowledged. */
export async function checkServer({ database, settings }: Examined): Promise<Finding[]> {
  const [server] = await database.rows<Server>(`
    select current_user as role, current_database() as database, rolsuper as is_superuser,
      has_database_privilege(current_database(), 'CREATE') as may_create, has_schema_privilege('public', 'CREATE') as may_use,
      current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes
    from pg_roles where rolname = current_user`)
  if (!server) return []
  const findings: Finding[] = []
  const { role, database: name } = server
  if (!server.may_create || !server.may_use)
    findings.push({
      check: 'database.rights',
      severity: 'error',
      problem: `The database role ${role} lacks the right CREATE on ${server.may_create ? 'the schema public' : `the database ${name}`}`,
      advice: server.may_create ? `GRANT CREATE ON SCHEMA public TO "${role}"` : `GRANT CREATE ON DATABASE "${name}" TO "${role}"`,
    })
  if (server.is_superuser && settings.databaseUrl)
    findings.push({
      check: 'database.superuser',
      severity: 'warning',
      problem: `The database role ${role} is a superuser, who can read files of the server and change other databases`,
      advice: 'Use a role that owns this database and has no other rights.',
    })
  for (const [setting, value] of [
    ['fsync', server.fsync],
    ['full_page_writes', server.full_page_writes],
  ] as const)
    if (value === 'off')
      findings.push({
        check: 'database.durability',
        severity: 'error',
        problem: `${setting} is off: a crash of the machine can destroy the database`,
        advice: `ALTER SYSTEM SET ${setting} = on; SELECT pg_reload_conf();`,
      })
  return findings
}

/** Migrations that are missing, that a later release applied, or whose file was changed. */
export async function checkMigrations({ database }: Examined): Promise<Finding[]> {
  const applied = new Map((await appliedMigrations(database)).map(({ name, checksum }) => [name, checksum]))
  const known = readMigrations()
  return [
    ...findingOf(
      known.filter(({ name }) => !applied.has(name)).map(({ name }) => name),
      {
        check: 'migrations.missing',
        severity: 'error',
        problem: (count) => `${counted(count, 'migration')} of this release not applied`,
        advice: 'Run npm run migrate -- deploy, or start the service, which does it.',
      },
    ),
    ...findingOf(
      [...applied.keys()].filter((name) => !known.some((migration) => migration.name === name)),
      {
        check: 'migrations.unknown',
        severity: 'warning',
        problem: (count) => `${counted(count, 'migration')} applied that this release does not have`,
        advice:
          'A later release has used the database. Finish the upgrade, or restore a backup before going back to this release for good.',
      },
    ),
    ...findingOf(
      known.filter(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum).map(({ name }) => name),
      {
        check: 'migrations.changed',
        severity: 'error',
        problem: (count) => `The files of ${counted(count, 'migration')} changed after they had been applied`,
        advice: 'Restore the files of prisma/migrations from the release; until then the service does not start.',
      },
    ),
  ]
}

/** The applied migrations by name; empty for a database that the service has not prepared. */
export async function appliedMigrations(database: ExaminedDatabase): Promise<{ name: string; checksum: string }[]> {
  const [table] = await database.rows<{ found: boolean }>(`select to_regclass('public._prisma_migrations') is not null as found`)
  if (!table?.found) return []
  return database.rows(`
    select migration_name as name, checksum from public._prisma_migrations
    where finished_at is not null and rolled_back_at is null order by 1`)
}

/** Jobs that failed for good. */
export async function checkQueue({ database }: Examined): Promise<Finding[]> {
  const [queue] = await database.rows<{ found: boolean }>(`select to_regclass('pgboss.job') is not null as found`)
  if (!queue?.found)
    return [
      {
        check: 'queue.missing',
        severity: 'error',
        problem: 'The job queue is missing: no mail, reminder or index is made',
        advice: 'Run npm run migrate -- deploy.',
      },
    ]
  const dead = await database.rows<{ id: string }>('select id::text from pgboss.job where name = $1 order by created_on desc', [
    DEAD_LETTERS,
  ])
  return findingOf(
    dead.map(({ id }) => id),
    {
      check: 'queue.dead_letters',
      severity: 'warning',
      problem: (count) => `${counted(count, 'job')} failed for good`,
      advice: `Look for "job failed" in the log; when the cause is removed, delete them from pgboss.job (name '${DEAD_LETTERS}').`,
    },
  )
}

/** Previous keys that could be removed. */
export async function checkPreviousKeys({ database, settings: { secretKeys } }: Examined): Promise<Finding[]> {
  const previous = secretKeys.previous.map(fingerprintOf)
  const used = await database.rows<{ fingerprint: string }>(
    `select fingerprint from public.secret_key_uses where last_used_at > localtimestamp - interval '30 days'`,
  )
  const isUsed = (fingerprint: string) => used.some((use) => use.fingerprint === fingerprint)
  // If a reading of the list beside the usual one is in use, it is not known which of the listed keys are keys.
  if (secretKeys.guesses?.map(fingerprintOf).some(isUsed)) return []
  return findingOf(
    previous.filter((fingerprint) => !isUsed(fingerprint)),
    {
      check: 'settings.secret_key_previous',
      severity: 'warning',
      problem: (count) => `${counted(count, 'key')} of SECRET_KEY_PREVIOUS not in use for 30 days`,
      advice: 'Run npm run admin -- rotate-secrets, and remove the keys that it says may go.',
    },
  )
}
