/** Runs reads and writes with a table's definition, and repeats them with a newer one if the table was changed or placed elsewhere. */

import { fieldsById } from '../fields/by-id.ts'
import type { TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { notePlacement } from '../platform/database/nodes/placed-since.ts'
import { isOutdated } from '../platform/database/outdated-definition.ts'
import { shortRead } from '../platform/database/statements/statement.ts'
import { notFound, unavailable } from '../platform/errors.ts'
import { addHistory } from './alter-table.ts'
import { definitionsOf, guessedDefinition, tableDefinition, tableDefinitions } from './definition-cache.ts'
import { linkedTables } from './linked-tables.ts'

/** Returned by work that finds its definition outdated, to be called again with a newer one. */
export const STALE = Symbol('the definition is stale')

/** With this many attempts, writers succeed even while a script adds a field every few milliseconds. */
const ATTEMPTS = 10

/** What a request brings, of which a job needs no `confirmAccess`. */
type DefinitionContext = Pick<Context, 'db'> & Partial<Pick<Context, 'confirmAccess'>>

/**
 * Calls `work` with the table's definition, and again with a newer one if it returns STALE or a statement fails because the table
 * was changed.
 * @throws AppError 401, 403, 404 if the caller has lost the access meanwhile; 404 if the table is deleted; 503 if it is still being changed
 * after ten attempts; the error of a statement that fails twice with the same definition, because it has another cause
 */
export async function withDefinition<T>(
  { db, confirmAccess }: DefinitionContext,
  table: { id: number; version: number },
  work: (definition: TableDef) => Promise<T | typeof STALE>,
): Promise<T> {
  let definition: TableDef | undefined = await tableDefinition(db, table)
  let failedWith: number | undefined
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const isPlacedSince = notePlacement(db, table.id)
    try {
      const result = await work(definition)
      if (result !== STALE) return result as T
    } catch (error) {
      // After an error a transaction can only be rolled back. A request with an Idempotency-Key is then repeated as a whole (trpc.ts).
      const isRepeated = !db.inTransaction() && ((await isPlacedSince(error)) || isOutdated(error))
      if (!isRepeated || failedWith === definition.version) throw error
      failedWith = definition.version
    }
    definition = (await tableDefinitions(db, [table.id])).get(table.id)
    if (!definition) throw notFound('Table')
    await confirmAccess?.()
  }
  throw unavailable('The table is being changed; retry')
}

/** Does the same for work that writes records: their table can keep the history of them. */
export function writeWithDefinition<T>(
  context: Context,
  table: { id: number; version: number },
  work: (definition: TableDef) => Promise<T | typeof STALE>,
): Promise<T> {
  return withDefinition(context, table, async (definition) => ((await addHistory(context, definition)) ? STALE : work(definition)))
}

/**
 * Calls a read with the definitions of several tables, and again with newer ones if its statement fails because one of them was changed or
 * placed elsewhere. Deleted tables are left out.
 * @throws AppError 503 if one is still being changed after ten attempts; the error of a statement that fails twice with the same ones
 */
export async function withDefinitions<T>(
  { db }: Pick<Context, 'db'>,
  tables: readonly { id: number; version: number }[],
  read: (definitions: ReadonlyMap<number, TableDef>) => Promise<T>,
): Promise<T> {
  const ids = tables.map(({ id }) => id)
  let definitions = await definitionsOf(db, tables)
  let failedWith = ''
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const versions = [...definitions.values()].map(({ id, version }) => `${id}:${version}`).join()
    const placedSince = ids.map((id) => notePlacement(db, id))
    try {
      return await read(definitions)
    } catch (error) {
      const isRepeated = !db.inTransaction() && (isOutdated(error) || (await isAnyPlacedSince(placedSince, error)))
      if (!isRepeated || failedWith === versions) throw error
      failedWith = versions
    }
    definitions = await tableDefinitions(db, ids)
  }
  throw unavailable('The table is being changed; retry')
}

async function isAnyPlacedSince(placedSince: readonly ReturnType<typeof notePlacement>[], error: unknown): Promise<boolean> {
  for (const isPlacedSince of placedSince) if (await isPlacedSince(error)) return true
  return false
}

/**
 * Does the same for work that only reads. Reading a cell by an old definition causes no error if the field was converted, or deleted and
 * created anew under its name, but gives a wrong value, such as the title of an option in place of its id. So the work is repeated if the
 * fields mean something else afterwards.
 */
export function readWithDefinition<T>(
  context: DefinitionContext,
  table: { id: number; version: number },
  work: (definition: TableDef) => Promise<T>,
): Promise<T> {
  return withDefinition<T>(context, table, async (definition) => {
    const startedAt = performance.now()
    const result = await work(definition)
    return (await isOutdatedBy(context, definition, performance.now() - startedAt)) ? STALE : result
  })
}

/** Two changes of the table and a write take longer than this, so no quicker read meets a field that another process has replaced. */
const QUICK_MS = 100

/**
 * True if a cell may have been read by a definition that is not its own. What this process knows costs nothing: a caller that wrote to a
 * new field has read the definition with it. The database is asked while a conversion runs, and after a read that was not quick.
 */
async function isOutdatedBy({ db }: Pick<Context, 'db'>, definition: TableDef, tookMs: number): Promise<boolean> {
  const { id, version, isConverting } = definition
  const latest = guessedDefinition(db, id)
  if (latest && latest.version > version && !(await hasSameCells(db, definition, latest))) return true
  if (!isConverting && tookMs < QUICK_MS) return false
  if ((await db.read(shortRead('is-version', sql`select from tables where id = ${id} and version = ${version}`))).length) return false
  const present = (await tableDefinitions(db, [id])).get(id)
  return isConverting || !present || !(await hasSameCells(db, definition, present))
}

/** True if the fields mean the same, also those of the tables that were read for linked fields. */
async function hasSameCells(db: Context['db'], definition: TableDef, later: TableDef): Promise<boolean> {
  if (!hasSameFields(definition, later)) return false
  const linked = [...(linkedTables(definition)?.values() ?? [])]
  const present = await tableDefinitions(
    db,
    linked.map(({ id }) => id),
  )
  return linked.every((table) => {
    const now = present.get(table.id)
    return now !== undefined && hasSameFields(table, now)
  })
}

/** True if the cells of each field mean the same by both definitions. Other fields, names and options may have been added. */
function hasSameFields({ fields }: TableDef, later: TableDef): boolean {
  const kept = fieldsById(later)
  return fields.every((field) => {
    const same = kept.get(field.id)
    const titles = new Map(same?.options?.map(({ id, title }) => [id, title]))
    return (
      same?.type === field.type &&
      same.lookup_table_id === field.lookup_table_id &&
      (field.options ?? []).every(({ id, title }) => (titles.get(id) ?? title) === title)
    )
  })
}
