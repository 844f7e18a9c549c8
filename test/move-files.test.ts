/** Moving all files to another storage, while the service runs. */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, afterEach, expect, test } from 'vitest'
import { moveFiles } from '../scripts/files-move.ts'
import { relocate } from '../src/files/relocation.ts'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { openStorage } from '../src/platform/storage/open-storage.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { startBucket } from './support/bucket.ts'
import { programs } from './support/programs.ts'
import { makeTable } from './support/tables.ts'

const folder = await mkdtemp(join(tmpdir(), 'gridpost-move-'))
const bucket = await startBucket()
/** The service before and during the move. Both share a database. */
const before = await testApp({ STORAGE: folder })
const app = await testApp({ STORAGE: bucket.setting, STORAGE_PREVIOUS: folder })
const [old, current] = [openStorage(folder), openStorage(bucket.setting)]
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(() => {
  bucket.mood = 'well'
})

const inFolder = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((place) => basename(place))
    .filter((name) => name.length > 2)
const hostOf = async (path: string) =>
  (await app.db.read<{ host: string }>(sql`select host from stored_files where path = ${path}`))[0]?.host

async function withFiles(texts: string[]): Promise<{ account: TestAccount; field: string; paths: string[] }> {
  const account = await before.account()
  const { path, records } = await makeTable(before, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const field = `${path}/record/${records[0]}/files`
  for (const text of texts) await upload(before, account, field, text)
  const { body } = await before.as(account.member).get(`${path}/record/${records[0]}/get`)
  return { account, field, paths: body.data.file.map((file: { path: string }) => file.path) }
}

const upload = (service: typeof app, account: TestAccount, field: string, text: string) =>
  service.as(account.member).post(`${field}/create`, { field_id: 'file', name: 'a.txt', data: Buffer.from(text).toString('base64') })

test('every file can be read at every moment, and is in the new storage at the end', async () => {
  const texts = Array.from({ length: 12 }, (_, index) => `file ${index} ${randomBytes(8).toString('hex')}`)
  const { account, field, paths } = await withFiles(texts)
  const as = app.as(account.member)
  const staged = (await before.as(account.member).post('/api/tasks/upload', { name: 's.txt', data: 'c3RhZ2Vk' })).body
  let isMoving = true
  const wrong: unknown[] = []
  const reading = (async () => {
    let rounds = 0
    for (; isMoving || rounds === 0; rounds++) {
      const answers = await Promise.all(paths.slice(1).map((path) => as.get(`/api/file/${path}`)))
      for (const [index, { status, body }] of answers.entries()) if (body !== texts[index + 1]) wrong.push([index + 1, status, body])
    }
    return rounds
  })()

  const moving = relocate(app.db, old, current)
  // Meanwhile a file is deleted, another is uploaded, and a staged one gets its final path.
  await as.post(`${field}/delete`, { field_id: 'file', path: paths[0] })
  const added = (await upload(app, account, field, 'new')).body.at(-1)
  const task = (await as.post('/api/tasks/create', { title: 'Call', attachments: [staged] })).body
  // The client names the host that the file had before it was moved.
  expect(task).toMatchObject({ attachments: [{ name: 's.txt' }] })
  await settleAll(systemContext(app.deps), { paths: [task.attachments[0].path] })
  const moved = await moving
  const again = await relocate(app.db, old, current)
  isMoving = false

  expect(await reading).toBeGreaterThan(0)
  expect(wrong).toEqual([])
  expect(moved.files + again.files).toBeGreaterThanOrEqual(12)
  expect({ ...moved, ...again, unnamed: 0 }).toEqual({ files: again.files, bytes: again.bytes, damaged: [], unnamed: 0 })
  for (const path of paths) {
    expect(await hostOf(path)).toBe('s3://attachments')
    expect(await current.size(path)).toBe(texts[paths.indexOf(path)]?.length)
  }
  for (const [path, text] of [
    [added.path, 'new'],
    [task.attachments[0].path, 'staged'],
  ])
    expect((await as.get(`/api/file/${path}`)).body).toBe(text)
  expect(inFolder().filter((name) => !name.startsWith('staged-'))).toEqual([])
})

test('a run that broke off is continued, and what it has copied is not copied again', async () => {
  const texts = ['first', 'second', 'third', 'fourth']
  const { account, paths } = await withFiles(texts)
  const as = app.as(account.member)
  // Killed after the copy, before the row and the old bytes were touched.
  await current.write(paths[0] as string, Buffer.from('first'))
  bucket.mood = ({ method, path }) => (method === 'PUT' && path.includes(paths[2] as string) ? 403 : 'well')
  await expect(relocate(app.db, old, current)).rejects.toMatchObject({ message: 'The file storage is not available' })
  bucket.mood = 'well'
  for (const [index, path] of paths.entries()) expect((await as.get(`/api/file/${path}`)).body).toBe(texts[index])

  const began = bucket.seen.length
  await relocate(app.db, old, current)
  const written = bucket.seen.slice(began).filter(({ method }) => method === 'PUT')
  expect(written.filter(({ path }) => path.includes(paths[0] as string))).toEqual([])
  for (const [index, path] of paths.entries()) {
    expect((await as.get(`/api/file/${path}`)).body).toBe(texts[index])
    expect(await hostOf(path)).toBe('s3://attachments')
  }
  expect(inFolder().filter((name) => paths.includes(name))).toEqual([])
})

test('damaged files and objects of others stay where they are', async () => {
  const { paths } = await withFiles(['whole', 'shorter', 'changed'])
  const [whole = '', shorter = '', changed = ''] = paths
  await old.write(shorter, Buffer.from('short'))
  await old.write(changed, Buffer.from('CHANGED'))
  await old.write('backup.tar', Buffer.from('of others'))
  const { damaged, unnamed } = await relocate(app.db, old, current)
  expect(damaged.toSorted()).toEqual([shorter, changed].toSorted())
  expect(unnamed).toBeGreaterThanOrEqual(1)
  expect(await Promise.all(['backup.tar', shorter, changed, whole].map((path) => old.size(path)))).toEqual([9, 5, 7, null])
  expect(await Promise.all(['backup.tar', shorter, changed, whole].map((path) => current.size(path)))).toEqual([null, null, null, 5])
  expect([await hostOf(whole), await hostOf(shorter)]).toEqual(['s3://attachments', 'local'])
  for (const path of ['backup.tar', shorter, changed]) await old.remove(path)
})

test('a copy that reads back differently is noticed, and the file stays and is closed', async () => {
  const { account, paths } = await withFiles(['precious'])
  const [path = ''] = paths
  const lying = { ...current, write: (key: string) => current.write(key, Buffer.from('precioux')) }
  const read: (Readable | null)[] = []
  const watched = {
    ...old,
    read: async (key: string) => {
      const bytes = await old.read(key)
      read.push(bytes)
      return bytes
    },
  }
  await expect(relocate(app.db, watched, lying)).rejects.toThrow('differs after it was written')
  // Also what the other storage has not read: a file that stays open is a fault.
  expect(read.map((bytes) => bytes?.destroyed)).toEqual([true, true])
  expect([await old.size(path), await hostOf(path)]).toEqual([8, 'local'])
  await relocate(app.db, old, current)
  expect((await app.as(account.member).get(`/api/file/${path}`)).body).toBe('precious')
})

test('files go back to a folder in the same way', async () => {
  const { account, paths } = await withFiles(['to and fro'])
  const [path = ''] = paths
  await relocate(app.db, old, current)
  await relocate(app.db, current, old)
  expect([await current.size(path), await old.size(path), await hostOf(path)]).toEqual([null, 10, 'local'])
  expect((await app.as(account.member).get(`/api/file/${path}`)).body).toBe('to and fro')
})

test('cells, comments, mails and tasks name the storage where their files are', async () => {
  const account = await before.account()
  const as = before.as(account.member)
  const fields = ['File', 'Entry'].map((name) => ({ name, type: 'file' }))
  const { id, path, records } = await makeTable(before, account, { fields, records: [{}, {}] })
  const record = `${path}/record/${records[0]}`
  const content = { name: 'a.txt', data: 'aGVsbG8=' }
  const post = async (to: string, body: object) => {
    const { status, body: answer } = await as.post(to, body)
    expect([to, status]).toEqual([to, 200])
    return answer
  }
  for (const field_id of ['file', 'file', 'entry']) await post(`${record}/files/create`, { field_id, ...content })
  const comment = await post(`${record}/comments/create`, { content: 'x', attachments: [await post(`${record}/comments/upload`, content)] })
  const task = `/api/task/${(await post('/api/tasks/create', { title: 'Call' })).id}`
  await post(`${task}/update`, { attachments: [await post(`${task}/upload`, content)] })
  await post(`${task}/comments/create`, { content: 'x', attachments: [await post(`${task}/comments/upload`, content)] })
  // A file that has a name like the part of an entry, and one whose row was lost.
  await post(`${record}/files/create`, { field_id: 'entry', ...content, name: '"host": "local"' })
  const lost = (await post(`${path}/record/${records[1]}/files/create`, { field_id: 'file', ...content })).at(-1)
  await app.db.write(sql`delete from stored_files where path = ${lost.path}`)

  const seen = async () => {
    const { data, version } = (await as.get(`${record}/get`)).body
    const rows = await app.db.read<{ attachments: unknown }>(sql`select attachments from record_comments where id = ${comment.id}`)
    const { attachments } = (await as.get(`${task}/get`)).body
    const comments = (await as.get(`${task}/comments/get`)).body
    return { lists: [data.file, data.entry, ...rows.map((row) => row.attachments), attachments, comments[0].attachments], version }
  }
  const hosts = (lists: unknown) => [...new Set((lists as { host: string }[][]).flat().map(({ host }) => host))]
  const first = await seen()
  expect(hosts(first.lists)).toEqual(['local'])

  const { renamed } = await moveFiles(app.db, old, current)
  const second = await seen()
  expect(JSON.stringify(second)).toBe(JSON.stringify(first).replaceAll('"host":"local"', '"host":"s3://attachments"'))
  expect(renamed).toBeGreaterThanOrEqual(5)
  expect((await as.get(`${path}/record/${records[1]}/get`)).body.data.file[0].host).toBe('local')
  // Again, when nothing is left to do.
  expect(await moveFiles(app.db, old, current)).toMatchObject({ files: 0, renamed: 0 })
  expect((await as.post(`/api/table/${id}/records/query`, {})).body).toHaveLength(2)
  await old.remove(lost.path)
})

test('npm run admin -- files move moves to STORAGE only, and says what it has done', async () => {
  const { paths } = await withFiles(['by command'])
  const settings = { DATABASE_URL: app.settings.databaseUrl ?? '', SECRET_KEY: 'a key for tests, long enough to be one' }
  const keys = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }
  const admin = async (environment: Record<string, string>, to: string) => {
    const program = programs({ ...settings, ...keys, ...environment })
    const ended = await program.run('admin', ['files', 'move', to])
    await program.cleanUp()
    return ended
  }
  const refused = [
    await admin({ STORAGE: folder }, bucket.setting),
    await admin({ STORAGE: bucket.setting, STORAGE_PREVIOUS: folder }, folder),
  ]
  for (const { code, stderr } of refused)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^files move: the service must know both/)])
  const { code, stdout } = await admin({ STORAGE: bucket.setting, STORAGE_PREVIOUS: folder }, bucket.setting)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ files: expect.any(Number), damaged: [], renamed: expect.any(Number) })
  expect([await hostOf(paths[0] as string), await old.size(paths[0] as string)]).toEqual(['s3://attachments', null])
})
