/** Compares the database that the migrations create with prisma/schema.prisma, object by object. */
import pg from 'pg'
import { MIGRATIONS_DIR, readMigrations } from '../src/platform/database/migrations/migrations.ts'

/** The objects that Prisma's schema cannot express and the migrations add by hand. A missing one counts as drift, too. */
const ALLOWED_EXTRAS: RegExp[] = [
  /^extension pg_trgm$/,
  /^sequence change_ids bigint of nothing$/,
  /^unlogged table rate_windows$/,
  /^unlogged table sign_in_failures$/,
  /^check \w+\.\w+_check /,
  /^index views_table_id_lower_name_key /,
  /^index views_one_default_per_table /,
  /^function tally_(?:inserts|deletes|truncate)\(\) /,
  /^function tally_(?:stored|deleted)_files\(\) /,
  /^trigger stored_files\.tally_(?:insert|delete) /,
  /^function change_access_version\(integer\) /,
  /^function (?:all_)?access_changed(?:_of_account|_of_session)?\(\) /,
  /^constraint \w+\.\w+_access_(?:changed|ended) TRIGGER DEFERRABLE INITIALLY DEFERRED$/,
  /^trigger \w+\.\w+_access_(?:changed|ended|truncated) /,
  /^function require_table_version\(integer,integer\) /,
  /^index record_comments_mails_idx /,
  /^function refuse_(?:audit_change|early_audit_deletion)\(\) /,
  /^trigger audit_entries\.audit_entries_(?:update|truncate|delete) always /,
  /^index stored_files_storage_key_idx /,
  /^index tables_space_id_lower_name_key /,
  /^index fields_table_id_lower_name_key /,
  /^index bulk_changes_undoes_key /,
  /^index email_signatures_one_default_per_user /,
  /^index tables_deleted_idx /,
  /^index tasks_due_reminders_idx /,
  /^index tasks_due_of_(?:assignee|creator)_idx /,
  /^index tasks_external_id_key /,
  /^index notifications_waiting_idx /,
  /^index notifications_unread_idx /,
  /^index outbound_emails_(due|leased)_idx /,
  /^index inbound_verdicts_pending_idx /,
  /^index inbound_verdicts_waiting_idx /,
  /^index inbound_emails_waiting_idx /,
  /^index field_conversions_one_per_table /,
  /^index deleted_rows_(?:reply_tokens|verdicts|tasks|pixels)_idx /,
]

/**
 * Builds both in scratch databases of the server, and compares their catalogues.
 * @param schemaSql the statements that create prisma/schema.prisma in an empty database
 * @returns `drift`, a line for each object that only one of them has; `extras`, those of ALLOWED_EXTRAS
 */
export async function compareWithSchema(
  server: pg.ClientConfig,
  schemaSql: string,
  migrationsDir = MIGRATIONS_DIR,
): Promise<{ drift: string[]; extras: string[] }> {
  const migrated = await catalogueAfter(
    server,
    'gridpost_migrated',
    readMigrations(migrationsDir).map(({ sql }) => sql),
  )
  const described = await catalogueAfter(server, 'gridpost_described', [schemaSql])
  const surplus = migrated.filter((line) => !described.includes(line))
  const missing = described.filter((line) => !migrated.includes(line))
  const isExtra = (line: string) => ALLOWED_EXTRAS.some((pattern) => pattern.test(line))
  const unseen = ALLOWED_EXTRAS.filter((pattern) => !surplus.some((line) => pattern.test(line)))
  return {
    drift: [
      ...missing.map((line) => `only in the schema: ${line}`),
      ...surplus.filter((line) => !isExtra(line)).map((line) => `only in the migrations: ${line}`),
      ...unseen.map((pattern) => `allowed in scripts/catalogue.ts, but not made: ${pattern.source}`),
    ],
    extras: surplus.filter(isExtra),
  }
}

/** Runs the scripts in a new database of the server, which is dropped again. @returns its objects, as `catalogueOf` does */
export async function catalogueAfter(server: pg.ClientConfig, database: string, scripts: string[]): Promise<string[]> {
  const maintenance = await connect(server)
  try {
    await maintenance.query(`DROP DATABASE IF EXISTS ${database}`)
    await maintenance.query(`CREATE DATABASE ${database}`)
    const client = await connect({ ...server, database })
    try {
      for (const script of scripts) await client.query(script)
      return await catalogueOf(async (text) => (await client.query<{ line: string }>(text)).rows)
    } finally {
      await client.end()
    }
  } finally {
    await maintenance.query(`DROP DATABASE IF EXISTS ${database}`)
    await maintenance.end()
  }
}

/** Every object of the schema `public` as one line. @param read runs one statement */
export async function catalogueOf(read: (text: string) => Promise<{ line: string }[]>): Promise<string[]> {
  return (await read(CATALOGUE)).map(({ line }) => line)
}

async function connect(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config)
  await client.connect()
  return client
}

/** Returns every object of the schema `public` as one line, except for the objects of extensions. */
const CATALOGUE = `
WITH ours AS (
  SELECT c.* FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
), lines AS (
  SELECT 'extension ' || extname AS line FROM pg_extension WHERE extname <> 'plpgsql'
  UNION ALL SELECT 'table ' || relname FROM ours WHERE relkind IN ('r', 'p')
  UNION ALL SELECT 'unlogged table ' || relname FROM ours WHERE relkind = 'r' AND relpersistence = 'u'
  UNION ALL SELECT 'relation ' || relname || ' of kind ' || relkind::text FROM ours WHERE relkind NOT IN ('r', 'p', 'i', 'S')
  UNION ALL SELECT 'sequence ' || c.relname || ' ' || format_type(s.seqtypid, NULL) || ' of ' || coalesce(d.refobjid::regclass::text || '.' || d.refobjsubid, 'nothing')
    FROM ours c JOIN pg_sequence s ON s.seqrelid = c.oid LEFT JOIN pg_depend d ON d.objid = c.oid AND d.deptype IN ('a', 'i')
  UNION ALL SELECT format('column %s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attcollation NOT IN (0, 100) THEN ' collate ' || a.attcollation::regcollation END,
      CASE WHEN a.attnotnull THEN ' not null' END, ' default ' || pg_get_expr(e.adbin, e.adrelid))
    FROM ours c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef e ON e.adrelid = c.oid AND e.adnum = a.attnum WHERE c.relkind IN ('r', 'p')
  UNION ALL SELECT 'index ' || c.relname || ' ' || pg_get_indexdef(c.oid) FROM ours c WHERE c.relkind = 'i'
  UNION ALL SELECT CASE contype WHEN 'c' THEN 'check ' ELSE 'constraint ' END || c.relname || '.' || k.conname || ' ' || pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN ours c ON c.oid = k.conrelid WHERE k.contype <> 'n'
  UNION ALL SELECT 'type ' || typname FROM pg_type t WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
  UNION ALL SELECT format('function %s %s%s', p.oid::regprocedure, array_to_string(p.proconfig, ' ') || ' ', md5(p.prosrc))
    FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  UNION ALL SELECT format('trigger %s.%s %s%s', c.relname, t.tgname, CASE t.tgenabled WHEN 'A' THEN 'always ' END, pg_get_triggerdef(t.oid))
    FROM pg_trigger t JOIN ours c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
)
SELECT line FROM lines ORDER BY line`
