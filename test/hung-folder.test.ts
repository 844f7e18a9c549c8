/**
 * A folder that does not answer, such as one on a server that is gone. A FIFO hangs in the same way: opening one without a writer, reading
 * an empty one and writing to a full one each keep a thread of libuv's pool, and cannot be cancelled.
 */
import { spawnSync } from 'node:child_process'
import { randomBytes, scrypt } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { closeSync, constants, openSync, readdirSync, readlinkSync, readSync, renameSync, rmSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type Answer, type TestAccount, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const dir = await mkdtemp(join(tmpdir(), 'gridpost-hung-'))
const folder = join(dir, 'files')
const app = await testApp({ STORAGE: folder }, { storageLimitMs: 1_000 })
/** On a busy machine a folder that is well may also take longer than the limit. */
const patient = await testApp({ STORAGE: folder })
afterAll(() => rm(dir, { recursive: true, force: true }))
const { sweepLeftoversAfter } = fileSupport(app)

let account: TestAccount
let record: string
beforeAll(async () => {
  account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  record = `${path}/record/${records[0]}`
})

/** An image of one point, which has a thumbnail. */
const IMAGE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

const upload = async (body: Buffer = IMAGE, to = app): Promise<Answer> => {
  const headers = { 'content-type': 'text/plain', 'content-disposition': 'attachment; filename="a.txt"' }
  return to.as(account.member).send(`${record}/files/create?field_id=file`, { method: 'PUT', body: body as never, headers })
}
const stored = async (): Promise<string> => (await upload(IMAGE, patient)).body.at(-1).path
const download = (path: string, query = '', from = app) => from.as(account.member).get(`/api/file/${path}${query}`)
const away = (answer: Answer) => {
  expect([answer.status, answer.body.message]).toEqual([503, 'The file storage is not available'])
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}
/** DNS and cryptography use threads of the same pool. */
const othersWork = async () => {
  expect((await lookup('localhost')).address).toBeTruthy()
  expect(await promisify(scrypt)('a', 'b', 32)).toHaveLength(32)
  expect((await app.as(account.member).get(`${record}/get`)).status).toBe(200)
}
/** The open files of the storage. */
const openFiles = (): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  }).length

function makeFifo(place: string): void {
  expect(spawnSync('mkfifo', [place]).status).toBe(0)
}

/** Lets one method of all open files work on a FIFO instead. @returns the FIFO, and a function that ends it */
async function divert(method: 'read' | 'writev'): Promise<() => Promise<void>> {
  const place = join(dir, `fifo-${method}`)
  makeFifo(place)
  const fifo = await open(place, 'r+')
  const handles = Object.getPrototypeOf(fifo) as FileHandle
  const original = handles[method] as (...args: unknown[]) => Promise<unknown>
  // A FIFO has no position.
  const diverted = (...[bytes, offset, length]: unknown[]) =>
    original.call(fifo, ...(method === 'read' ? [bytes, offset, length, null] : [bytes]))
  vi.spyOn(handles, method as 'writev').mockImplementation(diverted as never)
  let isHung = true
  const answer = async () => {
    if (!isHung) return
    isHung = false
    vi.restoreAllMocks()
    // Everything that was written is read, or something is written to be read.
    const end = openSync(place, constants.O_RDWR | constants.O_NONBLOCK)
    const drain = () => {
      try {
        while (readSync(end, Buffer.alloc(65_536))) {}
      } catch {}
    }
    if (method === 'read') await fifo.write(Buffer.alloc(65_536))
    else drain()
    const draining = setInterval(drain, 10)
    await fifo.close()
    clearInterval(draining)
    closeSync(end)
    rmSync(place)
  }
  // A thread that hangs would keep the process of the test from ending.
  onTestFinished(answer)
  return answer
}

test('whatever needs it is 503 in time, and everything else works', async () => {
  const [good, ...hung] = [await stored(), await stored(), await stored(), await stored(), await stored(), await stored()] as [
    string,
    ...string[],
  ]
  const places = new Map(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((place) => [basename(place), join(folder, place)]))
  const placeOf = (path: string) => places.get(path) as string
  for (const path of hung) {
    renameSync(placeOf(path), `${placeOf(path)}.kept`)
    makeFifo(placeOf(path))
  }
  let isHung = true
  const answer = () => {
    if (!isHung) return
    isHung = false
    // Opening succeeds for who waits for a writer, and the file is back for whoever comes later.
    for (const path of hung) {
      const end = openSync(placeOf(path), constants.O_RDWR | constants.O_NONBLOCK)
      renameSync(`${placeOf(path)}.kept`, placeOf(path))
      setTimeout(() => closeSync(end), 100)
    }
  }
  onTestFinished(answer)

  for (const each of await Promise.all(hung.map((path) => download(path)))) away(each)
  await othersWork()
  away(await upload())
  away(await download(good))
  away(await download(good, '?w=160'))
  away(await app.as(account.member).post(`${record}/files/get`, { field_id: 'file', path: good }))
  await expect(sweepLeftoversAfter(48)).rejects.toThrow('The folder does not answer')
  await expect.poll(async () => (await app.as(null).get('/readyz')).body).toMatchObject({ ok: true, storage: false })
  await othersWork()

  answer()
  await expect.poll(async () => (await download(good)).status).toBe(200)
  for (const path of hung) expect((await download(path, '', patient)).status).toBe(200)
  expect((await upload(IMAGE, patient)).status).toBe(200)
  await expect.poll(openFiles).toBe(0)
  await expect.poll(async () => (await app.as(null).get('/readyz')).body.storage).toBe(true)
})

test('an upload whose write hangs is cut off, and its file is closed when the write has ended', async () => {
  await upload()
  const large = randomBytes(300_000)
  const answer = await divert('writev')
  for (const each of await Promise.all([upload(large), upload(large), upload(large)])) away(each)
  await othersWork()
  await answer()
  await expect.poll(async () => (await upload()).status).toBe(200)
  await expect.poll(openFiles).toBe(0)
})

test('a download whose read hangs is cut off', async () => {
  const path = await stored()
  const answer = await divert('read')
  for (const each of await Promise.all([download(path), download(path)])) away(each)
  await othersWork()
  await answer()
  await expect.poll(async () => (await download(path).catch(() => null))?.status).toBe(200)
  await expect.poll(openFiles).toBe(0)
})
