/** Several processes on one port: what dies is started again, what is stopped loses nothing, and nothing is left behind. */
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { freePort } from '../scripts/free-port.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { prepareData } from './support/prepared-data.ts'
import { type Connection, endAll, isAlive, launch, type Processes, startProcesses } from './support/processes.ts'
import { until } from './support/until.ts'

const app = await testApp()
const environment = {
  ...{ DATABASE_URL: app.settings.databaseUrl ?? '', DATA_DIR: app.settings.dataDir, SECRET_KEY: 'a key for tests, long enough to be one' },
  ...{ RATE_LIMIT_PER_MINUTE: '0', RATE_LIMIT_PER_HOUR: '0' },
}
afterAll(endAll)
const service = await startProcesses({ ...environment, INBOUND_SMTP: 'smtp://127.0.0.1:0' })
const { keys } = await app.account()
const PATIENT = { timeout: 60_000, interval: 20 }

/**
 * Clients that send one request after the other, and connect again when their connection is lost. Two of them begin with a connection to each
 * process: a process that is slow to accept is given fewer connections, so that all of the others may be of one process.
 */
async function busyClients({ connect, both }: Processes, number = 8) {
  const answers: { status: number; process: string | undefined }[] = []
  /** The process of each connection that was lost, as far as it had answered before. */
  const lost: (string | undefined)[] = []
  let isEnding = false
  async function run(first: Connection): Promise<void> {
    let connection = first
    for (let turn = 0; !isEnding; turn++) {
      try {
        const path = turn % 2 ? '/healthz' : '/api/spaces/list'
        const { status } = await connection.send('GET', path, { key: keys.account })
        answers.push({ status, process: connection.process() })
      } catch {
        lost.push(connection.process())
        connection = connect()
      }
    }
    connection.close()
  }
  const connections = [...(await both()), ...Array.from({ length: number - 2 }, connect)]
  const running = connections.map(run)
  const processes = () => [...new Set(answers.map(({ process }) => process))]
  return {
    answers,
    lost,
    /** The processes that have answered, in the order of their first answers. */
    processes,
    untilAnswered: (count: number) => vi.waitFor(() => expect(processes().length, service.output()).toBeGreaterThanOrEqual(count), PATIENT),
    async end() {
      isEnding = true
      await Promise.all(running)
    },
  }
}

/** What a mail server says first. */
async function greetingOn(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const [chunk] = await once(socket, 'data')
  socket.destroy()
  return String(chunk)
}

test('gives each of PORT, METRICS_PORT and INBOUND_SMTP a port of its own if all are 0', async () => {
  const [, mail] = /is received at smtp:\/\/127\.0\.0\.1:(\d+)/.exec(service.output()) ?? []
  // Connections are given to the processes in turn, so each kind reaches both.
  const sixTimes = <Answer>(ask: () => Promise<Answer>) => Promise.all(Array.from({ length: 6 }, ask))
  const statuses = (url: string) => sixTimes(async () => (await fetch(url, { headers: { connection: 'close' } })).status)
  expect(await statuses(`${service.url}/api/spaces/list`)).toEqual(Array(6).fill(401))
  expect(await statuses(`${service.operatorUrl}/api/spaces/list`)).toEqual(Array(6).fill(404))
  expect(await statuses(`${service.operatorUrl}/metrics`)).toEqual(Array(6).fill(200))
  expect(await sixTimes(() => greetingOn(Number(mail)))).toEqual(Array(6).fill(expect.stringMatching(/^220 .* Gridpost/)))
})

test('a process that is killed loses the requests that it had, and no other; another one takes its place', async () => {
  const before = service.pids()
  const counted = async () =>
    Number(/route="\/api\/spaces\/list",status="200"\} (\d+)/.exec(await (await fetch(`${service.operatorUrl}/metrics`)).text())?.[1])
  const clients = await busyClients(service)
  await clients.untilAnswered(2)
  const earlier = await counted()
  const [killed = 0] = before
  process.kill(killed, 'SIGKILL')
  await vi.waitFor(() => expect(service.pids().filter((pid) => !before.includes(pid))).toHaveLength(1), PATIENT)
  for (const connection of await service.both()) connection.close()
  await clients.end()
  expect(clients.answers.filter(({ status }) => status !== 200)).toEqual([])
  // All of one process, as far as they had answered, and one for each connection at most.
  expect(new Set(clients.lost.filter((process) => process !== undefined)).size).toBeLessThanOrEqual(1)
  expect(clients.lost.length).toBeLessThanOrEqual(8)
  expect(service.output()).toMatch(
    new RegExp(`"process":[12],"ended_pid":${killed},"code":null,"signal":"SIGKILL","pause_ms":0,"msg":"a process has ended`),
  )
  // What the killed process had counted at the last scrape still counts.
  expect(await counted()).toBeGreaterThanOrEqual(earlier)
})

test('a process that is asked to stop loses no request at all, and another one takes its place', async () => {
  const before = service.pids()
  const clients = await busyClients(service)
  await clients.untilAnswered(2)
  process.kill(before[1] ?? 0, 'SIGTERM')
  await vi.waitFor(() => expect(isAlive(before[1] ?? 0)).toBe(false), PATIENT)
  await vi.waitFor(() => expect(service.pids()).toHaveLength(2), PATIENT)
  await clients.end()
  expect(clients.lost).toEqual([])
  expect(clients.answers.filter(({ status }) => status !== 200)).toEqual([])
})

test('connections that a process was given and has not accepted go to another when it dies', async () => {
  await service.both()
  const [hanging = 0] = service.pids()
  process.kill(hanging, 'SIGSTOP')
  // Every second connection is given to the process that does not run.
  const connections = Array.from({ length: 4 }, () => service.connect())
  const answers = connections.map((connection) => connection.send('GET', '/healthz'))
  await Promise.race(answers)
  process.kill(hanging, 'SIGKILL')
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  for (const connection of connections) connection.close()
})

test('pauses longer before each start of a process that dies again and again, while the others answer', async () => {
  const run = await startProcesses(environment)
  const [kept = 0, ...killed] = run.pids()
  const clients = await busyClients(run)
  await clients.untilAnswered(2)
  for (let deaths = 0; deaths < 3; deaths++) {
    const next = () => run.pids().find((child) => child !== kept && !killed.slice(0, deaths).includes(child))
    const pid = await until(next, 'for the next process')
    killed[deaths] = pid
    process.kill(pid, 'SIGKILL')
  }
  const ends = () =>
    [...run.output().matchAll(/"process":(\d),"ended_pid":(\d+),.*"pause_ms":(\d+)/g)].map(([, ...found]) => found.map(Number))
  await vi.waitFor(() => expect(ends()).toHaveLength(3), PATIENT)
  // Process ids start again from low ones when they run out, so the one that dies may be the first process or the second.
  const [[number] = []] = ends()
  expect(ends()).toEqual([0, 500, 1_000].map((pause, index) => [number, killed[index], pause]))
  await vi.waitFor(() => expect(run.pids().filter((pid) => ![kept, ...killed].includes(pid))).toHaveLength(1), PATIENT)
  await clients.end()
  expect(clients.answers.filter(({ status }) => status !== 200)).toEqual([])
  run.signalAll('SIGTERM')
  expect(await run.ended).toBe(0)
})

/** Begins a request, whose body the test ends later. */
async function pendingRequest({ url }: Processes): Promise<{ finish(): Promise<string>; socket: Socket }> {
  const body = JSON.stringify({ email: 'nobody@example.com', password: 'wrong' })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const headers = ['Host: localhost', 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue']
  socket.write(`POST /api/auth/login HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
  await vi.waitFor(() => expect(answer).toContain('100 Continue'), PATIENT)
  return {
    socket,
    finish: async () => {
      socket.write(body)
      await closed
      return answer
    },
  }
}

/** A connection without a request. */
async function connected({ url }: Processes): Promise<{ closed: Promise<unknown> }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // Without a reader the end of the other side is not noticed.
  socket.on('error', () => {}).resume()
  await once(socket, 'connect')
  return { closed }
}

const untilRefused = ({ url }: Processes) => vi.waitFor(() => expect(fetch(url)).rejects.toThrow(), PATIENT)
const untilGone = (pids: number[]) => vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), PATIENT)

test('a supervisor that is killed leaves no process behind, and requests that have begun are answered', async () => {
  const pids = service.pids()
  const pending = await pendingRequest(service)
  service.supervisor.kill('SIGKILL')
  await untilRefused(service)
  expect(pids.filter(isAlive).length).toBeGreaterThan(0)
  expect(await pending.finish()).toMatch(/\r\nHTTP\/1\.1 401 /)
  await untilGone(pids)
})

test('Ctrl-C answers what has begun and ends all, with the mail catcher and the embedded database', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gridpost-processes-'))
  prepareData(dataDir, { withDemo: false })
  const embedded = await startProcesses({ DATA_DIR: dataDir })
  const pids = embedded.pids()
  const connections = await embedded.both()
  // Only one process catches mails, and both show them.
  for (const connection of connections) expect((await connection.send('GET', '/dev/mail.json')).body).toEqual([])
  for (const connection of connections) connection.close()
  const pending = await pendingRequest(embedded)
  // They wait for a process when the processes stop to listen, so some are given to one that does not accept them any more.
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  const waiting = await Promise.all(Array.from({ length: 50 }, () => connected(embedded)))
  embedded.signalAll('SIGINT')
  for (const pid of pids) process.kill(pid, 'SIGCONT')
  await Promise.all(waiting.map(({ closed }) => closed))
  await untilRefused(embedded)
  expect(await pending.finish()).toMatch(/\r\nHTTP\/1\.1 401 /)
  expect(await embedded.ended).toBe(0)
  await untilGone(pids)
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
  rmSync(dataDir, { recursive: true })
})

test('a second Ctrl-C ends all at once', async () => {
  const run = await startProcesses(environment)
  const pids = run.pids()
  const pending = await pendingRequest(run)
  run.signalAll('SIGINT')
  await untilRefused(run)
  const repeating = setInterval(() => run.signalAll('SIGINT'), 100)
  expect(await run.ended.finally(() => clearInterval(repeating))).toBe(1)
  await untilGone(pids)
  pending.socket.destroy()
})

/** The lock of src/platform/database/migrations/deploy.ts, for which a process that is starting waits. */
const DEPLOY_LOCK = 72_707_369

/** Lets processes that are starting wait for the lock. @returns what waits until one does, and what ends the wait */
async function holdStarts() {
  const holder = await app.db.connect()
  await holder.query('select pg_advisory_lock($1)', [DEPLOY_LOCK])
  const isWaiting = async () =>
    (await app.db.read(sql`select from pg_locks where locktype = 'advisory' and objid = ${DEPLOY_LOCK} and not granted`)).length > 0
  return { isHeld: () => until(isWaiting, 'for a process to wait'), release: () => holder.end() }
}

/** Starts processes on a port that is known before they say so. */
async function launchOn(settings: Record<string, string>) {
  const port = await freePort()
  const run = launch({ ...environment, ...settings, PORT: String(port) })
  const ready = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(async (answer) => ({ status: answer.status, body: await answer.json() }))
  const untilAnswered = () =>
    until(
      () =>
        ready().then(
          () => true,
          () => false,
        ),
      run.output,
    )
  return { ...run, ready, untilAnswered }
}

test.each(['1', '2'])('a stop ends a start with PROCESSES=%s at once, whatever that waits for', async (PROCESSES) => {
  const starts = await holdStarts()
  const run = await launchOn({ PROCESSES })
  await starts.isHeld()
  run.supervisor.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  await starts.release()
})

test('a stop ends a process at once that is starting beside one that answers', async () => {
  const run = await launchOn({ PROCESSES: '2' })
  await run.untilAnswered()
  const starts = await holdStarts()
  await starts.isHeld()
  run.supervisor.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  await starts.release()
})

test.each(['1', '2'])('a stop within a start with PROCESSES=%s leaves no embedded database behind', async (PROCESSES) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gridpost-processes-'))
  prepareData(dataDir, { withDemo: false })
  const run = launch({ DATA_DIR: dataDir, PROCESSES })
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  await until(() => existsSync(pidFile), 'for the database to start', { everyMs: 1 })
  run.signalAll('SIGINT')
  expect(await run.ended).toBe(0)
  expect(existsSync(pidFile)).toBe(false)
  expect(run.output()).toBe('')
  rmSync(dataDir, { recursive: true })
})

test('/readyz is 503 until every process has listened once, and does not change when one is lost later', async () => {
  const run = await launchOn({ PROCESSES: '2' })
  await run.untilAnswered()
  const starts = await holdStarts()
  await starts.isHeld()
  const checks = { database: true, migrations: true, queue: true, storage: true }
  await expect.poll(run.ready, PATIENT).toEqual({ status: 503, body: { ok: false, ...checks, processes: false } })
  await starts.release()
  await expect.poll(run.ready, PATIENT).toEqual({ status: 200, body: { ok: true, ...checks, processes: true } })
  await until(() => run.output().includes('Requests are answered by 2 processes'), run.output)

  const [lost = 0] = run.pids()
  const held = await holdStarts()
  process.kill(lost, 'SIGKILL')
  await held.isHeld()
  for (let asked = 0; asked < 4; asked++) expect((await run.ready()).body).toMatchObject({ processes: true })
  await held.release()
  const replaced = () => run.pids().filter((pid) => pid !== lost).length === 2
  await until(replaced, 'for another process')
  for (let asked = 0; asked < 8; asked++) expect((await run.ready()).body).toMatchObject({ processes: true })
  run.supervisor.kill('SIGTERM')
  expect(await run.ended).toBe(0)
})

test('a wrong setting ends the start with one line, wherever it shows', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const wrong = [
    [{ PROCESSES: 'many' }, 'PROCESSES: must be a whole number from 1 to 128, or auto'],
    [{ PROCESSES: '2', PORT: String(port) }, `PORT: ${port} is in use on 127.0.0.1`],
    // These show in the processes.
    [{ PROCESSES: '2', METRICS_PORT: String(port) }, `METRICS_PORT: ${port} is in use on 127.0.0.1`],
    [{ PROCESSES: '2', DATABASE_URL: 'postgresql://a:b@127.0.0.1:1/x' }, 'The database cannot be reached'],
  ] as const
  await Promise.all(
    wrong.map(async ([settings, line]) => {
      const { output, ended } = launch({ ...environment, ...settings })
      expect(await ended).toBe(1)
      // What a process has written may arrive after its end.
      await expect.poll(output).toMatch(/^Gridpost cannot start\. [^\n]*\n$/)
      expect(output()).toContain(line)
    }),
  )
  other.close()
})
