/** Fills the shadow column with the converted cells, in short statements while other requests read and write. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../platform/context.ts'
import { type Database, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { sqlState } from '../../platform/database/database-errors.ts'
import { setLocal } from '../../platform/database/local-settings.ts'
import { unavailable } from '../../platform/errors.ts'
import { idBatches, inBatch } from '../../tables/cells/id-batches.ts'
import { isChanged, shadowColumn, shadowVersion } from '../../tables/ddl.ts'
import { buildShadowIndex, withBuildLock } from '../../tables/index-builds.ts'
import { isChangedInSteps } from '../../tables/indexing.ts'
import type { Conversion } from '../rules.ts'
import type { ConversionFigures } from '../schema.ts'
import { type ConversionRow, requireTable } from './conversion-row.ts'
import { countsOf } from './count.ts'
import { cellsFail } from './outcome.ts'

/**
 * Converts every record once, by id. The progress is stored in the transaction of each batch.
 * @param isTurnOver is asked before each batch but the first of the turn
 * @returns false if the turn is over, and records are left
 * @throws ConversionEnded when a cell does not convert and must not be emptied, and when the table has been deleted
 */
export async function fill(
  { db, transaction }: Context,
  conversion: ConversionRow,
  how: Conversion,
  isTurnOver: () => Promise<boolean>,
): Promise<boolean> {
  for await (const batch of idBatches(db, conversion.table_id, { after: conversion.last_id })) {
    // Each turn converts something, so that a conversion ends however many others wait.
    if (batch.after > conversion.last_id && (await isTurnOver())) return false
    await requireTable(db, conversion)
    await transaction(async () => {
      const records = await convertSome(db, conversion, how, inBatch(batch))
      await db.write(sql`
        update field_conversions set done = done + ${records}, last_id = ${batch.to}, updated_at = now()
        where id = ${conversion.id} and last_id = ${batch.after}`)
    })
  }
  return true
}

/** Index builds on one table take turns, at about a minute each. */
const MAX_BUSY_SECONDS = 600

/**
 * Builds an index of the records that were written after `fill` converted them. Without it the swap would look at every record while
 * all writers wait.
 * @throws AppError 503 when other index builds of the table take too long
 */
export async function indexChanged({ db }: Context, { id, table_id }: ConversionRow): Promise<void> {
  if (!(await isChangedInSteps(db, table_id))) return
  for (let second = 0; second < MAX_BUSY_SECONDS; second++) {
    try {
      if ((await withBuildLock(db, table_id, (client) => buildShadowIndex(client, table_id, id))) !== 'busy') return
    } catch (error) {
      // A change of the table's fields cancels a build that is in its way.
      if (sqlState(error) !== QUERY_CANCELED) throw error
    }
    await sleep(1_000)
  }
  throw unavailable('Other indexes of the table are still being built')
}

const QUERY_CANCELED = '57014'

/** The number of changed records that one statement converts. */
const CHANGED_STEP = 1_000
/** At most this many changed records are left to the swap, for which all writers wait. */
const FEW_CHANGED = 200
const MAX_ROUNDS = 50

/** Converts the records that were written after `fill` converted them, until only few are left. */
export async function catchUp({ db, transaction }: Context, conversion: ConversionRow, how: Conversion): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if ((await transaction(() => convertChanged(db, conversion, how))) <= FEW_CHANGED) return
  }
}

/** Converts all remaining changed records, in the transaction that blocks the writers. */
export async function convertAllChanged(db: Database, conversion: ConversionRow, how: Conversion): Promise<void> {
  while ((await convertChanged(db, conversion, how)) === CHANGED_STEP);
}

/** @returns the number of converted records; if it is less than a step while writers are blocked, no changed record is left */
async function convertChanged(db: Database, conversion: ConversionRow, how: Conversion): Promise<number> {
  // The shadow column has no statistics yet, so Postgres would expect many changed records and scan the whole table.
  await setLocal(db, 'enable_seqscan', 'off')
  const changed = await db
    .records(conversion.table_id)
    .read<{ id: number }>(sql`select id from ${recordsOf(conversion.table_id)} where ${isChanged(conversion.id)} limit ${CHANGED_STEP}`)
  const ids = changed.map(({ id }) => id)
  if (ids.length) await convertSome(db, conversion, how, sql`r.id = any(${ids}::int[])`)
  return ids.length
}

/**
 * Fills the shadow column for the records `r` that meet the condition. A record that is written at the same moment is left out, and its
 * version then shows that it has changed.
 * @returns the number of records
 * @throws ConversionEnded when a cell does not convert and must not be emptied
 */
async function convertSome(db: Database, conversion: ConversionRow, { select }: Conversion, where: Sql): Promise<number> {
  const [found] = await db.records(conversion.table_id).write<ConversionFigures & { records: number }>(sql`
    with s as materialized (${select(where)}),
    filled as (update ${recordsOf(conversion.table_id)} t
      set ${shadowColumn(conversion.id)} = s.converted, ${shadowVersion(conversion.id)} = s.version
      from s where t.id = s.id and t.version = s.version)
    select * from (${countsOf(sql`select * from s`)}) f`)
  const { records = 0, failing = 0, fails = [] } = found ?? {}
  if (failing && !conversion.drop_failing) throw cellsFail(failing, { failing, fails })
  return records
}
