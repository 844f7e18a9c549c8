/**
 * The second job of a conversion. It fills a shadow column in short statements, while other requests still read and write the old column.
 * One short transaction then converts the records that were written since, and swaps the columns. The job may be killed anywhere and run
 * twice, because its progress is stored in the row of the conversion and in the records.
 */
import { z } from 'zod'
import { audit } from '../../audit/log.ts'
import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { sqlState } from '../../platform/database/database-errors.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { changeTable, withShortLocks } from '../../tables/alter-table.ts'
import type { FieldNeeds } from '../../tables/cascade.ts'
import { addShadowColumns, dropShadowColumns, holdWriters, swapColumns } from '../../tables/ddl.ts'
import { storeType } from '../../tables/fields/alter-fields.ts'
import { auditPlaceOf } from '../../tables/service.ts'
import { placeOf } from '../elsewhere.ts'
import { type Conversion, conversionOf, isRelabelling } from '../rules.ts'
import { requireValidViews } from '../target.ts'
import {
  type ConversionRow,
  claimConversion,
  currentField,
  fieldAfter,
  fieldIn,
  isStillRunning,
  requireRights,
  storeOutcome,
} from './conversion-row.ts'
import { catchUp, convertAllChanged, fill, indexChanged } from './fill.ts'
import { attempt, type ConversionEnded, fieldChanged } from './outcome.ts'
import { endTurn, isOtherWaiting, priorityOf, TURN_MS } from './turns.ts'

export const convertField = defineQueue({
  name: 'tables.convert-field',
  schema: z.object({ conversion_id: z.int(), turn: z.int().optional() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

/**
 * Runs the job. A long conversion ends its turn when another account waits, and goes on in a later job.
 * @throws any error that a retry may avoid
 */
export async function convert(
  context: Context,
  { conversion_id, turn = 0 }: { conversion_id: number; turn?: number | undefined },
  { turnMs = TURN_MS }: { turnMs?: number } = {},
): Promise<void> {
  const conversion = await claimConversion(context, conversion_id)
  if (!conversion) return
  await attempt(
    conversion.attempts,
    async () => {
      await requireRights(context, conversion)
      const { table, field } = await currentField(context, conversion)
      if (!isRelabelling(field.type, conversion.target.type)) {
        if (!(await prepare(context, conversion))) return
        const how = await howToConvert(context.db, conversion, table, field)
        const endsAt = performance.now() + turnMs
        const isOver = async () => performance.now() >= endsAt && isOtherWaiting(context.db, conversion)
        if (!(await fill(context, conversion, how, isOver))) return waitForTurn(context, conversion, turn + 1)
        await indexChanged(context, conversion)
        await catchUp(context, conversion, how)
      }
      await finish(context, conversion, field)
    },
    async (outcome) => void (await giveUp(context, conversion, outcome)),
  )
}

function waitForTurn(context: Context, { id }: ConversionRow, turn: number): Promise<void> {
  return context.transaction(async () => {
    await endTurn(context, { id })
    await context.jobs.send(convertField, { conversion_id: id, turn }, priorityOf(turn))
  })
}

async function howToConvert(db: Database, { target, time_zone }: ConversionRow, table: TableDef, field: FieldDef): Promise<Conversion> {
  const place = await placeOf(db, table, time_zone, [field.type, target.type])
  return conversionOf(field, await fieldAfter(db, field, target), table.id, place)
}

/** Adds the shadow columns. @returns false if another run of the job has ended the conversion, which has dropped them */
function prepare(context: Context, { id, table_id, target }: ConversionRow): Promise<boolean> {
  return withShortLocks(context, async () => {
    const isRunning = await isStillRunning(context.db, id)
    if (isRunning) await addShadowColumns(context.db, table_id, id, target.type)
    return isRunning
  })
}

/** Columns and metadata change together. Writers wait while the last changed records are converted, readers only for the swap itself. */
function finish(context: Context, conversion: ConversionRow, before: FieldDef): Promise<void> {
  const { db } = context
  return changeTable(context, { id: conversion.table_id }, async (table) => {
    if (!(await isStillRunning(db, conversion.id))) return
    await requireRights(context, conversion)
    const field = fieldIn(table, conversion.field_id)
    if (field.type !== before.type) throw fieldChanged()
    const changed = { ...field, ...conversion.target }
    await holdWriters(db, table.id)
    if (!isRelabelling(field.type, changed.type)) {
      await convertAllChanged(db, conversion, await howToConvert(db, conversion, table, field))
      await swapColumns(db, table.id, conversion.id, field.id)
    }
    if (!conversion.force) await requireValidViews(context, table, changed)
    await storeType(db, table.id, field, changed)
    const requested = { ...context, requester: { userId: conversion.user_id, keyId: conversion.api_key_id, ip: conversion.ip } }
    const lost = await retype(requested, table, changed)
    const detail = { from: field.type, to: changed.type, job_id: conversion.id }
    await audit(requested, 'field.converted', { ...auditPlaceOf(table), id: field.id, name: field.name, detail })
    await db.write(sql`
      update field_conversions set state = 'done', done = total, updated_at = now(),
        lost_views = ${conversion.force ? JSON.stringify(lost) : null}::jsonb
      where id = ${conversion.id}`)
  })
}

/** Fits the views to the changed field. @returns those that were deleted, and those that lost their sort */
async function retype(context: Context, table: TableDef, changed: FieldDef): Promise<FieldNeeds> {
  const lost: FieldNeeds = { needing: [], sorting: [] }
  for (const { retypeField } of context.cascades) {
    const { needing = [], sorting = [] } = (await retypeField?.(context, table, changed)) ?? {}
    lost.needing.push(...needing)
    lost.sorting.push(...sorting)
  }
  return lost
}

/** No such schema or table: it has been purged. */
const GONE_STATES = new Set(['3F000', '42P01'])

/** Ends the conversion and drops the shadow columns. @returns false if it had already ended */
export async function giveUp(
  context: Context,
  { id, table_id }: Pick<ConversionRow, 'id' | 'table_id'>,
  outcome: ConversionEnded,
): Promise<boolean> {
  const { db } = context
  try {
    return await withShortLocks(context, async () => {
      const isEnded = await storeOutcome(db, id, outcome)
      if (isEnded) await dropShadowColumns(db, table_id, id)
      return isEnded
    })
  } catch (error) {
    if (!GONE_STATES.has(sqlState(error) ?? '')) throw error
    return storeOutcome(db, id, outcome)
  }
}
