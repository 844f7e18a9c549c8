/** The forms of an upload: base64 in JSON, a form, and the bytes by PUT. */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { MAX_UPLOAD_BYTES } from '../src/files/schema.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const dir = await mkdtemp(join(tmpdir(), 'gridpost-uploads-'))
const app = await testApp({ STORAGE: dir })
afterAll(() => rm(dir, { recursive: true, force: true }))

async function start() {
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const task = (await app.as(account.member).post('/api/tasks/create', { title: 'Attach' })).body.id as number
  const record = `${path}/record/${records[0]}`
  return { account, record, task, field: `${record}/files/create`, comment: `${record}/comments/upload` }
}
const shared = start()

interface Given {
  name?: string
  type?: string
  field_id?: string
}

const FORMS = {
  JSON: (path: string, caller: Caller, given: Given, bytes: Buffer, headers = {}) =>
    app.as(caller).post(path, { ...given, data: bytes.toString('base64') }, headers),
  'JSON with its data first': (path: string, caller: Caller, given: Given, bytes: Buffer, headers = {}) =>
    app.as(caller).post(path, { data: bytes.toString('base64').replaceAll(/.{76}/g, '$&\n'), ...given }, headers),
  'a form': (path: string, caller: Caller, { name, type, ...fields }: Given, bytes: Buffer, headers = {}) => {
    const form = new FormData()
    for (const [key, value] of Object.entries(fields)) form.set(key, value)
    form.set('file', new Blob([new Uint8Array(bytes)], { type: type ?? '' }), name)
    return app.as(caller).send(path, { method: 'POST', body: form, headers })
  },
  bytes: (path: string, caller: Caller, { name = '', type, ...query }: Given, bytes: Buffer, headers = {}) =>
    app.as(caller).send(`${path}?${new URLSearchParams(query)}`, {
      method: 'PUT',
      body: new Uint8Array(bytes),
      headers: {
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
        ...(type && { 'content-type': type }),
        ...headers,
      },
    }),
}
const forms = Object.entries(FORMS)

/** The names of the files in storage; unfinished ones end in `~`. */
const stored = () => readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []))

async function bytesOf(path: string, key: string): Promise<Buffer> {
  const answer = await fetch(`${app.url}/api/file/${path}`, { headers: { authorization: `Bearer ${key}` } })
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

describe.each(forms)('a file sent as %s', (_, send) => {
  test('is stored with its name, type, size and hash', async () => {
    const { account, field, comment } = await shared
    const bytes = randomBytes(300_001)
    const given = { name: 'Größe 1 😀.bin', type: 'application/x-thing' }
    const inField = (await send(field, account.keys.account, { ...given, field_id: 'file' }, bytes)).body.at(-1)
    for (const file of [inField, (await send(comment, account.member, given, bytes)).body]) {
      expect(file).toMatchObject({ ...given, size: bytes.length, host: 'local' })
      expect((await bytesOf(file.path, account.keys.account)).equals(bytes)).toBe(true)
      const [row] = await app.db.read<{ sha256: Buffer }>(sql`select sha256 from stored_files where path = ${file.path}`)
      expect(row?.sha256).toEqual(createHash('sha256').update(bytes).digest())
    }
  })

  test('may be empty', async () => {
    const { account, comment } = await shared
    expect((await send(comment, account.member, { name: 'empty' }, Buffer.alloc(0))).body).toMatchObject({ name: 'empty', size: 0 })
  })

  test('is staged for a task, and attached by its token', async () => {
    const { account, task } = await shared
    const staged = (await send('/api/tasks/upload', account.member, { name: 'plan.txt', type: 'text/plain' }, Buffer.from('plan'))).body
    const created = await app.as(account.member).post('/api/tasks/create', { title: 'With a plan', attachments: [staged] })
    expect(created.body.attachments).toEqual([expect.objectContaining({ name: 'plan.txt', size: 4 })])
    for (const path of [`/api/task/${task}/upload`, `/api/task/${task}/comments/upload`])
      expect((await send(path, account.member, { name: 'a' }, Buffer.from('a'))).body).toMatchObject({
        path: expect.stringContaining(`task-${task}-`),
      })
  })

  test('is refused without access, and without a name', async () => {
    const { account, field, comment, task } = await shared
    const stranger = await app.account()
    const before = stored()
    const file = Buffer.from('a')
    for (const [path, caller, given, status] of [
      [field, null, { name: 'a', field_id: 'file' }, 401],
      [field, stranger.keys.account, { name: 'a', field_id: 'file' }, 404],
      [field, account.viewer, { name: 'a', field_id: 'file' }, 403],
      ['/api/tasks/upload', account.keys.account, { name: 'a' }, 403],
      [`/api/task/${task}/upload`, stranger.member, { name: 'a' }, 403],
      [field, account.member, { name: 'a', field_id: 'nothing' }, 400],
      [field, account.member, { name: 'a' }, 400],
      [comment, account.member, { name: 'a', type: 'no type' }, send === FORMS.bytes ? 415 : 400],
      [comment, account.member, { name: 'a', extra: 'x' }, send === FORMS.bytes ? 200 : 400],
      [comment, account.member, { name: ' ' }, 400],
    ] as [string, Caller, Given, number][]) {
      const answer = await send(path, caller, given, file)
      expect([answer.status, answer.body.message], `${path} ${JSON.stringify(given)}`).toEqual([status, answer.body.message])
    }
    expect(stored().length - before.length).toBe(send === FORMS.bytes ? 1 : 0)
  })
})

describe('an Idempotency-Key', () => {
  test('finds the same file in any form', async () => {
    const { account, field } = await shared
    const headers = { 'idempotency-key': 'any-form' }
    const given = { name: 'once.txt', type: 'text/plain', field_id: 'file' }
    const bytes = randomBytes(70_000)
    const first = await FORMS.JSON(field, account.keys.account, given, bytes, headers)
    const before = stored()
    for (const [form, send] of forms) {
      const again = await send(field, account.keys.account, given, bytes, headers)
      expect([again.status, again.headers.get('idempotent-replayed'), again.body], form).toEqual([200, 'true', first.body])
    }
    expect(stored()).toEqual(before)
    for (const other of [
      { ...given, name: 'other.txt' },
      { ...given, type: 'text/csv' },
      { ...given, field_id: 'other' },
    ])
      for (const [, send] of forms) expect((await send(field, account.keys.account, other, bytes, headers)).status).toBe(409)
    for (const [, send] of forms) expect((await send(field, account.keys.account, given, randomBytes(70_000), headers)).status).toBe(409)
    expect(stored()).toEqual(before)
  })

  test('finds a file that was sent by RPC', async () => {
    const { account, comment, record } = await shared
    const headers = { 'idempotency-key': 'by-rpc' }
    const [, , , table, , id] = record.split('/')
    const input = { table_id: Number(table), record_id: Number(id), name: 'rpc.txt', data: 'aGVs\nbG8=\n' }
    const first = await app.as(account.member).post('/trpc/comments.upload', input, headers)
    const again = await FORMS.bytes(comment, account.member, { name: 'rpc.txt' }, Buffer.from('hello'), headers)
    expect(again.body).toEqual(first.body.result.data)
  })
})

describe('JSON', () => {
  const send = async (body: string) => {
    const { account, comment } = await shared
    return app.as(account.member).send(comment, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  }

  test.each([
    ['no base64', '{"name":"a","data":"aGk*"}', 'data: must be base64'],
    ['NUL', '{"name":"a","data":"aGk\\u0000"}', 'data: must be base64'],
    ['half a surrogate pair', '{"name":"a","data":"aGk\\ud800"}', 'data: must be base64'],
    ['a number as data', '{"name":"a","data":5}', 'data: must be text'],
    ['no data', '{"name":"a"}', 'data: is required'],
    ['data twice', '{"name":"a","data":"aGk=","data":"aGk="}', 'data: is given twice'],
    ['no JSON behind the data', `{"data":"${'A'.repeat(300_000)}","name":"a"`, 'The body is not valid JSON'],
    ['NUL in the name', '{"data":"aGk=","name":"a\\u0000"}', 'name: must not contain NUL'],
    ['an id of the path', '{"data":"aGk=","name":"a","table_id":1}', 'table_id: is given in the path, not in the body'],
    ['a list', '[]', 'The body must be a JSON object'],
  ])('with %s is refused, and nothing is stored', async (_, body, message) => {
    await shared
    const before = stored()
    const answer = await send(body)
    expect([answer.status, answer.body.message]).toEqual([400, message])
    expect(stored()).toEqual(before)
  })
})

describe('a form', () => {
  const send = async (parts: string, query = '') => {
    const { account, comment } = await shared
    const body = parts.replaceAll('\n', '\r\n')
    return app
      .as(account.member)
      .send(comment + query, { method: 'POST', body, headers: { 'content-type': 'multipart/form-data; boundary=XX' } })
  }
  const FILE = '--XX\nContent-Disposition: form-data; name="file"; filename="a.txt"\nContent-Type: text/plain\n\nhello\n'
  const field = (name: string, value: string) => `--XX\nContent-Disposition: form-data; name="${name}"\n\n${value}\n`

  test('has name and type in parts before or after the file, or in the query string', async () => {
    expect((await send(`${FILE}${field('name', 'b.txt')}${field('type', 'text/csv')}--XX--\n`)).body).toMatchObject({
      name: 'b.txt',
      type: 'text/csv',
      size: 5,
    })
    expect((await send(`${field('name', 'c.txt')}${FILE}--XX--\n`, '?name=d.txt&type=text/csv')).body).toMatchObject({
      name: 'c.txt',
      type: 'text/csv',
    })
    expect((await send(`${FILE}--XX--\n`)).body).toMatchObject({ name: 'a.txt', type: 'text/plain', size: 5 })
  })

  test('keeps every byte of a file that is full of beginnings of the boundary, however it is cut into chunks', async () => {
    const { account, comment } = await shared
    const [boundary, begun] = ['b'.repeat(60), Buffer.from(`\r\n--${'b'.repeat(59)}`)]
    // Chunks of 64 KB end at every place within a beginning.
    const file = Buffer.concat(Array.from({ length: 30_000 }, (_, i) => begun.subarray(0, (i % begun.length) + 1)))
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`
    const body = Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)])
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const { body: kept } = await app.as(account.member).send(comment, { method: 'POST', body: new Uint8Array(body), headers })
    expect((await bytesOf(kept.path, account.keys.account)).equals(file)).toBe(true)
  })

  test.each([
    ['no file', `${field('name', 'a')}--XX--\n`, 400, 'file: is required'],
    ['two files', `${FILE}${FILE}--XX--\n`, 400, 'file: is given twice'],
    ['a file under another name', `${FILE.replace('"file"', '"upload"')}--XX--\n`, 400, 'upload: is not a known key'],
    ['a text as its file', `${field('file', 'hello')}--XX--\n`, 400, 'file: must be a file, with a file name'],
    ['data', `${FILE}${field('data', 'aGk=')}--XX--\n`, 400, 'data: is sent as the part file of a form'],
    ['a name twice', `${FILE}${field('name', 'a')}${field('name', 'b')}--XX--\n`, 400, 'name: is given twice'],
    ['an unknown key', `${FILE}${field('host', 'a')}--XX--\n`, 400, 'host: is not a known key'],
    ['an id of the path', `${FILE}${field('table_id', '1')}--XX--\n`, 400, 'table_id: is given in the path, not in the body'],
    ['a prototype', `${FILE}${field('__proto__', 'a')}--XX--\n`, 400, 'The form is malformed or incomplete'],
    ['a name that is too long', `${FILE}${field('name', 'a'.repeat(70_000))}--XX--\n`, 400, 'name: is too long'],
    ['NUL in its name', `${FILE}${field('name', 'a\0b')}--XX--\n`, 400, 'name: must not contain NUL'],
    ['no end', FILE, 400, 'The form is malformed or incomplete'],
    ['nothing', '', 400, 'file: is required'],
    ['another boundary', FILE.replaceAll('XX', 'YY'), 400, 'The form is malformed or incomplete'],
    [
      'too many parts',
      `${field('a', 'b')}${Array.from({ length: 30 }, (_, i) => field(`k${i}`, 'v')).join('')}--XX--\n`,
      400,
      'The form is malformed or incomplete',
    ],
  ])('with %s is refused, and nothing is stored', async (_, parts, status, message) => {
    await shared
    const before = stored()
    const answer = await send(parts)
    expect([answer.status, answer.body.message]).toEqual([status, message])
    expect(stored()).toEqual(before)
  })

  test('without a boundary, or compressed bytes, or another type of body is refused', async () => {
    const { account, comment } = await shared
    const as = app.as(account.member)
    const post = (type: string) => as.send(comment, { method: 'POST', body: 'hello', headers: { 'content-type': type } })
    expect((await post('multipart/form-data')).status).toBe(400)
    expect((await post('text/plain')).body.message).toBe(
      'The body must be application/json in UTF-8, or multipart/form-data; text/plain was sent',
    )
    const put = (headers: Record<string, string>) => as.send(`${comment}?name=a`, { method: 'PUT', body: 'hello', headers })
    expect((await put({ 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await put({ 'content-type': 'multipart/form-data; boundary=XX' })).status).toBe(415)
  })
})

describe('the bytes of a file', () => {
  const put = async (headers: Record<string, string>, query = '') => {
    const { account, comment } = await shared
    return app.as(account.member).send(comment + query, { method: 'PUT', body: 'hello', headers })
  }

  test.each([
    [`attachment; filename="a \\"b\\".txt"`, 'a "b".txt'],
    ['attachment; filename=plain.txt', 'plain.txt'],
    ['ATTACHMENT ; FileName = "a.txt" ;', 'a.txt'],
    ['attachment; filename=two words.txt; size=5', 'two words.txt'],
    [`attachment; filename*=UTF-8''it's.txt`, "it's.txt"],
    [`inline; filename="x"; filename*=UTF-8'en'na%C3%AFve.txt`, 'naïve.txt'],
    [`attachment; filename*=iso-8859-1''na%EFve.txt`, 'naïve.txt'],
    [`attachment; filename="${Buffer.from('größe.txt').toString('latin1')}"`, 'größe.txt'],
    [`attachment; filename="${Buffer.from('größe.txt', 'latin1').toString('latin1')}"`, 'größe.txt'],
  ])('are named by %s', async (header, name) => {
    expect((await put({ 'content-disposition': header })).body).toMatchObject({ name, size: 5 })
  })

  test.each([
    [{}, 'name: is required, in Content-Disposition (filename) or as ?name='],
    [{ 'content-disposition': 'attachment' }, 'name: is required, in Content-Disposition (filename) or as ?name='],
    [{ 'content-disposition': 'attachment; filename="a' }, 'Content-Disposition: cannot be read'],
    [{ 'content-disposition': `attachment; filename*=UTF-8''a%ZZ` }, 'Content-Disposition: cannot be read'],
    [{ 'content-disposition': `attachment; filename*=UTF-8''na%EFve.txt` }, 'Content-Disposition: cannot be read'],
    [{ 'content-disposition': `attachment; filename*=utf-7''a` }, 'Content-Disposition: cannot be read'],
    [{ 'content-disposition': 'attachment; filename*0=a.txt' }, 'name: is required, in Content-Disposition (filename) or as ?name='],
    [{ 'content-disposition': `attachment; filename*=UTF-8''a%00b` }, 'name: must not contain NUL'],
  ])('are refused with %j', async (headers, message) => {
    await shared
    const before = stored()
    expect((await put(headers as Record<string, string>)).body).toMatchObject({ message })
    expect(stored()).toEqual(before)
  })

  test('have the type of their header, and a name in the query string counts first', async () => {
    const answer = await put(
      { 'content-disposition': 'attachment; filename=a.txt', 'content-type': 'text/csv; charset=utf-8' },
      '?name=b.csv',
    )
    expect(answer.body).toMatchObject({ name: 'b.csv', type: 'text/csv; charset=utf-8' })
  })
})

// ── raw connections ─────────────────────────────────────────────────────────

/** Opens a connection and sends the head of an upload in a form. @returns `{socket, prefix}`: what comes before the bytes of the file */
async function raw(
  form: 'JSON' | 'a form' | 'bytes',
  headers: string,
  path?: string,
): Promise<{ socket: Socket; prefix: string; encode: (bytes: Buffer) => Buffer }> {
  const { account, comment } = await shared
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {})
  const type = { JSON: 'application/json', 'a form': 'multipart/form-data; boundary=XX', bytes: 'application/octet-stream' }[form]
  const method = form === 'bytes' ? 'PUT' : 'POST'
  socket.write(
    `${method} ${path ?? comment}?name=raw.bin HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${headers}Authorization: Bearer ${account.keys.account}\r\n\r\n`,
  )
  const prefix = {
    JSON: '{"name":"raw.bin","data":"',
    'a form': '--XX\r\nContent-Disposition: form-data; name="file"; filename="raw.bin"\r\n\r\n',
    bytes: '',
  }[form]
  return { socket, prefix, encode: (bytes) => (form === 'JSON' ? Buffer.from(bytes.toString('base64')) : bytes) }
}

const chunk = (bytes: Buffer) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

/** The answer as far as it has arrived with its first packet. */
async function firstAnswer(socket: Socket): Promise<{ status: number; body: { message: string } }> {
  const text = await new Promise<string>((resolve, reject) => {
    socket.once('data', (data) => resolve(data.toString()))
    socket.once('close', () => reject(new Error('closed without an answer')))
  })
  return { status: Number(text.slice(9, 12)), body: JSON.parse(text.split('\r\n\r\n')[1] ?? '') }
}

const KEY = { JSON: 'data', 'a form': 'file', bytes: 'body' } as const

describe.each(['JSON', 'a form', 'bytes'] as const)('%s', (form) => {
  test('over 50 MB is 413 from the first byte over, without waiting for the end', async () => {
    await shared
    const before = stored()
    const { socket, prefix, encode } = await raw(form, 'Transfer-Encoding: chunked\r\n')
    const answer = firstAnswer(socket)
    if (prefix) socket.write(chunk(Buffer.from(prefix)))
    socket.write(chunk(encode(Buffer.alloc(MAX_UPLOAD_BYTES + 3))))
    expect(await answer).toMatchObject({ status: 413, body: { message: `${KEY[form]}: must have at most 50 MB` } })
    socket.destroy()
    expect(stored()).toEqual(before)
  })

  test('with a stated length over the limit is 413 before anything is sent', async () => {
    const { socket } = await raw(form, 'Content-Length: 90000000\r\n')
    expect(await firstAnswer(socket)).toMatchObject({ status: 413, body: { message: `${KEY[form]}: must have at most 50 MB` } })
    socket.destroy()
  })

  test('of a caller that hangs up half-way leaves nothing behind, and holds no transaction while it lasts', async () => {
    await shared
    const before = stored()
    const { socket, prefix, encode } = await raw(form, 'Content-Length: 10000000\r\nIdempotency-Key: half\r\n')
    socket.write(prefix)
    socket.write(encode(randomBytes(3_000_000)))
    await expect.poll(() => stored().length).toBe(before.length + 1)
    const open = await app.db.read<{ state: string }>(
      sql`select state from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
    expect(open).toEqual([])
    socket.destroy()
    await expect.poll(() => stored()).toEqual(before)
    expect(await app.db.read(sql`select path from stored_files where name = 'raw.bin'`)).toEqual([])
  })

  test('is refused if its record is deleted while it arrives', async () => {
    const { account, record, comment } = await start()
    const before = stored()
    const { socket, prefix, encode } = await raw(form, 'Transfer-Encoding: chunked\r\n', comment)
    const { keys } = account
    socket.destroy()
    const own = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {})
    const type = { JSON: 'application/json', 'a form': 'multipart/form-data; boundary=XX', bytes: 'text/plain' }[form]
    own.write(
      `${form === 'bytes' ? 'PUT' : 'POST'} ${comment}?name=raw.bin HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer ${keys.account}\r\n\r\n`,
    )
    if (prefix) own.write(chunk(Buffer.from(prefix)))
    own.write(chunk(encode(randomBytes(300_000))))
    await expect.poll(() => stored().length).toBe(before.length + 1)
    expect((await app.as(account.member).post(`${record}/delete`)).status).toBe(200)
    const answer = firstAnswer(own)
    own.write(chunk(Buffer.from({ JSON: '"}', 'a form': '\r\n--XX--\r\n', bytes: 'end' }[form])))
    own.write('0\r\n\r\n')
    expect(await answer).toMatchObject({ status: 404, body: { message: 'Record not found' } })
    own.destroy()
    await expect.poll(() => stored()).toEqual(before)
  })
})
