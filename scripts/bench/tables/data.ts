/** Two thousand tables of five hundred records: the tables are created through the API, their records by SQL. */
import { recordsOf } from '../../../src/platform/database/database.ts'
import type { Ground } from '../case.ts'
import { FIELDS } from '../foundation/data.ts'
import { chance, unhurried } from '../sql.ts'

export interface Filled {
  tableIds: number[]
}

const TABLES = 2_000
const AT_ONCE = 4

export async function fill({ db, key, account }: Ground, { records }: { records: number }): Promise<Filled> {
  const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Bench' })) as { id: number }
  const tableIds: number[] = []
  for (let from = 1; from <= TABLES; from += AT_ONCE) {
    const made = Array.from({ length: AT_ONCE }, (_, index) =>
      key('POST', `/api/space/${spaceId}/tables/create`, { name: `Deals ${from + index}`, fields: FIELDS }),
    )
    for (const table of await Promise.all(made)) tableIds.push((table as { id: number }).id)
  }
  await unhurried(db, async (client) => {
    for (const tableId of tableIds) await client.query(insertion(tableId), [records, account.ownerId])
  })
  return { tableIds }
}

const insertion = (tableId: number) => `
  insert into ${recordsOf(tableId).sql} (created_at, created_by, updated_at, updated_by,
    name, email, phone, status, tags, amount, due, met, active, city, notes, owner)
  select now()::timestamp(0), $2, now()::timestamp(0), $2, 'Deal ' || i, 'deal' || i || '@example.com', '+49 30 ' || (100000 + i),
    1 + i % 3, array[1 + i % 3], i * 1.25, current_date - ${chance('i', 900, 1)}, now()::timestamp(0), i % 4 = 0, 'Berlin',
    'Met at the fair. They want to hear from us again in spring, with an offer for the second address.', $2
  from generate_series(1, $1::int) i`
