/** The encrypted columns of the database, and their re-encryption after SECRET_KEY was replaced. */
import type { SecretKeys } from '../../settings.ts'
import { type Database, ident, raw, type Sql, sql } from '../database/database.ts'
import { reencrypt, UnreadableSecret } from './secrets.ts'

/** A column of secrets. Each feature defines its own, and scripts/rotate-secrets.ts lists them all. */
export interface SealedColumn {
  /** A name for people: `passwords of SMTP integrations`. */
  what: string
  table: string
  /** The column of `encrypt`'s bytes; may be null. */
  column: string
  /** The primary key. */
  key: { column: string; type: 'int' | 'bigint' | 'bytea' }
  /** The column that the context of a secret is made of, and how. */
  contextOf: { column: string; context(value: string): string }
  /** For rows of another table that are kept as JSON: the column with the JSON, and the condition on a row `t`, as SQL text. */
  within?: { column: string; only: string }
}

/** The SELECT of the keys, secrets and contexts of all rows `t` with a secret, as SQL text. The text is made of names in code alone. */
export function selectSecrets({ table, column, key, contextOf, within }: SealedColumn): string {
  const cellOf = (name: string) => (within ? `(t.${within.column}->>'${name}')` : `t.${name}`)
  return `select t.${key.column} as key, ${cellOf(column)}::bytea as secret, ${cellOf(contextOf.column)}::text as context
    from public.${table} t where ${cellOf(column)} is not null and ${within?.only ?? 'true'}`
}

export interface Reencrypted {
  /** The secrets in the column. */
  total: number
  /** Those that were encrypted again. */
  changed: number
  /** Those that no key can decrypt. */
  unreadable: number
}

interface Row {
  key: number | Buffer
  secret: Buffer
  context: string
}

const BATCH = 500

/**
 * Encrypts all secrets of the column with the current key. It may be interrupted and repeated at any time: a batch is one statement, and
 * a secret that was changed after it was read keeps its new value.
 */
export async function reencryptColumn(db: Database, keys: SecretKeys, sealed: SealedColumn): Promise<Reencrypted> {
  const result: Reencrypted = { total: 0, changed: 0, unreadable: 0 }
  let after: Row['key'] | null = null
  for (;;) {
    const rows: Row[] = await readBatch(db, sealed, after)
    const last = rows.at(-1)
    if (!last) return result
    after = last.key
    const again = rows.map((row) => ({ ...row, fresh: readFresh(keys, sealed, row) }))
    const old = again.flatMap(({ fresh, ...row }) => (Buffer.isBuffer(fresh) ? [{ ...row, fresh }] : []))
    if (old.length) result.changed += await writeBatch(db, sealed, old)
    result.total += rows.length
    result.unreadable += again.filter(({ fresh }) => fresh === 'unreadable').length
  }
}

function readFresh(keys: SecretKeys, { contextOf }: SealedColumn, { secret, context }: Row): Buffer | 'current' | 'unreadable' {
  try {
    return reencrypt(keys, secret, contextOf.context(context)) ?? 'current'
  } catch (error) {
    if (error instanceof UnreadableSecret) return 'unreadable'
    throw error
  }
}

/** Reads the secrets in the order of the primary key. @param after the key of the last row that was read */
function readBatch(db: Database, sealed: SealedColumn, after: Row['key'] | null): Promise<Row[]> {
  const isAfter = after === null ? sql`true` : sql`t.${ident(sealed.key.column)} > ${after}`
  return db.read<Row>(sql`${raw(selectSecrets(sealed))} and ${isAfter} order by 1 limit ${BATCH}`)
}

async function writeBatch(db: Database, { table, column, key, within }: SealedColumn, rows: (Row & { fresh: Buffer })[]): Promise<number> {
  const keys = rows.map((row) => row.key)
  const old = sql`${rows.map(({ secret }) => secret)}::bytea[]`
  const fresh = sql`${rows.map((row) => row.fresh)}::bytea[]`
  const [stored, set]: [Sql, Sql] = within
    ? [
        sql`(t.${ident(within.column)}->>${column})::bytea`,
        sql`${ident(within.column)} = t.${ident(within.column)} || jsonb_build_object(${column}::text, x.fresh)`,
      ]
    : [sql`t.${ident(column)}`, sql`${ident(column)} = x.fresh`]
  const { changed } = await db.write(sql`
    update ${ident(table)} t set ${set} from unnest(${keys}::${raw(key.type)}[], ${old}, ${fresh}) as x (key, old, fresh)
    where t.${ident(key.column)} = x.key and ${stored} = x.old`)
  return changed
}
