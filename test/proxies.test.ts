/** The samples for nginx and Caddy in front of a real service. A proxy that is not installed is skipped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as plainRequest } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort } from '../scripts/free-port.ts'
import { buildApp } from '../src/app.ts'
import { MAX_UPLOAD_BYTES } from '../src/files/schema.ts'
import { testApp } from './support/app.ts'
import { programAt } from './support/installed.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ TRUST_PROXY: 'loopback', METRICS_TOKEN: 'token' })
const other = await buildApp(app.deps)
await other.listen({ host: '127.0.0.1', port: 0 })
const ports = [Number(new URL(app.url).port), (other.server.address() as AddressInfo).port]
const scratch = mkdtempSync(join(tmpdir(), 'gridpost-proxies-'))
// Started by root, the workers of nginx are another account, which keeps bodies in a folder below this one.
chmodSync(scratch, 0o711)
afterAll(async () => {
  await other.close()
  rmSync(scratch, { recursive: true })
})

const sample = (name: string) => readFileSync(new URL(`../deploy/${name}`, import.meta.url), 'utf8')

interface Running {
  /** Where the proxy listens, with the certificate that it shows. */
  url: string
  ca?: string
  process: ChildProcess
}

/** The sample with the ports, paths and certificate of the test in place of those of a server. */
async function startNginx(program: string): Promise<Running> {
  const [port, plainPort] = [await freePort(), await freePort()]
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  })
  writeFileSync(join(scratch, 'key.pem'), key)
  writeFileSync(join(scratch, 'cert.pem'), cert)
  const site = sample('nginx.conf')
    .replaceAll(/^ *listen \[::\].*\n/gm, '')
    .replace('listen 80;', `listen 127.0.0.1:${plainPort};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`)
    .replaceAll('127.0.0.1:3001', `127.0.0.1:${ports[0]}`)
    .replaceAll('127.0.0.1:3002', `127.0.0.1:${ports[1]}`)
    .replaceAll(/\/etc\/letsencrypt\S+fullchain\.pem/g, join(scratch, 'cert.pem'))
    .replaceAll(/\/etc\/letsencrypt\S+privkey\.pem/g, join(scratch, 'key.pem'))
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${join(scratch, kind)};`)
  const whole = `daemon off; pid ${join(scratch, 'nginx.pid')}; error_log stderr; events {}
    http { access_log off; ${folders.join(' ')} ${site} }`
  writeFileSync(join(scratch, 'nginx.conf'), whole)
  const process = spawn(program, ['-p', scratch, '-e', 'stderr', '-c', join(scratch, 'nginx.conf')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return { url: `https://localhost:${port}`, ca: cert, process }
}

async function startCaddy(program: string): Promise<Running> {
  const url = `http://127.0.0.1:${await freePort()}`
  const home = join(scratch, 'caddy')
  mkdirSync(home)
  writeFileSync(join(home, 'Caddyfile'), sample('Caddyfile'))
  const process = spawn(program, ['run', '--config', join(home, 'Caddyfile'), '--adapter', 'caddyfile'], {
    env: {
      PATH: '',
      HOME: home,
      DOMAIN: url,
      GRIDPOST: ports.map((port) => `127.0.0.1:${port}`).join(' '),
      CADDY_ADMIN: `unix/${join(home, 'admin.sock')}`,
    },
    stdio: 'ignore',
  })
  return { url, process }
}

const proxies = [
  { name: 'nginx', start: startNginx },
  { name: 'caddy', start: startCaddy },
]

describe.each(proxies)('behind $name', ({ name, start }) => {
  const program = programAt(name)
  if (!program) return test.skip('is not installed', () => {})

  let proxy: Running
  beforeAll(async () => {
    proxy = await start(program)
    await vi.waitFor(async () => expect((await send('GET', '/healthz')).status).toBe(200), { timeout: 60_000, interval: 100 })
  })
  afterAll(async () => {
    proxy.process.kill('SIGTERM')
    if (proxy.process.exitCode === null) await once(proxy.process, 'exit')
  })

  /** Opens a request, and resolves when its headers have arrived. */
  function open(method: string, path: string, { key, body, headers = {} }: Sent = {}) {
    const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>()
    const url = new URL(path, proxy.url)
    const options = {
      method,
      headers: { ...(key && { authorization: `Bearer ${key}` }), ...(body && { 'content-type': 'application/json' }), ...headers },
    }
    const sending = proxy.ca ? request(url, { ...options, ca: proxy.ca }, resolve) : plainRequest(url, options, resolve)
    sending.on('error', reject)
    sending.end(body)
    return promise
  }
  interface Sent {
    key?: string
    body?: string
    headers?: Record<string, string>
  }

  async function send(method: string, path: string, sent: Sent = {}) {
    const answer = await open(method, path, sent)
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
  }

  test('requests are answered, and metrics and readiness are closed', async () => {
    const { keys } = await app.account()
    expect(await send('GET', '/api/spaces/list', { key: keys.account })).toMatchObject({
      status: 200,
      headers: { 'x-request-id': expect.any(String) },
    })
    for (const path of ['/metrics', '/readyz']) {
      const answer = await send('GET', path, { key: 'token' })
      expect([answer.status, answer.headers['x-request-id']]).toEqual([404, undefined])
    }
  })

  test('the largest upload passes, and a larger one gets 413', async () => {
    const account = await app.account()
    const table = await makeTable(app, account, { records: [{ name: 'A' }] })
    const path = `${table.path}/record/${table.records[0]}/comments/upload`
    const data = Buffer.alloc(MAX_UPLOAD_BYTES, 'a').toString('base64')
    const sent = await send('POST', path, { key: account.keys.personal, body: JSON.stringify({ name: 'a.bin', data }) })
    expect(sent.status, sent.body.slice(0, 200)).toBe(200)
    const file = await open('GET', `/api/file/${JSON.parse(sent.body).path}`, { key: account.keys.personal })
    let bytes = 0
    for await (const chunk of file) bytes += (chunk as Buffer).length
    expect(bytes).toBe(MAX_UPLOAD_BYTES)
    const refused = await send('POST', path, {
      key: account.keys.personal,
      headers: { 'content-length': String(80 * 1_048_576), expect: '100-continue' },
    })
    expect(refused.status).toBe(413)
  })

  test('a CSV file is imported', async () => {
    const account = await app.account()
    const table = await makeTable(app, account)
    const body = `name\n${'Ann\n'.repeat(1_000)}`
    const answer = await send('POST', `${table.path}/import`, { key: account.keys.personal, body, headers: { 'content-type': 'text/csv' } })
    expect(JSON.parse(answer.body)).toMatchObject({ created: 1_000 })
    expect((await send('GET', `${table.path}/export.csv`, { key: account.keys.personal })).body.split('\r\n').length).toBeGreaterThan(1_000)
  })

  test.each(['/api/table/1/import', '/api/space/1/tables/import'])('%s takes larger bodies than uploads do', async (path) => {
    const headers = { 'content-type': 'text/csv', 'content-length': String(80 * 1_048_576), expect: '100-continue', connection: 'close' }
    // The service, not the proxy, refuses the caller without a key.
    expect((await send('POST', path, { headers })).status).toBe(401)
  })

  test('an event arrives while the stream stays open', async () => {
    const account = await app.account()
    const table = await makeTable(app, account, { records: [{ name: 'A' }] })
    const stream = await open('GET', '/api/events', { key: account.keys.personal, headers: { accept: 'text/event-stream' } })
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/)
    const path = `/api/tasks/onRecord/${table.id}/${table.records[0]}/create`
    const task = await send('POST', path, { key: account.keys.account, body: JSON.stringify({ title: 'Call' }) })
    expect(task.status, task.body).toBe(200)
    let heard = ''
    for await (const chunk of stream) {
      heard += chunk
      if (heard.includes('task.created')) break
    }
    expect(heard).toContain(`"task_id":${JSON.parse(task.body).id}`)
  })

  test('the address of the caller is that of the connection, whatever the caller claims', async () => {
    const { id: accountId, owner, keyOf } = await app.account()
    const claimed = await keyOf({ accountId, userId: owner.id }, { kind: 'account', ip_allowlist: ['203.0.113.9/32'] })
    const real = await keyOf({ accountId, userId: owner.id }, { kind: 'account', ip_allowlist: ['127.0.0.1/32', '::1/128'] })
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    expect((await send('GET', '/api/spaces/list', { key: claimed, headers })).status).not.toBe(200)
    expect((await send('GET', '/api/spaces/list', { key: real, headers })).status).toBe(200)
  })
})

test('with one of two processes gone, every request is answered', async () => {
  const installed = proxies.flatMap(({ name, start }) => {
    const program = programAt(name)
    return program ? [{ program, start }] : []
  })
  const { keys } = await app.account()
  await other.close()
  for (const { program, start } of installed) {
    rmSync(join(scratch, 'caddy'), { recursive: true, force: true })
    const { url, ca, process } = await start(program)
    try {
      const get = () =>
        new Promise<number | undefined>((resolve, reject) => {
          const options = { headers: { authorization: `Bearer ${keys.account}` } }
          const answered = (answer: import('node:http').IncomingMessage) => {
            answer.resume()
            resolve(answer.statusCode)
          }
          const sending = ca
            ? request(`${url}/api/spaces/list`, { ...options, ca }, answered)
            : plainRequest(`${url}/api/spaces/list`, options, answered)
          sending.on('error', reject)
          sending.end()
        })
      await expect.poll(() => get(), { interval: 100 }).toBe(200)
      expect(await Promise.all(Array.from({ length: 20 }, get))).toEqual(Array(20).fill(200))
    } finally {
      process.kill('SIGTERM')
      await once(process, 'exit')
    }
  }
})
