/** What views need of fields: asked before a field is deleted, and acted upon when it is. */
import { sql } from '../db.ts'
import type { Scope } from '../scope.ts'
import type { Dependent, FieldNeeds } from '../tables/dependents.ts'
import type { FieldDef, TableDef } from '../tables/fields.ts'
import { valueKind } from './compares.ts'
import { structuralFields, withoutField } from './config.ts'
import type { Filter } from './filter.ts'
import { readViews, type ViewRow } from './saved.ts'
import { removeViews } from './service.ts'

export const viewDependent: Dependent = { needsOf, dropField, renameOptions }

const needs = (view: ViewRow, fieldId: string) =>
  view.filters.some(({ column }) => column === fieldId) || structuralFields(view.type, view.config).includes(fieldId)

async function needsOf({ db }: Scope, table: TableDef, field: FieldDef): Promise<FieldNeeds> {
  const views = await readViews(db, table.id)
  const named = ({ id, name }: ViewRow) => ({ id, name })
  return {
    needing: views.filter((view) => needs(view, field.id)).map(named),
    sorting: views.filter((view) => view.order_by === field.id && !needs(view, field.id)).map(named),
  }
}

/** Views that cannot do without the field go; in the others it is dropped from the sort and from what is displayed. */
async function dropField(scope: Scope, table: TableDef, field: FieldDef): Promise<void> {
  const { db } = scope
  const views = await readViews(db, table.id)
  await removeViews(
    scope,
    table.id,
    views.filter((view) => needs(view, field.id)),
  )
  for (const view of views.filter((each) => !needs(each, field.id))) {
    const isSortedByIt = view.order_by === field.id
    const config = JSON.stringify(withoutField(view.config, field.id))
    if (!isSortedByIt && config === JSON.stringify(view.config)) continue
    await db.execute(sql`
      update views set config = ${config}::jsonb, version = version + 1,
        order_by = case when ${isSortedByIt} then null else order_by end, order_dir = case when ${isSortedByIt} then null else order_dir end
      where table_id = ${table.id} and id = ${view.id}`)
  }
}

/** Filters name options by their titles, so they follow a new title: a view goes on to hold the same records. */
async function renameOptions({ db }: Scope, table: TableDef, field: FieldDef, titles: ReadonlyMap<string, string>): Promise<void> {
  const renamed = (filter: Filter): Filter => {
    const namesOption = filter.column === field.id && valueKind(field.type, filter.compare) === 'option'
    const title = namesOption ? titles.get(filter.value as string) : undefined
    return title === undefined ? filter : { ...filter, value: title }
  }
  for (const view of await readViews(db, table.id)) {
    const filters = view.filters.map(renamed)
    if (filters.every((filter, index) => filter === view.filters[index])) continue
    await db.execute(sql`
      update views set filters = ${JSON.stringify(filters)}::jsonb, version = version + 1
      where table_id = ${table.id} and id = ${view.id}`)
  }
}
