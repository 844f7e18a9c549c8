/** Conditions of saved views that name a user by their address or name, when these change. */
import { confirmedChange } from '../auth/address-change.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { changeTable } from '../tables/alter-table.ts'
import { rewrite } from './field-use.ts'
import { mapLeaves } from './filters/parse.ts'
import { readViews, type ViewRow } from './saved.ts'

/** A user as conditions name them: the address in lower case, and the name where a condition asks for parts. */
interface NamedUser {
  email: string
  name?: string
}

/** What a condition says in their place. @param takesPart whether it asks for a part of a name or an address, so that no id fits */
type Replacement = (takesPart: boolean) => string | number

/** Gives the conditions of the account's views the new address of a user. */
export async function followAddressChange(context: Context, { change_id }: { change_id: number }): Promise<void> {
  const change = await confirmedChange(context.db, change_id)
  if (change) await replaceUser(context, change.account_id, { email: change.from }, () => change.to)
}

/**
 * Replaces a user in the conditions on user fields of all views of an account; other fields hold what people wrote. Each table is changed
 * in a transaction of its own, and a second call finds nothing more to do.
 */
export async function replaceUser(context: Context, accountId: number, user: NamedUser, replacement: Replacement): Promise<void> {
  const { db, transaction } = context
  const columns = await userColumns(db, accountId)
  for (const { table_id: id, is_deleted } of await tablesNaming(db, accountId, user)) {
    const change = async () => {
      for (const view of await readViews(db, id)) await rewrite(db, view, conditionsWithout(view, user, replacement, columns.get(id)))
    }
    // A deleted table, which can be restored, has no readers who would have to see a new version.
    await (is_deleted ? transaction(change) : changeTable(context, { id }, change))
  }
}

/** The fields of users by table, also those of linked tables as `<lookup>.<field>`; true for a field of several users. */
async function userColumns(db: Database, accountId: number): Promise<Map<number, Map<string, boolean>>> {
  const rows = await db.read<{ table_id: number; column: string; is_multiple: boolean }>(sql`
    with people as (select table_id, id, type = 'multi_user' as is_multiple from fields
      where account_id = ${accountId} and type in ('user', 'multi_user'))
    select p.table_id, p.id as "column", p.is_multiple from people p
    union all
    select l.table_id, l.id || '.' || p.id, p.is_multiple from fields l join people p on p.table_id = l.lookup_table_id`)
  const columns = new Map<number, Map<string, boolean>>()
  for (const { table_id, column, is_multiple } of rows)
    columns.set(table_id, (columns.get(table_id) ?? new Map<string, boolean>()).set(column, is_multiple))
  return columns
}

function tablesNaming(db: Database, accountId: number, { email, name = email }: NamedUser) {
  const conditions = sql`lower(v.filters::text || coalesce(v.filter::text, '') || coalesce(v.conditions::text, ''))`
  return db.read<{ table_id: number; is_deleted: boolean }>(sql`
    select t.id as table_id, t.deleted_at is not null as is_deleted from tables t
    where t.account_id = ${accountId} and exists (select from views v where v.table_id = t.id
      and (strpos(${conditions}, ${email}) > 0 or strpos(${conditions}, lower(${jsonTextOf(name)})) > 0))
    order by t.id`)
}

/** The text as it stands in the text of a JSON value. */
const jsonTextOf = (text: string) => JSON.stringify(text).slice(1, -1)

function conditionsWithout(
  { filters, filter }: ViewRow,
  { email, name }: NamedUser,
  replacement: Replacement,
  columns: ReadonlyMap<string, boolean> = new Map(),
): Pick<ViewRow, 'filters' | 'filter'> {
  const names = (value: unknown, takesPart: boolean) => {
    const text = typeof value === 'string' ? value.trim().toLowerCase() : ''
    return text === email || (takesPart && text !== '' && text === name?.toLowerCase())
  }
  const replaced = <Leaf extends { column: string; compare: string; value?: unknown }>(leaf: Leaf): Leaf => {
    const isMultiple = columns.get(leaf.column)
    if (isMultiple === undefined) return leaf
    const takesPart = !isMultiple && leaf.compare !== '=' && leaf.compare !== '!='
    const one = (value: unknown) => (names(value, takesPart) ? replacement(takesPart) : value)
    return 'value' in leaf ? { ...leaf, value: Array.isArray(leaf.value) ? leaf.value.map(one) : one(leaf.value) } : leaf
  }
  return { filters: filters.map(replaced), filter: filter && mapLeaves(filter, replaced) }
}
