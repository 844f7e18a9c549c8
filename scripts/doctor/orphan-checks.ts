/** Rows whose owner does not exist any more, and secrets that no key can read. Foreign keys cover everything that is not listed here. */

import { type SealedColumn, selectSecrets } from '../../src/platform/secrets/sealed-columns.ts'
import { decrypt, UnreadableSecret } from '../../src/platform/secrets/secrets.ts'
import { SEALED_COLUMNS } from '../rotate-secrets.ts'
import { counted, type Examined, type ExaminedDatabase, type Finding, findingOf } from './finding.ts'
import { onAnsweringNodes, placedTables } from './node-checks.ts'

interface Reference {
  table: string
  column: string
  owner: string
  /** A condition on the row `r`, for rows that may outlive their owner. */
  where?: string
}

/** Files in use, but for those of deleted records and their tasks, which these keep in case they are restored. */
const IN_USE = `r.dropped_at is null
  and not exists (select from public.deleted_records d where r.task_id is null and d.table_id = r.table_id and d.record_id = r.record_id)
  and not exists (select from public.deleted_rows d where d.source = 'tasks' and (d.content->>'id')::int = r.task_id)`

/** The references to system tables that no foreign key holds. */
const REFERENCES: readonly Reference[] = [
  { table: 'record_comments', column: 'table_id', owner: 'tables' },
  { table: 'subscriptions', column: 'table_id', owner: 'tables' },
  { table: 'subscriptions', column: 'user_id', owner: 'users' },
  { table: 'tasks', column: 'table_id', owner: 'tables' },
  { table: 'stored_files', column: 'table_id', owner: 'tables', where: 'r.dropped_at is null' },
  { table: 'deleted_records', column: 'table_id', owner: 'tables' },
  { table: 'deleted_rows', column: 'table_id', owner: 'tables' },
  { table: 'stored_files', column: 'task_id', owner: 'tasks', where: IN_USE },
  { table: 'smtp_integrations', column: 'space_id', owner: 'spaces' },
  { table: 'email_signatures', column: 'user_id', owner: 'users' },
  { table: 'outbound_emails', column: 'comment_id', owner: 'record_comments' },
  { table: 'reply_tokens', column: 'comment_id', owner: 'record_comments' },
  { table: 'email_opens', column: 'comment_id', owner: 'record_comments' },
  { table: 'notifications', column: 'user_id', owner: 'users' },
  { table: 'record_tallies', column: 'table_id', owner: 'tables' },
]

/** The tables whose rows belong to a record, with the condition on rows that do. */
const ON_RECORDS: readonly { table: string; where: string }[] = [
  { table: 'record_comments', where: 'true' },
  { table: 'subscriptions', where: 'r.record_id <> 0' },
  { table: 'tasks', where: 'true' },
  { table: 'stored_files', where: IN_USE },
  { table: 'outbound_emails', where: 'true' },
  { table: 'reply_tokens', where: 'true' },
]

const ADVICE = 'They are never shown. Delete them, or restore their owner from a backup.'

export async function checkOwners(examined: Examined): Promise<Finding[]> {
  const { database } = examined
  const lines: string[] = []
  for (const { table, column, owner, where = 'true' } of REFERENCES) {
    const [orphans] = await database.rows<{ count: number }>(`
      select count(*)::int as count from public.${table} r
      where r.${column} is not null and ${where} and not exists (select from public.${owner} o where o.id = r.${column})`)
    if (orphans?.count) lines.push(`${counted(orphans.count, 'row')} of ${table} without their row of ${owner}`)
  }
  lines.push(...(await withoutRecord(examined)))
  return [
    ...findingOf(lines, {
      check: 'orphans.rows',
      severity: 'warning',
      problem: (count) => `${counted(count, 'kind')} of rows without their owner`,
      advice: ADVICE,
    }),
    ...(await ownerlessSchemas(database)),
  ]
}

/** Rows about records that do not exist. Each table of records is read once for each kind of row that it has. */
async function withoutRecord(examined: Examined): Promise<string[]> {
  const { database } = examined
  const readable = await onAnsweringNodes(examined)
  const lines: string[] = []
  const placed = await placedTables(database)
  for (const { table, where } of ON_RECORDS) {
    const tables = await database.rows<{ id: number }>(`
      select t.id from public.tables t where to_regclass(format('t%s.records', t.id)) is not null
        and exists (select from public.${table} r where r.table_id = t.id and ${where}) and ${readable} order by t.id`)
    for (const { id } of tables) {
      const rows = `public.${table} r where r.table_id = ${Number(id)} and r.record_id is not null and ${where}`
      const count = await (placed.has(id) ? countOrphansOfNode : countOrphans)(database, rows, `t${Number(id)}.records`)
      if (count) lines.push(`${counted(count, 'row')} of ${table} without their record of table ${id}`)
    }
  }
  return lines
}

/** @param rows selects the rows `r`, which name a record of the table `records` */
async function countOrphans(database: ExaminedDatabase, rows: string, records: string): Promise<number> {
  const [orphans] = await database.rows<{ count: number }>(
    `select count(*)::int as count from ${rows} and not exists (select from ${records} o where o.id = r.record_id)`,
  )
  return orphans?.count ?? 0
}

/** Citus does not join records on a node with rows of system tables, so the ids are compared here. */
async function countOrphansOfNode(database: ExaminedDatabase, rows: string, records: string): Promise<number> {
  let orphans = 0
  for (let last = -1; ; ) {
    const named = await database.rows<{ id: number; count: number }>(
      `select r.record_id as id, count(*)::int as count from ${rows} and r.record_id > $1 group by 1 order by 1 limit 10000`,
      [last],
    )
    if (!named.length) return orphans
    const ids = named.map(({ id }) => id)
    const present = await database.rows<{ id: number }>(`select id from ${records} where id = any($1::int[])`, [ids])
    const existing = new Set(present.map(({ id }) => id))
    for (const { id, count } of named) if (!existing.has(id)) orphans += count
    last = Math.max(...ids)
  }
}

async function ownerlessSchemas(database: ExaminedDatabase): Promise<Finding[]> {
  const schemas = await database.rows<{ name: string }>(`
    select n.nspname as name from pg_namespace n where n.nspname ~ '^t[1-9][0-9]{0,8}$'
      and to_regclass(format('%I.records', n.nspname)) is not null
      and not exists (select from public.tables t where t.id = substr(n.nspname, 2)::int) order by 1`)
  return findingOf(
    schemas.map(({ name }) => name),
    {
      check: 'orphans.schemas',
      severity: 'warning',
      problem: (count) => `${counted(count, 'schema')} of records without their table`,
      advice: 'DROP SCHEMA … CASCADE each of them, after a look at its records.',
    },
  )
}

/** Secrets that neither SECRET_KEY nor a key of SECRET_KEY_PREVIOUS can decrypt. */
export async function checkSecrets({ database, settings: { secretKeys } }: Examined): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const sealed of SEALED_COLUMNS) {
    const { what, table, key, contextOf } = sealed
    const unreadable: string[] = []
    for await (const row of secretsOf(database, sealed))
      if (!isReadable(() => decrypt(secretKeys, row.secret, contextOf.context(row.context))))
        unreadable.push(`${table}.${key.column} ${Buffer.isBuffer(row.key) ? row.key.toString('hex') : row.key}`)
    findings.push(
      ...findingOf(unreadable, {
        check: 'secrets.unreadable',
        severity: 'error',
        problem: (count) => `${count} ${what} cannot be read: they were encrypted with another SECRET_KEY`,
        advice:
          'Set SECRET_KEY to the key that encrypted them, or add that key to SECRET_KEY_PREVIOUS; if it is lost, enter the passwords again.',
      }),
    )
  }
  return findings
}

interface Secret {
  key: number | Buffer
  secret: Buffer
  context: string
}

/** All secrets of the column, read in batches. */
async function* secretsOf(database: ExaminedDatabase, sealed: SealedColumn): AsyncGenerator<Secret> {
  const { column, type } = sealed.key
  let last: Secret['key'] | null = null
  for (;;) {
    const rows: Secret[] = await database.rows(
      `${selectSecrets(sealed)} and ($1::${type} is null or t.${column} > $1) order by 1 limit 1000`,
      [last],
    )
    const end = rows.at(-1)
    if (!end) return
    yield* rows
    last = end.key
  }
}

function isReadable(read: () => string): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof UnreadableSecret) return false
    throw error
  }
}
