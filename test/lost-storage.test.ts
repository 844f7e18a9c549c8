/** The file storage fails and comes back, while the service runs. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { openStorage } from '../src/platform/storage/open-storage.ts'
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

test('a folder that has vanished is not made anew on another disk, and its files do not count as missing', async () => {
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const as = app.as(account.keys.account)
  const record = `${path}/record/${records[0]}`
  const file = { name: 'a.txt', data: Buffer.from('hello').toString('base64') }
  const upload = (form: 'json' | 'put') =>
    form === 'json'
      ? as.post(`${record}/files/create`, { field_id: 'file', ...file })
      : as.send(`${record}/comments/upload?name=a.txt`, { method: 'PUT', body: 'hello', headers: { 'content-type': 'text/plain' } })
  const [kept] = (await upload('json')).body

  renameSync(folder, `${folder}.away`)
  onTestFinished(() => rmSync(`${folder}.away`, { recursive: true, force: true }))
  const ready = await as.get('/readyz')
  const answers = [
    await as.get(`/api/file/${kept.path}`),
    await as.post(`${record}/files/get`, { field_id: 'file', path: kept.path }),
    await upload('json'),
    await upload('put'),
  ]
  const isMadeAnew = existsSync(folder)
  rmSync(folder, { recursive: true, force: true })
  renameSync(`${folder}.away`, folder)
  expect(isMadeAnew).toBe(false)
  expect(ready.body.storage).toBe(false)
  for (const answer of answers) expect(answer).toMatchObject(away)

  expect((await as.get(`/api/file/${kept.path}`)).body).toBe('hello')
  expect((await upload('put')).status).toBe(200)
  expect((await as.get(`${record}/get`)).body.data.file).toEqual([kept])
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
  const { jobs } = app.deps
  const send = jobs.send
  jobs.send = async (...args: Parameters<typeof send>) => {
    await app.db.write(sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()`)
    return send(...args)
  }
  expect((await upload()).status).toBe(503)
  jobs.send = send
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

test('bytes without a row are deleted after a day, but neither those of others nor too many at once', async () => {
  const { storage } = app.deps
  const stored = () => new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((place) => basename(place)))
  const store = async (...paths: string[]) => {
    for (const path of paths) await storage.write(path, Buffer.from('bytes'))
  }
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const upload = { field_id: 'file', name: 'kept.txt', data: Buffer.from('hello').toString('base64') }
  const { body } = await app.as(account.keys.account).post(`${path}/record/${records[0]}/files/create`, upload)
  const kept = body[0].path as string
  const orphans = ['1-2-AAAAAAAAAAAAAAAA-lost.txt', 'task-7-BBBBBBBBBBBBBBBB-lost.txt']
  const foreign = ['backup.tar.gz', '1-2-notes.txt']
  await store(...orphans, ...foreign)

  await sweepLeftoversAfter(20)
  for (const name of [kept, ...orphans, ...foreign]) expect([name, stored().has(name)]).toEqual([name, true])
  await sweepLeftoversAfter(25)
  for (const name of orphans) expect([name, stored().has(name)]).toEqual([name, false])
  for (const name of [kept, ...foreign]) expect([name, stored().has(name)]).toEqual([name, true])

  const many = Array.from({ length: 21 }, (_, index) => `1-2-${'C'.repeat(16)}-${index}.txt`)
  await store(...many)
  await sweepLeftoversAfter(25)
  for (const name of many) expect([name, stored().has(name)]).toEqual([name, true])
  await storage.remove(many[0] as string)
  await sweepLeftoversAfter(25)
  for (const name of many) expect([name, stored().has(name)]).toEqual([name, false])
})

/** Lets every write of a file fail as on a full disk, by writing to /dev/full. @returns ends it */
async function fillDisk(): Promise<() => Promise<void>> {
  const full = await open('/dev/full', 'w')
  const handles = Object.getPrototypeOf(full) as FileHandle
  const { write, writev, writeFile } = handles
  vi.spyOn(handles, 'write').mockImplementation(((...args: Parameters<typeof write>) => write.apply(full, args)) as typeof write)
  vi.spyOn(handles, 'writev').mockImplementation((...args) => writev.apply(full, args))
  vi.spyOn(handles, 'writeFile').mockImplementation((...args) => writeFile.apply(full, args))
  return async () => {
    vi.restoreAllMocks()
    await full.close()
  }
}

test('uploads and exports get 507 while the disk is full, and work again at once', async () => {
  const account = await app.account()
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'File', type: 'file' },
  ]
  const { id, path, records } = await makeTable(app, account, { fields, records: [{ name: 'first' }] })
  const as = app.as(account.keys.account)
  const file = { field_id: 'file', name: 'a.txt', data: Buffer.from('hello').toString('base64') }
  const upload = () => as.post(`${path}/record/${records[0]}/files/create`, file)
  const overRpc = () => as.post('/trpc/files.create', { table_id: id, record_id: records[0], ...file })
  const asked = [upload, () => as.get(`${path}/export.csv`)]
  // Connections are not counted, of which the service may open some at any time. A file that has just been closed has no link.
  const placeOf = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  }
  const openFiles = () => readdirSync('/proc/self/fd').filter((fd) => placeOf(fd).startsWith(tmpdir())).length

  const makeRoom = await fillDisk()
  onTestFinished(makeRoom)
  const refused = await Promise.all(asked.map((ask) => ask()))
  const refusedRpc = await overRpc()
  const before = openFiles()
  await asked[1]?.()
  await expect.poll(openFiles).toBeLessThanOrEqual(before)
  await makeRoom()
  for (const { status, body, headers } of refused) {
    expect([status, body.message, body.code]).toEqual([507, 'The disk is full', 'SERVICE_UNAVAILABLE'])
    expect(headers.get('retry-after')).toBe('60')
  }
  expect([refusedRpc.status, refusedRpc.body.error.data.httpStatus, refusedRpc.headers.get('retry-after')]).toEqual([507, 507, '60'])
  for (const ask of [...asked, overRpc]) expect((await ask()).status).toBe(200)
})

/** Notes which files and folders are synced to the disk. */
async function watchSyncs(): Promise<string[]> {
  const synced: string[] = []
  const some = await open('/dev/null')
  const handles = Object.getPrototypeOf(some) as FileHandle
  await some.close()
  const { sync } = handles
  vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    const place = readlinkSync(`/proc/self/fd/${this.fd}`)
    await sync.call(this)
    synced.push(place)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  return synced
}

test('when an upload or an import is answered, the folder with the name of its bytes has been synced', async () => {
  const account = await app.account()
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'File', type: 'file' },
  ]
  const { path, records } = await makeTable(app, account, { fields, records: [{ name: 'first' }] })
  const send = (url: string, method: 'PUT' | 'POST', type: string, headers = {}) =>
    app.as(account.owner).send(url, { method, body: 'Name\nx\n', headers: { 'content-type': type, ...headers } })
  const put = (url: string, headers = {}) => send(`${url}?name=a.txt`, 'PUT', 'text/plain', headers)
  const comment = `${path}/record/${records[0]}/comments/upload`
  const ofFile = ({ path: file }: { path: string }) => sql`select coalesce(storage_key, path) as key from stored_files where path = ${file}`
  const ofImport = () => sql`select storage_key as key from record_imports order by id desc limit 1`
  const synced = await watchSyncs()
  const answered = async (request: Promise<{ status: number; body: { path: string } }>, keyOf: typeof ofFile) => {
    const { status, body } = await request
    const places = synced.splice(0)
    expect([status, body]).toEqual([200, body])
    const [{ key } = { key: '' }] = await app.deps.db.read<{ key: string }>(keyOf(body))
    expect(places).toContain(join(folder, createHash('sha256').update(key).digest('hex').slice(0, 2)))
  }
  await answered(put(comment), ofFile)
  await answered(put(comment, { 'idempotency-key': 'synced' }), ofFile)
  await answered(put('/api/tasks/upload'), ofFile)
  await answered(send(`${path}/import?async=true`, 'POST', 'text/csv'), ofImport)
  await answered(send(`/api/space/${account.space}/tables/import`, 'POST', 'text/csv'), ofImport)
})

const disk = join(dir, 'small-disk')
mkdirSync(disk)
/** Only root can mount a disk, and not in every container. */
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'gridpost-test', disk]).status === 0
const unmount = () => spawnSync('umount', ['--lazy', disk])
process.on('exit', unmount)
afterAll(unmount)

test.skipIf(!isMounted)(
  'an upload that fills a real disk (needs the right to mount one) is 507, leaves nothing, and the next one fits',
  async () => {
    const onDisk = await testApp({ STORAGE: disk })
    const account = await onDisk.account()
    const { path, records } = await makeTable(onDisk, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
    const upload = (bytes: number) => {
      const data = Buffer.alloc(bytes, 'x').toString('base64')
      return onDisk.as(account.member).post(`${path}/record/${records[0]}/files/create`, { field_id: 'file', name: 'a.bin', data })
    }
    const stored = () =>
      readdirSync(disk, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.bin') || name.endsWith('~'))
    for (let again = 0; again < 3; again++) {
      const full = await upload(2 * 1_048_576)
      expect([full.status, full.body.message, full.headers.get('retry-after')]).toEqual([507, 'The disk is full', '60'])
      expect(stored()).toEqual([])
    }
    await expect.poll(async () => (await onDisk.as(null).get('/readyz')).body.storage).toBe(true)
    expect((await upload(100_000)).status).toBe(200)
    expect(stored()).toHaveLength(1)
  },
)

test('a bucket that cannot be reached is logged', async () => {
  const logged: string[] = []
  const log = { error: (_: object, text: string) => void logged.push(text) } as never
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'nobody')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'nothing')
  const storage = openStorage('s3://attachments?endpoint=http%3A%2F%2F127.0.0.1%3A1&region=eu-central-1', { log })
  await expect(storage.write('1-2-file', Buffer.from('x'))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(logged).toEqual(['file storage'])
})
