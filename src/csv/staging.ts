/**
 * Keeps the records of an import until all of them are checked (docs/decisions/0012). Short statements add them to a table that
 * nobody else uses, and one statement publishes them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { auditing } from '../audit/log.ts'
import { announcing } from '../events/log.ts'
import { placeOf, writingTableEvents } from '../events/table-events.ts'
import { type FieldDef, holdsFiles, type TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { type Database, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { type Statement, written } from '../platform/database/statements/statement.ts'
import { AppError, conflict } from '../platform/errors.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { formatInstant } from '../platform/time/time.ts'
import { unnestedCell, unnestedRows } from '../records/cell-values.ts'
import { enterImport } from '../records/history/import-entry.ts'
import { changeBy, isCurrent } from '../records/rows.ts'
import { auditPlaceOf } from '../tables/service.ts'
import { createStaging, dropStaging, stagingOf, tablesWithStaging } from './ddl.ts'

/** What belongs to the commit of the records. */
export interface Commit {
  /** Runs when all is stored, right before the commit. If it throws, no records are created. */
  beforeCommit?: () => Promise<void>
  /** A statement that is committed together with the records. If it changes no row, no records are created. */
  committedWith?: (created: CreatedRecords) => Sql
}

/** The records that were published, all in one change. */
export interface CreatedRecords {
  created: number
  change_id: number
}

export interface Staging {
  /** Adds records, in their order. @param columns their cells, from `cellArrays` with the fields of this staging */
  add(columns: readonly unknown[][]): Promise<void>
  /**
   * Publishes all added records, which become visible to readers at the same moment.
   * @returns undefined if the table has another version
   */
  publish(context: Context, table: TableDef, commit: Commit): Promise<CreatedRecords | undefined>
}

/** The first half of the advisory lock that an import holds. The second half is the table's id. */
const IMPORTING = 0x637376

const UNDERWAY = 'Another import into this table is running'
/** True if an import was refused because of another one. */
export const isUnderway = (error: unknown): boolean => error instanceof AppError && error.message === UNDERWAY

/** The limit for publishing: a large table with indexes takes minutes, and does not block writers. */
const PUBLISH_MINUTES = 30
const FILES_AT_ONCE = 5_000

/**
 * Runs an import with a staging table, and drops the table at the end.
 * @throws AppError 409 if another import into the table is running
 */
export async function withStaging<T>(
  db: Database,
  tableId: number,
  work: (open: (fields: readonly FieldDef[]) => Promise<Staging>) => Promise<T>,
): Promise<T> {
  // The lock belongs to the connection. When a process dies, its lock is released, which shows the clean-up that the table is abandoned.
  const client = await db.connect((PUBLISH_MINUTES + 1) * 60_000)
  const run = ({ text, values }: Statement) => client.query({ text, values })
  try {
    await lock(run, tableId)
    let isOpen = false
    try {
      return await work(async (fields) => {
        isOpen = true
        for (const statement of createStaging(tableId, fields)) await run(statement)
        return staging(run, tableId, fields)
      })
    } finally {
      if (isOpen) await run(dropStaging(tableId))
    }
  } finally {
    await client.end()
  }
}

type Run = (statement: Statement) => Promise<pg.QueryResult>

/** An import whose records are published, and that its job says is done, has the lock until its staging table is dropped. */
const ENDING_MS = 2_000

/** @throws AppError 409 if another import into the table is running */
async function lock(run: Run, tableId: number): Promise<void> {
  const until = performance.now() + ENDING_MS
  for (;;) {
    const { rows } = await run(sql`select pg_try_advisory_lock(${IMPORTING}::int, ${tableId}::int) as free`)
    if (rows[0].free) return
    if (performance.now() >= until) throw conflict(UNDERWAY)
    await sleep(50)
  }
}

function staging(run: Run, tableId: number, fields: readonly FieldDef[]): Staging {
  const names = fields.map(({ id }) => ident(id))
  let count = 0
  return {
    async add(columns) {
      await run(sql`insert into ${stagingOf(tableId)} ("#", ${join(names)})
        select ${count} + x."#", ${join(fields.map(unnestedCell))} from ${unnestedRows(fields, columns)}`)
      count += columns[0]?.length ?? 0
    },
    async publish(context, table, { beforeCommit, committedWith }) {
      await run(sql`begin`)
      try {
        await run(sql`select set_config('statement_timeout', ${`${PUBLISH_MINUTES}min`}, true), set_config('work_mem', '64MB', true)`)
        await holdStaged(run, tableId, fields)
        const created = await insertStaged(run, context, table, names)
        if (created) {
          const detail = { count: created.created }
          await run(auditing(context, 'records.imported', { ...auditPlaceOf(table), id: table.id, name: table.name, detail }))
          if (committedWith && !(await run(committedWith(created))).rowCount) throw new Error('The import has ended before')
          await beforeCommit?.()
          await tellImported(run, context, table, created)
        }
        await run(created ? sql`commit` : sql`rollback`)
        return created
      } catch (error) {
        await run(sql`rollback`)
        throw error
      }
    },
  }
}

/**
 * Inserts the records and the one entry of their history.
 * @returns undefined if the table has another version, and then the transaction has to be rolled back
 */
async function insertStaged(run: Run, context: Context, table: TableDef, names: readonly Sql[]): Promise<CreatedRecords | undefined> {
  const change = changeBy(context)
  const [at, by] = [sql`${formatInstant(change.now)}::timestamp`, sql`${change.userId}::int`]
  const { rows: latest } = await run(sql`select coalesce(max(r.id), 0) as id from ${recordsOf(table.id)} r`)
  const { rowCount } = await run(sql`
    insert into ${recordsOf(table.id)} (created_at, created_by, updated_at, updated_by, ${join(names)})
    select ${at}, ${by}, ${at}, ${by}, ${join(names.map((name) => sql`s.${name}`))}
    from ${stagingOf(table.id)} s order by s."#"`)
  // A change of the table either came before the insertion, which has waited for it, or waits for this transaction.
  const { rowCount: isPresent } = await run(sql`select where ${isCurrent(table)}`)
  if (!isPresent || !rowCount) return undefined
  return { created: rowCount, change_id: await enterImport(run, table.id, { change, after: latest[0].id, records: rowCount }) }
}

/** Writes the event right before the commit, because all streams wait for a transaction that has written one. */
async function tellImported(run: Run, context: Context, table: TableDef, { created, change_id }: CreatedRecords): Promise<void> {
  const { userId } = changeBy(context)
  const event = { ...placeOf(table), type: 'records.changed' as const, change_id, user_id: userId, count: created }
  await run(writingTableEvents([event], context.now))
  await run(announcing)
}

/** Marks the files of the new cells as used, in the transaction that creates the records. */
async function holdStaged(run: Run, tableId: number, fields: readonly FieldDef[]): Promise<void> {
  const held = {
    write: async <Row>(statement: Statement) => {
      const { rows, rowCount } = await run(statement)
      return written<Row>(rows, rowCount)
    },
  }
  for (const { id } of fields.filter(holdsFiles)) {
    for (let last = ''; ; ) {
      const { rows } = await run(sql`
        select distinct f.entry->>'path' as path from ${stagingOf(tableId)} s, jsonb_array_elements(s.${ident(id)}) as f (entry)
        where f.entry->>'path' > ${last} order by 1 limit ${FILES_AT_ONCE}`)
      const paths = rows.map(({ path }) => path as string)
      await holdFiles(held, paths)
      if (paths.length < FILES_AT_ONCE) break
      last = paths.at(-1) ?? ''
    }
  }
}

/** Drops the staging tables of imports whose process died. */
export async function sweepStaging({ db, transaction }: Context): Promise<void> {
  for (const tableId of await tablesWithStaging(db)) {
    await transaction(async () => {
      const [lock] = await db.read<{ free: boolean }>(sql`select pg_try_advisory_xact_lock(${IMPORTING}::int, ${tableId}::int) as free`)
      if (lock?.free) await db.write(dropStaging(tableId))
    })
  }
}
