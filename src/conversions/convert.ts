/**
 * The job that gives a field another type. It fills a column beside the field's in short statements, while everybody goes on to
 * read and write the old one, and swaps the two in one short transaction, which converts what was written since. It may be
 * killed anywhere and run twice: what it has done stands in the row of the conversion and in the records.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { AppError, conflict, sqlState, unavailable } from '../platform/http/errors.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { formatInstant } from '../platform/time.ts'
import { changeTable, withShortLocks } from '../tables/alter-table.ts'
import { neededByViews, viewsThat } from '../tables/cascade.ts'
import { FIRST_STEP, nextStep } from '../tables/cells/id-batches.ts'
import { addColumnsBeside, columnBeside, dropColumnsBeside, holdWriters, isChanged, swapColumns, versionBeside } from '../tables/ddl.ts'
import { tableDefinitions } from '../tables/definitions.ts'
import { storeType } from '../tables/fields/alter-fields.ts'
import { asBuilder, buildIndexBeside } from '../tables/index-builds.ts'
import { isWorthIndexing } from '../tables/indexing.ts'
import { type Conversion, conversionOf, isRelabelling } from './rules.ts'
import type { Job } from './schema.ts'

export const convertField = defineQueue({
  name: 'tables.convert-field',
  schema: z.object({ conversion_id: z.int() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})
export const resumeConversions = defineQueue({ name: 'tables.resume-conversions', schema: z.object({}) })

interface ConversionRow {
  id: number
  table_id: number
  field_id: string
  target: Pick<FieldDef, 'type' | 'options' | 'decimals' | 'lookup_table_id'>
  time_zone: string
  drop_failing: boolean
  force: boolean
  last_id: number
  attempts: number
}

/** How far it is. */
export async function progressOf({ db }: Context, conversionId: number): Promise<Job> {
  const [job] = await db.query<Job>(
    sql`select state, least(done, total) as done, total, error from field_conversions where id = ${conversionId}`,
  )
  return job as Job
}

/** More than that is no accident, but something that happens each time. */
const MAX_ATTEMPTS = 10

/** The job. What makes the conversion impossible ends it, with the field as it was; any other error is tried again. */
export async function convert(context: Context, { conversion_id }: { conversion_id: number }): Promise<void> {
  const conversion = await claim(context, conversion_id)
  if (!conversion) return
  try {
    const { from, to, table } = await fieldsOf(context, conversion)
    if (!isRelabelling(from.type, to.type)) {
      if (!(await prepare(context, conversion, to))) return
      const how = conversionOf(from, to, table.id, { ...table, timeZone: conversion.time_zone })
      await fill(context, conversion, how)
      await indexChanged(context, conversion)
      await catchUp(context, conversion, how)
    }
    await finish(context, conversion, from)
  } catch (error) {
    const isFinal = (error instanceof AppError && error.code !== 'SERVICE_UNAVAILABLE') || conversion.attempts >= MAX_ATTEMPTS
    if (!isFinal) throw error
    await giveUp(context, conversion, error instanceof AppError ? error.message : 'It failed too often')
    if (!(error instanceof AppError)) throw error
  }
}

const KEPT_DAYS = 30

/** The clock: conversions whose job was lost go on, those that ended long ago are forgotten. */
export async function resumeAll({ db, jobs, now }: Context): Promise<void> {
  const before = formatInstant(new Date(now.getTime() - KEPT_DAYS * 86_400_000))
  await db.execute(sql`delete from field_conversions where state in ('done', 'failed') and updated_at < ${before}::timestamp`)
  const idleSince = formatInstant(new Date(now.getTime() - 10 * 60_000))
  const idle = await db.query<{ id: number }>(
    sql`select id from field_conversions where state in ('queued', 'running') and updated_at < ${idleSince}::timestamp`,
  )
  for (const { id } of idle) await jobs.send(convertField, { conversion_id: id })
}

async function claim({ db }: Context, id: number): Promise<ConversionRow | undefined> {
  const [conversion] = await db.query<ConversionRow>(sql`
    update field_conversions set state = 'running', attempts = attempts + 1, updated_at = now() where id = ${id} and state in ('queued', 'running')
    returning id, table_id, field_id, target, time_zone, drop_failing, force, last_id, attempts`)
  return conversion
}

/** The field as it is and as it is to be. @throws AppError 409 when it or its table is gone */
async function fieldsOf({ db }: Context, { table_id, field_id, target }: ConversionRow) {
  const table = (await tableDefinitions(db, [table_id])).get(table_id)
  const from = table?.fields.find(({ id }) => id === field_id)
  if (!table || !from) throw conflict('The field has been deleted')
  return { table, from, to: { ...from, ...target } }
}

/** @returns false when another run of the job has ended it meanwhile: its columns must not come back */
function prepare(context: Context, { id, table_id }: ConversionRow, to: FieldDef): Promise<boolean> {
  return withShortLocks(context, async () => {
    const isRunning = await isStillRunning(context.db, id)
    if (isRunning) await addColumnsBeside(context.db, table_id, id, to.type)
    return isRunning
  })
}

/** Locks the row, so that it stays that way until the transaction ends. */
async function isStillRunning(db: Database, id: number): Promise<boolean> {
  return (await db.query(sql`select from field_conversions where id = ${id} and state = 'running' for update`)).length > 0
}

/** Every record once, by id; where it is stands in the same transaction. */
async function fill({ db, transaction }: Context, conversion: ConversionRow, how: Conversion): Promise<void> {
  const records = recordsOf(conversion.table_id)
  for (let from = conversion.last_id, step = FIRST_STEP; ; ) {
    const startedAt = performance.now()
    const [last] = await db.query<{ id: number | null }>(
      sql`select max(id) as id from (select id from ${records} where id > ${from} order by id limit ${step}) r`,
    )
    const to = last?.id
    if (!to) return
    const after = from
    await transaction(async () => {
      const done = await convertSome(db, conversion, how, sql`r.id > ${after} and r.id <= ${to}`)
      await db.execute(sql`
        update field_conversions set done = done + ${done}, last_id = ${to}, updated_at = now() where id = ${conversion.id} and last_id = ${after}`)
    })
    from = to
    step = nextStep(step, performance.now() - startedAt)
  }
}

/** Others build indexes on the table one after the other, a minute each. */
const MAX_BUSY = 600

/**
 * Lets what is written behind the back of `fill` be found without a look at every record: at the swap all writers wait for that.
 * @throws AppError 503 when others build indexes on the table all the time
 */
async function indexChanged({ db }: Context, { id, table_id }: ConversionRow): Promise<void> {
  if (!(await isWorthIndexing(db, table_id))) return
  for (let attempt = 0; attempt < MAX_BUSY; attempt++) {
    try {
      if ((await asBuilder(db, table_id, (client) => buildIndexBeside(client, table_id, id))) !== 'busy') return
    } catch (error) {
      // A change of the table was in a hurry and stopped the build.
      if (sqlState(error) !== CANCELLED) throw error
    }
    await sleep(1_000)
  }
  throw unavailable('Others build indexes on the table')
}

const CANCELLED = '57014'

/** Records that were changed since, in one statement. */
const STEP = 1_000

/** So few are left to the transaction that everybody waits for. */
const FEW = 200
const ROUNDS = 50

/** What was written behind the back of `fill`, until little is left. */
async function catchUp({ db, transaction }: Context, conversion: ConversionRow, how: Conversion): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    if ((await transaction(() => convertChanged(db, conversion, how))) <= FEW) return
  }
}

/**
 * Converts a step of the records that were changed since, in the transaction under way.
 * @returns how many; none are left when it is less than a step and nobody writes
 */
async function convertChanged(db: Database, conversion: ConversionRow, how: Conversion): Promise<number> {
  // Without statistics of the column beside, a scan promises to find enough of them at once; it would go through the whole table.
  await db.query(sql`select set_config('enable_seqscan', 'off', true)`)
  const changed = await db.query<{ id: number }>(
    sql`select id from ${recordsOf(conversion.table_id)} where ${isChanged(conversion.id)} limit ${STEP}`,
  )
  const ids = changed.map(({ id }) => id)
  if (ids.length) await convertSome(db, conversion, how, sql`r.id = any(${ids}::int[])`)
  return ids.length
}

/**
 * Fills the column beside. A record that another changes at this moment is passed over: its version tells.
 * @returns how many records were looked at
 * @throws AppError 409 when one does not convert, unless such cells are to be emptied
 */
async function convertSome(db: Database, conversion: ConversionRow, { select }: Conversion, where: Sql): Promise<number> {
  const [found] = await db.query<{ n: number; failing: number }>(sql`
    with c as materialized (${select(where)}),
    filled as (update ${recordsOf(conversion.table_id)} t set ${columnBeside(conversion.id)} = c.converted, ${versionBeside(conversion.id)} = c.version
      from c where t.id = c.id and t.version = c.version)
    select count(*) as n, count(*) filter (where words is not null and converted is null) as failing from c`)
  const { n = 0, failing = 0 } = found ?? {}
  if (failing && !conversion.drop_failing) throw conflict(`${failing} cells that were written meanwhile do not convert`)
  return n
}

/** Columns and metadata change together. Writers wait from the look for what is left, readers only for the swap itself. */
async function finish(context: Context, conversion: ConversionRow, before: FieldDef): Promise<void> {
  const { db } = context
  await changeTable(context, { id: conversion.table_id }, async (table) => {
    if (!(await isStillRunning(db, conversion.id))) return
    const { from, to } = await fieldsOf(context, conversion)
    if (from.type !== before.type) throw conflict('The field has another type by now')
    await holdWriters(db, table.id)
    if (!isRelabelling(from.type, to.type))
      await swap(context, conversion, conversionOf(from, to, table.id, { ...table, timeZone: conversion.time_zone }))
    await retype(context, table, to, conversion.force)
    await db.execute(sql`update field_conversions set state = 'done', done = total, updated_at = now() where id = ${conversion.id}`)
  })
}

async function swap({ db }: Context, conversion: ConversionRow, how: Conversion): Promise<void> {
  while ((await convertChanged(db, conversion, how)) === STEP);
  await swapColumns(db, conversion.table_id, conversion.id, conversion.field_id)
}

async function retype(context: Context, table: TableDef, to: FieldDef, isForced: boolean): Promise<void> {
  const { needing, sorting } = await viewsThat('invalidWith', context, table, to)
  if ((needing.length || sorting.length) && !isForced) throw neededByViews([...needing, ...sorting])
  await storeType(context.db, table.id, to)
  for (const { retypeField } of context.cascades) await retypeField?.(context, table, to)
}

/** No such schema or table: it was purged meanwhile. */
const IS_GONE = new Set(['3F000', '42P01'])

async function giveUp(context: Context, { id, table_id }: ConversionRow, reason: string): Promise<void> {
  const { db } = context
  const fail = () =>
    db.execute(sql`
    update field_conversions set state = 'failed', error = ${reason}, updated_at = now() where id = ${id} and state = 'running'`)
  try {
    await withShortLocks(context, async () => {
      if (await fail()) await dropColumnsBeside(db, table_id, id)
    })
  } catch (error) {
    if (!IS_GONE.has(sqlState(error) ?? '')) throw error
    await fail()
  }
}
