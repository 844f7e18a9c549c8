/** The console over HTTP: its page, its files, and what programs get at the same addresses. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mountConsole } from '../src/console/routes.ts'
import { testApp } from './support/app.ts'

const app = await testApp()
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const dist = new URL('../console/dist/', import.meta.url).pathname

const send = (path: string, { method = 'GET', ...headers }: Record<string, string> = {}) =>
  app.as(null).send(path, { method, headers, redirect: 'manual' })
const open = (path: string, headers: Record<string, string> = {}) =>
  send(path, { accept: BROWSER, 'accept-encoding': 'identity', ...headers })

/** The bytes as they are sent, at the path as it is written. */
async function raw(path: string, headers: Record<string, string> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>()
  request(app.url, { path, headers }, resolve).on('error', reject).end()
  const answer = await promise
  return { status: answer.statusCode, headers: answer.headers, bytes: await buffer(answer) }
}

describe('the page', () => {
  test.each([
    ...['/', '/sign-in', '/setup', '/tasks', '/inbox', '/settings', '/settings/keys', '/spaces/1', '/spaces/1/members/2'],
    ...[
      '/table/4',
      '/table/nothing',
      '/table/99999999999999999999',
      '/table/4/view/7',
      '/table/4/record/12',
      '/task/265',
      '/table/4?sort=%5B%5D',
    ],
    `/table/4?conditions=${'x'.repeat(4_000)}`,
  ])('is one document at %s for a browser', async (path) => {
    const { status, headers, body } = await open(path)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(body).toBe(readFileSync(join(dist, 'index.html'), 'utf8'))
    const head = await open(path, { method: 'HEAD' })
    expect([head.status, head.body, head.headers.get('etag')]).toEqual([200, '', headers.get('etag')])
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(body)))
  })

  test.each([
    ...['/sign-in', '/setup', '/tasks', '/inbox', '/settings', '/spaces/1', '/table/4', '/table/4/view/7', '/task/265'].flatMap((path) => [
      ['GET', path, '*/*'],
      ['GET', path, 'application/json'],
      ['GET', path, 'text/html;q=0, */*'],
      ['POST', path, BROWSER],
      ['DELETE', path, BROWSER],
    ]),
    ...[
      '/table',
      '/task',
      '/spaces',
      '/table/',
      '/table/4/',
      '/table/4/fields/1',
      '/table/4/view',
      '/task/1/2',
      '/tasks/1',
      '/inbox/',
      '/signin',
    ].map((path) => ['GET', path, BROWSER]),
    ...['/Tasks', '/settingsx', '//', '/console', '/console/', '/api/console', '/nowhere'].map((path) => ['GET', path, BROWSER]),
  ])('is not what %s %s with Accept: %s gets', async (method = '', path = '', accept = '') => {
    const { status, headers, body } = await send(path, { method, accept })
    expect([status, headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
    expect(body).toEqual({ message: 'No such path', code: 'NOT_FOUND', request_id: expect.any(String) })
  })

  test('leaves / to programs and to other methods as it was', async () => {
    for (const accept of ['*/*', 'application/json']) {
      const { status, headers } = await send('/', { accept })
      expect([status, headers.get('location')]).toEqual([302, '/docs'])
    }
    const refused = await send('/', { method: 'POST', accept: BROWSER })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('lets nothing run or load but files of this service, and is asked for again each time', async () => {
    const { headers } = await open('/table/4')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; " +
        "connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect([headers.get('x-content-type-options'), headers.get('referrer-policy')]).toEqual(['nosniff', 'no-referrer'])
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['no-cache', 'accept, accept-encoding'])
    const again = await open('/table/4', { 'if-none-match': `W/"other", ${headers.get('etag')}` })
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', headers.get('etag')])
  })

  test('has one stylesheet, with the id that keeps React Aria from adding its own, and no script or style inside', () => {
    const html = readFileSync(join(dist, 'index.html'), 'utf8')
    expect(html).toMatch(/<link id="react-aria-pressable-style" rel="stylesheet" crossorigin href="\/console\/[\w.-]+\.css">/)
    expect(html).not.toMatch(/<style[ >]|<script(?![^>]* src=)| on\w+=|https?:/)
  })
})

describe('a file', () => {
  const names = existsSync(dist) ? readdirSync(dist).filter((name) => !/\.(br|gz|html)$/.test(name)) : []
  const script = names.find((name) => name.startsWith('index-') && name.endsWith('.js')) ?? ''

  test('is served for good, whoever asks', async () => {
    expect(names.length).toBeGreaterThan(2)
    for (const name of names) {
      const { status, headers } = await send(`/console/${name}`)
      expect([status, headers.get('cache-control')], name).toEqual([200, 'public, max-age=31536000, immutable'])
      expect(headers.get('content-type'), name).toMatch(/^(text\/(css|javascript); charset=utf-8|image\/(svg\+xml|png|webp)|font\/woff2)$/)
      expect(name, 'has a hash').toMatch(/-[\w-]{8}\.\w+$/)
    }
  })

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *;q=0.5', 'gzip'],
    ['identity', null],
    ['gzip;q=0', null],
    ['zstd', null],
  ])('is sent to a client with Accept-Encoding: %s as %s', async (accepted, coding) => {
    const { status, headers, bytes: sent } = await raw(`/console/${script}`, { 'accept-encoding': accepted })
    expect([status, headers['content-encoding'] ?? null, headers.vary]).toEqual([200, coding, 'accept-encoding'])
    const bytes = coding === 'br' ? brotliDecompressSync(sent) : coding === 'gzip' ? gunzipSync(sent) : sent
    expect(bytes.equals(readFileSync(join(dist, script)))).toBe(true)
    const again = await raw(`/console/${script}`, { 'accept-encoding': accepted, 'if-none-match': String(headers.etag) })
    expect([again.status, String(again.bytes)]).toEqual([304, ''])
  })

  test('that no build has is refused as every unknown path, and none outside can be named', async () => {
    for (const name of [
      'nothing.js',
      'index.html',
      `${script}.br`,
      '../package.json',
      '..%2fpackage.json',
      '%2e%2e/%2e%2e/package.json',
      '.',
      'a/b.js',
    ]) {
      const { status, headers, bytes } = await raw(`/console/${name}`, { accept: BROWSER })
      expect([status, headers['content-type']], name).toEqual([404, 'application/json; charset=utf-8'])
      expect(JSON.parse(String(bytes)), name).toMatchObject({ message: 'No such path', code: 'NOT_FOUND' })
    }
    const refused = await send(`/console/${script}`, { method: 'POST' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

test('without a build, the page says how to make one, and finds it once it is there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gridpost-console-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const service = Fastify()
  service.setErrorHandler((error: { httpStatus?: number; code?: string }, _, reply) =>
    reply.code(error.code === 'NOT_FOUND' ? 404 : 500).send({}),
  )
  mountConsole(service, { publicUrl: () => 'http://localhost', folder: join(folder, 'dist') })
  const ask = (path: string) => service.inject({ url: path, headers: { accept: BROWSER } })
  for (const path of ['/', '/table/4']) {
    const { statusCode, headers, payload } = await ask(path)
    expect([statusCode, headers['content-type']]).toEqual([503, 'text/html; charset=utf-8'])
    expect(payload).toContain('npm run build:console')
  }
  expect((await ask('/console/index.js')).statusCode).toBe(404)
  mkdirSync(join(folder, 'dist'))
  writeFileSync(join(folder, 'dist/index.html'), '<!doctype html>')
  expect((await ask('/')).payload).toBe('<!doctype html>')
  await service.close()
})
