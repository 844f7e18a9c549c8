/**
 * The order of a view as it is stored. The previous release knows no keys of linked fields, and none that say where empty values come: it
 * would answer 400 for every query through the view, and plan no indexes of its table. So in place of such an order it finds none, and the
 * order is in a column that it leaves alone.
 */
import { type Sql, sql } from '../platform/database/database.ts'
import type { SortKey } from './filters/order.ts'

export interface ViewOrder {
  order_by: string | null
  order_dir: 'A' | 'D' | null
  /** Null unless the view was saved with `order`. Its first key is repeated in `order_by` and `order_dir`. */
  order: SortKey[] | null
}

interface StoredOrder extends ViewOrder {
  /** The order that counts; null if it is in the other three. */
  sorting: ViewOrder | null
}

export const storedOrder = ({ order_by, order_dir, order }: ViewOrder): StoredOrder =>
  (order ?? [{ field: order_by }]).every(isKnownBefore)
    ? { order_by, order_dir, order, sorting: null }
    : { order_by: null, order_dir: null, order: null, sorting: { order_by, order_dir, order } }

/** True if the previous release can read the key: a field of the table itself, and at most a direction. */
const isKnownBefore = ({ field, dir: _, ...others }: Partial<Record<keyof SortKey, string | null>>): boolean =>
  !field?.includes('.') && !Object.keys(others).length

/** Whether the column counts. An order that the previous release has saved since counts in its place. */
const isApart: Sql = sql`(sorting is not null and order_by is null and order_dir is null and order_keys is null)`

/** The order that counts, as columns of `views`. */
export const orderColumns: Sql = sql`case when ${isApart} then sorting->>'order_by' else order_by end as order_by,
  case when ${isApart} then sorting->>'order_dir' else order_dir end as order_dir,
  case when ${isApart} then nullif(sorting->'order', 'null'::jsonb) else order_keys end as "order"`
