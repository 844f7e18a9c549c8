/** The file storage fails and comes back, while the service runs. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openStorage } from '../src/platform/storage.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const dir = await mkdtemp(join(tmpdir(), 'gridpost-lost-storage-'))
const folder = join(dir, 'files')
const app = await testApp({ STORAGE: folder })
afterAll(() => rm(dir, { recursive: true, force: true }))

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

test('a bucket that cannot be reached is logged', async () => {
  const logged: string[] = []
  const log = { error: (_: object, text: string) => void logged.push(text) } as never
  process.env.AWS_ACCESS_KEY_ID = 'nobody'
  process.env.AWS_SECRET_ACCESS_KEY = 'nothing'
  const storage = openStorage('s3://attachments?endpoint=http%3A%2F%2F127.0.0.1%3A1&region=eu-central-1', log)
  await expect(storage.write('1-2-file', Buffer.from('x'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(logged).toEqual(['file storage'])
})
