/** The file storage fails and comes back, while the service runs. */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { openStorage } from '../src/platform/storage.ts'
import { testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const dir = await mkdtemp(join(tmpdir(), 'gridpost-lost-storage-'))
const folder = join(dir, 'files')
const app = await testApp({ STORAGE: folder })
afterAll(() => rm(dir, { recursive: true, force: true }))

const { sweepLeftoversAfter } = fileSupport(app)
const away = { status: 503, body: { message: 'The file storage is not available', code: 'SERVICE_UNAVAILABLE' } }

test('uploads and downloads get 503 while the folder is away, and work again at once', async () => {
  const account = await app.account()
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'File', type: 'file' },
  ]
  const { path, records } = await makeTable(app, account, { fields, records: [{ name: 'first' }] })
  const as = app.as(account.keys.account)
  const upload = () =>
    as.post(`${path}/record/${records[0]}/files/create`, { field_id: 'file', name: 'a.txt', data: Buffer.from('hello').toString('base64') })
  const before = await upload()
  expect(before.status).toBe(200)

  renameSync(folder, `${folder}.away`)
  writeFileSync(folder, '')
  const refused = [await upload(), await as.get(`/api/file/${before.body[0].path}`)]
  for (const answer of refused) {
    expect(answer).toMatchObject(away)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  rmSync(folder)
  renameSync(`${folder}.away`, folder)

  expect((await upload()).status).toBe(200)
  expect((await as.get(`/api/file/${before.body[0].path}`)).body).toBe('hello')
})

test('an upload whose transaction is lost leaves no bytes behind', async () => {
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const as = app.as(account.keys.account)
  const upload = () =>
    as.post(
      `${path}/record/${records[0]}/files/create`,
      { field_id: 'file', name: 'lost.txt', data: Buffer.from('hello').toString('base64') },
      { 'idempotency-key': 'upload' },
    )
  const stored = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('lost.txt'))
  const { storage } = app.deps
  const write = storage.write
  storage.write = async (...args) => {
    await write(...args)
    await app.db.query(sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()`)
  }
  expect((await upload()).status).toBe(503)
  storage.write = write
  expect(stored()).toHaveLength(1)
  await sweepLeftoversAfter(25)
  expect(stored()).toEqual([])

  // The repeated request is whole: its file is readable at once, and after its bytes have moved.
  const { body } = await upload()
  const text = async () => (await as.get(`/api/file/${body[0].path}`)).body
  expect(await text()).toBe('hello')
  await settleAll(systemContext(app.deps), { paths: [body[0].path] })
  expect(await text()).toBe('hello')
  await sweepLeftoversAfter(25)
  expect(stored()).toEqual([expect.stringMatching(new RegExp(`/${body[0].path}$`))])
})

test('a bucket that cannot be reached is logged', async () => {
  const logged: string[] = []
  const log = { error: (_: object, text: string) => void logged.push(text) } as never
  process.env.AWS_ACCESS_KEY_ID = 'nobody'
  process.env.AWS_SECRET_ACCESS_KEY = 'nothing'
  const storage = openStorage('s3://attachments?endpoint=http%3A%2F%2F127.0.0.1%3A1&region=eu-central-1', log)
  await expect(storage.write('1-2-file', Buffer.from('x'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(logged).toEqual(['file storage'])
})
