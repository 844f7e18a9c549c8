/** The measured table, view and tasks, created through the API. */
import { historyOf, recordsOf, sql } from '../../../src/platform/database/database.ts'
import type { Ground } from '../case.ts'

export interface Filled {
  ownerId: number
  tableId: number
  viewId: number
  recordIds: number[]
  taskIds: number[]
  /** A record with many changes. */
  changedId: number
}

export const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Email', type: 'email' },
  { name: 'Phone', type: 'phone' },
  { name: 'Status', type: 'select', options: ['Open', 'Waiting', 'Done'] },
  { name: 'Tags', type: 'multi_select', options: ['Red', 'Green', 'Blue'] },
  { name: 'Amount', type: 'number', decimals: 2 },
  { name: 'Due', type: 'date' },
  { name: 'Met', type: 'datetime' },
  { name: 'Active', type: 'checkbox' },
  { name: 'City', type: 'text' },
  { name: 'Notes', type: 'long_text' },
  { name: 'Owner', type: 'user' },
]
const CITIES = ['Berlin', 'Bern', 'Lisbon', 'Oslo', 'Quito', 'Rome', 'Vienna']
const BATCH = 1_000
const CHANGES = 10_000
const DAY_MS = 86_400_000

/** A third of the records are open, and nearly all of those are due. */
export async function fill({ db, key, browser, account }: Ground, { records: recordCount }: { records: number }): Promise<Filled> {
  const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Bench' })) as { id: number }
  const { id: tableId } = (await key('POST', `/api/space/${spaceId}/tables/create`, { name: 'Deals', fields: FIELDS })) as { id: number }
  const recordIds: number[] = []
  for (let from = 0; from < recordCount; from += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, recordCount - from) }, (_, index) => ({ data: dataOf(from + index, '@me') }))
    const made = (await key('POST', `/api/table/${tableId}/records/create_batch`, { records })) as { id: number }[]
    recordIds.push(...made.map(({ id }) => id))
  }
  const { id: viewId } = (await browser('POST', `/api/table/${tableId}/views/create`, {
    name: 'Open and due',
    type: 'grid',
    filters: [
      { column: 'status', compare: '=', value: 'Open' },
      { column: 'due', compare: '<=', value: 'today' },
    ],
    order_by: 'due',
    order_dir: 'D',
  })) as { id: number }
  const taskIds: number[] = []
  for (let index = 0; index < 200; index++) {
    const path = `/api/tasks/onRecord/${tableId}/${recordIds[index % recordIds.length]}/create`
    taskIds.push(((await key('POST', path, newTask())) as { id: number }).id)
  }
  const changedId = await makeChanged({ db, key, account }, tableId)
  return { ownerId: account.ownerId, tableId, viewId, recordIds, taskIds, changedId }
}

/** Makes a record whose changes are written by SQL. */
async function makeChanged({ db, key, account }: Pick<Ground, 'db' | 'key' | 'account'>, tableId: number): Promise<number> {
  const { id } = (await key('POST', `/api/table/${tableId}/records/create`, { data: { name: 'Changed', status: 'Done' } })) as {
    id: number
  }
  const text = (name: string, from: string, to: string) => ({ name, type: 'text', from, to })
  const changes = {
    city: text('City', 'Berlin', 'Lisbon'),
    amount: { ...text('Amount', '1250.50', '1300'), type: 'number' },
    status: { name: 'Status', type: 'select', from: '1', to: '2', titles: { 1: 'Open', 2: 'Waiting' } },
  }
  await db.write(sql`
    insert into ${historyOf(tableId)} (change_id, at, record_id, version, user_id, records, kind, changes)
    select nextval('public.change_ids'), now()::timestamp(0), ${id}, v, ${account.ownerId}, 1, 'update', ${JSON.stringify(changes)}::jsonb
    from generate_series(2, ${CHANGES}::int) v`)
  await db.write(sql`update ${recordsOf(tableId)} set version = ${CHANGES} where id = ${id}`)
  return id
}

export const newTask = () => ({
  title: 'Call back',
  details: 'About the offer',
  due_date: '2030-05-17',
  due_time: '09:30',
  reminder_offset_mins: 30,
})

export const newRecord = (index: number) => ({ data: { ...dataOf(3 * index, '@me'), tags: ['Red', 'Green'], status: 'Open' } })

export const newBatch = (index: number) => ({ records: Array.from({ length: 100 }, (_, row) => newRecord(100 * index + row)) })

export const changedCells = (index: number) => ({ data: { amount: index % 100_000, city: CITIES[index % CITIES.length] } })

function dataOf(index: number, owner: string): Record<string, unknown> {
  const day = new Date(Date.now() - ((index * 7) % 900) * DAY_MS)
  return {
    name: `Deal ${index}`,
    email: `deal${index}@example.com`,
    phone: `+49 30 ${100_000 + index}`,
    status: ['Open', 'Waiting', 'Done'][index % 3],
    tags: index % 2 ? ['Red'] : ['Green', 'Blue'],
    amount: index * 1.25,
    due: day.toISOString().slice(0, 10),
    met: day.toISOString().slice(0, 19).replace('T', ' '),
    active: index % 4 === 0,
    city: CITIES[index % CITIES.length],
    notes: `Met at the fair. ${'They want to hear from us again in spring. '.repeat(4)}`,
    owner,
  }
}
