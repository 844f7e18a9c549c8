/** What has to be known of a table before its grid is shown: its fields, its views, one's rights, and what one has arranged. */
import { type QueryClient, queryOptions, replaceEqualDeep, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Field } from '../cells/kind.ts'
import { type Client, useClient } from '../session/client.ts'
import { isNotHere } from '../session/errors.ts'
import { type Me, meQuery } from '../session/me.ts'
import { spacesQuery } from '../session/places.ts'
import { showableFields } from './columns/column.ts'
import { type LayoutStore, layoutOf } from './columns/layout-store.ts'
import type { Role } from './model/grid-model.ts'

export type View = Awaited<ReturnType<Client['views']['list']['query']>>['rows'][number]
export type Table = Awaited<ReturnType<Client['tables']['get']['query']>>

export interface TableData {
  table: Table
  views: View[]
  role: Role
  me: Me
  /** Fields of other tables that views or oneself show, such as `company.city`. */
  linked: ReadonlyMap<string, Field>
  /** By name, what one has arranged for oneself. */
  preferences: ReadonlyMap<string, unknown>
}

const preferencesOf = (tableId: number) => `grid.${tableId}.`
const preferenceOf = (tableId: number, viewId: number) => `${preferencesOf(tableId)}${viewId}`
const ROW_HEIGHT_PREFERENCE = 'grid.rows'

/** What was read so long ago is not read again, so that a page can begin to read before it is shown. */
const FRESH_MS = 10_000

/**
 * The definition is asked for each time that a table is opened, because a query through columns that are gone fails, and when one comes
 * back to the page: a stream says nothing of a right that was lost.
 */
export const tableDataQuery = (client: Client, queries: QueryClient, tableId: number) =>
  queryOptions({
    queryKey: ['grid', tableId],
    queryFn: () => readTableData(client, queries, tableId),
    structuralSharing: (before, after) => withEqualParts(before as TableData | undefined, after as TableData),
    ...{ staleTime: FRESH_MS, gcTime: FRESH_MS, refetchOnReconnect: false },
  })

/** What is read again and is the same stays the same object, so that an open grid is not made anew. */
function withEqualParts(before: TableData | undefined, after: TableData): TableData {
  if (!before) return after
  const same = <Value>(one: ReadonlyMap<string, Value>, other: ReadonlyMap<string, Value>) =>
    JSON.stringify([...one]) === JSON.stringify([...other]) ? one : other
  return replaceEqualDeep(before, {
    ...after,
    linked: same(before.linked, after.linked),
    preferences: same(before.preferences, after.preferences),
  })
}

export function useTableData(tableId: number) {
  const client = useClient()
  const queries = useQueryClient()
  return useQuery(tableDataQuery(client, queries, tableId))
}

async function readTableData(client: Client, queries: QueryClient, tableId: number): Promise<TableData> {
  const [table, views, me, spaces, preferences] = await Promise.all([
    client.tables.get.query({ table_id: tableId }),
    client.views.list.query({ table_id: tableId }),
    queries.ensureQueryData(meQuery(client)),
    queries.fetchQuery(spacesQuery(client)),
    client.preferences.list.query({ prefix: 'grid.' }),
  ])
  return {
    table,
    views: views.rows,
    me,
    role: spaces.find(({ id }) => id === table.space_id)?.role ?? 'viewer',
    linked: await readLinked(client, table, [
      ...views.rows.flatMap(({ config }) => textsIn(config?.columns)),
      ...preferences.rows.flatMap(({ name, value }) => (name.startsWith(preferencesOf(tableId)) ? columnsIn(value) : [])),
      // A column that was just added may not be stored yet.
      ...(queries.getQueryData<TableData>(['grid', tableId])?.linked.keys() ?? []),
    ]),
    preferences: new Map(preferences.rows.map(({ name, value }) => [name, value])),
  }
}

/** The definitions of the fields that are named through lookups. @param columns ids of fields, among them such names */
async function readLinked(client: Client, table: Table, columns: readonly string[]): Promise<Map<string, Field>> {
  const names = [...new Set(columns.filter((name) => name.includes('.')))]
  const linked = new Map<string, Field>()
  const tables = new Map<number, Promise<Table | null>>()
  for (const name of names) {
    const [lookupId, fieldId] = name.split('.')
    const lookup = table.fields.find(({ id }) => id === lookupId)
    if (lookup?.table === undefined) continue
    const other = tables.get(lookup.table) ?? readIfThere(client, lookup.table)
    tables.set(lookup.table, other)
    const field = (await other)?.fields.find(({ id }) => id === fieldId)
    if (field) linked.set(name, fieldThrough(lookup, field))
  }
  return linked
}

async function readIfThere(client: Client, table_id: number): Promise<Table | null> {
  try {
    return await client.tables.get.query({ table_id })
  } catch (error) {
    if (isNotHere(error)) return null
    throw error
  }
}

/** The field of another table as a column of this one. @param lookup the link that leads there */
const fieldThrough = (lookup: Field, field: Field): Field => ({
  ...field,
  ...{ id: `${lookup.id}.${field.id}`, name: `${lookup.name}: ${field.name}` },
  linked: lookup.type === 'multi_lookup' ? 'many' : 'one',
})

/** What of a linked table can be a column, the fields that people fill first. */
export const columnsThrough = (lookup: Field, linked: Table): Field[] =>
  showableFields(linked.fields).flatMap((field) => (field.key ? [] : fieldThrough(lookup, field)))

/** Lets an open grid know a field of another table, so that it can show it. */
export function defineLinked(queries: QueryClient, tableId: number, field: Field): void {
  queries.setQueryData<TableData>(['grid', tableId], (data) => data && { ...data, linked: new Map([...data.linked, [field.id, field]]) })
}

const columnsIn = (layout: unknown): string[] =>
  textsIn(typeof layout === 'object' && layout !== null && 'columns' in layout ? layout.columns : [])
const textsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])

/** The view of the address, or the one that the table opens first. Undefined: the address names one that is gone. */
export function viewOf({ views }: TableData, viewId: number | undefined): View | undefined {
  if (viewId !== undefined) return views.find(({ id }) => id === viewId)
  return views.find(({ is_table_default }) => is_table_default) ?? views.find(({ is_default }) => is_default)
}

/** The layout of a view. What admins arrange is the view's; what others arrange is their own. */
export function layoutOfView({ preferences, role, table }: TableData, view: View) {
  const own = preferences.get(preferenceOf(table.id, view.id))
  const columns = keepsInView(role, view) ? withoutColumns(own) : own
  return { ...layoutOf(view.config, columns), isTall: preferences.get(ROW_HEIGHT_PREFERENCE) === 'tall' }
}

/** The config of views of other types has no columns. */
export const keepsInView = (role: Role, view: View) => role === 'admin' && !view.is_default && view.type === 'grid'
const withoutColumns = (own: unknown) => (typeof own === 'object' && own !== null ? { ...own, columns: null, widths: null } : own)

/** Changes of a layout are sent together once one rests for so long. */
const SAVE_MS = 400

export function createLayoutStore(
  client: Client,
  { table, role, preferences }: TableData,
  view: View,
  failed: (error: unknown) => void,
): LayoutStore {
  const name = preferenceOf(table.id, view.id)
  const before = preferences.get(name)
  let own: Record<string, unknown> = typeof before === 'object' && before !== null ? { ...before } : {}
  let config: Record<string, unknown> = { ...view.config }
  let timer: ReturnType<typeof setTimeout> | undefined
  let changed = new Set<string>()
  let sending = 0
  let sent: Promise<void> = Promise.resolve()

  async function send(): Promise<void> {
    const parts = changed
    changed = new Set()
    const isInView = keepsInView(role, view)
    if (parts.has('rows')) await client.preferences.update.mutate({ name: ROW_HEIGHT_PREFERENCE, value: own.isTall ? 'tall' : null })
    if (isInView && parts.has('columns')) await client.views.update.mutate({ table_id: table.id, view_id: view.id, config })
    if (parts.has('own') || (!isInView && parts.has('columns'))) {
      const { isTall: _, ...value } = own
      await client.preferences.update.mutate({ name, value })
    }
  }

  return {
    save({ columns, widths, isTall, sums }) {
      const arranged = { ...(columns !== undefined && { columns: columns ?? [] }), ...(widths && { widths }) }
      if (Object.keys(arranged).length) changed.add('columns')
      if (isTall !== undefined) changed.add('rows')
      if (sums) changed.add('own')
      config = { ...config, ...arranged }
      own = { ...own, ...arranged, ...(isTall !== undefined && { isTall }), ...(sums && { sums }) }
      clearTimeout(timer)
      timer = setTimeout(() => {
        sending++
        // One waits for the other, so that what was arranged last is what is kept.
        sent = sent
          .then(send)
          .catch(failed)
          .finally(() => sending--)
      }, SAVE_MS)
    },
    isSaving: () => changed.size > 0 || sending > 0,
  }
}
