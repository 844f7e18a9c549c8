/** Uploads of callers that mean harm: hostile forms, empty headers, other sites, and bodies that nobody reads. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { base64Json } from '../src/platform/http/answers/base64-json.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const dir = await mkdtemp(join(tmpdir(), 'gridpost-hostile-uploads-'))
const folder = join(dir, 'files')
const app = await testApp({ STORAGE: folder })
afterAll(() => rm(dir, { recursive: true, force: true }))

mkdirSync(folder)

async function start() {
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  return { account, path, field: `${path}/record/${records[0]}/files/create`, comment: `${path}/record/${records[0]}/comments/upload` }
}
const shared = start()

const stored = () => readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []))

const MB = 1_048_576
const FORM = 'Content-Type: multipart/form-data; boundary=XX\r\n'
const FILE = 'Content-Disposition: form-data; name="file"; filename="a"'
const part = (head: string, body = 'hello') => `--XX\r\n${head}\r\n\r\n${body}\r\n`
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** Opens a connection. `text()` is what has arrived on it. */
function open(): { socket: Socket; text: () => string } {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {})
  let text = ''
  socket.setEncoding('utf8').on('data', (data) => {
    text += data
  })
  return { socket, text: () => text }
}

async function head(method: string, path: string, headers: string): Promise<string> {
  const { account } = await shared
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.keys.account}\r\n${headers}\r\n`
}

/** The status and message of an answer. */
const outcomeOf = (text: string) => [Number(text.slice(9, 12)), JSON.parse(text.split('\r\n\r\n')[1] ?? '{}').message]

test.each([
  ['a file without a name', part('Content-Disposition: form-data; filename="a"'), 400, 'The form has a part without a name'],
  ['fields without a name', part('Content-Disposition: form-data; x').repeat(2), 400, 'The form has a part without a name'],
  ['5,000 headers of a part', part(`${'X: y\r\n'.repeat(5_000)}${FILE}`), 400, 'file: is required'],
  ['a header of 200 KB', part(`X: ${'y'.repeat(200_000)}\r\n${FILE}`), 400, 'file: is required'],
  ['10,000 parts', part('Content-Disposition: form-data; name="a"').repeat(10_000), 400, 'a: is given twice'],
  ['10,000 parts without headers', part('').repeat(10_000), 400, 'The form is malformed or incomplete'],
  [
    'a form within the form',
    part(`Content-Disposition: form-data; name="file"\r\nContent-Type: multipart/mixed; boundary=YY`),
    400,
    'file: must be a file, with a file name',
  ],
  [
    'an object as its name',
    part(FILE) + part('Content-Disposition: form-data; name="name"\r\nContent-Type: application/json', '{"a":1}'),
    400,
    'name: must be text',
  ],
])('a form with %s is refused, and nothing is stored', async (_, body, status, message) => {
  const { account, comment } = await shared
  const before = stored()
  const headers = { 'content-type': 'multipart/form-data; boundary=XX' }
  const answer = await app.as(account.member).send(comment, { method: 'POST', body: `${body}--XX--\r\n`, headers })
  expect([answer.status, answer.body.message]).toEqual([status, message])
  expect(stored()).toEqual(before)
})

test.each([
  ['before its first part', ''],
  ['in a part without a name', '--XX\r\nX: y\r\n\r\n'],
  ['after its end', `${part(FILE)}--XX--\r\n`],
])('a form with bytes without end %s is 413', async (_, begin) => {
  const { comment } = await shared
  const before = stored()
  const { socket, text } = open()
  socket.write((await head('POST', comment, `${FORM}Transfer-Encoding: chunked\r\n`)) + (begin && chunk(begin)))
  const megabyte = chunk('z'.repeat(MB))
  for (let sent = 0; sent < 52; sent++) socket.write(megabyte)
  await expect.poll(() => text()).toContain('\r\n\r\n{')
  socket.destroy()
  expect(outcomeOf(text())).toEqual([413, 'file: must have at most 50 MB'])
  await expect.poll(() => stored()).toEqual(before)
})

test.each([
  ['no Content-Type', ''],
  ['an empty Content-Type', 'Content-Type: \r\n'],
])('bytes with %s are application/octet-stream', async (_, type) => {
  const { comment } = await shared
  for (const length of ['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n']) {
    const { socket, text } = open()
    socket.write(
      (await head('PUT', `${comment}?name=a.bin`, `Connection: close\r\n${type}${length}`)) +
        (length.startsWith('C') ? 'hello' : `${chunk('hello')}0\r\n\r\n`),
    )
    await new Promise((resolve) => socket.once('close', resolve))
    expect(text()).toMatch(/^HTTP\/1\.1 200 /)
    expect(text()).toContain('"type":"application/octet-stream"')
  }
})

test('bytes with a Content-Type that is no media type are refused by its name', async () => {
  const { account, comment } = await shared
  const answer = await app
    .as(account.member)
    .send(`${comment}?name=a`, { method: 'PUT', body: 'hello', headers: { 'content-type': 'no type' } })
  expect([answer.status, answer.body.message]).toEqual([415, 'The Content-Type is not a media type'])
})

test('an upload from the page of another site is refused, in every form', async () => {
  const { account, path, field, comment } = await shared
  const before = stored()
  const form = () => {
    const form = new FormData()
    form.set('file', new Blob(['hello']), 'a.txt')
    return form
  }
  const as = app.as(account.admin)
  for (const from of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'https://evil.example' },
  ]) {
    const headers = from as Record<string, string>
    const csv = { ...headers, 'content-type': 'text/csv' }
    const answers = [
      ...(await Promise.all(
        [field, comment, '/api/tasks/upload'].flatMap((to) => [
          as.send(to, { method: 'POST', body: form(), headers }),
          as.send(`${to}?name=a`, { method: 'PUT', body: 'hello', headers }),
          as.send(to, { method: 'POST', body: '{"name":"a","data":"aGk="}', headers: { ...headers, 'content-type': 'text/plain' } }),
        ]),
      )),
      await as.send(`/api/space/${account.space}/tables/import`, { method: 'POST', body: 'A\n1\n', headers: csv }),
      await as.send(`${path}/import?async=true`, { method: 'POST', body: 'File\n', headers: csv }),
      await as.send('/api/file/restore', { method: 'POST', body: '{}', headers }),
    ]
    for (const answer of answers) expect([answer.status, answer.body.message]).toEqual([403, 'Requests from another site are refused'])
  }
  expect(stored()).toEqual(before)
})

test.each([
  ['title', 'text/csv', 'A\n1\n'],
  ['sheet', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'PK\u0003\u0004'],
])('NUL in the %s of a file that makes a table is refused', async (key, type, body) => {
  const { account } = await shared
  const headers = { 'content-type': type }
  const answer = await app
    .as(account.owner)
    .send(`/api/space/${account.space}/tables/import?${key}=a%00b`, { method: 'POST', body, headers })
  expect([answer.status, answer.body.message]).toEqual([400, `${key}: must not contain NUL`])
})

test.each([
  ['JSON', 'POST', 'Content-Type: application/json\r\n', '{"name":"a","data":"', '"}'],
  ['a form', 'POST', FORM, `--XX\r\n${FILE}\r\n\r\n`, '\r\n--XX--\r\n'],
  ['bytes', 'PUT', '', '', ''],
])('the rest of a body is read when the storage is away, so that its connection goes on: %s', async (_, method, type, begin, end) => {
  const { comment } = await shared
  const body = begin + 'A'.repeat(8 * MB) + end
  renameSync(folder, `${folder}.away`)
  writeFileSync(folder, '')
  const { socket, text } = open()
  try {
    socket.write((await head(method, `${comment}?name=a`, `${type}Content-Length: ${body.length}\r\n`)) + body)
    socket.write(await head('GET', '/api/nothing', ''))
    await expect.poll(() => text()).toContain('No such path')
    expect(text()).toMatch(/^HTTP\/1\.1 503 /)
  } finally {
    socket.destroy()
    rmSync(folder)
    renameSync(`${folder}.away`, folder)
  }
})

test('a file in base64 is closed when its caller has hung up before its first byte', async () => {
  const bytes = new Readable({ read() {} })
  const { content } = base64Json({ name: 'a', type: 'text/plain', size: 1 }, bytes)
  content.destroy()
  await expect.poll(() => bytes.destroyed).toBe(true)
})
