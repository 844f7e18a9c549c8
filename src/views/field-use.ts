/** The uses of a table's fields in its views, and the changes to views when a field is deleted, converted or renamed. */
import { isDeepStrictEqual } from 'node:util'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { AppError } from '../platform/errors.ts'
import { nfc } from '../platform/normal-forms.ts'
import type { Cascade, FieldNeeds } from '../tables/cascade.ts'
import { fitLayoutIndexes, indexedField } from './calendar-indexes.ts'
import { readConfig, structuralFields, withoutField } from './config.ts'
import type { ViewDraft } from './draft.ts'
import { keepsMeaning } from './filters/meaning.ts'
import { keptOrder } from './filters/order.ts'
import { type Filter, leavesOf, mapLeaves } from './filters/parse.ts'
import type { ResolvedCondition } from './filters/resolve-conditions.ts'
import { queryOf, readViews, type ViewRow } from './saved.ts'
import { removeViews } from './service.ts'

export const viewCascade: Cascade = { needsOf, dropField, invalidWith, retypeField, renameOptions, normalizeNames }

/** True if the view would have to be deleted with the field. */
const needs = (view: ViewRow, fieldId: string) =>
  [...view.filters, ...(view.filter ? leavesOf(view.filter) : [])].some(({ column }) => column === fieldId) ||
  structuralFields(view.type, view.config).includes(fieldId)

const isSortedBy = (view: ViewRow, fieldId: string) =>
  view.order ? view.order.some(({ field }) => field === fieldId) : view.order_by === fieldId

async function needsOf({ db }: Context, table: TableDef, field: FieldDef): Promise<FieldNeeds> {
  const views = await readViews(db, table.id)
  const named = ({ id, name }: ViewRow) => ({ id, name })
  return {
    needing: views.filter((view) => needs(view, field.id)).map(named),
    sorting: views.filter((view) => isSortedBy(view, field.id) && !needs(view, field.id)).map(named),
  }
}

/** Deletes the views that need the field, and removes it from the order and the displayed fields of the others. */
async function dropField(context: Context, table: TableDef, field: FieldDef): Promise<void> {
  const views = await readViews(context.db, table.id)
  await removeViews(
    context,
    table,
    views.filter((view) => needs(view, field.id)),
  )
  for (const view of views.filter((each) => !needs(each, field.id)))
    await rewrite(context.db, view, { ...unsorted(view, field.id), config: withoutField(view.config, field.id, table) })
}

/** The order of the view without the field; the other keys stay. */
function unsorted({ order, ...view }: ViewRow, fieldId: string) {
  if (order) return keptOrder(order.filter(({ field }) => field !== fieldId))
  return view.order_by === fieldId ? keptOrder([]) : {}
}

/** Writes the view if the change of its table changes it. `updated_at` stays, because it stands for changes that people make. */
async function rewrite(db: Database, view: ViewRow, change: Partial<ViewDraft>): Promise<void> {
  const next = { ...view, ...change }
  if (isDeepStrictEqual(next, view)) return
  const [config, filters, filter, order] = [next.config, next.filters, next.filter, next.order].map((part) => part && JSON.stringify(part))
  await db.write(sql`
    update views set config = ${config}::jsonb, filters = ${filters}::jsonb, filter = ${filter}::jsonb, order_by = ${next.order_by},
      order_dir = ${next.order_dir}, order_keys = ${order}::jsonb, version = version + 1
    where table_id = ${view.table_id} and id = ${view.id}`)
}

async function invalidWith({ db }: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds> {
  const next = withField(table, changed)
  const views = await readViews(db, table.id)
  const named = ({ id, name }: ViewRow) => ({ id, name })
  const lost = views.filter((view) => needs(view, changed.id) && !staysAsIs({ ...view, ...keptOrder([]) }, table, next))
  const sorted = views.filter((view) => isSortedBy(view, changed.id) && !lost.includes(view) && !isReadable(view, next))
  return { needing: lost.map(named), sorting: sorted.map(named) }
}

/** Deletes or changes the views that do not allow the new type, and creates the calendar index anew, which went with the old column. */
async function retypeField(context: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds> {
  const { needing, sorting } = await invalidWith(context, table, changed)
  const isAmong = (named: FieldNeeds['needing'], { id }: ViewRow) => named.some((view) => view.id === id)
  const views = await readViews(context.db, table.id)
  await removeViews(
    context,
    table,
    views.filter((view) => isAmong(needing, view)),
  )
  for (const view of views.filter((each) => isAmong(sorting, each))) await rewrite(context.db, view, unsorted(view, changed.id))
  const rest = views.filter((view) => !isAmong(needing, view))
  if (rest.some((view) => indexedField(view) === changed.id)) await fitLayoutIndexes(context, table.id, [], changed)
  return { needing, sorting }
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
  const renamed = <Condition extends Omit<Filter, 'connector'>>(condition: Condition): Condition => {
    const namesOption = condition.column === field.id && TYPES[field.type].compares[condition.compare]?.isOptionTitle
    const title = namesOption ? renamedTo.get(nfc(condition.value as string)) : undefined
    return title === undefined ? condition : { ...condition, value: title }
  }
  for (const view of await readViews(db, table.id))
    await rewrite(db, view, { filters: view.filters.map(renamed), filter: view.filter && mapLeaves(view.filter, renamed) })
}

async function normalizeNames({ db }: Context, { id }: TableDef): Promise<void> {
  await db.write(sql`
    update views v set name = normalize(v.name, NFC) where v.table_id = ${id} and v.name is not nfc normalized and not exists (
      select from views o where o.table_id = v.table_id and o.id <> v.id
        and lower(normalize(o.name, NFC) collate "pg_c_utf8") = lower(normalize(v.name, NFC) collate "pg_c_utf8"))`)
}
