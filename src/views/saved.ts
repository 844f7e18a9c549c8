/** The rows of saved views, and what they mean as a query. */

import type { TableDef } from '../fields/definition.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { memo } from '../platform/memo.ts'
import type { WeekStart } from '../platform/time.ts'
import { outdated } from '../tables/definitions.ts'
import type { ViewType } from './config.ts'
import type { Draft } from './draft.ts'
import { mapLeaves, precedence, type Tree } from './filters/parse.ts'
import { type Checked, resolveTree } from './filters/resolve.ts'
import { resolveOrder, type Sort } from './filters/sort.ts'
import type { View } from './schema.ts'

export interface ViewRow extends Draft {
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

const columns = sql`id, account_id, table_id, name, type, config, filters, filter, order_by, order_dir,
  order_keys as "order", is_table_default, created_by, created_at, updated_at, version`

/** The saved views of a table, by name ignoring case, then id. */
export function readViews(db: Database, tableId: number): Promise<ViewRow[]> {
  return db.query<ViewRow>(
    sql`select ${columns} from views where table_id = ${tableId} order by lower(name collate "pg_c_utf8"), id`,
    'views-of-table',
  )
}

/** One saved view of that table; undefined when the table has none with the id. */
export async function readView(db: Database, tableId: number, viewId: number): Promise<ViewRow | undefined> {
  const [row] = await db.query<ViewRow>(sql`select ${columns} from views where table_id = ${tableId} and id = ${viewId}`, 'view')
  return row
}

/** A saved view as the wire has it. */
export const viewOf = ({ version: _, ...row }: ViewRow): View => ({ ...shown(row), config: { ...row.config }, is_default: false })

/** A view without the two keys that only those have which were saved with them. */
export function shown<Saved extends Pick<ViewRow, 'filter' | 'order'>>({ filter, order, ...rest }: Saved) {
  return { ...rest, ...(filter && { filter }), ...(order && { order }) }
}

/** The view that every table has: everything, in the order of ids. */
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
})

/** A view as a part of a query. It holds whatever the time and whoever asks. */
export interface SavedQuery {
  where: Tree<Checked>
  order: readonly Sort[]
  weekStart: WeekStart
}

/** The compiled views of a table by id. A change to a view makes a new version of its table and so a new definition: they are never outdated. */
const compiledViews = memo((_: TableDef) => new Map<number, SavedQuery>())

/**
 * What the view means; undefined when the table has none with the id. Compiled once per version of the table.
 * @throws AppError 400 when it names a field that is gone, which saving and deleting fields rule out; `outdated`
 */
export async function savedQuery(db: Database, table: TableDef, viewId: number): Promise<SavedQuery | undefined> {
  const kept = compiledViews(table).get(viewId)
  if (kept) return kept
  const [view] = await db.query<ViewRow & { is_current: boolean }>(
    sql`select ${columns}, (select t.version = ${table.version} from tables t where t.id = table_id) as is_current
      from views where table_id = ${table.id} and id = ${viewId}`,
    'view-to-query',
  )
  if (!view) return undefined
  // By titles that options had before, a view of now would hold other records.
  if (!view.is_current) throw outdated
  const query = queryOf(view, table)
  compiledViews(table).set(viewId, query)
  return query
}

/** @throws AppError 400 as `savedQuery` */
export function queryOf({ filters, filter, order, order_by, order_dir, config }: ViewRow, table: TableDef): SavedQuery {
  const tree = filter
    ? mapLeaves(filter, (condition) => ({ ...condition, path: ['view', 'filter'] }))
    : precedence(filters, ['view', 'filters'])
  return {
    where: resolveTree(tree, table),
    order: resolveOrder(order ? { order } : { order_by, order_dir }, table),
    weekStart: 'weekStart' in config ? config.weekStart : 'monday',
  }
}
