/** The uses of a table's fields in its views, and the changes to views when a field is deleted, converted or renamed. */
import { isDeepStrictEqual } from 'node:util'
import { fieldNamed } from '../fields/by-id.ts'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { AppError } from '../platform/errors.ts'
import { nfc } from '../platform/normal-forms.ts'
import type { Cascade, FieldNeeds } from '../tables/cascade.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'
import { withLinkedTables } from '../tables/linked-tables.ts'
import { fitLayoutIndexes, indexedField } from './calendar-indexes.ts'
import { displayedFields, readConfig, structuralFields, withoutFields } from './config.ts'
import type { ViewDraft } from './draft.ts'
import { keepsMeaning } from './filters/meaning.ts'
import { keptOrder } from './filters/order.ts'
import { type Filter, leavesOf, mapLeaves } from './filters/parse.ts'
import type { ResolvedCondition } from './filters/resolve-conditions.ts'
import { queryOf, readViewsOf, type ViewRow } from './saved.ts'
import { removeViews } from './service.ts'
import { storedConditions } from './stored-conditions.ts'
import { storedOrder } from './stored-order.ts'

export const viewCascade: Cascade = { needsOf, needsOfTable, dropField, dropTable, invalidWith, retypeField, renameOptions, normalizeNames }

/** The views of a table, and the names by which they name a field that changes: its own, or one through a lookup. */
interface NamingViews {
  /** With the tables of its lookups, all as they are before the change. */
  table: TableDef
  views: ViewRow[]
  isNamed(name: string): boolean
}

/** The views of the field's table, and those of other tables whose lookups refer to it. */
async function viewsNaming(db: Database, table: TableDef, field: FieldDef): Promise<NamingViews[]> {
  const linking = await lookupsInto(db, table.id)
  const isNamedIn = (tableId: number) => {
    const linked = new Set(linking.get(tableId)?.map((id) => `${id}.${field.id}`))
    const isOwn = (name: string) => tableId === table.id && (name === field.id || name.startsWith(`${field.id}.`))
    return (name: string) => linked.has(name) || isOwn(name)
  }
  return viewsIn(db, table, { isNamedIn, others: [...linking.keys()].filter((id) => id !== table.id) })
}

/** The views of other tables that name any field of the table. */
async function viewsLinking(db: Database, table: TableDef): Promise<NamingViews[]> {
  const linking = await lookupsInto(db, table.id)
  const isNamedIn = (tableId: number) => {
    const lookups = new Set(linking.get(tableId))
    return (name: string) => name.includes('.') && lookups.has(name.slice(0, name.indexOf('.')))
  }
  const found = await viewsIn(db, table, { isNamedIn, others: [...linking.keys()].filter((id) => id !== table.id) })
  return found.filter((naming) => naming.table.id !== table.id)
}

interface Naming {
  isNamedIn(tableId: number): NamingViews['isNamed']
  /** The ids of other tables. Only those with views that name a field are answered. */
  others: readonly number[]
}

async function viewsIn(db: Database, table: TableDef, { isNamedIn, others }: Naming): Promise<NamingViews[]> {
  const views = Map.groupBy(await readViewsOf(db, [table.id, ...others]), ({ table_id }) => table_id)
  const naming = others.filter((id) => views.get(id)?.some((view) => uses(view, isNamedIn(id))))
  const definitions = await tableDefinitions(db, naming)
  const tables = [table, ...definitions.values()]
  return Promise.all(
    tables.map(async (each) => ({
      table: withTable(await withLinkedTables(db, each), table),
      views: views.get(each.id) ?? [],
      isNamed: isNamedIn(each.id),
    })),
  )
}

/** The lookups that refer to the table, by the tables that have them. */
async function lookupsInto(db: Database, tableId: number): Promise<Map<number, string[]>> {
  const found = await db.read<{ table_id: number; ids: string[] }>(sql`
    select f.table_id, array_agg(f.id) as ids from fields f join tables t on t.id = f.table_id
    where f.lookup_table_id = ${tableId} and t.deleted_at is null group by f.table_id order by f.table_id`)
  return new Map(found.map(({ table_id, ids }) => [table_id, ids]))
}

/** The definition with one of its linked tables, or itself, in the given form. */
function withTable(definition: TableDef, table: TableDef): TableDef {
  const { linked } = definition
  const fields = definition.id === table.id ? table.fields : definition.fields
  return { ...definition, fields, ...(linked && { linked: new Map(linked.has(table.id) ? [...linked, [table.id, table]] : linked) }) }
}

/** True if the view would have to be deleted with the field. */
const needs = (view: ViewRow, isNamed: NamingViews['isNamed']) =>
  [...view.filters, ...(view.filter ? leavesOf(view.filter) : [])].some(({ column }) => isNamed(column)) ||
  structuralFields(view.type, view.config).some(isNamed)

const isSortedBy = (view: ViewRow, isNamed: NamingViews['isNamed']) =>
  view.order ? view.order.some(({ field }) => isNamed(field)) : view.order_by !== null && isNamed(view.order_by)

const uses = (view: ViewRow, isNamed: NamingViews['isNamed']) =>
  needs(view, isNamed) || isSortedBy(view, isNamed) || displayedFields(view.config).some(isNamed)

const named = ({ id, name }: ViewRow) => ({ id, name })

async function needsOf({ db }: Context, table: TableDef, field: FieldDef): Promise<FieldNeeds> {
  return needsIn(await viewsNaming(db, table, field))
}

async function needsOfTable({ db }: Context, table: TableDef): Promise<FieldNeeds> {
  return needsIn(await viewsLinking(db, table))
}

function needsIn(naming: readonly NamingViews[]): FieldNeeds {
  return {
    needing: naming.flatMap(({ views, isNamed }) => views.filter((view) => needs(view, isNamed)).map(named)),
    sorting: naming.flatMap(({ views, isNamed }) => views.filter((view) => isSortedBy(view, isNamed) && !needs(view, isNamed)).map(named)),
  }
}

/** Deletes the views that need the field, and removes it from the order and the displayed fields of the others. */
async function dropField(context: Context, table: TableDef, field: FieldDef): Promise<void> {
  await drop(context, await viewsNaming(context.db, table, field))
}

/** The same for the views of other tables that name a field of a table which is deleted. */
async function dropTable(context: Context, table: TableDef): Promise<void> {
  await drop(context, await viewsLinking(context.db, table))
}

async function drop(context: Context, naming: readonly NamingViews[]): Promise<void> {
  for (const { table: own, views, isNamed } of naming) {
    await removeViews(
      context,
      own,
      views.filter((view) => needs(view, isNamed)),
    )
    for (const view of views.filter((each) => !needs(each, isNamed)))
      await rewrite(context.db, view, { ...unsorted(view, isNamed), config: withoutFields(view.config, isNamed, own) })
  }
}

/** The order of the view without the field; the other keys stay. */
function unsorted({ order, ...view }: ViewRow, isNamed: NamingViews['isNamed']) {
  if (order) return keptOrder(order.filter(({ field }) => !isNamed(field)))
  return view.order_by !== null && isNamed(view.order_by) ? keptOrder([]) : {}
}

/** Writes the view if the change of its table changes it. `updated_at` stays, because it stands for changes that people make. */
export async function rewrite(db: Database, view: ViewRow, change: Partial<ViewDraft>): Promise<void> {
  const next = { ...view, ...change }
  if (isDeepStrictEqual(next, view)) return
  const { order_by, order_dir, ...sorted } = storedOrder(next)
  const stored = storedConditions(next)
  const parts = [next.config, stored.filters, stored.filter, stored.conditions, sorted.order, sorted.sorting]
  const [config, filters, filter, conditions, order, sorting] = parts.map((part) => part && JSON.stringify(part))
  await db.write(sql`
    update views set config = ${config}::jsonb, filters = ${filters}::jsonb, filter = ${filter}::jsonb, conditions = ${conditions}::jsonb,
      order_by = ${order_by}, order_dir = ${order_dir}, order_keys = ${order}::jsonb, sorting = ${sorting}::jsonb, version = version + 1
    where table_id = ${view.table_id} and id = ${view.id}`)
}

/** The views that the changed field would make invalid, or of another meaning. */
interface InvalidViews extends NamingViews {
  /** The table as it is after the change. */
  after: TableDef
  needing: ViewRow[]
  sorting: ViewRow[]
}

async function invalidViews(db: Database, table: TableDef, changed: FieldDef): Promise<InvalidViews[]> {
  const next = withField(table, changed)
  return (await viewsNaming(db, table, changed)).map((naming) => {
    const { table: before, views, isNamed } = naming
    const after = withTable(before, next)
    const needing = views.filter((view) => needs(view, isNamed) && !staysAsIs({ ...view, ...keptOrder([]) }, before, after))
    const sorting = views.filter((view) => isSortedBy(view, isNamed) && !needing.includes(view) && !isReadable(view, after))
    return { ...naming, after, needing, sorting }
  })
}

const namesOf = (invalid: readonly InvalidViews[]): FieldNeeds => ({
  needing: invalid.flatMap(({ needing }) => needing.map(named)),
  sorting: invalid.flatMap(({ sorting }) => sorting.map(named)),
})

async function invalidWith({ db }: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds> {
  return namesOf(await invalidViews(db, table, changed))
}

/**
 * Deletes or changes the views that do not allow the new type, and creates the calendar index anew, which went with the old column. Columns
 * of linked records go if the field is no lookup any more.
 */
async function retypeField(context: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds> {
  const invalid = await invalidViews(context.db, table, changed)
  for (const { table: own, after, views, isNamed, needing, sorting } of invalid) {
    const isGone = (name: string) => isNamed(name) && typeof fieldNamed(after, name) === 'string'
    await removeViews(context, own, needing)
    const rest = views.filter((view) => !needing.includes(view))
    for (const view of rest)
      await rewrite(context.db, view, {
        ...(sorting.includes(view) && unsorted(view, isNamed)),
        config: withoutFields(view.config, isGone, own),
      })
    const isIndexed = own.id === table.id && rest.some((view) => indexedField(view) === changed.id)
    if (isIndexed) await fitLayoutIndexes(context, table.id, [], changed)
  }
  return namesOf(invalid)
}

/** The definition of the table after the change. */
const withField = (table: TableDef, changed: FieldDef): TableDef => ({
  ...table,
  fields: table.fields.map((field) => (field.id === changed.id ? changed : field)),
})

/** True if the view is valid for the changed table, and each of its conditions has the meaning that it had. */
function staysAsIs(view: ViewRow, before: TableDef, after: TableDef): boolean {
  if (!isReadable(view, after)) return false
  const [were, are] = [before, after].map((table) => leavesOf(queryOf(view, table).where))
  return (were ?? []).every((condition, index) => keepsMeaning(condition, are?.[index] as ResolvedCondition))
}

/** True if the layout, the conditions and the order of the view are valid for the table. */
function isReadable(view: ViewRow, table: TableDef): boolean {
  try {
    queryOf(view, table)
    return !readConfig(view.type, view.config, table).issues.length
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** Filters name options by title. Replacing an old title by the new one keeps the view's records the same. */
async function renameOptions({ db }: Context, table: TableDef, field: FieldDef, titles: ReadonlyMap<string, string>): Promise<void> {
  const renamedTo = new Map([...titles].map(([before, after]) => [nfc(before), after]))
  const renamed = <Condition extends Omit<Filter, 'connector'>>(condition: Condition, isNamed: NamingViews['isNamed']): Condition => {
    if (!isNamed(condition.column) || !TYPES[field.type].compares[condition.compare]?.isOptionTitle) return condition
    const newTitle = (title: unknown) => renamedTo.get(nfc(title as string)) ?? title
    return { ...condition, value: Array.isArray(condition.value) ? condition.value.map(newTitle) : newTitle(condition.value) }
  }
  for (const { views, isNamed } of await viewsNaming(db, table, field))
    for (const view of views) {
      const filters = view.filters.map((condition) => renamed(condition, isNamed))
      await rewrite(db, view, { filters, filter: view.filter && mapLeaves(view.filter, (condition) => renamed(condition, isNamed)) })
    }
}

async function normalizeNames({ db }: Context, { id }: TableDef): Promise<void> {
  await db.write(sql`
    update views v set name = normalize(v.name, NFC) where v.table_id = ${id} and v.name is not nfc normalized and not exists (
      select from views o where o.table_id = v.table_id and o.id <> v.id
        and lower(normalize(o.name, NFC) collate "pg_c_utf8") = lower(normalize(v.name, NFC) collate "pg_c_utf8"))`)
}
