/** Updates of up to 1,000 records together: all of them or none (contract.md §10). */
import { afterEach, describe, expect, test } from 'vitest'
import { FIELD_TYPES } from '../src/fields/registry.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type As, type Caller, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { everyType, makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const { keys, member, owner } = account

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

type Update = { id: number | undefined; data: unknown; version?: unknown }
type Send = (table: TestTable, records: readonly Update[] | unknown, caller?: Caller) => Promise<Answer>

/** The two roads of a request, whose answers have one form. */
const ROADS: [name: string, send: Send][] = [
  ['REST', (table, records, caller = keys.account) => app.as(caller).post(`${table.path}/records/update_batch`, { records })],
  [
    'RPC',
    async (table, records, caller = keys.account) => {
      const answer = await app.as(caller).post('/trpc/records.updateBatch', { table_id: table.id, records })
      const { result, error } = answer.body
      return { ...answer, body: error ? error.data : result.data.rows }
    },
  ],
]
const [[, rest]] = ROADS as [[string, Send]]

const NAME = { name: 'Name', type: 'text' }
const AMOUNT = { name: 'Amount', type: 'number', decimals: 8 }
const STAGE = { name: 'Stage', type: 'select', options: ['Lead', 'Won'] }

const deals = (count = 3) =>
  makeTable(app, account, {
    fields: [NAME, AMOUNT, STAGE],
    records: Array.from({ length: count }, (_, index) => ({ name: `Deal ${index}`, amount: index, stage: 'Lead' })),
  })

/** The records as they are now, and when they were changed. */
const stateOf = async (table: TestTable) =>
  app.db.read<{ id: number; version: number; updated_by: number | null }>(
    sql`select r.* from ${recordsOf(table.id)} r where r.id = any(${table.records}::int[]) order by r.id`,
  )

const errorOf = ({ status, body }: Answer) => `${status} ${body.message}`

describe.each(ROADS)('over %s a batch', (_, send) => {
  test('changes each record in its own fields, and returns them in the order of the request', async () => {
    const table = await deals()
    const [first, second, third] = table.records
    const { status, body } = await send(table, [
      { id: third, data: { name: 'Third', amount: 30 } },
      { id: first, data: { stage: 'Won' }, version: 1 },
      { id: second, data: { amount: null, stage: null } },
    ])
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject([
      { id: third, title: 'Third', data: { name: 'Third', amount: 30, stage: 'Lead' }, version: 2 },
      { id: first, title: 'Deal 0', data: { name: 'Deal 0', amount: 0, stage: 'Won' }, version: 2 },
      { id: second, title: 'Deal 1', data: { name: 'Deal 1', amount: null, stage: null }, version: 2 },
    ])
    for (const record of body) expect((await app.as(member).get(`${table.path}/record/${record.id}/get`)).body).toEqual(record)
  })

  test('leaves records whose values are already so', async () => {
    const table = await deals()
    const [first, second, third] = table.records
    const before = await stateOf(table)
    const { body } = await send(table, [
      { id: first, data: { name: 'Deal 0', amount: '0.000', stage: 'Lead' } },
      { id: second, data: {} },
      { id: third, data: { name: 'Deal 2', amount: 3 } },
    ])
    expect(body).toMatchObject([
      { id: first, version: 1 },
      { id: second, version: 1, data: { name: 'Deal 1', amount: 1, stage: 'Lead' } },
      { id: third, version: 2, data: { amount: 3 } },
    ])
    const after = await stateOf(table)
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2))
    expect((await send(table, [{ id: first, data: { stage: 'Lead' } }])).body).toMatchObject([{ id: first, version: 1 }])
  })

  test('names the ids that come twice, and changes nothing', async () => {
    const table = await deals()
    const [first, second] = table.records
    const ids = [first, second, first, first]
    const answer = await send(
      table,
      ids.map((id) => ({ id, data: { name: 'x' } })),
    )
    expect(errorOf(answer)).toBe('400 records[2].id: is the id of records[0], too')
    expect(answer.body.issues.map(({ path }: { path: unknown }) => path)).toEqual([
      ['records', 2, 'id'],
      ['records', 3, 'id'],
    ])
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1, 1])
  })

  test('names the records that do not exist, and changes nothing', async () => {
    const [table, other] = [await deals(), await deals(5)]
    const [first] = table.records
    const foreign = other.records.at(-1)
    const answer = await send(table, [
      { id: first, data: { name: 'x' } },
      { id: foreign, data: { name: 'x' } },
      { id: 2_147_483_647, data: { name: 'x' } },
    ])
    expect(errorOf(answer)).toBe('404 records[1].id: Record not found')
    expect([answer.body.code, answer.body.issues]).toEqual([
      'NOT_FOUND',
      [1, 2].map((index) => ({ path: ['records', index, 'id'], message: 'Record not found' })),
    ])
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1, 1])
  })

  test('shows the records that have another version than it names, and changes nothing', async () => {
    const table = await deals()
    const [first, second, third] = table.records
    await app.as(member).post(`${table.path}/record/${second}/update`, { data: { name: 'Changed' } })
    const current = (await app.as(member).get(`${table.path}/record/${second}/get`)).body
    const answer = await send(table, [
      { id: first, data: { name: 'x' }, version: 1 },
      { id: second, data: { name: 'x' }, version: 1 },
      { id: third, data: { name: 'x' } },
    ])
    expect(errorOf(answer)).toBe('409 Records have changed since')
    expect(answer.body.stale).toEqual([{ id: second, version: 2, current }])
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 2, 1])
    const null1 = await send(table, [{ id: second, data: { name: 'x' }, version: null }])
    expect(null1.body).toMatchObject([{ version: 3, title: 'x' }])
  })

  test('names the values that are invalid, and changes nothing', async () => {
    const table = await deals()
    const [first, second, third] = table.records
    const answer = await send(table, [
      { id: first, data: { name: 'x' } },
      { id: second, data: { amount: 'much', stage: 'Sold' } },
      { id: third, data: { colour: 'red' } },
    ])
    expect(answer.status).toBe(400)
    expect(answer.body.message).toMatch(/^records\[1\]\.data\.amount: /)
    expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual([
      'records.1.data.amount',
      'records.1.data.stage',
      'records.2.data.colour',
    ])
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1, 1])
  })

  test.each<[reason: string, records: (id: number) => unknown, message: string]>([
    ['is no list', () => ({}), 'records: '],
    ['is missing', () => undefined, 'records: '],
    ['is empty', () => [], 'records: must have at least 1 record'],
    ['has too many', (id) => Array.from({ length: 1_001 }, () => ({ id, data: {} })), 'records: must have at most 1000 records'],
    ['has no id', () => [{ data: {} }], 'records[0].id: is required'],
    ['has an id of text', () => [{ id: '1', data: {} }], 'records[0].id: must be a whole number'],
    ['has an id of 0', () => [{ id: 0, data: {} }], 'records[0].id: must be 1 or more'],
    ['has no data', (id) => [{ id }], 'records[0].data: is required'],
    ['has a list as data', (id) => [{ id, data: [] }], 'records[0].data: must be an object with values by field id'],
    ['has a version of text', (id) => [{ id, data: {}, version: '1' }], 'records[0].version: '],
    ['has an unknown key', (id) => [{ id, data: {}, versions: 1 }], 'records[0].versions: is not a known key'],
    ['sets a calculated field', (id) => [{ id, data: { created_at: null } }], 'Unassignable - cannot set calculation field: created_at'],
  ])('that %s is refused', async (_reason, records, message) => {
    const table = await deals(1)
    const answer = await send(table, records(table.records[0] as number))
    expect([answer.status, answer.body.message.startsWith(message)], answer.body.message).toEqual([400, true])
  })

  test('is refused without the right, for a field of admins, and to strangers', async () => {
    const table = await makeTable(app, account, {
      fields: [NAME, { name: 'Rating', type: 'number', admin_only: true }],
      records: [{ name: 'a' }, { name: 'b' }],
    })
    const [first, second] = table.records
    const rated = [
      { id: first, data: { name: 'x' } },
      { id: second, data: { rating: 1 } },
    ]
    expect(errorOf(await send(table, rated, member))).toBe('403 Not authorized')
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1])
    expect((await send(table, rated, account.admin)).status).toBe(200)
    const named = [{ id: first, data: { name: 'y' } }]
    const statuses = []
    for (const caller of [account.viewer, account.outsider, keys.accountReadOnly, keys.accountOtherSpace, keys.accountOutsider, null])
      statuses.push((await send(table, named, caller)).status)
    expect(statuses).toEqual([403, 404, 403, 403, 404, 401])
  })

  test('of a required field does not empty it', async () => {
    const table = await makeTable(app, account, { fields: [NAME, { ...AMOUNT, required: true }], records: [{ amount: 1 }] })
    const [id] = table.records
    expect(errorOf(await send(table, [{ id, data: { amount: null } }]))).toBe('400 records[0].data.amount: is required')
    expect((await send(table, [{ id, data: { name: 'x' } }])).status).toBe(200)
  })
})

test('sets a value of every type in a batch, and empties it', async () => {
  const table = await everyType(app, account)
  const values = {
    text: 'A "quoted" \\ text, {with} commas',
    long_text: 'A\nlong\nstory',
    email: 'ann@example.com',
    url: 'https://example.com',
    phone: '+49 30 1',
    number: '12.345',
    checkbox: true,
    date: '2024-02-29',
    datetime: '2026-03-31T09:30:00+02:00',
    time: '09:30',
    select: 'Done',
    multi_select: ['Done', 'Open'],
    user: member.email,
    multi_user: ['@me', account.viewer.id],
    lookup: table.target,
    multi_lookup: [{ id: table.target }],
    file: [],
  }
  expect(Object.keys(values).sort()).toEqual([...FIELD_TYPES].sort())
  const as = app.as(owner)
  const made = (await as.post(`${table.path}/records/create_batch`, { records: [{ data: {} }, { data: values }, { data: {} }] })).body
  const [first, second, third] = made as { id: number; data: object }[]
  const { body } = await as.post(`${table.path}/records/update_batch`, {
    records: [
      { id: second?.id, data: Object.fromEntries(FIELD_TYPES.map((type) => [type, null])) },
      { id: first?.id, data: values },
      { id: third?.id, data: { text: 'only' } },
    ],
  })
  expect(body.map(({ data }: { data: object }) => data)).toEqual([first?.data, second?.data, { ...third?.data, text: 'only' }])
})

describe('a number that a client sends back as the double that it has read', () => {
  test('leaves the stored one, in a batch where another record sends a text', async () => {
    const numbers = ['99999999999.99999999', '99999999999.99999999', '1.5']
    const table = await makeTable(app, account, { fields: [NAME, AMOUNT], records: numbers.map((amount) => ({ amount })) })
    const [first, second, third] = table.records
    const stored = async () =>
      (await app.db.read<{ amount: string }>(sql`select amount::text from ${recordsOf(table.id)} order by id`)).map(({ amount }) => amount)
    const { body } = await rest(table, [
      { id: first, data: { amount: 100_000_000_000 } },
      { id: second, data: { amount: '100000000000' } },
      { id: third, data: { name: 'x' } },
    ])
    expect(body.map(({ version }: { version: number }) => version)).toEqual([1, 2, 2])
    expect(await stored()).toEqual(['99999999999.99999999', '100000000000', '1.5'].map((text) => expect.stringMatching(`^${text}0*$`)))
    expect((await rest(table, [{ id: first, data: { amount: 99_999_999_999.5 } }])).body[0].version).toBe(2)
  })
})

describe('files', () => {
  const FILES = { name: 'Files', type: 'file' }
  const stateOfFiles = (table: TestTable) =>
    app.db.read(sql`
      select name, dropped_at is not null as dropped, record_id, is_shared from stored_files where table_id = ${table.id} order by name`)

  test('are taken into use, moved between records and released', async () => {
    const table = await makeTable(app, account, { fields: [NAME, FILES], records: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
    const [first, second, third] = table.records as [number, number, number]
    const as = app.as(member)
    const add = async (record: number, name: string) =>
      (
        await as.post(`${table.path}/record/${record}/files/create`, {
          field_id: 'files',
          name,
          data: Buffer.from(name).toString('base64'),
        })
      ).body.at(-1)
    const [a, b, c] = [await add(first, 'a'), await add(second, 'b'), await add(third, 'c')]
    const moved = await rest(table, [
      { id: first, data: { files: [b] } },
      { id: second, data: { files: null, name: 'B' } },
      { id: third, data: { files: [{ path: c.path }, b] } },
    ])
    expect(moved.body.map(({ data }: { data: { files: object[] } }) => data.files)).toEqual([[b], [], [c, b]])
    expect(await stateOfFiles(table)).toEqual([
      { name: 'a', dropped: true, record_id: first, is_shared: false },
      { name: 'b', dropped: false, record_id: expect.any(Number), is_shared: true },
      { name: 'c', dropped: false, record_id: third, is_shared: false },
    ])
    const back = await rest(table, [
      { id: first, data: { files: [a] } },
      { id: third, data: { files: [] } },
    ])
    expect(back.status).toBe(200)
    expect(await stateOfFiles(table)).toMatchObject([
      { name: 'a', dropped: false, record_id: first },
      { name: 'b', dropped: true },
      { name: 'c', dropped: true, record_id: third },
    ])
    const removals = await app.db.read(sql`select id from audit_entries where action = 'file.deleted' and table_id = ${table.id}`)
    expect(removals).toHaveLength(4)
  })

  test('of another table are refused, and the batch changes nothing', async () => {
    const [table, other] = [
      await makeTable(app, account, { fields: [NAME, FILES], records: [{ name: 'a' }, { name: 'b' }] }),
      await makeTable(app, account, { fields: [NAME, FILES], records: [{ name: 'a' }] }),
    ]
    const [file] = (
      await app.as(member).post(`${other.path}/record/${other.records[0]}/files/create`, { field_id: 'files', name: 'a', data: '' })
    ).body
    const answer = await rest(table, [
      { id: table.records[0], data: { name: 'x' } },
      { id: table.records[1], data: { files: [file] } },
    ])
    expect(answer.status).toBe(400)
    expect(answer.body.message).toMatch(/^records\[1\]\.data\.files: /)
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1])
  })
})

test('a batch with an Idempotency-Key runs once', async () => {
  const table = await deals(1)
  const records = [{ id: table.records[0], data: { name: 'x' } }]
  const send = () =>
    app.as(keys.account).post(`${table.path}/records/update_batch`, { records }, { 'idempotency-key': `batch-of-${table.id}` })
  const first = await send()
  await rest(table, [{ id: table.records[0], data: { name: 'y' } }])
  const again = await send()
  expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', first.body])
  expect((await stateOf(table)).map(({ version }) => version)).toEqual([3])
})

test('two batches with the same records in opposite orders wait for each other', async () => {
  const table = await deals(100)
  const batch = (name: string, ids: readonly number[]) =>
    rest(
      table,
      ids.map((id) => ({ id, data: { name } })),
    )
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => batch(`n${index}`, index % 2 ? table.records : table.records.toReversed())),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  const rows = await app.db.read<{ name: string }>(sql`select distinct name from ${recordsOf(table.id)}`)
  expect(rows).toHaveLength(1)
  expect((await stateOf(table)).every(({ version }) => version === 9)).toBe(true)
})

test('of two batches that name the same version one wins', async () => {
  const table = await deals(2)
  const [first, second] = table.records
  const batch = (name: string) =>
    rest(table, [
      { id: second, data: { name } },
      { id: first, data: { name }, version: 1 },
    ])
  const answers = await Promise.all(['a', 'b', 'c'].map(batch))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  expect((await stateOf(table)).map(({ version }) => version)).toEqual([2, 2])
})

describe('a table that changes meanwhile', () => {
  /** Runs the change once, just before a statement of the service with the words. */
  function changeBefore(words: string, change: (as: As) => Promise<Answer>): void {
    let isChanged = false
    Object.assign(
      app.db,
      queriesWith(queries, async ({ text }) => {
        if (isChanged || !text.includes(words)) return
        isChanged = true
        expect((await change(app.as(owner))).status).toBe(200)
      }),
    )
  }

  test('is asked again: a batch with a field that was deleted is refused', async () => {
    const table = await deals()
    const records = table.records.map((id) => ({ id, data: { name: 'x', amount: 7 } }))
    await rest(table, [{ id: table.records[0], data: { name: 'Deal 0' } }])
    changeBefore('for no key update', (as) => as.post(`${table.path}/field/amount/delete`))
    expect(errorOf(await rest(table, records))).toBe("400 records[0].data.amount: 'amount' is not a field of this table")
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1, 1])
  })

  test('has the record deleted first: nothing changes', async () => {
    const table = await deals()
    const [first, second, third] = table.records
    changeBefore('for no key update', (as) => as.post(`${table.path}/record/${second}/delete`))
    const answer = await rest(
      table,
      [third, second, first].map((id) => ({ id, data: { name: 'x' } })),
    )
    expect(errorOf(answer)).toBe('404 records[1].id: Record not found')
    expect((await stateOf(table)).map(({ version }) => version)).toEqual([1, 1])
  })
})

test('a thousand records with the fields of each other are one batch', async () => {
  const table = await deals(1_000)
  const records = table.records.map((id, index) => ({
    id,
    data: index % 3 ? { name: `New ${index}` } : { amount: -index, stage: 'Won' },
    version: 1,
  }))
  const { status, body } = await rest(table, records.toReversed())
  expect(status).toBe(200)
  expect(body.map(({ id }: { id: number }) => id)).toEqual(table.records.toReversed())
  expect(body.every(({ version }: { version: number }) => version === 2)).toBe(true)
})
