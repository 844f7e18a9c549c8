/** GET /client.tgz: the package of the typed client, as npm, caches and proxies ask for it. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { packClient } from '../src/docs/client-package.ts'
import { testApp } from './support/app.ts'

const run = promisify(execFile)
const built = fileURLToPath(new URL('../generated/client/', import.meta.url))
const app = await testApp()
const get = (headers: Record<string, string> = {}, method = 'GET', url = app.url) => fetch(`${url}/client.tgz`, { method, headers })
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

const folders: string[] = []
async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gridpost-archive-'))
  folders.push(folder)
  return folder
}
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

describe('GET /client.tgz', () => {
  test('answers anybody with the package, named after its version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
    const { status, headers } = await get()
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/gzip')
    expect(headers.get('content-disposition')).toContain(`attachment; filename="gridpost-client-${version}.tgz"`)
    expect(headers.get('cache-control')).toBe('public, no-cache')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-encoding')).toBeNull()
  })

  test('has each file of the build once, as tar reads it, and the program executable', async () => {
    const folder = await emptyFolder()
    await writeFile(join(folder, 'client.tgz'), await bytesOf(await get()))
    const { stdout } = await run('tar', ['-tvzf', 'client.tgz'], { cwd: folder })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.filter((line) => line.startsWith('-rwxr-xr-x')).map((line) => line.split(' ').at(-1))).toEqual([
      'package/records/client/command-line.js',
    ])
    expect(lines.filter((line) => !/^-rw[xr-]r-[xr-]r-[x-] 0\/0 /.test(line))).toEqual([])
    await run('tar', ['-xzf', 'client.tgz'], { cwd: folder })
    const paths = (await readdir(built, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(built.length))
    expect(lines).toHaveLength(paths.length)
    for (const path of paths)
      expect(await readFile(join(folder, 'package', path), 'utf8'), path).toBe(await readFile(join(built, path), 'utf8'))
  })

  test('is the same for HEAD, without the bytes', async () => {
    const [whole, head] = [await get(), await get({}, 'HEAD')]
    const size = (await bytesOf(whole)).length
    expect([head.status, (await bytesOf(head)).length, head.headers.get('content-length')]).toEqual([200, 0, String(size)])
    for (const name of ['etag', 'content-type', 'content-disposition']) expect(head.headers.get(name)).toBe(whole.headers.get(name))
  })

  test.each<[string, (etag: string) => string, number]>([
    ['its tag', (etag) => etag, 304],
    ['its tag among others', (etag) => `"a", W/${etag},"b"`, 304],
    ['any', () => '*', 304],
    ['another tag', () => '"other"', 200],
    ['what is no tag', () => 'nope', 200],
  ])('answers to who has %s', async (_, known, status) => {
    const etag = (await get()).headers.get('etag') ?? ''
    const answer = await get({ 'if-none-match': known(etag) })
    expect([answer.status, answer.headers.get('etag')]).toEqual([status, etag])
    expect((await bytesOf(answer)).length > 0).toBe(status === 200)
  })

  test('has the same bytes in each process, because lock files have their hash', async () => {
    const hash = (bytes: Buffer) => createHash('sha512').update(bytes).digest('base64')
    const { bytes, etag } = await packClient()
    const other = await buildApp(app.deps)
    await other.listen({ host: '127.0.0.1', port: 0 })
    const answer = await get({}, 'GET', `http://127.0.0.1:${(other.server.address() as AddressInfo).port}`)
    expect([hash(await bytesOf(answer)), answer.headers.get('etag')]).toEqual([hash(bytes), etag])
    await other.close()
  })

  test('takes no other method, and ignores a query', async () => {
    expect((await get({}, 'POST')).status).toBe(405)
    expect((await fetch(`${app.url}/client.tgz?v=1`)).status).toBe(200)
  })
})

/** A proxy that has the service below a path, as it is named by PUBLIC_URL. */
async function proxyAt(path: string) {
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith(`${path}/`)) return void outgoing.writeHead(404).end()
    const { method, headers } = incoming
    const target = new URL(app.url + incoming.url.slice(path.length))
    const passed = request(target, { method: method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, close: () => server.close() }
}

/** Without `--prefer-offline`, which takes what another package at the same port left in npm's cache. */
const npmInstall = (folder: string, url: string) => run('npm', ['install', '--omit=peer', '--no-audit', '--no-fund', url], { cwd: folder })

test('behind a proxy with a path, the command of the first page installs it, and the client calls through the proxy', async () => {
  const proxy = await proxyAt('/work/gridpost')
  const service = await buildApp({ ...app.deps, publicUrl: () => proxy.url })
  const { payload } = await service.inject('/docs')
  await service.close()
  const [, shown = ''] = /npm install <span data-base>([^<]+)<\/span>\/client\.tgz/.exec(payload) ?? []
  expect(shown).toBe(proxy.url)
  const folder = await emptyFolder()
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  await npmInstall(folder, `${shown}/client.tgz`)
  const { keys, space } = await app.account()
  const program = `import { createClient } from 'gridpost-client'
    const client = createClient({ baseUrl: '${proxy.url}', apiKey: '${keys.account}' })
    console.log((await client.spaces.list.query({})).rows.map(({ id }) => id).join())`
  await writeFile(join(folder, 'program.js'), program)
  const { stdout } = await run(process.execPath, ['program.js'], { cwd: folder })
  expect(stdout.trim().split(',')).toContain(String(space))
  proxy.close()
})

test('after an upgrade of the service, the same command installs the new package', async () => {
  const { bytes, etag } = await packClient()
  // The file of the version is as long as before, so the headers of the archive stay.
  const next = gzipSync(
    Buffer.from(
      gunzipSync(bytes)
        .toString('latin1')
        .replace(/"version": "\d/, '"version": "9'),
      'latin1',
    ),
  )
  let served = { bytes, etag }
  const server = createServer(({ headers }, reply) => {
    const isKnown = headers['if-none-match'] === served.etag
    reply.writeHead(isKnown ? 304 : 200, { etag: served.etag, 'cache-control': 'public, no-cache' }).end(isKnown ? undefined : served.bytes)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = await emptyFolder()
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client.tgz`
  const installed = async () =>
    JSON.parse(await readFile(join(folder, 'node_modules/gridpost-client/package.json'), 'utf8')).version as string
  await npmInstall(folder, url)
  expect(await installed()).not.toMatch(/^9/)
  served = { bytes: next, etag: '"next"' }
  await npmInstall(folder, url)
  expect(await installed()).toMatch(/^9/)
  server.close()
})
