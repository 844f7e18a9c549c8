/**
 * The first job of a conversion: it counts the cells that can be converted and those that cannot. Then it ends a dry run, refuses a change
 * that would lose cells or views, or starts the second job (convert.ts). It may be killed anywhere and run twice.
 */
import { z } from 'zod'
import { type FieldDef, isSelect, type TableDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { isOutdated } from '../../platform/database/outdated-definition.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { changeTable } from '../../tables/alter-table.ts'
import { placeOf } from '../elsewhere.ts'
import { conversionOf } from '../rules.ts'
import type { ConversionFigures } from '../schema.ts'
import { requireValidViews } from '../target.ts'
import {
  type ConversionRow,
  claimCheck,
  currentField,
  ENDS_CHECK,
  fieldAfter,
  fieldIn,
  IS_CHECKING,
  requireRights,
  storeFigures,
  storeOutcome,
  type Target,
} from './conversion-row.ts'
import { convertField } from './convert.ts'
import { countCells } from './count.ts'
import { optionsFromCells } from './options-from-cells.ts'
import { attempt, cellsFail, fieldChanged } from './outcome.ts'
import { firstTurn, priorityOf } from './turns.ts'

export const checkConversion = defineQueue({
  name: 'conversions.check',
  schema: z.object({ conversion_id: z.int() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

/** Runs the job. @throws any error that a retry may avoid */
export async function check(context: Context, { conversion_id }: { conversion_id: number }): Promise<void> {
  const conversion = await claimCheck(context, conversion_id)
  if (!conversion) return
  await attempt(
    conversion.attempts,
    async () => {
      await requireRights(context, conversion)
      const { table, field } = await currentField(context, conversion)
      const { target, figures } = await whileUnchanged(context, conversion, field, () => count(context, conversion, table, field))
      await storeFigures(context.db, conversion.id, figures)
      if (conversion.dry_run) return endDryRun(context, conversion, field)
      if (figures.failing && !conversion.drop_failing) throw cellsFail(figures.failing)
      await start(context, conversion, field, target)
    },
    async (outcome) => void (await storeOutcome(context.db, conversion.id, outcome)),
  )
}

interface CellCounts {
  target: Target
  figures: ConversionFigures
}

async function count(context: Context, conversion: ConversionRow, table: TableDef, field: FieldDef): Promise<CellCounts> {
  const { target } = conversion
  const place = await placeOf(context.db, table, conversion.time_zone, [field.type, target.type])
  const options =
    isSelect(target.type) && !target.options ? await optionsFromCells(context, table, field, target.type, place) : target.options
  const wanted = { ...target, options }
  return {
    target: wanted,
    figures: await countCells(context, conversion, conversionOf(field, await fieldAfter(context.db, field, wanted), table.id, place)),
  }
}

/** Runs `work`, which reads the column of the field. @throws ConversionEnded if the field is deleted or converted before it ends */
async function whileUnchanged<T>(context: Context, conversion: ConversionRow, before: FieldDef, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isOutdated(error)) requireSame(before, (await currentField(context, conversion)).field)
    throw error
  }
}

async function endDryRun(context: Context, conversion: ConversionRow, before: FieldDef): Promise<void> {
  requireSame(before, (await currentField(context, conversion)).field)
  await context.db.write(sql`
    update field_conversions set state = 'done', done = total, ${ENDS_CHECK} where id = ${conversion.id} and ${IS_CHECKING}`)
}

/** Checks the views again, because some may have been saved since the request. Only an earlier release could have changed the field. */
function start(context: Context, conversion: ConversionRow, before: FieldDef, target: Target): Promise<void> {
  return changeTable(context, { id: conversion.table_id }, async (table) => {
    const field = fieldIn(table, conversion.field_id)
    requireSame(before, field)
    if (!conversion.force) await requireValidViews(context, table, { ...field, ...target })
    const { changed: isStarted } = await context.db.write(sql`
      update field_conversions set state = 'running', target = ${JSON.stringify(target)}::jsonb, done = 0, attempts = 0, ${ENDS_CHECK}
      where id = ${conversion.id} and ${IS_CHECKING}`)
    if (!isStarted) return
    const turn = await firstTurn(context.db, 'convert', conversion)
    await context.jobs.send(convertField, { conversion_id: conversion.id, turn }, priorityOf(turn))
  })
}

/** Requires that the properties that give the cells their meaning are unchanged. @throws ConversionEnded */
function requireSame(before: FieldDef, field: FieldDef): void {
  const meaning = ({ type, options, removed_options, decimals, is_rounding, lookup_table_id }: FieldDef) =>
    JSON.stringify({ type, options, removed_options, decimals, is_rounding, lookup_table_id })
  if (meaning(field) !== meaning(before)) throw fieldChanged()
}
