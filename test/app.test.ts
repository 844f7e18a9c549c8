import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { buildOperatorApp } from '../src/app.ts'
import { apiDocument } from '../src/router.ts'
import { testApp } from './support/app.ts'

const app = await testApp()

test('answers an unknown or undecodable path with the common error body', async () => {
  const nowhere = await app.as(null).get('/api/nowhere')
  expect([nowhere.status, nowhere.body]).toEqual([
    404,
    { message: 'No such path', code: 'NOT_FOUND', request_id: expect.stringMatching(/^req-/) },
  ])
  const broken = await app.as(null).get('/api/space/%zz/get')
  expect([broken.status, broken.body]).toEqual([
    400,
    { message: 'The path cannot be decoded', code: 'BAD_REQUEST', request_id: expect.stringMatching(/^req-/) },
  ])
  expect([broken.headers.get('x-api-version'), broken.headers.get('x-request-id')]).toEqual(['1', broken.body.request_id])
})

test('answers a malformed or oversized HTTP request with the common error body', async () => {
  const cases: [string, string, string][] = [
    ['FOO / HTTP/1.1\r\nHost: x\r\n\r\n', '400', 'Malformed HTTP request'],
    ['GET /api/task/ 1/get HTTP/1.1\r\nHost: x\r\n\r\n', '400', 'Malformed HTTP request'],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, '431', 'The path and the headers are too large'],
    [`GET /api/task/${'x'.repeat(6_000)}/get HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, '400', 'A part of the path is too long'],
  ]
  for (const [bytes, status, message] of cases) {
    const answer = await exchange(bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    expect(JSON.parse(body)).toEqual({ message, code: 'BAD_REQUEST', request_id: /x-request-id: (\S+)/i.exec(head)?.[1] })
    expect(head).toMatch(/x-api-version: 1/i)
  }
})

const PATHS = ['/healthz', '/readyz', '/', '/nowhere', '/api/nowhere', '/api/spaces/list', '/trpc/spaces.list', '/dev/mail']
const WITHOUT_HOST = 'The header Host is missing'
const SEVERAL_HOSTS = 'There are several headers Host'
const NO_HOST = 'The header Host names no host'

test.each<[problem: string, head: string]>([
  [SEVERAL_HOSTS, '1.1\r\nHost: a.example\r\nHost: b.example'],
  [SEVERAL_HOSTS, '1.1\r\nHost: a.example\r\nAccept: */*\r\nhOST: a.example'],
  [SEVERAL_HOSTS, '1.0\r\nHost: a.example\r\nHost:'],
  [WITHOUT_HOST, '1.1\r\nAccept: */*'],
  ...[
    '',
    'a b',
    'a/b',
    'http://a',
    'user@a',
    'a:b',
    'a:99999',
    'a:-1',
    'a:1:2',
    ':80',
    '::1',
    '[::1',
    '[fe80',
    '[1.2.3.4]',
    '[]',
    '[::1]x',
  ].map((host): [string, string] => [NO_HOST, `1.1\r\nHost: ${host}`]),
  ...['a..b', '.a', '.', 'a,b', 'a, b', 'm\u00fcnchen', '<script>', 'a#b', 'a?b', 'a\\b', "a'b", 'a;b', '*'].map(
    (host): [string, string] => [NO_HOST, `1.0\r\nHost: ${host}`],
  ),
])('refuses with 400 on every path: %s, HTTP/%j', async (problem, head) => {
  for (const path of PATHS) {
    const answer = await exchange(`GET ${path} HTTP/${head}\r\n\r\n`)
    expect(answer, path).toMatch(/^HTTP\/1\.1 400 /)
    const [headers = '', body = ''] = answer.split('\r\n\r\n')
    expect(JSON.parse(body)).toEqual({ message: problem, code: 'BAD_REQUEST', request_id: /x-request-id: (\S+)/i.exec(headers)?.[1] })
  }
})

test('refuses a host that is none on METRICS_PORT, too', async () => {
  const operators = buildOperatorApp(app.deps)
  const { statusCode, body } = await operators.inject({ url: '/healthz', headers: { host: 'a/b' } })
  expect([statusCode, JSON.parse(body).message]).toEqual([400, NO_HOST])
  expect((await operators.inject({ url: '/healthz', headers: { host: 'a_b:1' } })).statusCode).toBe(200)
  await operators.close()
})

test('refuses several hosts before it looks at the caller or the body', async () => {
  const { keys } = await app.account()
  const send = (headers: string) =>
    exchange(
      `POST /api/spaces/create HTTP/1.1\r\nHost: a\r\n${headers}Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"name":"Hosts"}`,
    )
  for (const key of ['', 'Authorization: Bearer nobody\r\n', `Authorization: Bearer ${keys.account}\r\n`])
    expect(await send(`Host: b\r\n${key}`)).toMatch(/^HTTP\/1\.1 400 (.|\r|\n)*There are several headers Host/)
  expect((await app.as(keys.account).get('/api/spaces/list')).body.map(({ name }: { name: string }) => name)).not.toContain('Hosts')
})

test.each([
  ...['x', 'localhost', 'my_host', '_a.example.com', 'a-b.example:8080', '127.0.0.1:3000', '[::1]', '[::1]:3000', '[::ffff:127.0.0.1]'].map(
    (host) => `1.1\r\nHost: ${host}`,
  ),
  ...['example.com.', 'EXAMPLE.com:', 'xn--bcher-kva.example:65535', '[2001:DB8::1]:0'].map((host) => `1.1\r\nHost: ${host}`),
  ...['1.0', '1.0\r\nHost: a_b:1', '1.1\r\nhost:  padded \r\nX-Host: other\r\nX-Forwarded-Host: other'],
])('serves a caller who writes HTTP/%j', async (head) => {
  expect(await exchange(`GET /healthz HTTP/${head}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.[01] 200 /)
  expect(await exchange(`GET /api/spaces/list HTTP/${head}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.[01] 401 /)
})

test('answers an unknown path before it reads the body', async () => {
  for (const [method, type] of [
    ['POST', 'application/json'],
    ['PUT', 'text/plain'],
    ['QUERY', 'application/json'],
  ] as const) {
    const answer = await app
      .as(null)
      .send('/api/nowhere', { method, body: method === 'QUERY' ? '' : '{', headers: { 'content-type': type } })
    expect([answer.status, answer.body.message], method).toEqual([404, 'No such path'])
  }
})

test('answers 405 and the allowed methods to another method on a path that it has', async () => {
  const messages: Record<string, string> = { 'GET, HEAD': 'Only GET and HEAD are allowed here', POST: 'Only POST is allowed here' }
  const cases: [method: string, path: string, allow: string][] = [
    ['DELETE', '/api/task/1/get', 'GET, HEAD'],
    ['POST', '/api/task/1/get', 'GET, HEAD'],
    ['GET', '/api/task/1/delete', 'POST'],
    ['GET', '/api/table/1/import', 'POST'],
    ['OPTIONS', '/api/spaces/list', 'GET, HEAD'],
    ['GET', '/webhooks/email_receive', 'POST'],
    ['PUT', '/healthz', 'GET, HEAD'],
  ]
  for (const [method, path, allow] of cases) {
    const answer = await app
      .as(null)
      .send(path, { method, ...(method !== 'GET' && { body: '{' }), headers: { 'content-type': 'text/csv' } })
    expect([answer.status, answer.headers.get('allow'), answer.body], `${method} ${path}`).toEqual([
      405,
      allow,
      { message: messages[allow], code: 'METHOD_NOT_SUPPORTED', request_id: expect.stringMatching(/^req-/) },
    ])
  }
})

test('answers every path under the pixel with the image', async () => {
  for (const path of ['a.png', 'a', '%zz.png', '%00', 'a/b/c.png', '']) {
    const { status, headers } = await app.as(null).get(`/email/pixel/${path}`)
    expect([status, headers.get('content-type'), headers.get('cache-control')], path).toEqual([200, 'image/png', 'no-store'])
  }
})

test('answers the liveness, readiness and documentation routes', async () => {
  expect((await app.as(null).get('/healthz')).body).toEqual({ ok: true })
  await expect
    .poll(async () => (await app.as(null).get('/readyz')).body)
    .toEqual({ ok: true, database: true, migrations: true, queue: true, storage: true })
})

test('serves the document that the code generates', async () => {
  const { status, headers, body } = await app.as(null).get('/openapi.json')
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(body).toEqual(await apiDocument())
})

test('links the start page to the documentation, and mails to their pages', async () => {
  const start = await app.as(null).send('/', { redirect: 'manual' })
  expect([start.status, start.headers.get('location')]).toEqual([302, '/docs'])
  for (const path of ['/invite', '/reset', '/forgot']) {
    const page = await app.as(null).get(path)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    for (const [, asset] of page.body.matchAll(/(?:src|href)="([^"]+)"/g)) expect((await app.as(null).get(asset)).status).toBe(200)
  }
})

test('accepts every form of a POST without a body', async () => {
  const { owner, space, keys } = await app.account()
  const made = await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Bodies', fields: [{ name: 'Name', type: 'text' }] })
  const path = `/api/table/${made.body.id}/records/count`
  const forms: RequestInit[] = [
    { method: 'POST' },
    { method: 'POST', body: '' },
    { method: 'POST', body: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { method: 'POST', body: '', headers: { 'content-type': 'application/json' } },
    { method: 'POST', body: '', headers: { 'content-type': 'text/plain' } },
    { method: 'POST', body: '{}', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { method: 'POST', body: '{}', headers: { 'content-type': 'application/json; charset=UTF-8' } },
  ]
  for (const form of forms) expect((await app.as(keys.account).send(path, form)).body).toMatchObject({ count: 0 })
})

/** Sends a whole request before it reads the answer, as many clients do. */
async function sendWhole(head: string[], body: string): Promise<string> {
  const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1' })
  socket.write(
    `${['POST /api/notifications/list HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', ...head].join('\r\n')}\r\n\r\n`,
  )
  await new Promise<void>((resolve, reject) => socket.write(body, (error) => (error ? reject(error) : resolve())))
  // Without Connection: close another request could follow; here this is the last.
  if (head.includes('Connection: close')) socket.end()
  else socket.end('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  return text(socket)
}

test('answers a client that sends the whole body although the service does not read it', async () => {
  const { keys } = await app.account()
  const bearer = `Authorization: Bearer ${keys.personal}`
  const body = 'x'.repeat(10 * 1_048_576)
  const length = `Content-Length: ${body.length}`
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  for (const [head, sent, status, message] of [
    [[bearer, length], body, 413, 'The body is too large'],
    [[bearer, 'Transfer-Encoding: chunked'], chunked, 413, 'The body is too large'],
    [[bearer, length, 'Connection: close'], body, 413, 'The body is too large'],
    [[length, 'Connection: close'], body, 401, 'Sign in, or send an API key as a bearer token'],
  ] as const) {
    const answers = await sendWhole([...head], sent)
    expect(answers.slice(0, 12), head.join()).toBe(`HTTP/1.1 ${status}`)
    expect(answers).toContain(`"message":"${message}"`)
    expect(answers.includes('{"ok":true}')).toBe(!head.some((line) => line === 'Connection: close'))
  }
})

test('gives the same answer to bad input before and after a REST call', async () => {
  const { owner, space } = await app.account()
  const made = await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Coerced', fields: [{ name: 'Name', type: 'text' }] })
  const path = `/api/table/${made.body.id}/records/query`
  const ask = async () => [
    (await app.as(owner).post(path, { limit: '5' })).body.issues,
    (await app.as(owner).post(path, { count: 'false' })).body.issues,
    (await app.as(owner).post('/trpc/records.query', { table_id: String(made.body.id) })).body.error.data.issues,
    (await app.as(owner).post('/trpc/records.query', { table_id: made.body.id, limit: true })).body.error.data.issues,
  ]
  const before = await ask()
  expect((await app.as(owner).get(`/api/table/${made.body.id}/get`)).status).toBe(200)
  expect((await app.as(owner).post(path, { limit: 5 })).status).toBe(200)
  expect(await ask()).toEqual(before)
  for (const issues of before) expect(issues).toHaveLength(1)
})

/** Returns everything that the service answers to the bytes until it closes the connection. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}
