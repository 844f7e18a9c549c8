/** Runs reads and writes with a table's definition, and repeats them with a newer one if the table was changed or placed elsewhere (design.md §3). */

import type { TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { isOutdated, isPlacedSince } from '../platform/database/outdated-definition.ts'
import { notFound, unavailable } from '../platform/http/errors.ts'
import { tableDefinition, tableDefinitions } from './definition-cache.ts'

/** Returned by work that finds its definition outdated, to be called again with a newer one. */
export const STALE = Symbol('the definition is stale')

/** With this many attempts, writers succeed even while a script adds a field every few milliseconds. */
const ATTEMPTS = 10

/**
 * Calls `work` with the table's definition, and again with a newer one if it returns STALE or a statement fails because the table
 * was changed.
 * @throws AppError 404 if the table is deleted; 503 if it is still being changed after ten attempts; the error of a statement that fails
 * twice with the same definition, because it has another cause
 */
export async function withDefinition<T>(
  { db }: Pick<Context, 'db'>,
  table: { id: number; version: number },
  work: (definition: TableDef) => Promise<T | typeof STALE>,
): Promise<T> {
  let definition: TableDef | undefined = await tableDefinition(db, table)
  let failedWith: number | undefined
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const wasElsewhere = db.isElsewhere(table.id)
    try {
      const result = await work(definition)
      if (result !== STALE) return result as T
    } catch (error) {
      // After an error a transaction can only be rolled back. A request with an Idempotency-Key is then repeated as a whole (trpc.ts).
      const isRepeated = !db.inTransaction() && ((await isPlacedSince(db, table.id, wasElsewhere, error)) || isOutdated(error))
      if (!isRepeated || failedWith === definition.version) throw error
      failedWith = definition.version
    }
    definition = (await tableDefinitions(db, [table.id])).get(table.id)
    if (!definition) throw notFound('Table')
  }
  throw unavailable('The table is being changed; retry')
}

/**
 * Does the same for work that only reads. Reading a converted cell by the old definition causes no database error, but gives a wrong
 * value, such as the title of an option in place of its id. While a conversion runs, the version is therefore checked afterwards.
 */
export function readWithDefinition<T>(
  context: Pick<Context, 'db'>,
  table: { id: number; version: number },
  work: (definition: TableDef) => Promise<T>,
): Promise<T> {
  return withDefinition<T>(context, table, async (definition) => {
    const result = await work(definition)
    return definition.isConverting && (await hasChanged(context, definition)) ? STALE : result
  })
}

async function hasChanged({ db }: Pick<Context, 'db'>, { id, version }: TableDef): Promise<boolean> {
  return !(await db.readShort(sql`select from tables where id = ${id} and version = ${version}`, 'is-version')).length
}
