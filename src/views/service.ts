/** Saved views: listing, saving, checking and deleting them. */

import { isDeepStrictEqual } from 'node:util'
import { audit, differing } from '../audit/log.ts'
import type { TableDef } from '../fields/definition.ts'
import type { Resource } from '../platform/access/authorize.ts'
import { type TableRef, type TableRow, tableResource } from '../platform/access/resources.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { type Database, DbNull, sql, toTheSecond } from '../platform/database/database.ts'
import { isUniqueViolation } from '../platform/database/database-errors.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { AppError, conflict, notFound, stale } from '../platform/errors.ts'
import { changeTable } from '../tables/alter-table.ts'
import { tableDefinition } from '../tables/definition-cache.ts'
import { withLinkedTables } from '../tables/linked-tables.ts'
import { auditPlaceOf } from '../tables/service.ts'
import { fitLayoutIndexes, indexedField, indexedFieldOf, layoutIndex } from './calendar-indexes.ts'
import { draftOf, type ViewDraft } from './draft.ts'
import { defaultView, readView, readViews, shown, type ViewRow, viewOf } from './saved.ts'
import type { NewView, View, ViewCheck, ViewUpdate } from './schema.ts'
import { storedConditions } from './stored-conditions.ts'
import { storedOrder } from './stored-order.ts'

/** The saved view named in the path. The Default view (0) is not one, because it cannot be changed. */
export const viewResource: Resource<TableRow & { view_id: number }> = {
  ids: [...tableResource.ids, { name: 'view_id', thing: 'View', found: 'view_id' }],
  select: ({ view_id, ...ids }) => sql`
    select t.*, v.id as view_id from (${tableResource.select(ids, null)}) t
    left join views v on v.table_id = t.table_id and v.id = ${view_id}`,
  check: tableResource.check,
}

const DEFAULT_VIEW = 'default view'

/** The saved view named in the path, or the Default view. */
export const anyViewResource: typeof viewResource = {
  ...viewResource,
  textOf: ({ view_id }) => (view_id === 0 ? DEFAULT_VIEW : null),
  select: (ids, of) =>
    of === DEFAULT_VIEW ? sql`select t.*, 0 as view_id from (${tableResource.select(ids, null)}) t` : viewResource.select(ids, null),
}

/** The view as the API answers it, with its version. */
const answerOf = (view: ViewRow): Answer<View> => ({ value: viewOf(view), version: view.version })

/** Returns the Default view, then the saved views ordered by name ignoring case. */
export async function list({ db }: Context, table: TableRef): Promise<{ rows: View[]; total: number }> {
  const rows = [defaultView(table), ...(await readViews(db, table.id)).map(viewOf)]
  return { rows, total: rows.length }
}

/** @throws AppError 404 if the view has just been deleted */
export async function get(context: Context, table: TableRef, viewId: number): Promise<Answer<View>> {
  if (viewId === 0) return { value: defaultView(table) }
  const view = await readView(context.db, table.id, viewId)
  if (!view) throw notFound('View')
  return answerOf(view)
}

/**
 * Saves a view after checking it against the fields of its table.
 * @throws AppError 400 naming each wrong input; 409 for a name that is taken
 */
export function create(context: Context, table: TableRef, input: NewView): Promise<Answer<View>> {
  return saving(input.name, () =>
    changeTable(context, table, async (definition) => {
      const { db, actor, now } = context
      await requireRoom(db, table.id)
      const { draft, dropped } = draftOf(input.type, input, undefined, await withLinkedTables(db, definition))
      const isTableDefault = input.is_table_default ?? false
      if (isTableDefault) await clearTableDefault(context, table.id)
      const { id } = await db.prisma.view.create({
        data: {
          accountId: definition.account_id,
          tableId: table.id,
          name: input.name,
          type: input.type,
          ...storedColumns(draft),
          isTableDefault,
          createdBy: actor.userId,
          createdAt: toTheSecond(now),
          updatedAt: toTheSecond(now),
        },
      })
      const view = (await readView(db, table.id, id)) as ViewRow
      await fitLayoutIndexes(context, table.id, [], indexedFieldOf(definition, view))
      await audit(context, 'view.created', { ...auditPlaceOf(definition), id, name: view.name, detail: { type: view.type } })
      return { ...answerOf(view), ignored: namedIfDropped(input.type, dropped) }
    }),
  )
}

/**
 * Changes the given keys of a view; null clears a key. The type cannot change.
 * @throws AppError 400 naming each wrong input; 404; 409 for a name that is taken, and for a stale If-Match
 */
export function update(context: Context, table: TableRef, viewId: number, input: ViewUpdate, ifMatch?: IfMatch): Promise<Answer<View>> {
  return saving(input.name, () =>
    changeTable(context, table, async (definition) => {
      const current = await readView(context.db, table.id, viewId)
      if (!current) throw notFound('View')
      if (isStale(ifMatch, current)) throw stale('The view has changed since', answerOf(current))
      const { draft, dropped } = draftOf(current.type, input, current, await withLinkedTables(context.db, definition))
      const ignored = namedIfDropped(current.type, dropped)
      const isTableDefault = input.is_table_default === undefined ? current.is_table_default : (input.is_table_default ?? false)
      const next = { ...current, ...draft, name: input.name ?? current.name, is_table_default: isTableDefault }
      // An update without effect keeps the version, so that it makes no If-Match stale.
      const isSame = isDeepStrictEqual(viewOf(next), viewOf(current))
      return { ...answerOf(isSame ? current : await replace(context, definition, current, next)), ignored }
    }),
  )
}

async function replace(context: Context, definition: TableDef, current: ViewRow, next: ViewRow): Promise<ViewRow> {
  const { db, now } = context
  const { table_id: tableId, id } = current
  if (next.is_table_default && !current.is_table_default) await clearTableDefault(context, tableId)
  await db.prisma.view.update({
    where: { id },
    data: {
      ...storedColumns(next),
      name: next.name,
      isTableDefault: next.is_table_default,
      updatedAt: toTheSecond(now),
      version: { increment: 1 },
    },
  })
  const view = (await readView(db, tableId, id)) as ViewRow
  if (indexedField(current) !== indexedField(view))
    await fitLayoutIndexes(context, tableId, indexesOf([current]), indexedFieldOf(definition, view))
  const detail = { changed: differing(viewOf(current), viewOf(view)) }
  await audit(context, 'view.updated', { ...auditPlaceOf(definition), id, name: view.name, detail })
  return view
}

/** @throws AppError 404 */
export async function remove(context: Context, table: TableRef, viewId: number): Promise<void> {
  await changeTable(context, table, async (definition) => {
    const view = await readView(context.db, table.id, viewId)
    if (!view) throw notFound('View')
    await removeViews(context, definition, [view])
  })
}

/** Deletes views and the indexes that only they needed, within the caller's `changeTable`. */
export async function removeViews(context: Context, table: TableDef, views: readonly ViewRow[]): Promise<void> {
  await context.db.prisma.view.deleteMany({ where: { tableId: table.id, id: { in: views.map(({ id }) => id) } } })
  await fitLayoutIndexes(context, table.id, indexesOf(views), undefined)
  for (const { id, name, type } of views) await audit(context, 'view.deleted', { ...auditPlaceOf(table), id, name, detail: { type } })
}

/**
 * Returns what `create` would store, without storing it.
 * @throws AppError as `create`
 */
export async function check({ db }: Context, table: TableRef, input: NewView): Promise<ViewCheck> {
  const definition = await tableDefinition(db, table)
  await requireRoom(db, table.id)
  const { draft, dropped } = draftOf(input.type, input, undefined, await withLinkedTables(db, definition))
  const taken = await db.read(sql`
    select from views
    where table_id = ${table.id} and lower(name collate "pg_c_utf8") = lower(${input.name}::text collate "pg_c_utf8")`)
  if (taken.length) throw nameTaken(input.name)
  const index = indexedField(draft)
  return {
    name: input.name,
    type: input.type,
    ...shown(draft),
    config: { ...draft.config },
    is_table_default: input.is_table_default ?? false,
    dropped,
    index: index === undefined ? null : layoutIndex(index),
  }
}

/** The list of views has no pages. */
const MOST_VIEWS = 500

/** @throws AppError 400 for a table with as many views as it may have. `changeTable` locks the table's row, so no view comes in between. */
async function requireRoom(db: Database, tableId: number): Promise<void> {
  const [row] = await db.read<{ count: number }>(labelled('views-count', sql`select count(*) from views where table_id = ${tableId}`))
  if (row && row.count >= MOST_VIEWS) throw new AppError('BAD_REQUEST', `A table has at most ${MOST_VIEWS} views; delete one first`)
}

/** The inputs to name in X-Ignored. A grid ignores unknown keys of its config without naming them (api.md, View). */
const namedIfDropped = (type: View['type'], dropped: readonly string[]) => (type === 'grid' ? [] : dropped)

/** At most one view of a table is its default. `changeTable` locks the table's row, and a unique index guarantees it. */
async function clearTableDefault({ db, now }: Context, tableId: number): Promise<void> {
  await db.prisma.view.updateMany({
    where: { tableId, isTableDefault: true },
    data: { isTableDefault: false, version: { increment: 1 }, updatedAt: toTheSecond(now) },
  })
}

function storedColumns({ config, ...draft }: ViewDraft) {
  const { filters, filter, conditions } = storedConditions(draft)
  const { order_by, order_dir, order, sorting } = storedOrder(draft)
  return {
    config: { ...config },
    // The values come from parsed JSON, so Prisma can store them.
    filters: filters as object[],
    filter: filter ? { ...(filter as object) } : DbNull,
    conditions: conditions ? { ...(conditions as object) } : DbNull,
    orderBy: order_by,
    orderDir: order_dir,
    orderKeys: order ? (order as object[]) : DbNull,
    sorting: sorting ? { ...(sorting as object) } : DbNull,
  }
}

const indexesOf = (views: readonly ViewRow[]): string[] => views.flatMap((view) => indexedField(view) ?? [])

async function saving<T>(name: string | undefined, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (isUniqueViolation(error)) throw nameTaken(name ?? '')
    throw error
  }
}

const nameTaken = (name: string) => conflict(`The table already has a view named '${name}'`)
