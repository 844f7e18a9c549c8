/** POST …/files/get: a file of a field as base64 in JSON. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Files', type: 'file' },
  { name: 'More', type: 'file', admin_only: true },
]

async function setUp() {
  const account = await app.account()
  const table = await makeTable(app, account, { fields: FIELDS, records: [{ name: 'Acme' }, { name: 'Other' }] })
  const [record = 0, other = 0] = table.records
  const path = `${table.path}/record/${record}`
  const add = async (bytes: Buffer, field_id = 'files') => {
    const answer = await app
      .as(account.admin)
      .post(`${path}/files/create`, { field_id, name: 'ä "b".bin', type: 'image/png', data: bytes.toString('base64') })
    return answer.body.at(-1) as { path: string }
  }
  const get = (body: unknown, caller: Caller = account.member, of = path) => app.as(caller).post(`${of}/files/get`, body)
  return { account, table, other, path, add, get }
}

test('has the bytes of every length', async () => {
  const { add, get } = await setUp()
  for (const length of [0, 1, 2, 3, 4, 65_535, 65_536, 65_537, 200_000]) {
    const bytes = randomBytes(length)
    const { path } = await add(bytes)
    const answer = await get({ field_id: 'files', path })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ name: 'ä "b".bin', type: 'image/png', size: length, data: bytes.toString('base64') })
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  }
})

test('ends at once when the storage has lost some of the bytes', async () => {
  const { add, get } = await setUp()
  const { path } = await add(Buffer.from('hello'))
  for (const bytes of ['hell', 'hello!']) {
    await app.deps.storage.remove(path)
    await app.deps.storage.write(path, Buffer.from(bytes))
    await expect(get({ field_id: 'files', path })).rejects.toThrow()
  }
  await app.deps.storage.remove(path)
  expect(await get({ field_id: 'files', path })).toMatchObject({ status: 404, body: { message: 'File not found' } })
})

test('is for all readers of the record, of fields that only admins write, too', async () => {
  const { account, add, get } = await setUp()
  const { path } = await add(Buffer.from('x'), 'more')
  const body = { field_id: 'more', path }
  for (const caller of [account.viewer, account.keys.accountReadOnly, account.keys.personal])
    expect((await get(body, caller)).status).toBe(200)
  expect((await get(body, account.keys.accountOtherSpace)).status).toBe(403)
  expect(await get(body, account.outsider)).toMatchObject({ status: 404, body: { message: 'Table not found' } })
  expect((await get(body, null)).status).toBe(401)
})

test('is refused for what the cell does not have', async () => {
  const { account, table, other, path, add, get } = await setUp()
  const file = await add(Buffer.from('x'))
  const elsewhere = await setUp()
  const foreign = await elsewhere.add(Buffer.from('secret'))
  const upload = (await app.as(account.member).post(`${path}/comments/upload`, { name: 'a', data: 'eA==' })).body
  for (const given of [foreign.path, upload.path, 'nope', '../../etc/passwd', '.', 'x'.repeat(10_000)])
    expect(await get({ field_id: 'files', path: given })).toMatchObject({ status: 404, body: { message: 'File not found' } })
  expect((await get({ field_id: 'more', path: file.path })).status).toBe(404)
  expect((await get({ field_id: 'files', path: file.path }, account.member, `${table.path}/record/${other}`)).status).toBe(404)
  expect(await get({ field_id: 'files', path: file.path }, account.member, `${table.path}/record/999999`)).toMatchObject({
    status: 404,
    body: { message: 'Record not found' },
  })
  for (const [body, key] of [
    [{ field_id: 'name', path: file.path }, 'field_id'],
    [{ field_id: 'none', path: file.path }, 'field_id'],
    [{ path: file.path }, 'field_id'],
    [{ field_id: 'files' }, 'path'],
    [{ field_id: 'files', path: 'a\0b' }, 'path'],
    [{ field_id: 'files', path: file.path, more: 1 }, 'more'],
    [undefined, 'field_id'],
  ] as const) {
    const answer = await get(body)
    expect([answer.status, answer.body.issues[0].path]).toEqual([400, [key]])
  }
  for (const body of ['x', '[]', 'null']) {
    const sent = await app
      .as(account.member)
      .send(`${path}/files/get`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(sent.status, body).toBe(400)
  }
  const deleted = await app.as(account.member).post(`${path}/files/delete`, { field_id: 'files', path: file.path })
  expect([deleted.status, (await get({ field_id: 'files', path: file.path })).status]).toEqual([200, 404])
})

test('is answered over RPC, up to 4 MB', async () => {
  const { account, table, other, add } = await setUp()
  const [record_id = 0] = table.records
  const bytes = randomBytes(70_000)
  const { path } = await add(bytes)
  const ref = { table_id: table.id, record_id, field_id: 'files', path }
  const answer = await app.as(account.viewer).rpc.files.get.query(ref)
  expect(answer).toEqual({ name: 'ä "b".bin', type: 'image/png', size: bytes.length, data: bytes.toString('base64') })
  const [empty, largest] = [await add(Buffer.alloc(0)), await add(randomBytes(4 * 1_048_576))]
  expect((await app.as(account.viewer).rpc.files.get.query({ ...ref, path: empty.path })).data).toBe('')
  expect((await app.as(account.viewer).rpc.files.get.query({ ...ref, path: largest.path })).size).toBe(4 * 1_048_576)
  const { path: large } = await add(randomBytes(4 * 1_048_576 + 1))
  const refused = async (caller: Caller, input: typeof ref) => {
    const error = await app
      .as(caller)
      .rpc.files.get.query(input)
      .catch((thrown) => thrown)
    return [error.data?.httpStatus, error.message]
  }
  expect(await refused(account.viewer, { ...ref, path: large })).toEqual([
    413,
    `The file has over 4 MB, which RPC does not answer; use GET /api/file/${large}`,
  ])
  expect(await refused(account.viewer, { ...ref, record_id: other })).toEqual([404, 'File not found'])
  expect(await refused(account.outsider, ref)).toEqual([404, 'Table not found'])
  await app.deps.storage.remove(path)
  await app.deps.storage.write(path, Buffer.from('short'))
  expect((await refused(account.viewer, ref))[0]).toBe(500)
})
