/** Changes a table over HTTP while another request that was admitted before runs its statements. */
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

/** Runs the changes, one just before each of the next statements of the service with the words. */
function changeBefore(words: string, ...changes: (() => Promise<unknown>)[]): void {
  const left = [...changes]
  const changing = queriesWith(queries, ({ text }) => (text.includes(words) ? left.shift()?.() : undefined))
  Object.assign(app.db, changing)
}

const NAME = { name: 'Name', type: 'text' }
const AMOUNT = { name: 'Amount', type: 'number' }
const newTable = async (fields: object[] = [NAME, AMOUNT], records: object[] = []) =>
  (await makeTable(app, account, { fields, records })).id
const records = (table: number) => `"t${table}".records`
const statusOf = ({ status, body }: Answer) => `${status} ${body.message ?? ''}`

const deleting =
  (table: number, field = 'amount') =>
  async () =>
    expect(statusOf(await app.as(account.owner).post(`/api/table/${table}/field/${field}/delete`))).toBe('200 ')
const adding = (table: number, name: string) => async () =>
  expect(statusOf(await app.as(account.owner).post(`/api/table/${table}/fields/create`, { name, type: 'text' }))).toBe('200 ')

async function countOf(table: number): Promise<number> {
  return (await as.post(`/api/table/${table}/records/count`)).body.total
}

describe('a create with an Idempotency-Key', () => {
  let keys = 0
  const newKey = () => ({ 'idempotency-key': `key-${keys++}` })

  test.each([
    ['a record', 'create', { data: { name: 'a' } }, expect.objectContaining({ data: { name: 'a' } })],
    ['a batch', 'create_batch', { records: [{ data: { name: 'a' } }] }, [expect.objectContaining({ data: { name: 'a' } })]],
  ])('of %s is repeated as a whole when a field is deleted', async (_, operation, body, expected) => {
    const table = await newTable()
    const path = `/api/table/${table}/records/${operation}`
    const headers = newKey()
    // The first record makes the definition of the table known.
    await as.post(path, body)
    changeBefore(`insert into ${records(table)}`, deleting(table))
    const first = await as.post(path, body, headers)
    expect(statusOf(first)).toBe('200 ')
    expect(first.body).toEqual(expected)
    const again = await as.post(path, body, headers)
    expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', first.body])
    expect(await countOf(table)).toBe(2)
  })

  test('is repeated on RPC, too', async () => {
    const table = await newTable()
    await as.post(`/api/table/${table}/records/create`, { data: {} })
    changeBefore(`insert into ${records(table)}`, deleting(table))
    const answer = await as.post('/trpc/records.create', { table_id: table, data: { name: 'a' } }, newKey())
    expect(answer.body.result?.data.data).toEqual({ name: 'a' })
  })

  test('succeeds although the table is changed again and again', async () => {
    const table = await newTable([NAME, ...['A', 'B', 'C'].map((name) => ({ name, type: 'text' }))])
    await as.post(`/api/table/${table}/records/create`, { data: {} })
    changeBefore(`insert into ${records(table)}`, deleting(table, 'a'), deleting(table, 'b'), deleting(table, 'c'))
    expect(statusOf(await as.post(`/api/table/${table}/records/create`, { data: { name: 'x' } }, newKey()))).toBe('200 ')
    expect(await countOf(table)).toBe(2)
  })

  test('is judged by the fields that the table has then, and creates nothing if it is refused', async () => {
    const table = await newTable()
    await as.post(`/api/table/${table}/records/create`, { data: {} })
    changeBefore(`insert into ${records(table)}`, deleting(table))
    const refused = await as.post(`/api/table/${table}/records/create`, { data: { amount: 1 } }, newKey())
    expect(statusOf(refused)).toBe("400 data.amount: 'amount' is not a field of this table")
    expect(await countOf(table)).toBe(1)
  })

  test('is 404 when the table is deleted', async () => {
    const table = await newTable()
    await as.post(`/api/table/${table}/records/create`, { data: {} })
    changeBefore(`insert into ${records(table)}`, async () => {
      await app.as(account.owner).post(`/api/table/${table}/delete`)
      await app.db.write(sql`alter table ${recordsOf(table)} drop column amount`)
    })
    expect(statusOf(await as.post(`/api/table/${table}/records/create`, { data: { name: 'x' } }, newKey()))).toBe('404 Table not found')
  })
})

describe('an email', () => {
  test('is previewed, and its context read, while a field is deleted', async () => {
    const table = await newTable(
      [NAME, { name: 'Mail', type: 'email' }, AMOUNT, { name: 'Spare', type: 'text' }],
      [{ name: 'Ann', mail: 'ann@example.com' }],
    )
    const smtp = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
      ...{ label: 'Mail', host: '127.0.0.1', port: 1, tls: 'none', from_domains: ['example.com'] },
    })
    const place = { tableId: table, recordId: 1 }
    const mail = {
      ...{ ...place, smtpIntegrationId: smtp.body.id, fromIdentity: { email: 'desk@example.com' } },
      ...{ to: ['bob@customer.example'], subject: 'To {{field:name}}', body: '<p>Hello</p>' },
    }
    await as.post('/api/email/recordContext', place)
    changeBefore(`from ${records(table)}`, deleting(table))
    const context = await as.post('/api/email/recordContext', place)
    expect(statusOf(context)).toBe('200 ')
    expect(context.body.fields.map(({ id }: { id: string }) => id)).toEqual(['name', 'mail', 'spare'])
    changeBefore(`from ${records(table)}`, deleting(table, 'spare'))
    const preview = await as.post('/api/email/preview', mail)
    expect(statusOf(preview)).toBe('200 ')
    expect(preview.body.subject).toBe('To Ann')
  })
})

describe('a page', () => {
  /** Deletes the field, and creates and fills another one of the same name. */
  const replacing = (table: number, field: object, value: unknown) => async () => {
    await deleting(table)()
    expect((await app.as(account.owner).post(`/api/table/${table}/fields/create`, { name: 'Amount', ...field })).body.id).toBe('amount')
    expect(statusOf(await as.post(`/api/table/${table}/record/1/update`, { data: { amount: value } }))).toBe('200 ')
  }

  test.each([
    ['of another type', AMOUNT, 5, { type: 'text' }, 'five'],
    ['of a type with the same column', { name: 'Amount', type: 'select', options: ['One', 'Two'] }, 'Two', { type: 'user' }, '@me'],
    [
      'with other options',
      { name: 'Amount', type: 'select', options: ['One', 'Two'] },
      'Two',
      { type: 'select', options: ['Eins', 'Zwei'] },
      'Zwei',
    ],
  ])('has the values of a field %s that took the name of a deleted one meanwhile', async (_, before, held, after, value) => {
    const table = await newTable([NAME, before], [{ name: 'a', amount: held }])
    changeBefore(`from ${records(table)} r`, replacing(table, after, value))
    const { body } = await as.post(`/api/table/${table}/records/query`, {})
    const shown = (await as.get(`/api/table/${table}/record/1/get`)).body.data.amount
    expect(body).toEqual([expect.objectContaining({ amount: shown })])
    expect(shown).not.toBeNull()
  })

  test('that takes long is compared with the fields that it has then, whichever process has changed them', async () => {
    const table = await newTable([NAME, AMOUNT], [{ name: 'a', amount: 5 }])
    changeBefore(`from ${records(table)} r`, async () => {
      // As another process does it: this one learns nothing of the change.
      await queries.write(sql`update fields set type = 'text' where table_id = ${table} and id = 'amount'`)
      await queries.write(sql`alter table ${recordsOf(table)} alter column amount type text collate "pg_c_utf8"`)
      await queries.write(sql`update tables set version = version + 1 where id = ${table}`)
      await setTimeout(150)
    })
    expect((await as.post(`/api/table/${table}/records/query`, {})).body).toEqual([expect.objectContaining({ amount: '5' })])
  })
})

describe('an export', () => {
  const exported = async (table: number) => {
    const { status, body } = await as.get(`/api/table/${table}/export.csv`)
    const lines = (body as unknown as string).split('\r\n')
    return { status, lines: lines.map((line) => line.split(',').slice(0, 3).join()) }
  }

  test('begins again when a field is deleted between two of its pages', async () => {
    const table = await newTable([NAME, AMOUNT], [{ name: 'a', amount: 1 }])
    changeBefore(`from ${records(table)} r`, async () => {}, deleting(table))
    const { status, lines } = await exported(table)
    expect([status, lines[0], lines[1]?.slice(0, 4)]).toEqual([200, 'ID,Name,Created at', '1,a,'])
  })

  test('is complete although the fields change before each of its pages, because at last it delays them', async () => {
    const table = await newTable([NAME], [{ name: 'a' }])
    let refused: Answer | undefined
    changeBefore(`from ${records(table)} r`, adding(table, 'B'), adding(table, 'C'), adding(table, 'D'), async () => {
      refused = await app.as(account.owner).post(`/api/table/${table}/fields/create`, { name: 'E', type: 'text' })
    })
    expect(await exported(table)).toEqual({ status: 200, lines: ['ID,Name,B', '1,a,', ''] })
    expect(refused?.status).toBe(503)
    expect(statusOf(await app.as(account.owner).post(`/api/table/${table}/fields/create`, { name: 'E', type: 'text' }))).toBe('200 ')
  })

  test('is 404 when the table is deleted meanwhile', async () => {
    const table = await newTable([NAME], [{ name: 'a' }])
    changeBefore(`from ${records(table)} r`, () => app.as(account.owner).post(`/api/table/${table}/delete`))
    expect(statusOf(await as.get(`/api/table/${table}/export.csv`))).toBe('404 Table not found')
  })

  test.each([
    ['member who is removed', 'removed', '403 Not authorized'],
    ['key that is revoked', 'revoked', '401 The API key is not valid'],
    ['key that loses the space', 'narrowed', '403 API key not authorized for this workspace'],
  ] as const)('is not sent to a %s meanwhile, and not noted as sent', async (_, loss, refusal) => {
    const { owner, member, space, otherSpace, keyOf, ...here } = await app.account()
    const { id: table } = await makeTable(app, { owner, space }, { records: [{ name: 'a' }] })
    const key = await keyOf({ accountId: here.id, userId: owner.id }, { kind: 'account' })
    const [{ id: keyId }] = (await app.as(owner).get('/api/keys/list')).body
    const ways = {
      removed: { caller: member, path: `/api/space/${space}/member/${member.id}/remove`, body: {} },
      revoked: { caller: key, path: `/api/key/${keyId}/delete`, body: {} },
      narrowed: { caller: key, path: `/api/key/${keyId}/update`, body: { space_ids: [otherSpace] } },
    }
    const { caller, path, body } = ways[loss]
    const exporting = () => app.as(caller).get(`/api/table/${table}/export.csv`)
    expect((await exporting()).status).toBe(200)
    changeBefore(`from ${records(table)} r`, async () => expect((await app.as(owner).post(path, body)).status).toBe(200))
    expect(statusOf(await exporting())).toBe(refusal)
    expect((await app.as(owner).get(`/api/audit/list?action=export.csv&space_id=${space}`)).body).toHaveLength(1)
  })
})

describe('a statement that fails although the definition of the table has not changed', () => {
  const FAULT = '500 Something went wrong on our side'

  test('is a fault, not a table that is being changed', async () => {
    const table = await newTable([NAME, AMOUNT], [{ name: 'a' }])
    await app.db.write(sql`alter table ${recordsOf(table)} drop column amount`)
    expect(statusOf(await as.post(`/api/table/${table}/records/query`, {}))).toBe(FAULT)
    expect(statusOf(await as.get(`/api/table/${table}/record/1/get`))).toBe(FAULT)
    expect(statusOf(await as.post(`/api/table/${table}/records/create`, { data: {} }))).toBe(FAULT)
    expect(statusOf(await as.post(`/api/table/${table}/records/create`, { data: {} }, { 'idempotency-key': 'fault' }))).toBe(FAULT)
    expect(statusOf(await as.get(`/api/table/${table}/export.csv`))).toBe(FAULT)
  })

  test('is a fault when the database does not support it, as with Citus', async () => {
    const table = await newTable([NAME], [{ name: 'a' }])
    await app.db.write(sql`
      create function refuse(name text) returns boolean language plpgsql immutable as $$
        begin raise feature_not_supported using message = 'complex joins are only supported when all distributed tables are co-located'; end $$`)
    await app.db.write(sql`alter table ${recordsOf(table)} add constraint refused check (refuse(name)) not valid`)
    for (const headers of [{}, { 'idempotency-key': 'unsupported' }])
      expect(statusOf(await as.post(`/api/table/${table}/records/create`, { data: {} }, headers))).toBe(FAULT)
  })
})
