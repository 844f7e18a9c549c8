/** The headers that protect every answer, whichever part of the service gives it. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { type Answer, testApp } from './support/app.ts'

const app = await testApp()
const secure = await testApp({ PUBLIC_URL: 'https://gridpost.example.com' })

const PROTECTING = ['cache-control', 'x-content-type-options', 'strict-transport-security']
const protecting = ({ headers }: Pick<Answer, 'headers'>) => PROTECTING.map((name) => headers.get(name))

test.each([
  ['http', app, null],
  ['https', secure, 'max-age=31536000'],
] as const)('with a PUBLIC_URL at %s, every JSON answer is neither stored nor guessed at', async (_, { as, account }, hsts) => {
  const { keys, owner } = await account()
  const answers: [number, Answer][] = [
    [200, await as(owner).get('/api/auth/me')],
    [200, await as(keys.account).get('/trpc/spaces.list')],
    [200, await as(keys.account).get('/trpc/spaces.list,keys.self?batch=1')],
    [404, await as(keys.account).get('/trpc/no.such.procedure')],
    [400, await as(owner).post('/api/tasks/create', { title: 1 })],
    [400, await as(null).get('/api/space/%zz/get')],
    [401, await as(null).get('/api/auth/me')],
    [403, await as(keys.accountReadOnly).post(`/api/spaces/create`, { name: 'x' })],
    [404, await as(keys.account).get('/api/table/2000000000/get')],
    [404, await as(null).get('/nowhere')],
    [405, await as(null).post('/healthz')],
    [415, await as(owner).send('/api/tasks/create', { method: 'POST', body: 'a=1', headers: { 'content-type': 'text/plain' } })],
    [200, await as(null).get('/healthz')],
    [200, await as(null).get('/openapi.json')],
  ]
  for (const [index, [status, answer]] of answers.entries())
    expect([answer.status, answer.headers.get('content-type')?.split(';')[0], ...protecting(answer)], String(index)).toEqual([
      status,
      'application/json',
      'private, no-store',
      'nosniff',
      hsts,
    ])
  expect(protecting(await as(null).get('/docs/assets/docs.css'))).toEqual(['public, max-age=3600', 'nosniff', hsts])
})

test('bytes that are no HTTP get the same headers', async () => {
  const socket = connect(Number(new URL(secure.url).port), '127.0.0.1')
  socket.end('NONSENSE\r\n\r\n')
  const head = (await text(socket)).toLowerCase()
  for (const line of ['cache-control: private, no-store', 'x-content-type-options: nosniff', 'strict-transport-security: max-age=31536000'])
    expect(head).toContain(`${line}\r\n`)
})

test('the error of a content type names the one that was sent', async () => {
  const { owner } = await app.account()
  const send = async (headers: Record<string, string>) =>
    (await app.as(owner).send('/api/tasks/create', { method: 'POST', body: Buffer.from('a=1'), headers })).body.message
  expect(await send({ 'content-type': 'text/plain' })).toBe('The body must be application/json in UTF-8; text/plain was sent')
  expect(await send({})).toBe('The body must be application/json in UTF-8; a body without a Content-Type was sent')
  expect(await send({ 'content-type': `x/${'y'.repeat(500)}` })).toHaveLength(153)
})
