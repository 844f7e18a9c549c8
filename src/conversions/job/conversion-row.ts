/** Reads and writes the row of a conversion: its target, its progress and its outcome. */
import { type FieldDef, type TableDef, titleField } from '../../fields/definition.ts'
import { requireRequester } from '../../platform/access/requester.ts'
import { tableResource } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { AppError } from '../../platform/errors.ts'
import { tableDefinitions } from '../../tables/definition-cache.ts'
import type { ConversionFigures } from '../schema.ts'
import { ConversionEnded, fieldDeleted, tableDeleted } from './outcome.ts'

/** The new type and settings of the field. The options of a select are null until they have been read from the cells. */
export type Target = Pick<FieldDef, 'type' | 'options' | 'decimals' | 'lookup_table_id'>

export interface ConversionRow {
  id: number
  table_id: number
  field_id: string
  target: Target
  /** Null for a script, and the last two for a conversion of an earlier release. */
  user_id: number | null
  api_key_id: number | null
  ip: string | null
  /** The acting user's time zone. */
  time_zone: string
  dry_run: boolean
  drop_failing: boolean
  force: boolean
  /** All records up to and including this id have been converted once. */
  last_id: number
  attempts: number
}

/**
 * `exact_state` has the states that the previous release does not know; its `state` is then one that it does. While the cells are counted,
 * `checked_at` has the last progress, and `updated_at` is infinite: the previous release resumes what was not updated for a while, but
 * would convert without a count, dry runs as well.
 */
export const IS_CHECKING = sql`exact_state = 'checking'`
export const ENDS_CHECK = sql`exact_state = null, checked_at = null, updated_at = now()`

/** The field as it is after the conversion. The titles of records are compared with the present title field of their table. */
export async function fieldAfter(db: Database, field: FieldDef, target: Target): Promise<FieldDef> {
  const tableId = target.lookup_table_id
  const lookedUp = tableId === null ? undefined : (await tableDefinitions(db, [tableId])).get(tableId)
  return { ...field, ...target, lookup: lookedUp ? { title_field: titleField(lookedUp)?.id ?? null } : null }
}

/** Begins another attempt to count the cells. @returns undefined if the cells have been counted, or the conversion has ended */
export async function claimCheck({ db }: Context, id: number): Promise<ConversionRow | undefined> {
  const [conversion] = await db.write<ConversionRow>(sql`
    update field_conversions set attempts = attempts + 1, checked_at = now() where id = ${id} and ${IS_CHECKING} returning ${COLUMNS}`)
  return conversion
}

/** Begins another attempt to convert the cells. Earlier releases stored `queued` once the cells had been counted. */
export async function claimConversion({ db }: Context, id: number): Promise<ConversionRow | undefined> {
  const [conversion] = await db.write<ConversionRow>(sql`
    update field_conversions set state = 'running', attempts = attempts + 1, updated_at = now()
    where id = ${id} and state in ('queued', 'running') and exact_state is null returning ${COLUMNS}`)
  return conversion
}

const COLUMNS = sql`id, table_id, field_id, target, user_id, api_key_id, ip, time_zone, dry_run, drop_failing, force, last_id, attempts`

/** Locks the row, so that the conversion cannot end before the transaction does. */
export async function isStillRunning(db: Database, id: number): Promise<boolean> {
  return (await db.read(sql`select from field_conversions where id = ${id} and state = 'running' for update`)).length > 0
}

/** Returns the table and the present field. @throws ConversionEnded when one of them has been deleted */
export async function currentField({ db }: Context, { table_id, field_id }: ConversionRow): Promise<{ table: TableDef; field: FieldDef }> {
  const table = (await tableDefinitions(db, [table_id])).get(table_id)
  if (!table) throw tableDeleted()
  return { table, field: fieldIn(table, field_id) }
}

/**
 * Requires that the user or key that asked for the conversion may still change the table. An earlier release stored no key, so that its
 * conversions count as those of the user.
 * @throws ConversionEnded; AppError 404 if the table or its space has been deleted
 */
export async function requireRights({ db, now }: Context, conversion: ConversionRow): Promise<void> {
  const wish = { resource: tableResource, ids: { table_id: conversion.table_id }, right: 'admin' as const }
  await requireRequester(db, conversion, wish, now).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'FORBIDDEN' ? new ConversionEnded('refused', error.message) : error
  })
}

/** @throws ConversionEnded when the field has been deleted */
export function fieldIn(table: TableDef, fieldId: string): FieldDef {
  const field = table.fields.find(({ id }) => id === fieldId)
  if (!field) throw fieldDeleted()
  return field
}

/** @throws ConversionEnded when the table or its space has been deleted */
export async function requireTable(db: Database, { table_id }: ConversionRow): Promise<void> {
  const found = await db.read(sql`
    select from tables t join spaces s on s.id = t.space_id where t.id = ${table_id} and t.deleted_at is null and s.deleted_at is null`)
  if (!found.length) throw tableDeleted()
}

export async function storeCounted(db: Database, id: number, counted: number): Promise<void> {
  await db.write(sql`update field_conversions set done = ${counted}, checked_at = now() where id = ${id} and ${IS_CHECKING}`)
}

export async function storeFigures(db: Database, id: number, { converts, failing, fails }: ConversionFigures): Promise<void> {
  await db.write(sql`
    update field_conversions set converts = ${converts}, failing = ${failing}, fails = ${JSON.stringify(fails)}::jsonb, checked_at = now()
    where id = ${id} and ${IS_CHECKING}`)
}

/** @returns false if the conversion had already ended */
export async function storeOutcome(db: Database, id: number, { state, message, lateFailures }: ConversionEnded): Promise<boolean> {
  const { failing = null, fails = null } = lateFailures ?? {}
  const { changed } = await db.write(sql`
    update field_conversions set state = 'failed', exact_state = ${state === 'failed' ? null : state}::text, checked_at = null,
      updated_at = now(), error = ${message},
      failing = coalesce(${failing}::int, failing), fails = coalesce(${fails && JSON.stringify(fails)}::jsonb, fails)
    where id = ${id} and (${IS_CHECKING} or state = 'running')`)
  return changed > 0
}
