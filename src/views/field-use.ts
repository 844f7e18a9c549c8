/** What views need of fields: asked before a field is deleted, and acted upon when it is. */
import { sql } from '../db.ts'
import { AppError } from '../errors.ts'
import type { Scope } from '../scope.ts'
import type { Dependent, FieldNeeds } from '../tables/dependents.ts'
import type { FieldDef, TableDef } from '../tables/fields.ts'
import { valueKind } from './compares.ts'
import { structuralFields, withoutField } from './config.ts'
import { draftOf } from './draft.ts'
import type { Filter } from './filter.ts'
import { fitLayoutIndexes, indexedField } from './layout-indexes.ts'
import { readViews, type ViewRow } from './saved.ts'
import { removeViews } from './service.ts'

export const viewDependent: Dependent = { needsOf, dropField, invalidWith, retypeField, renameOptions }

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

async function invalidWith({ db }: Scope, table: TableDef, changed: FieldDef): Promise<FieldNeeds> {
  const next = withField(table, changed)
  const views = await readViews(db, table.id)
  const named = ({ id, name }: ViewRow) => ({ id, name })
  const lost = views.filter((view) => needs(view, changed.id) && !isSavable(view, next, { order_by: null }))
  const unsorted = views.filter((view) => view.order_by === changed.id && !lost.includes(view) && !isSavable(view, next, {}))
  return { needing: lost.map(named), sorting: unsorted.map(named) }
}

/** The field's column is a new one, and its calendar index went with the old one. */
async function retypeField(scope: Scope, table: TableDef, changed: FieldDef): Promise<void> {
  const { needing, sorting } = await invalidWith(scope, table, changed)
  const views = await readViews(scope.db, table.id)
  await removeViews(
    scope,
    table.id,
    views.filter(({ id }) => needing.some((view) => view.id === id)),
  )
  const unsorted = sorting.map(({ id }) => id)
  await scope.db.execute(sql`
    update views set order_by = null, order_dir = null, version = version + 1 where table_id = ${table.id} and id = any(${unsorted}::int[])`)
  const rest = views.filter(({ id }) => !needing.some((view) => view.id === id))
  if (rest.some((view) => indexedField(view) === changed.id)) await fitLayoutIndexes(scope, table.id, [], changed.id)
}

/** The table as it is to be. */
const withField = (table: TableDef, changed: FieldDef): TableDef => ({
  ...table,
  fields: table.fields.map((field) => (field.id === changed.id ? changed : field)),
})

/** Whether the view could be saved as it stands. @param change what of it would be another */
function isSavable(view: ViewRow, table: TableDef, change: { order_by?: null }): boolean {
  try {
    draftOf(view.type, { ...view, ...change }, undefined, table)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
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
