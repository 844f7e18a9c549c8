/** Who may see the caught mails of the embedded default, in which there are links that set passwords. */
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { createTransport } from 'nodemailer'
import { afterAll, describe, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { catcherToken } from '../src/email/catcher/access.ts'
import { mountCatcher, startCatcher } from '../src/email/catcher/catcher.ts'
import type { Settings } from '../src/settings.ts'
import { testApp } from './support/app.ts'

const app = await testApp()
const catcher = await startCatcher()
const token = catcherToken(app.settings)
await createTransport({ host: '127.0.0.1', port: catcher.port, ignoreTLS: true }).sendMail({
  from: 'gridpost@localhost',
  to: 'owner@demo.example',
  subject: 'A new password',
  text: 'http://127.0.0.1:3000/reset/0123456789',
})
const [mail] = catcher.mails()

/** The service of the embedded default, with other settings. */
async function serving(changed: Partial<Settings> = {}) {
  const service = await buildApp({ ...app.deps, settings: { ...app.settings, ...changed } })
  mountCatcher(service, catcher, { ...app.settings, databaseUrl: undefined, ...changed })
  return service
}
const open = await serving()
await open.listen({ port: 0, host: '127.0.0.1' })
const { port } = open.server.address() as AddressInfo
afterAll(async () => {
  await open.close()
  await catcher.close()
})

interface Asked {
  path?: string
  method?: 'GET' | 'HEAD' | 'POST'
  headers?: Record<string, string>
  peer?: string
}

const ask = (service: typeof open, { path = '/dev/mail.json', method = 'GET', headers = {}, peer = '127.0.0.1' }: Asked = {}) => {
  const form = method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
  return service.inject({ url: path, method, remoteAddress: peer, headers: { host: 'localhost:3000', ...form, ...headers } })
}
const statusOf = async (asked: Asked, service = open) => (await ask(service, asked)).statusCode

const PAGES = [
  { path: '/dev/mail' },
  { path: '/dev/mail', method: 'HEAD' },
  { path: '/dev/mail?q=password' },
  { path: '/dev/mail.json' },
  { path: '/dev/mail.json?q=password' },
  { path: `/dev/mail/${mail?.id}/source` },
  { path: `/dev/mail/${mail?.id}/reply`, method: 'POST' },
  { path: `/dev/mail/${mail?.id}/bounce`, method: 'POST' },
] as const

describe('without the token', () => {
  test.each(PAGES)('%j answers to a program on this machine alone', async (page) => {
    expect(await statusOf(page)).toBeLessThan(400)
    const stranger = await ask(open, { ...page, headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(stranger.statusCode).toBe(404)
    if (page.path !== '/dev/mail' || !('method' in page))
      expect(stranger.json()).toMatchObject({ code: 'NOT_FOUND', message: 'No such path' })
  })

  test.each([
    'forwarded',
    'Forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'X-Forwarded-Port',
    'x-forwarded-prefix',
    'x-forwarded-anything',
    'x-real-ip',
    'via',
    'cf-connecting-ip',
    'true-client-ip',
  ])('a request with %s has come through a proxy, whatever the value', async (name) => {
    for (const value of ['127.0.0.1', '', 'for=127.0.0.1'])
      expect([value, await statusOf({ headers: { [name]: value } })]).toEqual([value, 404])
  })

  test.each(['x-request-id', 'x-forward', 'viaduct', 'x-real-iphone', 'origin', 'referer', 'user-agent', 'traceparent'])(
    'a request with %s has not',
    async (name) => expect(await statusOf({ headers: { [name]: 'x' } })).toBe(200),
  )

  test.each([
    'localhost',
    'localhost:3000',
    'LOCALHOST:3000',
    'gridpost.localhost',
    '127.0.0.1',
    '127.0.0.1:3000',
    '127.8.9.10:80',
    '[::1]',
    '[::1]:3000',
    '[0:0:0:0:0:0:0:1]:3000',
    '[::ffff:127.0.0.1]:3000',
  ])('the Host %s is this machine', async (host) => expect(await statusOf({ headers: { host } })).toBe(200))

  test.each([
    'rebound.example:3000',
    'localhost.rebound.example',
    'localhost.example:3000',
    'notlocalhost',
    '127.0.0.1.rebound.example',
    '0.0.0.0:3000',
    '[::]:3000',
    '10.0.0.5:3000',
    '192.168.1.10',
    '128.0.0.1',
    '[::2]',
    '[::ffff:10.0.0.5]:3000',
    '2130706433',
    '0x7f.0.0.1',
    'devbox:3000',
    'devbox.local',
    'gridpost.internal',
  ])('the Host %j is not', async (host) => expect(await statusOf({ headers: { host } })).toBe(404))

  test.each([
    '127.0.0.1:3000:3000',
    '127.0.0.1@rebound.example',
    'rebound.example#127.0.0.1',
    'rebound.example, localhost',
    '[fe80::1%25lo]:3000',
  ])('the Host %j is none', async (host) => expect(await statusOf({ headers: { host } })).toBe(400))

  test.each([
    ['127.0.0.1', 200],
    ['127.3.2.1', 200],
    ['::1', 200],
    ['::ffff:127.0.0.1', 200],
    ['10.0.0.5', 404],
    ['203.0.113.9', 404],
    ['::ffff:10.0.0.5', 404],
    ['fe80::1%eth0', 404],
    ['2001:db8::1', 404],
    ['::', 404],
  ])('the peer %s has %i', async (peer, status) => expect(await statusOf({ peer })).toBe(status))

  test.each<[Partial<Settings>, number]>([
    [{ host: '127.0.0.1' }, 200],
    [{ host: '::1' }, 200],
    [{ host: 'localhost' }, 200],
    [{ host: '0.0.0.0' }, 404],
    [{ host: '::' }, 404],
    [{ host: '192.168.1.10' }, 404],
    [{ host: 'gridpost.example.com' }, 404],
    [{ publicUrl: 'https://gridpost.example.com' }, 404],
    [{ publicUrl: 'http://127.0.0.1:3000' }, 404],
    [{ trustProxy: true }, 404],
    [{ trustProxy: 'loopback' }, 404],
    [{ trustProxy: '10.0.0.0/8' }, 404],
  ])('with the settings %j a local program has %i, and the token opens', async (changed, status) => {
    const service = await serving(changed)
    expect(await statusOf({}, service)).toBe(status)
    expect(await statusOf({ headers: { authorization: `Bearer ${token}` } }, service)).toBe(200)
    await service.close()
  })

  test('a request without a Host, as of HTTP/1.0, or one for a proxy is a stranger’s, and one with very many headers is refused', async () => {
    const answerTo = async (head: string) => {
      const socket = connect({ host: '127.0.0.1', port })
      await once(socket, 'connect')
      socket.end(head)
      return (await text(socket)).split('\r\n')[0]
    }
    const proxied = `${'a:\r\n'.repeat(1_100)}X-Forwarded-For: 203.0.113.9\r\n`
    const local = 'Host: 127.0.0.1\r\nConnection: close\r\n'
    expect(await answerTo(`GET /dev/mail.json HTTP/1.1\r\n${local}\r\n`)).toBe('HTTP/1.1 200 OK')
    expect(await answerTo('GET /dev/mail.json HTTP/1.0\r\n\r\n')).toBe('HTTP/1.1 404 Not Found')
    for (const origin of ['http://rebound.example', 'HTTP://rebound.example:80', 'https://a:b@rebound.example', 'http://127.0.0.1'])
      for (const path of ['/dev/mail.json', '/dev/mail', `/dev/mail/${mail?.id}/source`])
        expect(await answerTo(`GET ${origin}${path} HTTP/1.1\r\n${local}\r\n`)).toBe('HTTP/1.1 404 Not Found')
    expect(await answerTo('GET /dev/mail.json HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')).not.toContain(' 200 ')
    // The name of the proxy is not among those that are dropped, because none are.
    expect(await answerTo(`GET /dev/mail.json HTTP/1.1\r\n${local}${proxied}\r\n`)).toBe('HTTP/1.1 431 Request Header Fields Too Large')
  })
})

describe('with the token', () => {
  const stranger = { peer: '203.0.113.9', headers: { host: 'gridpost.example.com', 'x-forwarded-for': '203.0.113.9' } }
  const withHeaders = (headers: Record<string, string>): Asked => ({ ...stranger, headers: { ...stranger.headers, ...headers } })

  test('a browser gets a cookie by the address, and sees every page by the cookie', async () => {
    const page = await ask(open, { ...stranger, path: `/dev/mail?token=${token}` })
    expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('A new password')])
    const cookie = page.headers['set-cookie'] as string
    expect(cookie).toMatch(/^gridpost_mail=[^;]+;.* Path=\/dev; HttpOnly; SameSite=Strict$/)
    expect(page.headers['referrer-policy']).toBe('same-origin')
    for (const path of PAGES) {
      const answer = await ask(open, { ...withHeaders({ cookie: `other=1; ${cookie.split(';')[0]}` }), ...path })
      expect([path, answer.statusCode < 400, answer.headers['set-cookie']]).toEqual([path, true, undefined])
    }
  })

  test('the cookie is Secure where browsers use https', async () => {
    const service = await buildApp({ ...app.deps, publicUrl: () => 'https://gridpost.example.com' })
    mountCatcher(service, catcher, { ...app.settings, databaseUrl: undefined, publicUrl: 'https://gridpost.example.com' })
    const { headers } = await ask(service, { ...stranger, path: `/dev/mail?token=${token}` })
    expect(headers['set-cookie']).toContain('; Secure;')
    await service.close()
  })

  test('a program sends it as bearer, to every page', async () => {
    for (const path of PAGES)
      for (const authorization of [`Bearer ${token}`, `bearer  ${token} `])
        expect([path, (await statusOf({ ...withHeaders({ authorization }), ...path })) < 400]).toEqual([path, true])
  })

  test.each([
    ['no bearer', { authorization: token }],
    ['basic', { authorization: `Basic ${Buffer.from(`:${token}`).toString('base64')}` }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['a shorter one', { authorization: `Bearer ${token.slice(0, -1)}` }],
    ['one with more around it', { authorization: `Bearer ;${token}` }],
    ['a longer one', { authorization: `Bearer ${token}A` }],
    [
      'another one',
      { authorization: `Bearer ${catcherToken({ secretKeys: { current: Buffer.from('another key, also long enough'), previous: [] } })}` },
    ],
    ['one in another case', { authorization: `Bearer ${token.toLowerCase()}` }],
    ['a wrong cookie', { cookie: 'gridpost_mail=x' }],
    ['another cookie', { cookie: `gridpost_session=${token}` }],
  ])('%s is 404', async (_, headers) => expect(await statusOf(withHeaders(headers))).toBe(404))

  test('only the address of the page takes it, and only once', async () => {
    for (const path of [
      `/dev/mail.json?token=${token}`,
      `/dev/mail/${mail?.id}/source?token=${token}`,
      '/dev/mail?token=',
      '/dev/mail?token=x',
      `/dev/mail?token=${token}&token=${token}`,
      `/dev/mail?Token=${token}`,
    ])
      expect([path, await statusOf({ ...stranger, path })]).toEqual([path, 404])
  })

  test('a key of the API is no token, and does not close what is open', async () => {
    const { keys } = await app.account()
    expect(await statusOf(withHeaders({ authorization: `Bearer ${keys.account}` }))).toBe(404)
    expect(await statusOf({ headers: { authorization: `Bearer ${keys.account}` } })).toBe(200)
    expect(await statusOf({ path: '/dev/mail?token=wrong' })).toBe(200)
  })

  test('it opens also with the key before, while that may still read', async () => {
    const replaced = { current: Buffer.from('the key after the replacement'), previous: [app.settings.secretKeys.current] }
    const service = await serving({ secretKeys: replaced })
    expect(await statusOf(withHeaders({ authorization: `Bearer ${token}` }), service)).toBe(200)
    await service.close()
  })
})
