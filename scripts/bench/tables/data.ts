/** Ten thousand tables of five hundred records in two thousand accounts: made through the API, except for the records. */
import { createAccount } from '../../../src/accounts/service.ts'
import { insertKey } from '../../../src/keys/service.ts'
import { recordsOf } from '../../../src/platform/database/database.ts'
import { api } from '../api.ts'
import type { Ground } from '../case.ts'
import { FIELDS } from '../foundation/data.ts'
import { chance, unhurried } from '../sql.ts'

export interface Tenant {
  /** The secret of a key of the account. */
  secret: string
  tableIds: number[]
}

export interface Filled {
  tenants: Tenant[]
}

const TENANTS = 2_000
const TABLES_OF_A_TENANT = 5
const AT_ONCE = 4

export async function fill(ground: Ground, { records }: { records: number }): Promise<Filled> {
  const tenants: Tenant[] = []
  let next = 0
  const work = () =>
    unhurried(ground.db, async (client) => {
      while (next < TENANTS) {
        const number = next++
        const { ownerId, ...tenant } = await makeTenant(ground, number)
        for (const tableId of tenant.tableIds) await client.query(insertion(tableId), [records, ownerId])
        tenants[number] = tenant
      }
    })
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { tenants }
}

async function makeTenant({ db, url }: Ground, number: number): Promise<Tenant & { ownerId: number }> {
  const now = new Date()
  const owner = { email: `tenant${number}.${now.getTime()}@example.com`, name: `Owner ${number}` }
  const { accountId, ownerId } = await createAccount(db, `Tenant ${number}`, owner, now)
  const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name: 'Bench' }, now)
  const key = api(url, { authorization: `Bearer ${secret}` })
  const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Sales' })) as { id: number }
  const tableIds: number[] = []
  for (let index = 1; index <= TABLES_OF_A_TENANT; index++) {
    const made = await key('POST', `/api/space/${spaceId}/tables/create`, { name: `Deals ${index}`, fields: FIELDS })
    tableIds.push((made as { id: number }).id)
  }
  return { secret, tableIds, ownerId }
}

const insertion = (tableId: number) => `
  insert into ${recordsOf(tableId).sql} (created_at, created_by, updated_at, updated_by,
    name, email, phone, status, tags, amount, due, met, active, city, notes, owner)
  select now()::timestamp(0), $2, now()::timestamp(0), $2, 'Deal ' || i, 'deal' || i || '@example.com', '+49 30 ' || (100000 + i),
    1 + i % 3, array[1 + i % 3], i * 1.25, current_date - ${chance('i', 900, 1)}, now()::timestamp(0), i % 4 = 0, 'Berlin',
    'Met at the fair. They want to hear from us again in spring, with an offer for the second address.', $2
  from generate_series(1, $1::int) i`
