/**
 * The names of files, and their media types: the claimed one on the wire, and the one that the bytes show, which decides how a browser
 * treats the file.
 */
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Answer, type As, type TestAccount, testApp } from './support/app.ts'
import { everyType } from './support/tables.ts'

const app = await testApp()

const picture = sharp({ create: { width: 4, height: 3, channels: 3, background: '#c33' } })
const IMAGES = {
  'image/png': await picture.png().toBuffer(),
  'image/jpeg': await picture.jpeg().toBuffer(),
  'image/gif': await picture.gif().toBuffer(),
  'image/webp': await picture.webp().toBuffer(),
  'image/avif': await picture.avif().toBuffer(),
}
const HTML = '<!doctype html><script>alert(1)</script>'
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
const XML = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>'

async function recordOf(account: TestAccount) {
  const table = await everyType(app, account)
  const { body } = await app.as(account.member).post(`${table.path}/records/create`, { data: { text: 'Acme' } })
  return { table_id: table.id, record_id: body.id as number, path: `${table.path}/record/${body.id}` }
}
type RecordPlace = Awaited<ReturnType<typeof recordOf>>

const account = await app.account()
const record = await recordOf(account)
const as = app.as(account.member)

interface Sent {
  name?: string
  type?: string | undefined
  data: Buffer | string
}

const upload = (caller: As, { path }: RecordPlace, { name = 'a', type, data }: Sent): Promise<Answer> =>
  caller.post(`${path}/comments/upload`, { name, type, data: Buffer.from(data).toString('base64') })

/** Uploads the bytes and downloads them. @returns whether a browser shows them, the Content-Type, and the claimed type */
async function treatment(type: string | undefined, data: Buffer | string) {
  const { body } = await upload(as, record, { type, data })
  const { headers } = await as.get(`/api/file/${body.path}`)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('content-security-policy')).toContain('sandbox')
  return [headers.get('content-disposition')?.split(';')[0], headers.get('content-type'), body.type]
}

const task = (await as.post(`/api/tasks/onRecord/${record.table_id}/${record.record_id}/create`, { title: 'Call' })).body as { id: number }
const { table_id, record_id } = record

/** All operations that take a file: on REST and on RPC. */
const UPLOADS: Record<string, [path: string, rpc: (input: { name: string; type?: string; data: string }) => Promise<unknown>]> = {
  'a field': [`${record.path}/files/create`, (input) => as.rpc.files.create.mutate({ table_id, record_id, field_id: 'file', ...input })],
  'a comment on a record': [`${record.path}/comments/upload`, (input) => as.rpc.comments.upload.mutate({ table_id, record_id, ...input })],
  'a task': [`/api/task/${task.id}/upload`, (input) => as.rpc.tasks.upload.mutate({ task_id: task.id, ...input })],
  'a comment on a task': [
    `/api/task/${task.id}/comments/upload`,
    (input) => as.rpc.tasks.comments.upload.mutate({ task_id: task.id, ...input }),
  ],
  'a new task': ['/api/tasks/upload', (input) => as.rpc.tasks.stage.mutate(input)],
  'a new task on a record': [
    `/api/tasks/onRecord/${table_id}/${record_id}/upload`,
    (input) => as.rpc.tasks.stageOnRecord.mutate({ table_id, record_id, ...input }),
  ],
}

describe.each(Object.entries(UPLOADS))('the name of a file for %s', (what, [path, rpc]) => {
  const more = what === 'a field' ? { field_id: 'file' } : {}
  const nameOf = (answer: unknown) => [(answer as { rows: object[] }).rows ?? answer].flat().at(-1)

  test.each([
    ['C:\\fakepath\\offer.pdf', 'offer.pdf'],
    ['../../عرض سعر.pdf', 'عرض سعر.pdf'],
    ['invoice\u202Egpj.exe\r\n', 'invoicegpj.exe'],
    [`${'folder/'.repeat(2_000)}${'ä'.repeat(127)}`, 'ä'.repeat(127)],
  ])('loses folders, control characters and marks of direction: %j', async (given, name) => {
    const { body } = await as.post(path, { name: given, data: '', ...more })
    expect(nameOf(body)).toMatchObject({ name })
    expect(nameOf(await rpc({ name: given, data: '' }))).toMatchObject({ name })
  })

  test.each([
    ['a/', 'must name a file'],
    ['..', 'must name a file'],
    ['\u200F', 'must name a file'],
    ['x'.repeat(10_000), 'must have at most 255 bytes of UTF-8'],
    ['見'.repeat(86), 'must have at most 255 bytes of UTF-8'],
    ['a\0', 'must not contain NUL'],
    ['a\ud800', 'must not contain half a surrogate pair'],
  ])('is refused if nothing is left of it, and if it is too long: %j', async (name, message) => {
    const issues = [{ path: ['name'], message }]
    expect(await as.post(path, { name, data: '', ...more })).toMatchObject({ status: 400, body: { issues } })
    await expect(rpc({ name, data: '' })).rejects.toMatchObject({ data: { httpStatus: 400, issues } })
  })
})

/** The other forms of an upload: the bytes as they are, and a form. */
const FORMS: Record<string, (path: string, file: { name: string; type: string }) => Promise<Answer>> = {
  PUT: (path, { name, type }) =>
    as.send(path, {
      method: 'PUT',
      body: IMAGES['image/png'],
      headers: { 'content-type': type, 'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}` },
    }),
  multipart: (path, { name, type }) => {
    const form = new FormData()
    // The parser of forms drops the parameters of a part's type.
    form.set('type', type)
    form.set('file', new File([IMAGES['image/png']], name, { type }))
    return as.send(path, { method: 'POST', body: form })
  },
}

describe.each(Object.entries(FORMS))('a file by %s', (_, send) => {
  test.each(Object.values(UPLOADS).map(([path]) => path))('has the same rules of names and types: %s', async (path) => {
    const place = path.endsWith('/files/create') ? `${path}?field_id=file` : path
    const sent = await send(place, { name: 'C:\\fakepath\\عرض\u202E.html', type: 'text/html;charset=utf-8' })
    expect(sent.status).toBe(200)
    const stored = [sent.body].flat().at(-1)
    expect(stored).toMatchObject({ name: 'عرض.html', type: 'text/html;charset=utf-8' })
    const { headers } = await as.get(`/api/file/${stored.path}`)
    expect([headers.get('content-type'), headers.get('content-disposition')?.split(';')[0]]).toEqual(['image/png', 'inline'])
    for (const [name, message] of [
      ['folder/..', 'must name a file'],
      ['見'.repeat(86), 'must have at most 255 bytes of UTF-8'],
    ] as const)
      expect(await send(place, { name, type: 'text/plain' })).toMatchObject({
        status: 400,
        body: { issues: [{ path: ['name'], message }] },
      })
  })
})

test('the name of a download is that of the file, in every script', async () => {
  const { body } = await upload(as, record, { name: 'a/عرض "1"; 見.pdf', data: '' })
  const { headers } = await as.get(`/api/file/${body.path}`)
  expect(headers.get('content-disposition')).toBe(
    `attachment; filename="___ _1_; _.pdf"; filename*=UTF-8''${encodeURIComponent('عرض "1"; 見.pdf')}`,
  )
})

describe('a claimed type', () => {
  test.each([
    'text/plain; charset=utf-8',
    'text/plain;charset=UTF-8',
    'multipart/mixed; boundary="a; b"; x=1',
    'Application/vnd.api+json',
    'audio/ogg; codecs="vorbis, \\"opus\\""',
  ])('%s is kept, and sent with the download', async (type) => {
    const { body } = await upload(as, record, { type, data: 'hello' })
    expect(body.type).toBe(type)
    const { headers } = await as.get(`/api/file/${body.path}`)
    expect(headers.get('content-type')).toBe(type)
    expect(await as.rpc.comments.upload.mutate({ table_id, record_id, name: 'a', type, data: '' })).toMatchObject({ type })
  })

  test('is application/octet-stream if there is none', async () => {
    for (const type of [undefined, ''])
      expect(await treatment(type, 'hello')).toEqual(['attachment', 'application/octet-stream', 'application/octet-stream'])
  })

  test.each([
    'text',
    'text/',
    '/plain',
    'text/plain; charset',
    'text/plain; =utf-8',
    'text/plain charset=utf-8',
    'text/plain; charset="utf-8',
    'text/plain; charset=utf-8\r\nx: y',
    'text/plain; charset=ü',
    'text/plain; x="ü"',
    'text/plain, image/png',
    `text/plain; x=${'x'.repeat(250)}`,
    `text/plain${' '.repeat(100_000)}x`,
  ])('%s is refused', async (type) => {
    expect(await upload(as, record, { type, data: '' })).toMatchObject({
      status: 400,
      body: { issues: [{ path: ['type'], message: 'must be a media type, such as image/png' }] },
    })
  })
})

describe('a download', () => {
  test.each(Object.entries(IMAGES))('shows %s as what it is, whatever the upload claimed', async (type, data) => {
    for (const claimed of [type, 'text/html', 'image/svg+xml', 'application/xml', 'image/bmp', 'application/octet-stream'])
      expect(await treatment(claimed, data), claimed).toEqual(['inline', type, claimed])
  })

  test.each([
    ['HTML', HTML],
    ['SVG', SVG],
    ['XML', XML],
    ['text', 'hello'],
    ['text that begins like a bitmap', 'BMW, Munich: price list'],
    ['nothing', ''],
    ['the signature of a PNG alone', `\x89PNG\r\n\x1a\n${HTML}`],
  ])('never shows %s, whatever the upload claimed', async (_, data) => {
    const bytes = Buffer.from(data, 'latin1')
    for (const claimed of ['text/html', 'image/svg+xml', 'text/xml', 'application/xhtml+xml', 'image/png', 'image/jpeg', 'text/plain'])
      expect(await treatment(claimed, bytes), claimed).toEqual(['attachment', claimed, claimed])
  })

  test('saves documents, archives and unknown bytes under the claimed type', async () => {
    const cases = [
      ['application/pdf', '%PDF-1.4\n'],
      ['text/plain', '%PDF-1.4\n'],
      ['application/zip', 'PK\x03\x04'],
      ['image/png', '\0\x01\x02'],
      ['video/mp4', '\0\0\0\x18ftypmp42\0\0\0\0mp42isom'],
    ] as const
    for (const [claimed, data] of cases)
      expect(await treatment(claimed, Buffer.from(data, 'latin1'))).toEqual(['attachment', claimed, claimed])
  })

  test('treats a file of an earlier release by its claimed type', async () => {
    const [image, page] = [
      await upload(as, record, { type: 'image/png', data: HTML }),
      await upload(as, record, { type: 'text/html', data: HTML }),
    ]
    await app.db.write(sql`update stored_files set detected_type = null where path in (${image.body.path}, ${page.body.path})`)
    const headersOf = async (path: string) => {
      const { headers } = await as.get(`/api/file/${path}`)
      return ['content-disposition', 'content-type', 'x-content-type-options'].map((name) => headers.get(name)?.split(';')[0])
    }
    expect(await headersOf(image.body.path)).toEqual(['inline', 'image/png', 'nosniff'])
    expect(await headersOf(page.body.path)).toEqual(['attachment', 'text/html', 'nosniff'])
  })
})
