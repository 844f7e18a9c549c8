import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { byteRange } from '../src/files/downloads/byte-range.ts'
import { MAX_UPLOAD_BYTES } from '../src/files/schema.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { purgeDue } from '../src/records/deleted/purge.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { everyType } from './support/tables.ts'

const app = await testApp()

async function recordWithFiles(account: TestAccount) {
  const table = await everyType(app, account)
  const { body } = await app.as(account.member).post(`${table.path}/records/create`, { data: { text: 'Acme' } })
  return { table, id: body.id as number, path: `${table.path}/record/${body.id}` }
}

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

const { isStored, sweepAfter, sweepLeftoversAfter } = fileSupport(app)

describe('a file in a field', () => {
  test('keeps the SHA-256 of its bytes', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const body = { field_id: 'file', name: 'a.txt', data: base64('hello') }
    const [file] = (await app.as(account.member).post(`${record.path}/files/create`, body)).body
    const [row] = await app.db.read<{ sha256: Buffer }>(sql`select sha256 from stored_files where path = ${file.path}`)
    expect(row?.sha256.toString('hex')).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
  })

  test('is added to the list, read back, and removed again', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.keys.personal)
    const first = await as.post(`${record.path}/files/create`, {
      field_id: 'file',
      name: 'Angebot für Ä.txt',
      type: 'text/plain',
      data: base64('hello'),
    })
    expect(first.body).toEqual([
      {
        name: 'Angebot für Ä.txt',
        path: expect.stringMatching(new RegExp(`^${account.space}-${record.table.id}-[\\w-]{16}-[A-Za-z0-9._-]+\\.txt$`)),
        size: 5,
        type: 'text/plain',
        host: 'local',
      },
    ])
    const second = await as.rpc.files.create.mutate({
      table_id: record.table.id,
      record_id: record.id,
      field_id: 'file',
      name: 'b',
      data: base64('b'),
    })
    expect(second.rows).toEqual([
      first.body[0],
      { name: 'b', path: expect.any(String), size: 1, type: 'application/octet-stream', host: 'local' },
    ])
    expect((await as.get(`${record.path}/get`)).body.data.file).toEqual(second.rows)
    expect((await app.as(account.viewer).get(`/api/file/${first.body[0].path}`)).body).toBe('hello')

    const left = await as.post(`${record.path}/files/delete`, { field_id: 'file', path: first.body[0].path })
    expect(left.body).toEqual([second.rows[1]])
    expect(await as.post(`${record.path}/files/delete`, { field_id: 'file', path: first.body[0].path })).toMatchObject({
      status: 404,
      body: { message: 'File not found' },
    })
  })

  test('is refused when it is not base64, is too large, or the field is not for files', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.member)
    const good = { field_id: 'file', name: 'a.txt', type: 'text/plain', data: base64('hello') }
    for (const [key, value] of [
      ['data', 'not base64!'],
      ['data', 'aGVsbG8*'],
      ['data', 'a'],
      ['data', 5],
      ['name', ''],
      ['name', 'x'.repeat(256)],
      ['type', 'text'],
      ['type', 'text/html\r\nx: y'],
      ['field_id', 'text'],
      ['field_id', 'nope'],
      ['field_id', 1],
    ] as const) {
      const answer = await as.post(`${record.path}/files/create`, { ...good, [key]: value })
      expect(answer.status, `${key}: ${value}`).toBe(400)
      expect(answer.body.issues[0].path).toEqual([key])
    }
    for (const data of ['', 'aGVsbG8', 'aGVsbG8=', '_-8'])
      expect((await as.post(`${record.path}/files/create`, { ...good, data })).status, data).toBe(200)
    expect((await app.as(account.viewer).post(`${record.path}/files/create`, good)).status).toBe(403)
    expect((await app.as(account.outsider).post(`${record.path}/files/create`, good)).status).toBe(404)
    expect(await app.db.read(sql`select 1 from stored_files where table_id = ${record.table.id}`)).toHaveLength(4)
  })

  test('may have at most 50 MB', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.member)
    const bytes = randomBytes(MAX_UPLOAD_BYTES)
    const stored = await as.post(`${record.path}/files/create`, { field_id: 'file', name: 'big.bin', data: base64(bytes) })
    expect(stored.body[0].size).toBe(MAX_UPLOAD_BYTES)
    const tail = await fetch(`${app.url}/api/file/${stored.body[0].path}`, {
      headers: { authorization: `Bearer ${account.keys.account}`, range: 'bytes=-10' },
    })
    expect(Buffer.from(await tail.arrayBuffer())).toEqual(bytes.subarray(-10))
    const more = await as.post(`${record.path}/files/create`, {
      field_id: 'file',
      name: 'big.bin',
      data: base64(Buffer.alloc(MAX_UPLOAD_BYTES + 1)),
    })
    expect([more.status, more.body.message, more.body.issues[0].path]).toEqual([413, 'data: must have at most 50 MB', ['data']])
    const huge = await as.post(`${record.path}/files/create`, {
      field_id: 'file',
      name: 'big.bin',
      data: 'A'.repeat(MAX_UPLOAD_BYTES * 1.5),
    })
    expect(huge.status).toBe(413)
  })

  test('is replaced with the list; entries of other tables and forged ones are refused', async () => {
    const account = await app.account()
    const [record, other] = [await recordWithFiles(account), await recordWithFiles(await app.account())]
    const as = app.as(account.member)
    const [a] = (await as.post(`${record.path}/files/create`, { field_id: 'file', name: 'a', data: base64('a') })).body
    const [, b] = (await as.post(`${record.path}/files/create`, { field_id: 'file', name: 'b', data: base64('b') })).body
    const swapped = await as.post(`${record.path}/update`, { data: { file: [{ ...b, name: 'forged', size: 999 }, a] } })
    expect(swapped.body.data.file).toEqual([b, a])
    const dropped = await as.post(`${record.path}/update`, { data: { file: [a] } })
    expect(dropped.body.data.file).toEqual([a])
    const states = await app.db.read(
      sql`select path, dropped_at is not null as dropped from stored_files where table_id = ${record.table.id} order by name`,
    )
    expect(states).toEqual([
      { path: a.path, dropped: false },
      { path: b.path, dropped: true },
    ])
    for (const file of [[{ path: 'x' }], [{ path: `${account.space}-${record.table.id}-none` }], [{ path: '../../etc/passwd' }]])
      expect((await as.post(`${record.path}/update`, { data: { file } })).status).toBe(400)
    expect((await as.post(`/api/table/${other.table.id}/record/${other.id}/update`, { data: { file: [a] } })).status).toBe(404)
  })

  test('is kept for each of many concurrent uploads', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.member)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        as.post(`${record.path}/files/create`, { field_id: 'file', name: `${index}`, data: base64('x') }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const { file } = (await as.get(`${record.path}/get`)).body.data
    expect(file.map(({ name }: { name: string }) => name).sort()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
  })
})

describe('reading a file', () => {
  test('streams it with headers that prevent its content from running', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.member)
    const upload = async (name: string, type: string) =>
      (await as.post(`${record.path}/comments/upload`, { name, type, data: base64('<script>alert(1)</script>') })).body.path
    const page = await as.get(`/api/file/${await upload('"evil"; ñ.html', 'text/html')}`)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html')
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    expect(page.headers.get('content-security-policy')).toContain('sandbox')
    expect(page.headers.get('content-disposition')).toBe(
      `attachment; filename="_evil_; _.html"; filename*=UTF-8''%22evil%22%3B%20%C3%B1.html`,
    )
  })

  test('serves one range, and answers 304 for an unchanged file', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.member)
    const { path } = (await as.post(`${record.path}/comments/upload`, { name: 'a', type: 'text/plain', data: base64('0123456789') })).body
    const ranged = async (range: string, more: object = {}) => {
      const { status, headers, body } = await as.get(`/api/file/${path}`, { range, ...more })
      return [status, headers.get('content-range'), body]
    }
    expect(await ranged('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234'])
    expect(await ranged('bytes=8-')).toEqual([206, 'bytes 8-9/10', '89'])
    expect(await ranged('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789'])
    expect((await ranged('bytes=10-')).slice(0, 2)).toEqual([416, 'bytes */10'])
    expect(await ranged('bytes=0-1,3-4')).toEqual([200, null, '0123456789'])
    expect(await ranged('bytes=2-4', { 'if-range': '"another"' })).toEqual([200, null, '0123456789'])
    const etag = (await as.get(`/api/file/${path}`)).headers.get('etag') ?? ''
    expect((await as.get(`/api/file/${path}`, { 'if-none-match': etag })).status).toBe(304)
    const head = await as.send(`/api/file/${path}`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), head.body]).toEqual([200, '10', ''])
  })

  test('is allowed for readers of the record', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const [{ path }] = (
      await app.as(account.member).post(`${record.path}/files/create`, { field_id: 'file', name: 'a', data: base64('a') })
    ).body
    const url = `/api/file/${path}`
    for (const caller of [account.viewer, account.owner, account.keys.account, account.keys.accountReadOnly, account.keys.personalViewer])
      expect((await app.as(caller).get(url)).status).toBe(200)
    expect((await app.as(null).get(url)).status).toBe(401)
    expect((await app.as('gp_acct_wrong').get(url)).status).toBe(401)
    expect(await app.as(account.keys.accountOtherSpace).get(url)).toMatchObject({
      status: 403,
      body: { message: 'API key not authorized for this workspace' },
    })
    const colleague = await app.person(account.id, 'Carl Colleague')
    expect((await app.as(colleague).get(url)).status).toBe(403)
    for (const caller of [account.outsider, account.keys.accountOutsider])
      expect(await app.as(caller).get(url)).toMatchObject({ status: 404, body: { message: 'File not found' } })
    for (const nowhere of ['nope', '..%2F..%2Fetc%2Fpasswd', '%00', '.', 'a%20b'])
      expect((await app.as(account.owner).get(`/api/file/${nowhere}`)).status, nowhere).toBe(404)
    await app.as(account.member).post(`${record.path}/delete`)
    expect((await app.as(account.owner).get(url)).status).toBe(404)
  })
})

describe('the clean-up', () => {
  test('removes uploads that nothing has used after a day, dropped files after 30, and nothing else', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.member)
    const upload = async (name: string) => (await as.post(`${record.path}/comments/upload`, { name, data: base64(name) })).body
    const [unused, commented] = [await upload('unused'), await upload('commented')]
    await as.post(`${record.path}/comments/create`, { content: 'See', attachments: [commented] })
    const [kept] = (await as.post(`${record.path}/files/create`, { field_id: 'file', name: 'kept', data: base64('kept') })).body
    const [, gone] = (await as.post(`${record.path}/files/create`, { field_id: 'file', name: 'gone', data: base64('gone') })).body
    await as.post(`${record.path}/files/delete`, { field_id: 'file', path: gone.path })
    // A copy in another record keeps a file after the first record releases it.
    const copy = await as.post(`${record.table.path}/records/create`, { data: { file: [kept] } })
    await as.post(`${record.path}/update`, { data: { file: [] } })
    const there = async () =>
      Promise.all([unused, commented, kept, gone].map(async ({ path }) => (await app.deps.storage.size(path)) !== null))

    await sweepAfter(20)
    expect(await there()).toEqual([true, true, true, true])
    await sweepAfter(30)
    expect(await there()).toEqual([false, true, true, true])
    await sweepAfter(31 * 24)
    expect(await there()).toEqual([false, true, true, false])
    expect((await as.get(`/api/file/${kept.path}`)).body).toBe('kept')
    expect((await as.post(`${record.path}/comments/create`, { content: 'See', attachments: [unused] })).status).toBe(400)

    await as.post(`${record.path}/delete`)
    expect((await as.get(`/api/file/${kept.path}`)).body).toBe('kept')
    await as.post(`${record.table.path}/record/${copy.body.id}/delete`)
    await sweepAfter(31 * 24)
    expect(await there()).toEqual([false, true, true, false])
    app.setClock(new Date(Date.now() + 31 * 86_400_000))
    await purgeDue(systemContext(app.deps))
    app.setClock(null)
    await sweepAfter(33 * 24)
    expect(await there()).toEqual([false, false, false, false])
  })

  test('removes staged bytes that no row names, and keeps those of a file whose move is not finished', async () => {
    const account = await app.account()
    const task = await app.as(account.keys.personal).post('/api/tasks/create', { title: 'Call' })
    const stage = async () => (await app.as(account.member).post('/api/tasks/upload', { name: 'a', data: base64('a') })).body.path as string
    const [waiting, moving, moved] = [await stage(), await stage(), await stage()]
    const bind = (path: string, key: string | null) =>
      app.db.write(sql`update stored_files set path = ${path.replace('staged-', `task-${task.body.id}-`)}, storage_key = ${key}::text,
        task_id = ${task.body.id}, dropped_at = null where path = ${path}`)
    await bind(moving, moving)
    // A process that is killed now has moved the bytes, and has not deleted the old ones.
    await bind(moved, null)
    const there = () => Promise.all([waiting, moving, moved].map((path) => isStored(path)))

    await sweepLeftoversAfter(20)
    expect(await there()).toEqual([true, true, true])
    await sweepLeftoversAfter(30)
    expect(await there()).toEqual([true, true, false])
  })

  test('waits for deleted tables that may be restored', async () => {
    const account = await app.account()
    const record = await recordWithFiles(account)
    const as = app.as(account.admin)
    const [{ path }] = (await as.post(`${record.path}/files/create`, { field_id: 'file', name: 'a', data: base64('a') })).body
    await as.post(`${record.path}/files/delete`, { field_id: 'file', path })
    await as.post(`${record.table.path}/delete`)
    await sweepAfter(31 * 24)
    expect(await isStored(path)).toBe(true)
    await app.db.write(sql`update tables set deleted_at = null where id = ${record.table.id}`)
    await sweepAfter(31 * 24)
    expect(await isStored(path)).toBe(false)
  })
})

describe('a range', () => {
  test.each([
    [undefined, 10, undefined],
    ['bytes=0-0', 10, { start: 0, end: 0 }],
    ['bytes=5-100', 10, { start: 5, end: 9 }],
    ['bytes=-100', 10, { start: 0, end: 9 }],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=5-4', 10, undefined],
    ['bytes=-', 10, undefined],
    ['items=0-1', 10, undefined],
    ['bytes=a-b', 10, undefined],
  ] as const)('%s of %i bytes is %j', (header, size, range) => {
    expect(byteRange(header, size)).toEqual(range)
  })
})
