import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase, raw, sql } from '../src/platform/database/database.ts'
import { labelled, shortRead } from '../src/platform/database/statements/statement.ts'
import { testDatabase } from './support/database.ts'

/** More than a connection keeps (MOST_ON_CONNECTION). */
const TEXTS = 700
const MOST = 301
/** A statement is prepared from its third use on. */
const USES = 3

let db: Database
beforeAll(async () => {
  const { connection } = await testDatabase()
  db = openDatabase(connection)
})
afterAll(() => db.close())

/** Runs many texts until each is prepared. @returns the statements that their connection kept at most, and the backends that ran them */
async function prepareMany(run: (text: string) => Promise<{ kept: number; pid: number }[]>): Promise<{ kept: number; backends: number }> {
  const pids = new Set<number>()
  let most = 0
  for (let text = 0; text < TEXTS; text++) {
    for (let use = 0; use < USES; use++) {
      const [row] = await run(`select count(*)::int as kept, pg_backend_pid() as pid, ${text} as text from pg_prepared_statements`)
      most = Math.max(most, row?.kept ?? 0)
      pids.add(row?.pid ?? 0)
    }
  }
  return { kept: most, backends: pids.size }
}

test('are bounded on a connection of the pool, whose successor goes on', async () => {
  const { kept, backends } = await prepareMany((text) => db.read(labelled('many', sql`${raw(text)}`)))
  expect(kept).toBeGreaterThan(200)
  expect(kept).toBeLessThanOrEqual(MOST)
  expect(backends).toBe(3)
})

test('are bounded on the connection of short reads', async () => {
  const { kept } = await prepareMany((text) => db.read(shortRead('many', sql`${raw(text)}`)))
  expect(kept).toBeGreaterThan(200)
  expect(kept).toBeLessThanOrEqual(MOST)
})
