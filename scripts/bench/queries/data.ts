/** A table of a million records that refer to companies, with tasks, comments and notifications about them. */

import { insertKey } from '../../../src/keys/service.ts'
import { recordsOf } from '../../../src/platform/database/database.ts'
import { FEW_RECORDS } from '../../../src/tables/indexing.ts'
import { MANY_RECORDS } from '../../../src/tables/row-counts.ts'
import type { Ground } from '../case.ts'
import { indexesMade, tallied } from '../records/data.ts'
import { chance, unhurried } from '../sql.ts'

export interface Filled {
  ownerId: number
  /** A key of the owner, whose notifications count as unread. */
  secret: string
  tableId: number
  companiesId: number
}

export const STAGES = ['Lead', 'Offer', 'Won', 'Lost', 'Closed']
/** One amount in a hundred is larger. */
export const LARGE = 990_000
export const CITY = 'City 7'
const COMPANIES = 1_000
/** Orders get an index when a view has them. */
const ORDERS = {
  'By amount': [{ field: 'amount' }],
  Board: [{ field: 'stage' }, { field: 'amount', dir: 'D' }],
  'Three keys': [{ field: 'stage' }, { field: 'active' }, { field: 'amount', dir: 'D' }],
}
/** Those of the orders, and of the key, the title and two texts. */
const INDEXES = Object.keys(ORDERS).length + 4

export async function fill(ground: Ground, { records }: { records: number }): Promise<Filled> {
  const { db, key, browser, account } = ground
  const { accountId, ownerId } = account
  const make = async (path: string, body: object) => ((await key('POST', path, body)) as { id: number }).id
  const spaceId = await make('/api/spaces/create', { name: 'Bench' })
  const texts = ['Name', 'City'].map((name) => ({ name, type: 'text' }))
  const companiesId = await make(`/api/space/${spaceId}/tables/create`, { name: 'Companies', fields: texts })
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Stage', type: 'select', options: STAGES },
    { name: 'Active', type: 'checkbox' },
    { name: 'Amount', type: 'number', decimals: 2 },
    { name: 'Company', type: 'lookup', table: companiesId },
    { name: 'Notes', type: 'long_text' },
  ]
  const tableId = await make(`/api/space/${spaceId}/tables/create`, { name: 'Deals', fields })
  await unhurried(db, async (client) => {
    await client.query(companies(companiesId), [COMPANIES])
    await client.query(deals(tableId), [records, ownerId, COMPANIES])
    for (const about of [TASKS, COMMENTS, NOTIFICATIONS]) await client.query(about, [records, accountId, ownerId, spaceId, tableId])
    for (const { sql } of [recordsOf(companiesId), recordsOf(tableId)]) await client.query(`vacuum analyze ${sql}`)
  })
  for (const [name, order] of Object.entries(ORDERS))
    await browser('POST', `/api/table/${tableId}/views/create`, { name, type: 'grid', order })
  // For smaller tables the service does neither.
  if (records > FEW_RECORDS) await indexesMade(key, tableId, INDEXES)
  if (records > MANY_RECORDS) await tallied(db, tableId)
  const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'personal', name: 'Bench' }, new Date())
  return { ownerId, secret, tableId, companiesId }
}

const of = (n: number | string, seed: number) => chance('i', n, seed)

const companies = (tableId: number) => `
  insert into ${recordsOf(tableId).sql} (created_at, updated_at, name, city)
  select now()::timestamp(0), now()::timestamp(0), 'Company ' || ${of(1_000_000, 1)} || ' of ' || i, 'City ' || i % 50 from generate_series(1, $1::int) i`

const deals = (tableId: number) => `
  insert into ${recordsOf(tableId).sql} (created_at, created_by, updated_at, updated_by, name, stage, active, amount, company, notes)
  select now()::timestamp(0), $2::int, now()::timestamp(0), $2::int, 'Deal ' || ${of(1_000_000, 1)} || ' of ' || i, 1 + ${of(STAGES.length, 2)},
    ${of(4, 3)} = 0, (${of(100_000_000, 4)} / 100.0)::numeric(12, 2), 1 + ${of('$3::int', 5)},
    repeat('They want to hear from us again in spring, after the fair. ', 3) || i
  from generate_series(1, $1::int) i`

/** Every tenth record has two tasks, comments and notifications on average. */
const TASKS = `
  insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, due_date, status, created_at, updated_at)
  select $2, $3, $3, $4, $5, 1 + 10 * ${of('$1::int / 10', 1)}, 'Call back ' || i, current_date - 300 + ${of(601, 2)}, 'open', now(), now()
  from generate_series(1, $1::int / 5) i`
const COMMENTS = `
  insert into record_comments (account_id, space_id, table_id, record_id, user_id, user_name, content, created_at)
  select $2, $4, $5, 1 + 10 * ${of('$1::int / 10', 3)}, $3, 'Ben Bench', 'They will send the papers. ' || i, now()
  from generate_series(1, $1::int / 5) i`
const NOTIFICATIONS = `
  insert into notifications (user_id, account_id, space_id, table_id, record_id, event_type, message, url, summary, mailed_at, created_at)
  select $3, $2, $4, $5, 1 + 10 * ${of('$1::int / 10', 4)}, 'TASK_COMMENT', 'A comment', '/', 'A comment ' || i, now(), now()
  from generate_series(1, $1::int / 5) i`
