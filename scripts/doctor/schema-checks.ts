/** Differences between the database and what the migrations and the definitions of fields make of it. */
import { TYPES } from '../../src/fields/registry.ts'
import { readMigrations } from '../../src/platform/database/migrations/migrations.ts'
import { catalogueOf } from '../catalogue.ts'
import { appliedMigrations } from './database-checks.ts'
import { counted, type Examined, type Finding, findingOf } from './finding.ts'

const REPAIR = 'Restore it from a backup, or undo by hand what was done; prisma/migrations has the statements.'

/** Compares the system tables with what the applied migrations make in an empty database. Null if no server is there to try them. */
export async function checkSystemTables({ database, tryOut }: Examined): Promise<Finding[] | null> {
  const applied = new Set((await appliedMigrations(database)).map(({ name }) => name))
  const migrations = readMigrations().filter(({ name }) => applied.has(name))
  const expected = await tryOut(migrations.map(({ sql }) => sql))
  if (!expected) return null
  const isLater = applied.size > migrations.length
  return compare(expected, await catalogueOf(async (text) => database.rows(text)), isLater)
}

/** What a line of the catalogue is about: `column users.email`, `index users_pkey`. */
const subjectOf = (line: string) => line.split(' ').slice(0, 2).join(' ')

/** The kinds of objects that change what a statement does, so that an unknown one on a system table is worth a warning. */
const EFFECTIVE = /^(column|check|constraint|trigger) /

/** @param isLater true if a later release has migrated the database, which may have added things */
function compare(expected: readonly string[], present: readonly string[], isLater: boolean): Finding[] {
  const there = new Set(present)
  const bySubject = new Map(present.map((line) => [subjectOf(line), line]))
  const missing = expected.filter((line) => !there.has(line))
  const known = new Set(expected.map(subjectOf))
  const tables = new Set(expected.filter((line) => line.startsWith('table ')).map((line) => line.slice('table '.length)))
  const surplus = present.filter((line) => EFFECTIVE.test(line) && !known.has(subjectOf(line)) && tables.has(tableOf(line)))
  return [
    ...missing.map((line) => differing(line, bySubject.get(subjectOf(line)))),
    ...findingOf(isLater ? [] : surplus, {
      check: 'schema.unknown',
      severity: 'warning',
      problem: (count) => `${counted(count, 'object')} on system tables that no migration made`,
      advice:
        'Remove what you did not add yourself. Own columns and triggers can break the next migration: keep them in a schema of your own.',
    }),
  ]
}

const tableOf = (line: string) => subjectOf(line).split(' ')[1]?.split('.')[0] ?? ''

function differing(line: string, present: string | undefined): Finding {
  const [kind = ''] = line.split(' ')
  return {
    check: `schema.${kind === 'unlogged' ? 'table' : kind}`,
    severity: 'error',
    problem: present ? `The migrations made "${line}", and the database has "${present}"` : `The ${subjectOf(line)} is missing`,
    advice: present ? REPAIR : `${REPAIR} It was: ${line}`,
  }
}

interface SchemaColumn {
  table_id: number
  name: string
  type: string
}

/** The columns that every table of records has, as Postgres prints their types. */
const SYSTEM_COLUMNS = new Map([
  ['id', 'integer'],
  ['created_at', 'timestamp(0) without time zone'],
  ['created_by', 'integer'],
  ['updated_at', 'timestamp(0) without time zone'],
  ['updated_by', 'integer'],
  ['version', 'integer'],
])

/** The types of columns as Postgres prints them. */
const PRINTED: Record<string, string> = {
  int: 'integer',
  'int[]': 'integer[]',
  'timestamp(0)': 'timestamp(0) without time zone',
  'time(0)': 'time(0) without time zone',
  'text collate "pg_c_utf8"': 'text collate pg_c_utf8',
}

/** Compares the columns of each table of records with the definitions of its fields. */
export async function checkRecords({ database }: Examined): Promise<Finding[]> {
  const tables = await database.rows<{ id: number; has_records: boolean; lacks_history: boolean }>(`
    select id, to_regclass(format('t%s.records', id)) is not null as has_records,
      has_history and to_regclass(format('t%s.history', id)) is null as lacks_history
    from public.tables order by id`)
  const defined = await database.rows<SchemaColumn>('select table_id, id as name, type from public.fields')
  const present = await database.rows<SchemaColumn>(COLUMNS)
  const [expected, found] = [byTable(defined), byTable(present)]
  const lines = tables.filter(({ has_records }) => has_records).flatMap(({ id }) => differences(id, expected.get(id), found.get(id)))
  return [
    ...findingOf(
      tables.flatMap(({ id, has_records, lacks_history }) => {
        if (!has_records) return `t${id}.records`
        return lacks_history ? `t${id}.history` : []
      }),
      {
        check: 'records.missing',
        severity: 'error',
        problem: (count) => `The records or the history of ${counted(count, 'table')} are missing`,
        advice: 'Restore the schemas of these tables from a backup; a dump may have left them out (pg_dump -n).',
      },
    ),
    ...findingOf(lines, {
      check: 'records.columns',
      severity: 'error',
      problem: (count) => `${counted(count, 'column')} of records different from the definition of the field`,
      advice: 'Queries of these tables fail. Undo by hand what was done to the columns, or restore the schema of the table from a backup.',
    }),
    ...leftovers(present, await runningConversions({ database })),
  ]
}

const COLUMNS = `
  select substr(n.nspname, 2)::int as table_id, a.attname as name, format_type(a.atttypid, a.atttypmod)
    || case when a.attcollation not in (0, 100) then ' collate ' || (select collname from pg_collation where oid = a.attcollation) else '' end as type
  from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relname = 'records' and c.relkind = 'r'
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where n.nspname ~ '^t[1-9][0-9]{0,9}$'`

function byTable(columns: readonly SchemaColumn[]): Map<number, Map<string, string>> {
  const tables = new Map<number, Map<string, string>>()
  for (const { table_id, name, type } of columns) {
    const table = tables.get(table_id) ?? new Map<string, string>()
    tables.set(table_id, table.set(name, type))
  }
  return tables
}

function differences(
  id: number,
  fields: ReadonlyMap<string, string> = new Map(),
  present: ReadonlyMap<string, string> = new Map(),
): string[] {
  const wanted = new Map([...SYSTEM_COLUMNS, ...[...fields].map(([name, type]) => [name, printedType(type)] as const)])
  const wrong = [...wanted].flatMap(([name, type]) => {
    const found = present.get(name)
    if (found === type) return []
    return [`t${id}.records.${name} ${found === undefined ? 'is missing' : `is ${found} instead of ${type}`}`]
  })
  const surplus = [...present.keys()].filter((name) => !wanted.has(name) && !name.startsWith('~'))
  return [...wrong, ...surplus.map((name) => `t${id}.records.${name} belongs to no field`)]
}

function printedType(type: string): string {
  const column = Object.hasOwn(TYPES, type)
    ? TYPES[type as keyof typeof TYPES].column
    : `the type ${type}, which this release does not know`
  return PRINTED[column] ?? column
}

async function runningConversions({ database }: Pick<Examined, 'database'>): Promise<Set<string>> {
  const rows = await database.rows<{ id: number }>(
    `select id from public.field_conversions where state in ('queued', 'running') and not dry_run`,
  )
  return new Set(rows.map(({ id }) => String(id)))
}

/** Columns of conversions that have ended. */
function leftovers(present: readonly SchemaColumn[], running: ReadonlySet<string>): Finding[] {
  const lines = present
    .filter(({ name }) => name.startsWith('~') && !running.has(/^~(\d+)/.exec(name)?.[1] ?? ''))
    .map(({ table_id, name }) => `alter table t${table_id}.records drop column "${name}"`)
  return findingOf(lines, {
    check: 'records.leftover',
    severity: 'warning',
    problem: (count) => `${counted(count, 'column')} left by conversions that have ended`,
    advice: 'Drop them; they only take space.',
  })
}

/** Indexes that no query uses because their build failed, and that writes nevertheless maintain. */
export async function checkIndexes({ database }: Examined): Promise<Finding[]> {
  const invalid = await database.rows<{ name: string; is_records: boolean }>(`
    select format('%I.%I', n.nspname, c.relname) as name, n.nspname ~ '^t[1-9][0-9]*$' as is_records
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
    where not i.indisvalid and (n.nspname in ('public', 'pgboss') or n.nspname ~ '^t[1-9][0-9]*$')
      and not exists (select from pg_stat_progress_create_index p where p.index_relid = c.oid)
    order by 1`)
  const named = (isRecords: boolean) => invalid.filter(({ is_records }) => is_records === isRecords).map(({ name }) => name)
  return [
    ...findingOf(named(true), {
      check: 'indexes.invalid',
      severity: 'warning',
      problem: (count) => `${counted(count, 'index build')} of records failed`,
      advice:
        'A worker drops and builds them again within five minutes. If they stay, start a worker (ROLE=worker or all), or DROP INDEX IF EXISTS by hand.',
    }),
    ...findingOf(named(false), {
      check: 'indexes.invalid',
      severity: 'error',
      problem: (count) => `${counted(count, 'system index build')} failed`,
      advice: 'REINDEX INDEX CONCURRENTLY each of them.',
    }),
  ]
}

/** The triggers that count the records of large tables. */
const TALLIES = ['tally_insert', 'tally_delete', 'tally_truncate']

/** Triggers of records that are missing or turned off. Triggers on system tables are part of `checkSystemTables`. */
export async function checkTriggers({ database }: Examined): Promise<Finding[]> {
  const missing = await database.rows<{ name: string }>(
    `select format('t%s.records %s', k.table_id, w.name) as name
    from (select distinct table_id from public.record_tallies where is_base) k cross join unnest($1::text[]) as w (name)
    where to_regclass(format('t%s.records', k.table_id)) is not null and not exists (
      select from pg_trigger t where t.tgrelid = to_regclass(format('t%s.records', k.table_id)) and t.tgname = w.name)
    order by 1`,
    [TALLIES],
  )
  const disabled = await database.rows<{ name: string }>(`
    select format('%s %s', t.tgrelid::regclass, t.tgname) as name
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    where t.tgenabled in ('D', 'R') and (n.nspname = 'public' or n.nspname ~ '^t[1-9][0-9]*$') order by 1`)
  return [
    ...findingOf(
      missing.map(({ name }) => name),
      {
        check: 'triggers.missing',
        severity: 'error',
        problem: (count) => `${counted(count, 'trigger')} missing: the number of records of these tables is wrong`,
        advice: `Drop the remaining triggers (${TALLIES.join(', ')}) of each of these tables and delete its rows from record_tallies; a worker counts the records and makes the triggers again.`,
      },
    ),
    ...findingOf(
      disabled.map(({ name }) => name),
      {
        check: 'triggers.disabled',
        severity: 'error',
        problem: (count) => `${counted(count, 'trigger')} turned off, perhaps by a restore with --disable-triggers that broke off`,
        advice: 'ALTER TABLE … ENABLE TRIGGER ALL for each of these tables, but ENABLE ALWAYS TRIGGER ALL for audit_entries.',
      },
    ),
  ]
}
