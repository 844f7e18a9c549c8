/** Adapts the indexes of tables to their queries, in steps that may be interrupted. */
import type pg from 'pg'
import type { TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { sqlState } from '../platform/database/database-errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import { tableDefinitions } from '../tables/definition-cache.ts'
import { analyzeRecords, buildIndex, dropIndex, vacuumOften, withBuildLock } from '../tables/index-builds.ts'
import { adaptIndexes } from '../tables/indexing.ts'
import { withLinkedTables } from '../tables/linked-tables.ts'
import { readViews } from '../views/saved.ts'
import { largeTablesOnNodes } from './elsewhere.ts'
import { buildSeconds } from './metrics.ts'
import { type PlannedIndex, planIndexes } from './plan.ts'
import { failuresOf, groupsOf, indexedTables, isVacuumedSeldom, type PresentIndex, presentIndexes, tableSizeOf, usesOf } from './queries.ts'
import type { TableIndex } from './schema.ts'

/** The service drops only indexes with such names; an operator may have created others. */
const OURS = /^idx_(layout|sort|text)_/

/** The existing and the planned indexes of a table: the primary key, then the planned ones, then all others. */
export async function list({ db }: Context, table: TableRef): Promise<{ rows: TableIndex[]; total: number }> {
  const { wanted, present } = await stateOf(db, table.id)
  const failures = await failuresOf(db, table.id)
  const byName = new Map(present.map((index) => [index.name, index]))
  const rows = [
    ...present.filter(({ isPrimary }) => isPrimary).map((index) => presentRow(index, 'the primary key')),
    ...wanted.map((index) => ({
      name: index.name,
      fields: index.fields,
      reason: index.reason,
      state: stateOfOne(index, byName.get(index.name), failures.has(index.name)),
      size: byName.get(index.name)?.bytes ?? 0,
    })),
    ...present
      .filter(({ name, isPrimary }) => !isPrimary && !wanted.some((index) => index.name === name))
      .map((index) => presentRow(index, OURS.test(index.name) ? 'no longer needed; it will be dropped' : 'created by an operator')),
  ]
  return { rows, total: rows.length }
}

const presentRow = (index: PresentIndex, reason: string): TableIndex => ({
  name: index.name,
  fields: index.columns,
  reason,
  state: index.isValid ? 'ready' : index.isBuilding ? 'building' : 'failed',
  size: index.bytes,
})

function stateOfOne({ isOverBudget }: PlannedIndex, present: PresentIndex | undefined, hasFailed: boolean): TableIndex['state'] {
  if (present?.isValid) return 'ready'
  if (present?.isBuilding) return 'building'
  if (isOverBudget) return 'over_budget'
  return hasFailed ? 'failed' : 'building'
}

/**
 * Runs the job, which builds and drops indexes until they match the plan, and then has a large table vacuumed often. If another process
 * does so for the table, the job ends and is repeated later.
 * @throws Error when an index could not be built; its remains have been dropped, and the job will be repeated
 */
export async function adapt(context: Context, { table_id }: { table_id: number }): Promise<void> {
  const { db, jobs, now } = context
  const tried = new Set<string>()
  const failed: string[] = []
  const again = (delayMs: number) => jobs.send(adaptIndexes, { table_id }, { startAfter: new Date(now.getTime() + delayMs) })
  while (await nextStep(context, table_id, tried)) {
    const outcome = await takeStep(context, table_id, tried)
    if (outcome === 'busy') return again(BUSY_MS)
    if (outcome === 'interrupted') return again(INTERRUPTED_MS)
    if (typeof outcome === 'object') failed.push(outcome.failed)
  }
  if (tried.size > failed.length) await withBuildLock(db, table_id, (client) => analyzeRecords(client, table_id))
  await forgetFailures(context, table_id)
  if (failed.length) throw new Error(`Not built: ${failed.join(', ')}`)
}

/** The delay if another job works on the indexes of this table. */
const BUSY_MS = 10_000
/** The delay if a change of the table has cancelled the build. */
const INTERRUPTED_MS = 2_000

/** On a schedule: enqueues the job for tables that have grown or shrunk, and for those with failed builds. */
export async function adaptAll(context: Context): Promise<void> {
  const { db, jobs, now } = context
  const unused = formatInstant(new Date(now.getTime() - UNUSED_DAYS * 86_400_000))
  await db.write(sql`delete from index_uses where last_at < ${unused}::timestamp`)
  const known = await indexedTables(db)
  for (const id of known) await jobs.send(adaptIndexes, { table_id: id })
  // Last, so that a node that hangs delays only the tables that are new on nodes.
  for (const id of await largeTablesOnNodes(context)) if (!known.includes(id)) await jobs.send(adaptIndexes, { table_id: id })
}

/** A shape that no query outside of a view has had for this long is deleted. */
const UNUSED_DAYS = 30

type Step = { drop: string } | { build: PlannedIndex } | typeof VACUUM_OFTEN
const VACUUM_OFTEN = 'vacuum often'

/** The next step; null when the table is as planned. @param tried names of indexes that this job has tried to build, and `VACUUM_OFTEN` */
async function nextStep({ db }: Context, tableId: number, tried: ReadonlySet<string>): Promise<Step | null> {
  const { wanted, present, isGone } = await stateOf(db, tableId)
  if (isGone) return null
  const keep = new Set(wanted.filter(({ isOverBudget }) => !isOverBudget).map(({ name }) => name))
  // A failed build leaves an index behind that writes update but no query uses.
  const useless = present.find(({ name, isValid }) => OURS.test(name) && (!isValid || !keep.has(name)))
  if (useless) return { drop: useless.name }
  const missing = wanted.find(
    ({ name, isOverBudget }) => !isOverBudget && !tried.has(name) && !present.some((index) => index.name === name),
  )
  if (missing) return { build: missing }
  return !tried.has(VACUUM_OFTEN) && (await isVacuumedSeldom(db, tableId)) ? VACUUM_OFTEN : null
}

type StepOutcome = 'done' | 'busy' | 'interrupted' | { failed: string }

/** Determines the step again, now that no other job works on the table, and executes it. */
async function takeStep(context: Context, tableId: number, tried: Set<string>): Promise<StepOutcome> {
  let building: PlannedIndex | undefined
  try {
    return await withBuildLock<StepOutcome>(context.db, tableId, async (client) => {
      const step = await nextStep(context, tableId, tried)
      if (!step) return 'done'
      if (step === VACUUM_OFTEN) {
        tried.add(VACUUM_OFTEN)
        await vacuumOften(client, tableId)
        return 'done'
      }
      if ('drop' in step) {
        await dropIndex(client, tableId, step.drop)
        return 'done'
      }
      building = step.build
      tried.add(step.build.name)
      await build(context, client, tableId, step.build)
      return 'done'
    })
  } catch (error) {
    if (IS_GONE.has(sqlState(error) ?? '')) return 'done'
    if (sqlState(error) === CANCELLED) return 'interrupted'
    if (!building) throw error
    await noteFailure(context, tableId, building.name, error)
    return { failed: building.name }
  }
}

/** Builds the index, and notes how long it took. */
async function build({ metrics }: Context, client: pg.Client, tableId: number, index: PlannedIndex): Promise<void> {
  const startedAt = performance.now()
  let outcome = 'built'
  try {
    await buildIndex(client, tableId, index)
  } catch (error) {
    outcome = sqlState(error) === CANCELLED ? 'interrupted' : 'failed'
    throw error
  } finally {
    metrics.observe(buildSeconds, (performance.now() - startedAt) / 1000, { outcome })
  }
}

/** The schema, table or column does not exist, because it has been deleted. */
const IS_GONE = new Set(['3F000', '42P01', '42703'])
const CANCELLED = '57014'

/** The existing and the planned indexes. For a table that is neither small nor large, no further index is planned. */
async function stateOf(db: Context['db'], tableId: number) {
  const definition = (await tableDefinitions(db, [tableId])).get(tableId)
  const table = definition && (await withLinkedTables(db, definition))
  const present = await presentIndexes(db, tableId)
  if (!table || !present.length) return { wanted: [], present, isGone: true }
  const made = new Set(present.filter(({ isValid }) => isValid).map(({ name }) => name))
  const known = { groups: await groupsOf(db, tableId), made }
  const all = planIndexes(table, await readViews(db, tableId), await usesOf(db, tableId), known)
  const fill = await tableSizeOf(db, tableId)
  const wanted = all.filter((index) => fill === 'many' || isOfCalendar(index) || (fill === 'between' && made.has(index.name)))
  return { wanted, present, isGone: false }
}

const isOfCalendar = ({ name }: PlannedIndex) => name.startsWith('idx_layout_')

async function noteFailure({ db, log, now }: Context, tableId: number, name: string, error: unknown): Promise<void> {
  log.warn({ err: error, tableId, index: name }, 'index not built')
  const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown'
  await db.write(sql`
    insert into index_failures (table_id, name, error, attempts, failed_at)
    select id, ${name}, ${reason}, 1, ${formatInstant(now)}::timestamp from tables where id = ${tableId}
    on conflict (table_id, name) do update
      set error = excluded.error, attempts = index_failures.attempts + 1, failed_at = excluded.failed_at`)
}

/** Deletes the failures of indexes that were built since or are no longer planned. */
async function forgetFailures({ db }: Context, tableId: number): Promise<void> {
  if (!(await failuresOf(db, tableId)).size) return
  const { wanted, present } = await stateOf(db, tableId)
  const missing = wanted.filter(({ name }) => !present.some((index) => index.name === name)).map(({ name }) => name)
  await db.write(sql`delete from index_failures where table_id = ${tableId} and name <> all(${missing}::text[])`)
}
