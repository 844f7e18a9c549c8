/** The bucket of the files is down, slow, silent, full or breaks off, while the service runs. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { type Mood, startBucket } from './support/bucket.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const LIMIT_MS = 1_000
const bucket = await startBucket()
const app = await testApp({ STORAGE: bucket.setting }, { storageLimitMs: LIMIT_MS })
/** On a busy machine a bucket that is well may also take longer than the limit, so what a test needs is stored without it. */
const patient = await testApp({ STORAGE: bucket.setting })
/** For what is judged by its silence while the bucket is well: the limit is longer than a busy machine is silent. */
const STEADY_MS = 4_000
const steady = await testApp({ STORAGE: bucket.setting }, { storageLimitMs: STEADY_MS })
const { sweepLeftoversAfter } = fileSupport(patient)
afterEach(() => {
  bucket.mood = 'well'
  vi.restoreAllMocks()
})

let account: TestAccount
let record: string
beforeAll(async () => {
  account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  record = `${path}/record/${records[0]}`
})

const upload = (bytes: Buffer, name = 'a.bin', to = app) =>
  to.as(account.member).post(`${record}/files/create`, { field_id: 'file', name, data: bytes.toString('base64') })
const names = async () => {
  const { body } = await app.as(account.member).get(`${record}/get`)
  return body.data.file.map(({ name }: { name: string }) => name) as string[]
}
/** Stores a file. @returns the path of its download */
async function stored(bytes: Buffer): Promise<string> {
  const { body } = await upload(bytes, `${randomBytes(4).toString('hex')}.bin`, patient)
  return `/api/file/${body.at(-1).path}`
}
const download = (url: string, from = app) => fetch(`${from.url}${url}`, { headers: { authorization: `Bearer ${account.keys.account}` } })

test.each<Mood>(['down', 'hangs', 403, 500, 503, 507])(
  'a bucket in the mood %s is answered with 503 or 507, and nothing is half stored',
  async (mood) => {
    const url = await stored(Buffer.from('hello'))
    const before = await names()
    bucket.mood = mood
    const asked = mood === 'hangs' ? app : patient
    const refused = [await upload(Buffer.from('refused'), 'a.bin', asked), await asked.as(account.member).get(url)]
    bucket.mood = 'well'
    const away = [503, 'The file storage is not available']
    expect(refused.map(({ status, body }) => [status, body.message])).toEqual([mood === 507 ? [507, 'The disk is full'] : away, away])
    for (const answer of refused) {
      expect(answer.body.code).toBe('SERVICE_UNAVAILABLE')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    }
    expect(await names()).toEqual(before)
    expect((await patient.as(account.member).get(url)).body).toBe('hello')
    expect((await upload(Buffer.from('again'), 'a.bin', patient)).status).toBe(200)
  },
)

test('a slow bucket is waited for, and a single failure is tried again', async () => {
  bucket.mood = 'slow'
  const url = await stored(Buffer.from('slow'))
  expect(await (await download(url, patient)).text()).toBe('slow')
  let failures = 1
  bucket.mood = () => (failures-- > 0 ? 500 : 'well')
  expect(await (await download(url, patient)).text()).toBe('slow')
})

test('a wrong credential and a bucket that is gone are 503, not a missing file', async () => {
  const url = await stored(Buffer.from('hello'))
  const { storage } = patient.deps
  await storage.remove(url.slice('/api/file/'.length))
  expect((await patient.as(account.member).get(url)).status).toBe(404)
  const gone = await testApp({ STORAGE: bucket.setting.replace('attachments', 'elsewhere') }, { storageLimitMs: LIMIT_MS })
  await expect(gone.deps.storage.read('1-2-file')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect((await gone.as(null).get('/readyz')).body.storage).toBe(false)
})

test.each<Mood>(['resets', 'trickles'])('a download whose bucket %s half-way ends its connection, and is logged', async (mood) => {
  const url = await stored(randomBytes(300_000))
  const error = vi.spyOn(steady.deps.log, 'error')
  bucket.mood = mood
  const answer = await download(url, steady)
  expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '300000'])
  await expect(answer.arrayBuffer()).rejects.toThrow()
  bucket.mood = 'well'
  expect(error).toHaveBeenCalledWith({ err: expect.any(Error) }, 'file storage')
  expect((await (await download(url, patient)).arrayBuffer()).byteLength).toBe(300_000)
})

test('a reader who is slow is not taken for a bucket that is', async () => {
  const bytes = randomBytes(8_000_000)
  const url = await stored(bytes)
  const answer = await download(url, steady)
  const reader = answer.body?.getReader()
  const read: Uint8Array[] = []
  for (let first = true; ; first = false) {
    const { value, done } = (await reader?.read()) ?? { done: true }
    if (done || !value) break
    read.push(value)
    // Longer than the bucket may be silent; the buffers in between are full by then.
    if (first) await sleep(STEADY_MS * 2.5)
  }
  expect(Buffer.concat(read).equals(bytes)).toBe(true)
})

test('a caller who hangs up gives the connection to the bucket back', async () => {
  const url = await stored(randomBytes(8_000_000))
  await (await download(await stored(Buffer.from('x')), patient)).text()
  const before = await bucket.connections()
  const sockets = Array.from({ length: 5 }, () => connect(Number(new URL(steady.url).port), '127.0.0.1'))
  for (const socket of sockets) {
    socket.write(`GET ${url} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${account.keys.account}\r\n\r\n`)
    await once(socket, 'data')
    socket.pause()
  }
  expect(await bucket.connections()).toBeGreaterThan(before)
  for (const socket of sockets) socket.destroy()
  await expect.poll(() => bucket.connections()).toBeLessThanOrEqual(before)
})

test('a file that is shorter in storage than its row says ends the connection instead of keeping the caller waiting', async () => {
  const url = await stored(Buffer.from('0123456789'))
  await patient.deps.storage.write(url.slice('/api/file/'.length), Buffer.from('01234'))
  // The connection may end before the head of the answer was sent.
  await expect(download(url, patient).then((answer) => answer.arrayBuffer())).rejects.toThrow()
  await patient.deps.storage.write(url.slice('/api/file/'.length), Buffer.from('0123456789 and more'))
  expect(await (await download(url, patient)).text()).toBe('0123456789')
})

test('an upload that fails in its third part leaves no parts behind', async () => {
  bucket.mood = ({ path }) => (path.includes('partNumber=3') ? 403 : 'well')
  const began = bucket.seen.length
  const refused = await upload(randomBytes(12 * 1_048_576), 'a.bin', patient)
  expect(refused).toMatchObject({ status: 503, body: { message: 'The file storage is not available' } })
  expect(bucket.seen.slice(began).some(({ path }) => path.includes('partNumber=2'))).toBe(true)
  expect([...bucket.uploads]).toEqual([])
})

test('unfinished uploads of killed processes are aborted after a day where the bucket can list them', async () => {
  const old = new Date(Date.now() - 3_600_000)
  const own = ['1-2-AAAAAAAAAAAAAAAA-a.bin', 'task-7-BBBBBBBBBBBBBBBB-b.bin', 'staged-CCCCCCCCCCCCCCCC-c.bin']
  for (const [id, key] of [...own, 'backup.tar', '1-2-notes.txt'].entries()) bucket.uploads.set(`${id}`, { key, initiated: old })
  bucket.uploads.set('running', { key: own[0] as string, initiated: new Date(Date.now() + 7_200_000) })

  await sweepLeftoversAfter(24.5)
  expect(bucket.uploads.size, 'a bucket that cannot list them').toBe(6)
  bucket.listsUploads = true
  await sweepLeftoversAfter(22)
  expect(bucket.uploads.size, 'before a day').toBe(6)
  await sweepLeftoversAfter(24.5)
  expect([...bucket.uploads.values()].map(({ key }) => key)).toEqual(['backup.tar', '1-2-notes.txt', own[0]])
  bucket.uploads.clear()
})

test('a staged file is copied by the bucket, however often the job is interrupted', async () => {
  const as = patient.as(account.member)
  const staged = (await as.post('/api/tasks/upload', { name: 'a.txt', data: Buffer.from('hello').toString('base64') })).body
  const task = (await as.post('/api/tasks/create', { title: 'Call', attachments: [staged] })).body
  const [{ path }] = task.attachments
  const text = async () => (await as.get(`/api/file/${path}`)).body
  const settle = () => settleAll(systemContext(patient.deps), { paths: [path] })
  const began = bucket.seen.length

  bucket.mood = ({ method }) => (method === 'DELETE' ? 403 : 'well')
  await expect(settle()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  bucket.mood = 'well'
  expect(await text()).toBe('hello')
  const reads = bucket.seen.length
  await settle()
  const requests = [...bucket.seen.slice(began, began + 2), ...bucket.seen.slice(reads)]
  expect(requests.filter(({ isCopy }) => isCopy)).toHaveLength(2)
  expect(requests.filter(({ method, isCopy }) => method === 'GET' || (method === 'PUT' && !isCopy))).toEqual([])
  expect(await text()).toBe('hello')

  // Killed after the move and before the row was changed.
  await app.db.write(sql`update stored_files set storage_key = ${staged.path} where path = ${path}`)
  expect(await text()).toBe('hello')
  await settle()
  expect(await app.db.read(sql`select storage_key from stored_files where path = ${path}`)).toEqual([{ storage_key: null }])
})

test('/readyz tells of the bucket in bounded time, and stays ready', async () => {
  // A result is kept for five seconds: each mood asks another process, and so does a busy machine that was too late.
  const ready = async (mood: Mood, storageLimitMs: number) => {
    const other = await testApp({ STORAGE: bucket.setting }, { storageLimitMs })
    bucket.mood = mood
    const seen = bucket.seen.length
    const began = performance.now()
    const answers = await Promise.all(Array.from({ length: 20 }, () => other.as(null).get('/readyz')))
    // The bucket that hangs would be waited for without an end.
    expect(performance.now() - began).toBeLessThan(20_000)
    return { requests: bucket.seen.length - seen, answers: answers.map(({ status, body }) => [status, body.ok, body.storage]) }
  }
  await expect.poll(() => ready('well', 30_000)).toEqual({ requests: 1, answers: Array(20).fill([200, true, true]) })
  await expect.poll(async () => (await ready('hangs', LIMIT_MS)).answers).toEqual(Array(20).fill([200, true, false]))
})
