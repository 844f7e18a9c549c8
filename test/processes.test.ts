/** Several processes on one port behave as one: limits, sessions, events, files and metrics. */
import { afterAll, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { perProcess } from '../src/platform/processes/per-process.ts'
import { readSettings } from '../src/settings.ts'
import { testApp } from './support/app.ts'
import { type Connection, endAll, type Received, startProcesses } from './support/processes.ts'
import { openStream } from './support/streams.ts'
import { makeTable } from './support/tables.ts'

const PER_MINUTE = 40
const SECRET_KEY = 'a key for tests, long enough to be one'

/** Makes accounts and tables in the same database. */
const app = await testApp()
const service = await startProcesses({
  ...{ DATABASE_URL: app.settings.databaseUrl ?? '', DATA_DIR: app.settings.dataDir, SECRET_KEY },
  ...{
    RATE_LIMIT_PER_MINUTE: String(PER_MINUTE),
    RATE_LIMIT_PER_HOUR: '0',
    EVENT_STREAMS_PER_CALLER: '2',
    METRICS_TOKEN: 'token',
    TRUST_PROXY: 'loopback',
  },
})
afterAll(endAll)
const [one, other] = await service.both()

/** While there is no user yet: the link that the first process has printed, used in the other one. */
const links = service.output().match(/http:\S+\/setup#\S+/g) ?? []
const owner = { name: 'Ada', email: 'first@owner.example', password: 'correct horse battery' }
const setUp = await other.send('POST', '/api/auth/setup', { body: { token: links[0]?.split('#')[1], ...owner } })

/** Sends the request by turns to both processes. A window of limits ends with the minute, so it is all done again if the minute has changed. */
async function inOneMinute(times: number, send: (connection: Connection, turn: number) => Promise<Received>): Promise<Received[]> {
  const minute = Math.floor(Date.now() / 60_000)
  const answers: Received[] = []
  for (let turn = 0; turn < times; turn++) answers.push(await send(turn % 2 ? other : one, turn))
  return Math.floor(Date.now() / 60_000) === minute ? answers : inOneMinute(times, send)
}

/** What is limited by address does not disturb other tests. */
const from = (address: string) => ({ 'x-forwarded-for': address })

const count = (answers: Received[], status: number) => answers.filter((answer) => answer.status === status).length

test('answers requests in two processes, each of which says which one it is in its log', () => {
  expect(one.process()).not.toBe(other.process())
  expect(service.output()).toContain('Requests are answered by 2 processes\n')
  expect(service.pids()).toHaveLength(2)
})

test('prints one link for the first owner, which every process accepts', async () => {
  expect(links).toHaveLength(1)
  expect([setUp.status, setUp.body]).toEqual([200, expect.objectContaining({ email: owner.email, is_owner: true })])
  const again = await one.send('POST', '/api/auth/setup', { body: { token: links[0]?.split('#')[1], ...owner } })
  expect(again.status).toBe(409)
})

let account = await app.account()

test('limits the requests of an account as one process does', async () => {
  const answers = await inOneMinute(PER_MINUTE + 20, async (connection, turn) => {
    if (turn === 0) account = await app.account()
    return connection.send('GET', '/api/spaces/list', { key: account.keys.account })
  })
  expect([count(answers, 200), count(answers, 429)]).toEqual([PER_MINUTE, 20])
})

test('limits the requests of strangers from one address as one process does', async () => {
  const answers = await inOneMinute(PER_MINUTE, (connection) => connection.send('GET', '/no-such-path', { headers: from('192.0.2.1') }))
  expect([count(answers, 404), count(answers, 429)]).toEqual([PER_MINUTE / 4, (PER_MINUTE * 3) / 4])
})

test('counts failed sign-ins of both processes together', async () => {
  const { owner } = await app.account({ withPassword: true })
  const signIn = (connection: Connection, password: string) =>
    connection.send('POST', '/api/auth/login', { headers: from('192.0.2.2'), body: { email: owner.email, password } })
  const answers: Received[] = []
  for (const connection of [one, other, one, other]) answers.push(await signIn(connection, 'wrong'))
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401])
  expect(await app.db.read(sql`select round(max(failures))::int as failures from sign_in_failures`)).toEqual([{ failures: 4 }])
})

test('knows the session of a sign-in in the other process, and its end', async () => {
  const { owner } = await app.account({ withPassword: true })
  const signedIn = await one.send('POST', '/api/auth/login', {
    headers: from('192.0.2.3'),
    body: { email: owner.email, password: owner.password },
  })
  const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  expect((await other.send('GET', '/api/auth/me', { headers: { cookie } })).body).toMatchObject({ email: owner.email })
  expect((await one.send('POST', '/api/auth/logout', { headers: { cookie } })).status).toBe(200)
  expect((await other.send('GET', '/api/auth/me', { headers: { cookie } })).status).toBe(401)
})

test('does what an Idempotency-Key names once, in whichever process', async () => {
  const { keys, id } = await app.account()
  const create = (connection: Connection) =>
    connection.send('POST', '/api/tasks/create', {
      key: keys.personal,
      headers: { 'idempotency-key': 'the-same' },
      body: { title: 'Once' },
    })
  const both = await Promise.all([create(one), create(other)])
  expect(both.map(({ status }) => status)).toContain(200)
  for (const { status } of both) expect([200, 409]).toContain(status)
  const again = [await create(one), await create(other)]
  expect(again.map(({ headers, body }) => [headers['idempotent-replayed'], body.id])).toEqual([
    ['true', again[0]?.body.id],
    ['true', again[0]?.body.id],
  ])
  expect(await app.db.read(sql`select title from tasks where account_id = ${id}`)).toEqual([{ title: 'Once' }])
})

test('sees a change of a table in the process that has cached it before', async () => {
  const made = await app.account()
  const { path } = await makeTable(app, made)
  const { account: key } = made.keys
  const create = (connection: Connection, data: object) => connection.send('POST', `${path}/records/create`, { key, body: { data } })
  for (const connection of [one, other]) expect((await create(connection, { name: 'before' })).status).toBe(200)
  const added = await one.send('POST', `${path}/fields/create`, { key: made.keys.account, body: { name: 'Age', type: 'number' } })
  expect(added.status).toBe(200)
  expect((await create(other, { name: 'after', age: 3 })).body).toMatchObject({ data: { age: 3 } })
})

test('gives a file to whom asks the other process', async () => {
  const made = await app.account()
  const { path, records } = await makeTable(app, made, { records: [{}] })
  const uploaded = await one.send('POST', `${path}/record/${records[0]}/comments/upload`, {
    key: made.keys.account,
    body: { name: 'a.txt', type: 'text/plain', data: Buffer.from('bytes').toString('base64') },
  })
  expect(uploaded.status).toBe(200)
  expect((await other.send('GET', `/api/file/${uploaded.body.path}`, { key: made.keys.account })).text).toBe('bytes')
})

test('sends events of changes in the other process, and limits the streams of a caller', async () => {
  const { member, keys } = await app.account()
  const streams = []
  // Connections are given to the processes in turn, so one of two streams is in the process that does not make the change.
  for (let count = 0; count < 2; count++) streams.push(await openStream(service.url, member))
  const create = await one.send('POST', '/api/tasks/create', { key: keys.personal, body: { title: 'Heard' } })
  for (const stream of streams) expect((await stream.until(1))[0]).toMatchObject({ task_id: create.body.id })
  await expect(openStream(service.url, member)).rejects.toThrow('The stream answers 429')
  for (const stream of streams) stream.cut()
})

test('adds up the metrics of both, whichever is asked', async () => {
  const path = '/api/task/1987654/get'
  for (const connection of [one, one, one, other]) await connection.send('GET', path, { key: account.keys.account })
  const scrapes = [
    ...[await (await fetch(`${service.operatorUrl}/metrics`)).text()],
    ...[(await one.send('GET', '/metrics', { key: 'token' })).text, (await other.send('GET', '/metrics', { key: 'token' })).text],
  ]
  for (const text of scrapes) {
    const value = (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length + 1),
      )
    const ofRoute = (suffix: string) =>
      [
        ...text.matchAll(new RegExp(`^gridpost_http_request_seconds_${suffix}\\{.*route="/api/task/:task_id/get".*\\} (\\d+)$`, 'gm')),
      ].reduce((sum, [, number]) => sum + Number(number), 0)
    expect(ofRoute('count')).toBe(4)
    expect(value('gridpost_db_connections_max')).toBe(10)
    // Each process could read it, and one does.
    expect(value('gridpost_index_failures')).toBe(0)
    expect(text.match(/^# TYPE process_resident_memory_bytes /gm)).toHaveLength(1)
  }
})

test('divides what is kept in memory so that the parts add up to the whole', () => {
  const parts = (whole: number, count: number, least?: number) =>
    Array.from({ length: count }, (_, index) => perProcess(whole, least, { number: index + 1, count }))
  expect(parts(10, 2)).toEqual([5, 5])
  expect(parts(10, 4)).toEqual([3, 3, 2, 2])
  expect(parts(2, 3)).toEqual([1, 1, 1])
  expect(parts(10, 8, 2)).toEqual([2, 2, 2, 2, 2, 2, 2, 2])
  expect(perProcess(7)).toBe(7)
})

test('refuses a number of processes that is none', () => {
  const read = (PROCESSES: string, more = {}) => readSettings({ DATABASE_URL: 'postgresql://localhost/x', SECRET_KEY, PROCESSES, ...more })
  for (const wrong of ['0', '-1', '1.5', 'many', '129', '1e1', ' 2', 'AUTO'])
    expect(() => read(wrong), wrong).toThrow('PROCESSES: must be a whole number from 1 to 128, or auto')
  expect([read('1').processes, read('128').processes, read('').processes]).toEqual([1, 128, 1])
  expect(read('auto').processes).toBeGreaterThan(0)
  // Workers are started one by one: the setting is for those that listen.
  expect(read('4', { ROLE: 'worker' }).processes).toBe(1)
})
