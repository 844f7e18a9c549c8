/** Reads saved views, and compiles them to queries. */

import type { TableDef } from '../fields/definition.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { outdated } from '../platform/database/outdated-definition.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { memo } from '../platform/memo.ts'
import type { WeekStart } from '../platform/time/time.ts'
import type { ViewType } from './config.ts'
import type { ViewDraft } from './draft.ts'
import { resolveOrder, type Sort } from './filters/order.ts'
import { mapLeaves, type ParsedCondition, precedence, type Tree } from './filters/parse.ts'
import { type ResolvedCondition, resolveTree } from './filters/resolve-conditions.ts'
import type { View } from './schema.ts'
import { conditionColumns } from './stored-conditions.ts'
import { orderColumns } from './stored-order.ts'

export interface ViewRow extends ViewDraft {
  id: number
  account_id: number
  table_id: number
  name: string
  type: ViewType
  is_table_default: boolean
  created_by: number
  created_at: string
  updated_at: string
  version: number
}

const columns = sql`id, account_id, table_id, name, type, config, ${conditionColumns}, ${orderColumns},
  is_table_default, created_by, created_at, updated_at, version`

/** The saved views of a table, ordered by name ignoring case, then by id. */
export function readViews(db: Database, tableId: number): Promise<ViewRow[]> {
  return db.read<ViewRow>(
    labelled('views-of-table', sql`select ${columns} from views where table_id = ${tableId} order by lower(name collate "pg_c_utf8"), id`),
  )
}

/** The same of several tables, those of each in this order. */
export function readViewsOf(db: Database, tableIds: readonly number[]): Promise<ViewRow[]> {
  return db.read<ViewRow>(
    labelled(
      'views-of-tables',
      sql`select ${columns} from views where table_id = any(${tableIds}::int[]) order by lower(name collate "pg_c_utf8"), id`,
    ),
  )
}

/** Returns undefined if the table has no such view. */
export async function readView(db: Database, tableId: number, viewId: number): Promise<ViewRow | undefined> {
  const [row] = await db.read<ViewRow>(labelled('view', sql`select ${columns} from views where table_id = ${tableId} and id = ${viewId}`))
  return row
}

/** A saved view as the API answers it. */
export const viewOf = (row: ViewRow): View => ({ ...shown(row), config: { ...row.config }, is_default: false })

/** Omits `filter` and `order` from views that were saved without them. */
export function shown<Saved extends Pick<ViewRow, 'filter' | 'order'>>({ filter, order, ...rest }: Saved) {
  return { ...rest, ...(filter && { filter }), ...(order && { order }) }
}

/** The view that every table has: all records, in the order of their ids. */
export const defaultView = (table: { id: number; account_id: number }): View => ({
  id: 0,
  account_id: table.account_id,
  table_id: table.id,
  name: 'Default',
  type: 'grid',
  config: null,
  filters: [],
  order_by: null,
  order_dir: null,
  created_by: 0,
  created_at: '',
  updated_at: '',
  is_default: true,
  is_table_default: false,
  version: 0,
})

/** A compiled view. It depends on neither the time nor the caller. */
export interface SavedQuery {
  where: Tree<ResolvedCondition>
  order: readonly Sort[]
  weekStart: WeekStart
}

/** The compiled views of a table by id. They are never outdated: a change of a view makes a new version, and definition, of its table. */
const compiledViews = memo((_: TableDef) => new Map<number, SavedQuery>())

/**
 * Returns the compiled view, or undefined if the table has no such view. Compiles it once per version of the table.
 * @throws AppError 400 if it names a deleted field, which the checks on saving views and deleting fields prevent
 * @throws outdated if the table has a newer version than the definition
 */
export async function savedQuery(db: Database, table: TableDef, viewId: number): Promise<SavedQuery | undefined> {
  const kept = compiledViews(table).get(viewId)
  if (kept) return kept
  const [view] = await db.read<ViewRow & { is_current: boolean }>(
    labelled(
      'view-to-query',
      sql`select ${columns}, (select t.version = ${table.version} from tables t where t.id = table_id) as is_current
      from views where table_id = ${table.id} and id = ${viewId}`,
    ),
  )
  if (!view) return undefined
  // The current view may use new option titles, which an old definition does not know.
  if (!view.is_current) throw outdated
  const query = queryOf(view, table)
  compiledViews(table).set(viewId, query)
  return query
}

/** @throws AppError 400 as `savedQuery` */
export function queryOf({ filters, filter, order, order_by, order_dir, config }: ViewRow, table: TableDef): SavedQuery {
  const tree: Tree<ParsedCondition> = filter
    ? mapLeaves(filter, (condition) => ({ ...condition, path: ['view', 'filter'] }))
    : precedence(filters, ['view', 'filters'])
  return {
    where: resolveTree(tree, table),
    order: resolveOrder(order ? { order } : { order_by, order_dir }, table),
    weekStart: 'weekStart' in config ? config.weekStart : 'monday',
  }
}
