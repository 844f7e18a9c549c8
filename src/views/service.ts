import { isDeepStrictEqual } from 'node:util'
import type { Resource } from '../platform/access/authorize.ts'
import { type TableRef, type TableRow, tableResource } from '../platform/access/resources.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { DbNull, sql, toTheSecond } from '../platform/database/database.ts'
import { conflict, isUniqueViolation, notFound, stale } from '../platform/http/errors.ts'
import { changeTable } from '../tables/alter-table.ts'
import { tableDefinition } from '../tables/definitions.ts'
import { fitLayoutIndexes, indexedField, layoutIndex } from './calendar-indexes.ts'
import { type Draft, draftOf } from './draft.ts'
import { defaultView, readView, readViews, shown, type ViewRow, viewOf } from './saved.ts'
import type { NewView, View, ViewCheck, ViewUpdate } from './schema.ts'

/** A saved view named in the path. The Default view (0) is none: it cannot be changed. */
export const viewResource: Resource<TableRow & { view_id: number }> = {
  ids: [...tableResource.ids, { name: 'view_id', thing: 'View', found: 'view_id' }],
  select: ({ table_id = 0, view_id }) => sql`
    select t.*, v.id as view_id from (${tableResource.select({ table_id })}) t
    left join views v on v.table_id = t.table_id and v.id = ${view_id}`,
  check: tableResource.check,
}

/** The same, or the Default view. */
export const anyViewResource: typeof viewResource = {
  ...viewResource,
  select: ({ table_id = 0, view_id = 0 }) =>
    view_id === 0
      ? sql`select t.*, 0 as view_id from (${tableResource.select({ table_id })}) t`
      : viewResource.select({ table_id, view_id }),
}

/** The view as the wire has it, with its version. */
const answerOf = (view: ViewRow): Answer<View> => ({ value: viewOf(view), version: view.version })

/** The Default view first, then the saved views by name ignoring case. */
export async function list({ db }: Context, table: TableRef): Promise<{ rows: View[]; total: number }> {
  const rows = [defaultView(table), ...(await readViews(db, table.id)).map(viewOf)]
  return { rows, total: rows.length }
}

/** @throws AppError 404 when it has just been deleted */
export async function get(context: Context, table: TableRef, viewId: number): Promise<Answer<View>> {
  if (viewId === 0) return { value: defaultView(table) }
  const view = await readView(context.db, table.id, viewId)
  if (!view) throw notFound('View')
  return answerOf(view)
}

/**
 * Saves a view, checked against the fields of its table.
 * @throws AppError 400 naming everything that is wrong; 409 for a name that is taken
 */
export function create(context: Context, table: TableRef, input: NewView): Promise<Answer<View>> {
  return saving(input.name, () =>
    changeTable(context, table, async (definition) => {
      const { db, actor, now } = context
      const { draft, dropped } = draftOf(input.type, input, undefined, definition)
      const isTableDefault = input.is_table_default ?? false
      if (isTableDefault) await clearTableDefault(context, table.id)
      const { id } = await db.prisma.view.create({
        data: {
          accountId: definition.account_id,
          tableId: table.id,
          name: input.name,
          type: input.type,
          ...columnsOf(draft),
          isTableDefault,
          createdBy: actor.userId,
          createdAt: toTheSecond(now),
          updatedAt: toTheSecond(now),
        },
      })
      const view = (await readView(db, table.id, id)) as ViewRow
      await fitLayoutIndexes(context, table.id, [], indexedField(view))
      return { ...answerOf(view), ignored: namedIfDropped(input.type, dropped) }
    }),
  )
}

/**
 * Changes what is given; null clears. The type of a view stays.
 * @throws AppError 400 naming everything that is wrong; 404; 409 for a name that is taken, and for a stale If-Match
 */
export function update(context: Context, table: TableRef, viewId: number, input: ViewUpdate, ifMatch?: IfMatch): Promise<Answer<View>> {
  return saving(input.name, () =>
    changeTable(context, table, async (definition) => {
      const { db, now } = context
      const present = await readView(db, table.id, viewId)
      if (!present) throw notFound('View')
      if (isStale(ifMatch, present)) throw stale('The view has changed since', answerOf(present))
      const { draft, dropped } = draftOf(present.type, input, present, definition)
      const ignored = namedIfDropped(present.type, dropped)
      const isTableDefault = input.is_table_default === undefined ? present.is_table_default : (input.is_table_default ?? false)
      // What changes nothing makes nobody's If-Match stale.
      const next = { ...present, ...draft, name: input.name ?? present.name, is_table_default: isTableDefault }
      if (isDeepStrictEqual(viewOf(next), viewOf(present))) return { ...answerOf(present), ignored }
      if (isTableDefault && !present.is_table_default) await clearTableDefault(context, table.id)
      await db.prisma.view.update({
        where: { id: viewId },
        data: {
          ...columnsOf(draft),
          name: next.name,
          isTableDefault,
          updatedAt: toTheSecond(now),
          version: { increment: 1 },
        },
      })
      const view = (await readView(db, table.id, viewId)) as ViewRow
      if (indexedField(present) !== indexedField(view)) await fitLayoutIndexes(context, table.id, indexesOf([present]), indexedField(view))
      return { ...answerOf(view), ignored }
    }),
  )
}

/** @throws AppError 404 */
export async function remove(context: Context, table: TableRef, viewId: number): Promise<void> {
  await changeTable(context, table, async () => {
    const view = await readView(context.db, table.id, viewId)
    if (!view) throw notFound('View')
    await removeViews(context, table.id, [view])
  })
}

/** Deletes the views, and the indexes that only they needed, in the change of the table under way. */
export async function removeViews(context: Context, tableId: number, views: readonly ViewRow[]): Promise<void> {
  await context.db.prisma.view.deleteMany({ where: { tableId, id: { in: views.map(({ id }) => id) } } })
  await fitLayoutIndexes(context, tableId, indexesOf(views), undefined)
}

/**
 * What creating the view would store, without doing it.
 * @throws AppError as `create`
 */
export async function check({ db }: Context, table: TableRef, input: NewView): Promise<ViewCheck> {
  const definition = await tableDefinition(db, table)
  const { draft, dropped } = draftOf(input.type, input, undefined, definition)
  const taken = await db.query(
    sql`select from views where table_id = ${table.id} and lower(name collate "pg_c_utf8") = lower(${input.name}::text collate "pg_c_utf8")`,
  )
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

/** The keys to name as ignored: a grid drops keys of its config in silence, any other layout names them. */
const namedIfDropped = (type: View['type'], dropped: readonly string[]) => (type === 'grid' ? [] : dropped)

/** At most one view of a table has the mark. The lock on the table's row lets one change in at a time; a unique index stands behind. */
async function clearTableDefault({ db, now }: Context, tableId: number): Promise<void> {
  await db.prisma.view.updateMany({
    where: { tableId, isTableDefault: true },
    data: { isTableDefault: false, version: { increment: 1 }, updatedAt: toTheSecond(now) },
  })
}

const columnsOf = ({ config, filters, filter, order_by, order_dir, order }: Draft) => ({
  config: { ...config },
  // As parsed from JSON, so Prisma can write it back.
  filters: filters as object[],
  filter: filter ? { ...(filter as object) } : DbNull,
  orderBy: order_by,
  orderDir: order_dir,
  orderKeys: order ? (order as object[]) : DbNull,
})

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
