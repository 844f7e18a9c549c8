import type { TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { notFound, unavailable } from '../platform/http/errors.ts'
import { isOutdated, tableDefinition, tableDefinitions } from '../tables/definitions.ts'

/** Answered by work that found the table changed since its definition was read. */
export const STALE = Symbol('the definition is stale')

/** A new field every few milliseconds, as a script makes them, must not starve who writes records meanwhile. */
const ATTEMPTS = 10

/** Works with the table's definition, and again with a newer one when the table is changed meanwhile (design.md §3). */
export async function withDefinition<T>(
  { db }: Pick<Context, 'db'>,
  table: { id: number; version: number },
  work: (definition: TableDef) => Promise<T | typeof STALE>,
): Promise<T> {
  let definition: TableDef | undefined = await tableDefinition(db, table)
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      const result = await work(definition)
      if (result !== STALE) return result as T
    } catch (error) {
      // After an error a transaction can only be given up.
      if (!isOutdated(error) || db.inTransaction()) throw error
    }
    definition = (await tableDefinitions(db, [table.id])).get(table.id)
    if (!definition) throw notFound('Table')
  }
  throw unavailable('The table is being changed, please try again')
}

/**
 * The same for work that only reads. A cell of another type is no error to the database, but no value to the definition either: an
 * option's title would be taken for an id. So where a field may be converted at this moment, the work is done again if it was.
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
  return !(await db.lookUp(sql`select from tables where id = ${id} and version = ${version}`, 'is-version')).length
}
