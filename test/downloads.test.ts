/** Caching, ranges and HEAD of GET /api/file/{path}. */
import { expect, test } from 'vitest'
import { type TestAccount, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ CORS_ORIGINS: 'https://app.example.com' })

async function upload(account: TestAccount, text: string, name = 'a.txt'): Promise<string> {
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const data = Buffer.from(text).toString('base64')
  const { body } = await app.as(account.member).post(`${path}/record/${records[0]}/files/create`, { field_id: 'file', name, data })
  return `/api/file/${body[0].path}`
}

test('a cache of the caller may keep a file for five minutes, for the same credentials only', async () => {
  const account = await app.account()
  const url = await upload(account, '0123456789')
  const as = app.as(account.member)
  for (const headers of [{}, { range: 'bytes=0-1' }, { 'if-none-match': '*' }]) {
    const answer = await as.get(url, headers)
    expect(answer.headers.get('cache-control')).toBe('private, max-age=300, immutable')
    expect(answer.headers.get('vary')).toMatch(/Authorization, Cookie$/)
  }
  const fromPage = await as.get(url, { origin: 'https://app.example.com' })
  expect(fromPage.headers.get('vary')).toBe('Origin, Authorization, Cookie')
})

test('a page of another origin reads the name of a download, and the id of a change', async () => {
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
  const by = { authorization: `Bearer ${account.keys.account}`, origin: 'https://app.example.com' }
  const answers: [header: string, Response][] = [
    ['content-disposition', await fetch(`${app.url}${path}/export.csv`, { headers: by })],
    [
      'x-change-id',
      await fetch(`${app.url}${path}/record/${records[0]}/update`, {
        method: 'POST',
        headers: { ...by, 'content-type': 'application/json' },
        body: JSON.stringify({ data: { name: 'Beta' } }),
      }),
    ],
  ]
  for (const [header, { headers, body }] of answers) {
    await body?.cancel()
    expect(headers.get('access-control-allow-origin')).toBe(by.origin)
    expect([header, headers.get('access-control-expose-headers')?.split(', ')]).toEqual([header, expect.arrayContaining([header])])
    expect(headers.has(header)).toBe(true)
  }
})

test('no answer but the bytes is kept or saved: neither a refusal nor an unsatisfiable range', async () => {
  const account = await app.account()
  const url = await upload(account, '0123456789')
  const unkept = [
    [401, await app.as(null).get(url)],
    [404, await app.as(account.outsider).get(url, { 'if-none-match': '*' })],
    [416, await app.as(account.member).get(url, { range: 'bytes=10-' })],
  ] as const
  await app.deps.storage.remove(url.slice('/api/file/'.length))
  for (const [status, answer] of [...unkept, [404, await app.as(account.member).get(url)] as const]) {
    expect(answer.status).toBe(status)
    expect(answer.headers.get('cache-control'), `${status}`).toBe('private, no-store')
    expect(answer.headers.get('content-disposition'), `${status}`).toBeNull()
  }
})

test.each([
  ['*', 304],
  [' * ', 304],
  ['TAG', 304],
  ['W/TAG', 304],
  ['"other", W/"another",TAG', 304],
  ['"other"', 200],
  ['W/"other", "another"', 200],
  ['TAG-without-quotes', 200],
  ['', 200],
])('If-None-Match: %s gets %i', async (header, status) => {
  const account = await app.account()
  const url = await upload(account, 'hello')
  const path = url.slice('/api/file/'.length)
  const value = header.startsWith('TAG-') ? path : header.replace('TAG', `"${path}"`)
  // A matching tag wins over a range.
  for (const headers of [{}, { range: 'bytes=9-' }]) {
    const answer = await app.as(account.member).get(url, { 'if-none-match': value, ...headers })
    const expected = status === 304 ? 304 : 'range' in headers ? 416 : 200
    expect(answer.status).toBe(expected)
    if (expected === 304) expect([answer.body, answer.headers.get('etag')]).toEqual(['', `"${path}"`])
  }
})

test('HEAD has the headers of the whole file, reads no storage, and knows no ranges', async () => {
  const account = await app.account()
  const as = app.as(account.member)
  const [url, empty] = [await upload(account, '0123456789'), await upload(account, '')]
  await app.deps.storage.remove(url.slice('/api/file/'.length))
  for (const headers of [{}, { range: 'bytes=2-4' }, { range: 'bytes=10-' }]) {
    const head = await as.send(url, { method: 'HEAD', headers })
    expect([head.status, head.headers.get('content-length'), head.headers.get('content-range'), head.body]).toEqual([200, '10', null, ''])
    expect([head.headers.get('accept-ranges'), head.headers.get('content-type')]).toEqual(['bytes', 'application/octet-stream'])
  }
  expect((await as.send(url, { method: 'HEAD', headers: { 'if-none-match': '*' } })).status).toBe(304)
  expect((await as.send(empty, { method: 'HEAD' })).headers.get('content-length')).toBe('0')
  const whole = await as.get(empty)
  expect([whole.status, whole.headers.get('content-length'), whole.body]).toEqual([200, '0', ''])
})

test('a range of another version of the file gets the whole file', async () => {
  const account = await app.account()
  const url = await upload(account, '0123456789')
  const etag = `"${url.slice('/api/file/'.length)}"`
  const ranged = async (ifRange: string) =>
    (await app.as(account.member).get(url, { range: 'bytes=2-4', 'if-range': ifRange })).body as string
  expect(await ranged(etag)).toBe('234')
  // If-Range compares strongly (RFC 9110, 13.1.5), and files have no date.
  for (const other of [`W/${etag}`, '"other"', 'Sun, 22 Nov 2026 12:00:00 GMT', '*']) expect(await ranged(other), other).toBe('0123456789')
})
