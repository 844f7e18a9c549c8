/** A real process of the service, and a real PostgreSQL that is killed and started again under load. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type MailSink, startSink } from '../scripts/chaos/mail-sink.ts'
import { type OwnPostgres, ownPostgres } from '../scripts/chaos/own-postgres.ts'
import { type ServiceProcess, serviceProcess } from '../scripts/chaos/service-process.ts'
import { prepareStage, type Stage } from '../scripts/chaos/stage.ts'
import { openDatabase } from '../src/platform/database/database.ts'
import { prepareData } from './support/prepared-data.ts'
import { openStream, type TestStream } from './support/streams.ts'

const dir = mkdtempSync(join(tmpdir(), 'gridpost-lost-database-'))
let postgres: OwnPostgres
let service: ServiceProcess
let sink: MailSink
let stage: Stage
let url: string

beforeAll(async () => {
  prepareData(join(dir, 'database'))
  postgres = await ownPostgres(join(dir, 'database'), { fsync: 'off' })
  sink = await startSink()
  service = await serviceProcess({
    name: 'service',
    role: 'all',
    logDir: dir,
    environment: {
      DATABASE_URL: postgres.url,
      DATA_DIR: join(dir, 'data'),
      SECRET_KEY: 'a key for tests, long enough to be one',
      SMTP_ALLOW_PRIVATE: 'true',
      RATE_LIMIT_PER_MINUTE: '0',
      RATE_LIMIT_PER_HOUR: '0',
    },
  })
  await service.start()
  url = service.url as string
  const db = openDatabase(postgres.connection)
  stage = await prepareStage(db, url, { smtpPort: sink.port, largeRows: 10 })
  await db.close()
})
afterAll(async () => {
  await service?.stop()
  await postgres?.stop()
  await sink?.close()
  rmSync(dir, { recursive: true, force: true })
})

interface Answer {
  status: number
  retryAfter: string | null
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape.
  body: any
}

async function send(path: string, body?: object): Promise<Answer> {
  const response = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: { ...stage.session, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
}

const create = (name: string) => send(`/api/table/${stage.table}/records/create`, { data: { name } })
const createTask = (record: number, title: string) => send(`/api/tasks/onRecord/${stage.table}/${record}/create`, { title })
const mail = (record: number, subject: string) =>
  send('/api/email/send', {
    tableId: stage.table,
    recordId: record,
    smtpIntegrationId: stage.smtp,
    fromIdentity: { name: 'Chaos', email: 'chaos@example.com' },
    to: ['ann@customer.example'],
    subject,
    body: '<p>Hello</p>',
  })

/** Sends requests of every kind until `isOver`. @returns the answers */
async function load(record: number, isOver: () => boolean): Promise<Answer[]> {
  const kinds = [
    () => create('under load'),
    () => send(`/api/table/${stage.table}/records/query`, { search: 'load', limit: 5 }),
    () => send(`/api/table/${stage.table}/record/${record}/get`),
    () => createTask(record, 'Under load'),
    () => send(`/api/table/${stage.table}/views/create`, { name: `View ${Math.random()}`, type: 'grid' }),
    () => send('/api/spaces/list'),
  ]
  const answers: Answer[] = []
  const caller = async (first: number) => {
    for (let call = first; !isOver(); call++) {
      answers.push(await (kinds[call % kinds.length] as () => Promise<Answer>)())
      // Without a database the answers are quick, and would only keep the machine busy.
      if (answers.at(-1)?.status !== 200) await sleep(20)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => caller(index)))
  return answers
}

/** Within this time after its start everything works again. A busy machine may need most of it for any one step. */
const SOON = { timeout: 25_000, interval: 20 }

/** Kills PostgreSQL under load, and starts it again. @returns the answers of the requests that were refused */
async function outage(record: number, stream: TestStream, seconds: number): Promise<Answer[]> {
  let isOver = false
  const loading = load(record, () => isOver)
  await sleep(300)
  postgres.kill()
  await sleep(seconds * 1_000)
  await postgres.start()
  const back = performance.now()
  await vi.waitFor(async () => expect((await create('back')).status).toBe(200), SOON)
  const subject = `After ${seconds} s`
  await vi.waitFor(async () => expect((await mail(record, subject)).status).toBe(202), SOON)
  // A worker sends the mail, and the stream gets the event. pg-boss alone would wait for up to half a minute.
  await vi.waitFor(() => expect(sink.accepted(subject, 'ann@customer.example')).toBe(1), SOON)
  const { body: task } = await createTask(record, subject)
  await vi.waitFor(() => expect(stream.heard.filter(({ task_id }) => task_id === task.id)).toHaveLength(1), SOON)
  expect(performance.now() - back).toBeLessThan(SOON.timeout)
  isOver = true
  return (await loading).filter(({ status }) => status !== 200)
}

test.each([1, 30])('a service survives that PostgreSQL is killed and away for %i s', async (seconds) => {
  const { body: record } = await create('kept')
  const stream = await openStream(url, stage.key)
  const refused = await outage(record.id, stream, seconds)
  stream.cut()

  expect(refused.length).toBeGreaterThan(0)
  expect([...new Set(refused.map(({ status, body }) => `${status} ${body.message}`))].filter((text) => !text.startsWith('503 '))).toEqual(
    [],
  )
  expect(refused.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true)
  expect(service.faults()).toEqual([])
  expect(service.ends()).toEqual([])
})

test('connections that are reset while the service writes to them end no process', async () => {
  const { body: record } = await create('kept')
  // Statements of megabytes are still being written when the server is gone, which gives EPIPE or ECONNRESET.
  const records = Array.from({ length: 60 }, () => ({ data: { name: 'long', notes: 'x'.repeat(90_000) } }))
  const writing = Array.from({ length: 8 }, () => send(`/api/table/${stage.table}/records/create_batch`, { records }))
  await sleep(100)
  postgres.kill()
  const answers = await Promise.all(writing)
  await postgres.start()
  await expect.poll(async () => (await send(`/api/table/${stage.table}/record/${record.id}/get`)).status).toBe(200)
  expect(answers.filter(({ status }) => ![200, 503].includes(status))).toEqual([])
  expect(service.ends()).toEqual([])
})
