/** Starts the service as its user does: with `npm start`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts'
import { readServiceFile } from '../src/platform/processes/service-file.ts'
import { emptyDatabase } from './support/database.ts'
import { prepareData } from './support/prepared-data.ts'
import { until } from './support/until.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
let dataDir: string
const started: Run[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gridpost-start-'))
})

afterEach(async () => {
  for (const { npm, ended } of started.splice(0)) {
    try {
      // The process leads a process group of its own.
      if (npm.pid) process.kill(-npm.pid, 'SIGKILL')
    } catch {
      // The process has ended, as expected.
    }
    await ended
  }
  if (existsSync(postmasterPid())) await (await openEmbeddedPostgres({ dataDir }).catch(() => undefined))?.leave()
  rmSync(dataDir, { recursive: true, force: true })
})

const postmasterPid = () => join(dataDir, 'postgres', 'postmaster.pid')

interface Run {
  npm: ChildProcess
  /** Returns everything that the process has written so far. */
  output(): string
  ended: Promise<number | null>
}

function npmStart(environment: Record<string, string> = {}): Run {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn', ...environment }
  const npm = spawn('npm', ['start', '--silent'], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const run = { npm, output: () => output, ended: once(npm, 'close').then(([code]) => code as number | null) }
  started.push(run)
  return run
}

/** Starts the service and waits until it listens. */
async function startService(environment: Record<string, string> = {}): Promise<Run & { url: string }> {
  const run = npmStart(environment)
  const address = () => /listens on (http:\S+?);?\s/.exec(run.output())?.[1]
  const url = await Promise.race([
    until(address, () => `for its address: ${run.output()}`),
    run.ended.then((code) => Promise.reject(new Error(`npm start ended with ${code}: ${run.output()}`))),
  ])
  return { ...run, url }
}

async function expectNothingLeft({ url }: { url: string }): Promise<void> {
  expect(existsSync(postmasterPid())).toBe(false)
  // Listening there would fail whenever a connection of another test has just been given this port.
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
}

/** Returns the only line of a start that fails with exit code 1. */
async function refusal(environment: Record<string, string> = {}): Promise<string> {
  const run = npmStart(environment)
  expect(await run.ended).toBe(1)
  const lines = run.output().trim().split('\n')
  expect(lines).toHaveLength(1)
  return lines[0] ?? ''
}

test('a first start answers, and SIGTERM to npm start ends every process', async () => {
  const compiled = join(dataDir, 'compiled')
  const service = await startService({ NODE_COMPILE_CACHE: compiled })
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  await expect
    .poll(async () => (await fetch(`${service.url}/readyz`)).json())
    .toEqual({ ok: true, database: true, migrations: true, queue: true, storage: true })
  expect((await fetch(`${service.url}/dev/mail.json`)).status).toBe(200)
  const [page, token] = /mail is caught at (http:\S+\/dev\/mail\?token=([\w-]+))$/m.exec(service.output())?.slice(1) ?? []
  expect(service.output()).toContain('PUBLIC_URL closes it')
  const proxied = { 'x-forwarded-for': '203.0.113.9' }
  expect((await fetch(`${service.url}/dev/mail.json`, { headers: proxied })).status).toBe(404)
  expect((await fetch(`${service.url}/dev/mail.json`, { headers: { ...proxied, authorization: `Bearer ${token}` } })).status).toBe(200)
  expect((await fetch(page ?? '', { headers: proxied })).status).toBe(200)
  service.npm.kill('SIGTERM')
  await service.ended
  await expectNothingLeft(service)
  // For the next start. Each version of Node, with its flags, has a folder of its own.
  expect(readdirSync(compiled)).not.toEqual([])
})

test('a rejection that nobody handles is logged, and the service goes on', async () => {
  prepareData(dataDir, { withDemo: false })
  const wanted = join(dataDir, 'reject')
  const preload = `import { existsSync } from 'node:fs'
    const watch = () => existsSync(${JSON.stringify(wanted)}) ? Promise.reject(new Error('left behind')) : setTimeout(watch, 20).unref()
    if (process.argv[1]?.endsWith('main.ts')) watch()`
  const service = await startService({ NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(preload)}"` })
  writeFileSync(wanted, '')
  await expect.poll(() => service.output()).toContain('left behind')
  expect(service.output()).toMatch(/"level":50.*unhandled rejection/)
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  expect(service.npm.exitCode).toBe(null)
})

test.each(['1', '2'])('with PROCESSES=%s, it answers although the disk of its log is full', async (count) => {
  prepareData(dataDir, { withDemo: false })
  const { PATH = '', HOME = '' } = process.env
  const full = openSync('/dev/full', 'w')
  const env = { PATH, HOME, DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'info', PROCESSES: count }
  const npm = spawn('npm', ['start', '--silent'], { cwd: root, env, detached: true, stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  let output = ''
  npm.stderr?.on('data', (chunk) => {
    output += chunk
  })
  started.push({ npm, output: () => output, ended: once(npm, 'close').then(([code]) => code as number | null) })
  const addressOfLiving = () => (readServiceFile(dataDir)?.isAlive ? readServiceFile(dataDir)?.url : undefined)
  const url = await until(addressOfLiving, () => `for its address: ${output}`)
  await vi.waitFor(() => fetch(`${url}/healthz`), { timeout: 60_000 })
  for (let request = 0; request < 20; request++) expect((await fetch(`${url}/api/spaces/list`)).status).toBe(401)
  expect([npm.exitCode, output]).toEqual([null, ''])
  npm.kill('SIGTERM')
  await started.at(-1)?.ended
  await expectNothingLeft({ url })
})

test('Ctrl-C ends every process', async () => {
  prepareData(dataDir, { withDemo: false })
  const service = await startService()
  // A terminal sends the signal to every process in the foreground, npm included.
  process.kill(-(service.npm.pid ?? 0), 'SIGINT')
  await service.ended
  await expectNothingLeft(service)
})

test('a second start continues, with the mail catcher on the same port', async () => {
  prepareData(dataDir, { withDemo: false })
  const first = await startService()
  const catcher = readServiceFile(dataDir)?.catcher
  expect(readServiceFile(dataDir)).toMatchObject({ url: first.url, isAlive: true })
  first.npm.kill('SIGTERM')
  await first.ended
  expect(readServiceFile(dataDir)).toMatchObject({ isAlive: false })
  const second = await startService()
  expect(readServiceFile(dataDir)).toMatchObject({ url: second.url, catcher, isAlive: true })
  second.npm.kill('SIGTERM')
  await second.ended
})

test('a second service on the same data leaves the mail catcher of the first alone', async () => {
  prepareData(dataDir, { withDemo: false })
  const first = await startService()
  const noted = readServiceFile(dataDir)
  const second = await startService()
  await expect.poll(async () => (await fetch(`${second.url}/readyz`)).status).toBe(200)
  expect(readServiceFile(dataDir)).toEqual(noted)
  for (const { npm, ended } of [second, first]) {
    npm.kill('SIGTERM')
    await ended
  }
  const next = await startService()
  expect(readServiceFile(dataDir)).toMatchObject({ url: next.url, catcher: noted?.catcher, isAlive: true })
  next.npm.kill('SIGTERM')
  await next.ended
})

test('the start after a crash adopts the database that was left running', async () => {
  prepareData(dataDir, { withDemo: false })
  const first = await startService()
  const server = readFileSync(postmasterPid(), 'utf8').split('\n')[0]
  process.kill(-(first.npm.pid ?? 0), 'SIGKILL')
  await first.ended
  const second = await startService()
  expect(readFileSync(postmasterPid(), 'utf8').split('\n')[0]).toBe(server)
  await expect.poll(async () => (await fetch(`${second.url}/readyz`)).status).toBe(200)
  second.npm.kill('SIGTERM')
  await second.ended
  await expectNothingLeft(second)
})

test('a signal during the start ends the processes that were started', async () => {
  const run = npmStart()
  await expect.poll(() => existsSync(postmasterPid()), { interval: 5 }).toBe(true)
  run.npm.kill('SIGTERM')
  await run.ended
  expect(existsSync(postmasterPid())).toBe(false)
})

test('a second service on the same data shares the database, which stops with the last of them', async () => {
  prepareData(dataDir, { withDemo: false })
  const first = await startService()
  const second = await startService()
  first.npm.kill('SIGTERM')
  await first.ended
  await expect.poll(async () => (await fetch(`${second.url}/readyz`)).status).toBe(200)
  second.npm.kill('SIGTERM')
  await second.ended
  await expectNothingLeft(second)
})

test('a pending request is answered before the end', async () => {
  prepareData(dataDir, { withDemo: false })
  const service = await startService()
  const body = JSON.stringify({ email: 'nobody@example.com', password: 'wrong' })
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  const headers = ['Host: localhost', 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue']
  socket.write(`POST /api/auth/login HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
  // The service logs a line once the request has begun.
  await expect.poll(() => answer).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  socket.write(body.slice(0, 10))
  service.npm.kill('SIGTERM')
  // The service is stopping once it accepts no more connections.
  await vi.waitFor(() => expect(fetch(service.url)).rejects.toThrow(), { timeout: 60_000 })
  socket.write(body.slice(10))
  await once(socket, 'end')
  expect(answer).toMatch(/\r\nHTTP\/1\.1 401 /)
  await service.ended
  await expectNothingLeft(service)
})

test('ROLE=worker listens for operators only, on METRICS_PORT', async () => {
  prepareData(dataDir, { withDemo: false })
  const run = npmStart({ ROLE: 'worker', METRICS_PORT: '0' })
  await expect.poll(() => run.output()).toContain('works on background jobs')
  const [, url] = /health and metrics are at (http:\S+)/.exec(run.output()) ?? []
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200)
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('gridpost_job_seconds')
  run.npm.kill('SIGTERM')
  await run.ended
  expect(existsSync(postmasterPid())).toBe(false)
})

test('it runs on an external database, without a mail catcher', async () => {
  const { url: DATABASE_URL } = await emptyDatabase()
  const service = await startService({ DATABASE_URL, SECRET_KEY: 'a key for tests, long enough to be one' })
  await expect.poll(async () => (await fetch(`${service.url}/readyz`)).status).toBe(200)
  expect((await fetch(`${service.url}/dev/mail.json`)).status).toBe(404)
  expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
  service.npm.kill('SIGTERM')
  await service.ended
})

test('a port in use gives one clear line', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await refusal({ PORT: String(port) })).toMatch(new RegExp(`PORT: ${port} is in use on 127.0.0.1`))
  expect(existsSync(postmasterPid())).toBe(false)
  server.close()
})

test('a broken .data gives one clear line', async () => {
  mkdirSync(join(dataDir, 'postgres'))
  writeFileSync(join(dataDir, 'postgres', 'notes.txt'), 'not a database')
  expect(await refusal()).toMatch(/is broken: PG_VERSION is missing/)
})

test('a .data of another major version gives one clear line', async () => {
  mkdirSync(join(dataDir, 'postgres'))
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  expect(await refusal()).toMatch(/was made by PostgreSQL 17, this release brings PostgreSQL 18/)
})

const SECRET_KEY = 'a key for tests, long enough to be one'

test.each([
  [
    'nothing listens there',
    { DATABASE_URL: 'postgresql://a:secret@127.0.0.1:1/x', SECRET_KEY },
    /The database cannot be reached: connect ECONNREFUSED/,
  ],
  [
    'the host does not exist',
    { DATABASE_URL: 'postgresql://a:secret@no.such.host.invalid/x', SECRET_KEY },
    /The database cannot be reached: getaddrinfo/,
  ],
  ['it is not a URL of Postgres', { DATABASE_URL: 'mysql://localhost/x', SECRET_KEY }, /DATABASE_URL: must be a postgresql:\/\/ URL/],
  ['the secret key is missing', { DATABASE_URL: 'postgresql://localhost/x' }, /SECRET_KEY: is required with DATABASE_URL/],
])('a wrong DATABASE_URL gives one clear line: %s', async (_, environment, line) => {
  const said = await refusal(environment)
  expect(said).toMatch(line)
  expect(said).not.toContain('secret@')
})

test('a database that does not exist gives one clear line', async () => {
  const { url } = await emptyDatabase()
  expect(await refusal({ DATABASE_URL: url.replace(/test_\w+/, 'no_such_database'), SECRET_KEY })).toMatch(
    /database "no_such_database" does not exist/,
  )
})
