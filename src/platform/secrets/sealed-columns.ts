/** The encrypted columns of the database, and their re-encryption after SECRET_KEY was replaced. */
import type { SecretKeys } from '../../settings.ts'
import { type Database, ident, type Sql, sql } from '../database/database.ts'
import { reencrypt, UnreadableSecret } from './secrets.ts'

/** A column of secrets. Each feature defines its own, and scripts/rotate-secrets.ts lists them all. */
export interface SealedColumn {
  /** A name for people: `passwords of SMTP integrations`. */
  what: string
  table: string
  /** The column of `encrypt`'s bytes; may be null. */
  column: string
  /** The primary key. */
  key: { column: string; type: 'int' | 'bytea' }
  /** The column that the context of a secret is made of, and how. */
  contextOf: { column: string; context(value: string): string }
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
function readBatch(db: Database, { table, column, key, contextOf }: SealedColumn, after: Row['key'] | null): Promise<Row[]> {
  const isAfter = after === null ? sql`true` : sql`${ident(key.column)} > ${after}`
  return db.read<Row>(sql`
    select ${ident(key.column)} as key, ${ident(column)} as secret, ${ident(contextOf.column)}::text as context
    from ${ident(table)} where ${ident(column)} is not null and ${isAfter} order by 1 limit ${BATCH}`)
}

async function writeBatch(db: Database, { table, column, key }: SealedColumn, rows: (Row & { fresh: Buffer })[]): Promise<number> {
  const keys = rows.map((row) => row.key)
  const [keyArray, oldArray, newArray]: Sql[] = [
    key.type === 'int' ? sql`${keys}::int[]` : sql`${keys}::bytea[]`,
    sql`${rows.map(({ secret }) => secret)}::bytea[]`,
    sql`${rows.map(({ fresh }) => fresh)}::bytea[]`,
  ]
  const { changed } = await db.write(sql`
    update ${ident(table)} t set ${ident(column)} = fresh.secret
    from unnest(${keyArray}, ${oldArray}, ${newArray}) as fresh (key, old, secret)
    where t.${ident(key.column)} = fresh.key and t.${ident(column)} = fresh.old`)
  return changed
}
