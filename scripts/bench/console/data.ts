/** A table of a million records with fifty fields, and a small one from which one comes. */
import { recordsOf } from '../../../src/platform/database/database.ts'
import { FEW_RECORDS } from '../../../src/tables/indexing.ts'
import { MANY_RECORDS } from '../../../src/tables/row-counts.ts'
import type { Ground } from '../case.ts'
import { indexesMade, tallied } from '../records/data.ts'
import { chance, unhurried } from '../sql.ts'

export interface Filled {
  smallTableId: number
  largeTableId: number
  /** Of the small table: a record with as much as a busy one has, and one whose timeline has thousands of entries. */
  busyRecordId: number
  longRecordId: number
}

/** How many fields of each type stand beside the name. Text has an index of its own each, so there is little of it. */
const COUNTS = { text: 3, number: 16, date: 15, select: 15 }
const SMALL = 50
const OPTIONS = ['Lead', 'Open', 'Won', 'Lost']

const FIELDS = Object.entries(COUNTS).flatMap(([type, count]) =>
  Array.from({ length: count }, (_, index) => ({ name: `${type} ${index + 1}`, type, ...(type === 'select' && { options: OPTIONS }) })),
)

export async function fill({ db, key, account }: Ground, { records }: { records: number }): Promise<Filled> {
  const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Bench' })) as { id: number }
  const make = async (name: string) => {
    const fields = [{ name: 'Name', type: 'text' }, ...FIELDS]
    return ((await key('POST', `/api/space/${spaceId}/tables/create`, { name, fields })) as { id: number }).id
  }
  const [smallTableId, largeTableId] = [await make('Small'), await make('Large')]
  await unhurried(db, async (client) => {
    for (const [tableId, count] of [
      [smallTableId, SMALL],
      [largeTableId, records],
    ] as const) {
      await client.query(insertion(tableId), [count, account.ownerId])
      await client.query(`vacuum analyze ${recordsOf(tableId).sql}`)
    }
  })
  if (records > FEW_RECORDS) await indexesMade(key, largeTableId, 1)
  if (records > MANY_RECORDS) await tallied(db, largeTableId)
  const [busyRecordId, longRecordId] = [1, 2]
  await unhurried(db, async (client) => {
    const place = [account.accountId, spaceId, smallTableId, account.ownerId]
    await client.query(COMMENTS, [...place, busyRecordId, 500, 'comment', MAIL])
    await client.query(COMMENTS, [...place, busyRecordId, 50, 'email_in', MAIL])
    await client.query(TASKS, [...place, busyRecordId, 100])
    await client.query(COMMENTS, [...place, longRecordId, 5_000, 'comment', MAIL])
    await client.query('vacuum analyze record_comments, tasks')
  })
  return { smallTableId, largeTableId, busyRecordId, longRecordId }
}

const VALUES: Record<string, (seed: number) => string> = {
  text: (seed) => `'Text ' || ${chance('i', 1_000_000, seed)}`,
  number: (seed) => `${chance('i', 1_000_000, seed)} / 100.0`,
  date: (seed) => `current_date - 500 + ${chance('i', 1_001, seed)}`,
  select: (seed) => `1 + ${chance('i', OPTIONS.length, seed)}`,
}

const insertion = (tableId: number) => `
  insert into ${recordsOf(tableId).sql} (created_at, created_by, updated_at, updated_by, name, ${FIELDS.map(({ name }) => name.replace(' ', '_')).join(', ')})
  select now()::timestamp(0), $2, now()::timestamp(0), $2, 'Deal ' || i, ${FIELDS.map(({ type }, seed) => VALUES[type]?.(seed)).join(', ')}
  from generate_series(1, $1::int) i`

/** What a received mail has besides its subject. */
const MAIL = JSON.stringify({
  ...{ from: { name: 'Ann', email: 'ann@customer.example' }, to: ['desk@example.com'], cc: [], date: null },
  ...{ parentCommentId: null, messageId: null, inReplyTo: null, text: 'Could you send it?', html: null, inline: [] },
  ...{ autoReply: false, authentication: null, senderWasRecipient: false, unreadable: false, remoteImages: 0, attachmentsLeftOut: 0 },
})

const COMMENTS = `
  insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content, metadata, created_at, updated_at)
  select $1, $2, $3, $5, $7, case when $7 = 'comment' then $4 else 0 end, 'Ben Bench', repeat('They asked for the price list. ', 1 + i % 9),
    case when $7 = 'email_in' then jsonb_build_object('subject', 'Price list ' || i) || $8::jsonb end, made, made
  from generate_series(1, $6::int) i, lateral (select now()::timestamp(0) - interval '10 minutes' * i as made) m`

const TASKS = `
  insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, due_date, status, created_at, updated_at)
  select $1, $4, $4, $2, $3, $5, 'Call back about offer ' || i, current_date + i % 30, 'open', made, made
  from generate_series(1, $6::int) i, lateral (select now()::timestamp(0) - interval '1 hour' * i as made) m`
