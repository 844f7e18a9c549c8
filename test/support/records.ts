/** A table with records, for tests of what hangs on records. */

import { systemContext } from '../../src/platform/context.ts'
import { recordsOf, sql } from '../../src/platform/database/database.ts'
import type { NewTable } from '../../src/tables/schema.ts'
import * as tables from '../../src/tables/service.ts'
import type { TestAccount, TestApp } from './app.ts'

/** Makes a table with a text field `name` (or the given fields) in the account's space, and one record for each name. */
export async function makeTable(
  app: TestApp,
  { id, space }: TestAccount,
  { names = ['Analytical Engines'], fields = [{ name: 'Name', type: 'text' }] }: { names?: string[]; fields?: NewTable['fields'] } = {},
): Promise<{ table: number; records: number[] }> {
  const context = systemContext(app.deps)
  const table = await tables.create(
    context,
    { id: space, account_id: id, name: '', role: 'admin' },
    { name: `Companies ${tableNumber++}`, fields },
  )
  const rows = await app.db.query<{ id: number }>(sql`
    insert into ${recordsOf(table.id)} (name, created_at, updated_at)
    select name, now(), now() from unnest(${names}::text[]) with ordinality as given(name, position) order by position returning id`)
  return { table: table.id, records: rows.map((row) => row.id) }
}

let tableNumber = 1
