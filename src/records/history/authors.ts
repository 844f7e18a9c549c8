/** Names who has made a change. Rows hold ids only, so that an erased user is nowhere in them. */
import type { UserValue } from '../../fields/cell.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'

export interface Author {
  /** The acting user; for an account key its owner at the time. Null for the service itself. */
  user_id: number | null
  api_key_id: number | null
}

/** Reads the names of keys. @returns the name of an author @param users the authors' users, by id */
export async function authorNames(
  db: Database,
  accountId: number,
  authors: readonly Author[],
  users: ReadonlyMap<number, UserValue>,
): Promise<(author: Author) => string | null> {
  const keys = await keyNames(db, accountId, new Set(authors.flatMap(({ api_key_id }) => api_key_id ?? [])))
  return ({ user_id, api_key_id }) => {
    const user = user_id === null ? undefined : users.get(user_id)
    if (api_key_id === null) return user?.name ?? null
    const key = keys.get(api_key_id)
    if (key !== undefined) return `API: ${key}`
    return user && isErased(user) ? user.name : `API: Deleted key ${api_key_id}`
  }
}

/** An erased user has no address, and no keys. */
const isErased = ({ email }: UserValue) => email === null

async function keyNames(db: Database, accountId: number, ids: ReadonlySet<number>): Promise<ReadonlyMap<number, string>> {
  if (!ids.size) return new Map()
  const keys = await db.read<{ id: number; name: string }>(
    labelled('key-names', sql`select id, name from api_keys where account_id = ${accountId} and id = any(${[...ids]}::int[])`),
  )
  return new Map(keys.map(({ id, name }) => [id, name]))
}
