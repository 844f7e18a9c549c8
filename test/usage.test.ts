/** What an account stores, and the limit of its files. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { sumUpTallies } from '../src/files/usage/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ STORAGE_LIMIT_MB: '1' })
const { sweepAfter } = fileSupport(app)
const MB = 1_048_576
const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Files', type: 'file' },
]

async function setUp() {
  const account = await app.account()
  const table = await makeTable(app, account, { fields: FIELDS, records: [{ name: 'A' }, { name: 'B' }, { name: 'C' }] })
  const path = `${table.path}/record/${table.records[0]}`
  const upload = (bytes: number, headers: Record<string, string> = {}) =>
    app.as(account.member).post(`${path}/comments/upload`, { name: 'a', data: randomBytes(bytes).toString('base64') }, headers)
  return { account, table, path, upload, usage: (caller: Caller = account.owner) => app.as(caller).get('/api/account/usage') }
}

test('counts files, bytes, records, tasks and mails of the account, for all of its callers', async () => {
  const { account, table, path, upload, usage } = await setUp()
  const other = await makeTable(app, account, { fields: FIELDS, records: [{ name: 'D' }] })
  const gone = await makeTable(app, account, { fields: FIELDS, records: [{ name: 'E' }] })
  await app.as(account.admin).post(`${gone.path}/delete`)
  await upload(1_000)
  await upload(500)
  await app.as(account.member).post(`/api/tasks/onRecord/${table.id}/${table.records[0]}/create`, { title: 'Call' })
  await app.as(account.keys.personal).post('/api/tasks/create', { title: 'Alone' })
  await app.as(account.member).post(`${path}/comments/create`, { content: 'No mail' })
  await insertMail(account, table.id)
  const expected = { files: 2, bytes: 1_500, limit: MB, records: 4, tasks: 2, mails: 1 }
  for (const caller of [account.owner, account.viewer, account.keys.accountReadOnly, account.keys.personal])
    expect((await usage(caller)).body).toEqual(expected)
  expect(await app.as(account.owner).rpc.account.usage.query()).toEqual(expected)
  expect((await usage(account.outsider)).body).toEqual({ ...expected, files: 0, bytes: 0, records: 0, tasks: 0, mails: 0 })
  expect((await usage(null)).status).toBe(401)
  await app.as(account.member).post(`${other.path}/record/${other.records[0]}/delete`)
  expect((await usage()).body.records).toBe(3)
})

async function insertMail(account: TestAccount, tableId: number): Promise<void> {
  const row = {
    accountId: account.id,
    spaceId: account.space,
    tableId,
    recordId: 1,
    type: 'email_out',
    userId: 0,
    userName: 'Ann',
    content: 'Hello',
  }
  await app.db.prisma.recordComment.create({ data: row })
}

test('is limited: an upload that would pass the limit is refused and stores nothing', async () => {
  const { account, path, upload, usage } = await setUp()
  expect((await upload(600_000)).status).toBe(200)
  const refused = await upload(600_000)
  expect([refused.status, refused.body.message]).toEqual([413, 'The account may store at most 1 MB, and 0.6 MB are in use'])
  expect((await usage()).body).toMatchObject({ files: 1, bytes: 600_000 })
  expect((await upload(MB - 600_000)).status).toBe(200)
  expect((await upload(1)).status).toBe(413)
  expect((await upload(0)).status).toBe(200)
  expect((await (await setUp()).upload(600_000)).status).toBe(200)
  const created = await app.as(account.member).post(`${path}/files/create`, { field_id: 'files', name: 'a', data: 'eA==' })
  expect(created.status).toBe(413)
  expect((await app.as(account.member).get(`${path}/get`)).body.data.files).toEqual([])
})

test('is limited for uploads at once, with an Idempotency-Key or without', async () => {
  for (const isRepeatable of [false, true]) {
    const { upload, usage } = await setUp()
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, number) => upload(300_000, isRepeatable ? { 'idempotency-key': `upload-${number}` } : {})),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 413, 413, 413])
    expect((await usage()).body).toMatchObject({ files: 3, bytes: 900_000 })
  }
})

test('has room again when dropped files are deleted for good', async () => {
  const { account, path, usage, upload } = await setUp()
  const as = app.as(account.member)
  const data = randomBytes(900_000).toString('base64')
  const [file] = (await as.post(`${path}/files/create`, { field_id: 'files', name: 'a', data })).body
  await as.post(`${path}/files/delete`, { field_id: 'files', path: file.path })
  expect((await upload(300_000)).status).toBe(413)
  await sweepAfter(31 * 24)
  expect((await usage()).body).toMatchObject({ files: 0, bytes: 0 })
  expect((await upload(300_000)).status).toBe(200)
})

test('keeps its sums when the tallies are summed up', async () => {
  const { account, usage, upload } = await setUp()
  await upload(1_000)
  await app.db.write(sql`
    insert into stored_files (path, account_id, name, size, type, host) select ${`${account.id}-`} || n, ${account.id}, 'a', 10, 'text/plain', 'local'
    from generate_series(1, 50) n`)
  for (let n = 1; n <= 230; n++)
    await app.db.write(
      sql`insert into file_tallies (account_id, files, bytes) values (${account.id}, ${n % 2 ? 1 : -1}, ${n % 2 ? 7 : -7})`,
    )
  const before = (await usage()).body
  expect(before).toMatchObject({ files: 51, bytes: 1_500 })
  await Promise.all([1, 2].map(() => sumUpTallies(systemContext(app.deps))))
  expect((await usage()).body).toEqual(before)
  expect(await app.db.read(sql`select 1 from file_tallies where account_id = ${account.id}`)).toHaveLength(1)
})

test('has no limit by default', async () => {
  const unlimited = await testApp()
  const account = await unlimited.account()
  expect((await unlimited.as(account.owner).get('/api/account/usage')).body.limit).toBe(null)
})

/** Sends the headers of an upload, and no byte of its body. */
async function announce(
  path: string,
  secret: string,
  headers: Record<string, string | number>,
): Promise<{ status: number; message: string }> {
  const method = headers['content-disposition'] ? 'PUT' : 'POST'
  const sent = request(`${app.url}${path}`, { method, headers: { authorization: `Bearer ${secret}`, ...headers } })
  sent.on('error', () => {})
  sent.flushHeaders()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const { message } = (await json(answer)) as { message: string }
  sent.destroy()
  return { status: answer.statusCode ?? 0, message }
}

test('is limited before the bytes arrive, if their stated length shows it', async () => {
  const { account, path, upload, usage } = await setUp()
  await upload(600_000)
  const files = `${path}/comments/upload`
  const refused = { status: 413, message: 'The account may store at most 1 MB, and 0.6 MB are in use' }
  const bytes = { 'content-type': 'image/png', 'content-disposition': 'attachment; filename="a"' }
  expect(await announce(files, account.keys.account, { ...bytes, 'content-length': 600_000 })).toEqual(refused)
  // A body of JSON or a form may have a megabyte of other keys.
  const form = 'multipart/form-data; boundary=XX'
  expect(await announce(files, account.keys.account, { 'content-type': form, 'content-length': MB + 600_000 })).toEqual(refused)
  expect(await announce(files, account.keys.account, { 'content-type': 'application/json', 'content-length': MB + 900_000 })).toEqual(
    refused,
  )
  expect((await announce(files, account.keys.accountReadOnly, { ...bytes, 'content-length': 600_000 })).status).toBe(403)
  expect((await usage()).body).toMatchObject({ files: 1, bytes: 600_000 })
})

test('does not keep a repeated upload from its first answer', async () => {
  const { account, path } = await setUp()
  const put = (size: number, key: string) =>
    app.as(account.member).send(`${path}/comments/upload?name=a`, {
      method: 'PUT',
      body: Buffer.alloc(size) as unknown as string,
      headers: { 'content-type': 'image/png', 'idempotency-key': key },
    })
  const first = await put(900_000, 'first')
  expect(first.status).toBe(200)
  expect((await put(900_000, 'first')).body).toEqual(first.body)
  expect((await put(900_001, 'second')).status).toBe(413)
})
