import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { startSession } from '../src/auth/sessions.ts'
import { MAX_UPLOAD_BYTES } from '../src/files/schema.ts'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { purge } from '../src/tables/purge.ts'
import { type Caller, type Person, type TestApp, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { taskSupport } from './support/tasks.ts'

const folder = await mkdtemp(join(tmpdir(), 'gridpost-attachments-'))
const bucket = new S3rver({
  port: 0,
  address: '127.0.0.1',
  silent: true,
  directory: join(folder, 's3'),
  configureBuckets: [{ name: 'attachments', configs: [] }],
})
const { port } = (await bucket.run()) as AddressInfo
vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
afterAll(async () => {
  await bucket.close()
  await rm(folder, { recursive: true, force: true })
})

const apps = {
  folder: await testApp(),
  bucket: await testApp({
    STORAGE: `s3://attachments?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}&region=eu-central-1&forcePathStyle=true`,
  }),
}
const app = apps.folder
const { onRecord } = taskSupport(app)

interface Entry {
  path: string
  name: string
  size: number
  type: string
  host: string
  staged_token?: string
}

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const textFile = (text: string) => ({ name: `${text}.txt`, type: 'text/plain', data: base64(text) })
const FAR = { staged_token: 'x'.repeat(43) }

async function upload(caller: Caller, path: string, text = 'hello', on: TestApp = app): Promise<Entry> {
  const { status, body } = await on.as(caller).post(path, textFile(text))
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}

/** Creates a task of the member's for the viewer, with two files of one byte each. */
async function withFiles() {
  const account = await onRecord()
  const { member, viewer, path } = account
  const staged = [await upload(member, `${path}/upload`, 'a'), await upload(member, `${path}/upload`, 'b')]
  const { body: task } = await account.create(member, { title: 'Call', assignee_user_id: viewer.id, attachments: staged })
  const [a, b] = task.attachments as [Entry, Entry]
  return {
    ...account,
    task,
    a,
    b,
    post: (who: Caller, verb: string, body?: object) => app.as(who).post(`/api/task/${task.id}/${verb}`, body),
  }
}

const rowOf = async (taskId: number) => (await app.db.read(sql`select *, xmin::text from tasks where id = ${taskId}`))[0]
const isDropped = async (path: string) =>
  (await app.db.read<{ dropped: boolean }>(sql`select dropped_at is not null as dropped from stored_files where path = ${path}`))[0]
    ?.dropped

const { isStored, sweepAfter } = fileSupport(app)

describe.each(['folder', 'bucket'] as const)('with a %s', (kind) => {
  const here = apps[kind]
  const { onRecord: start } = taskSupport(here)

  test('a staged file gets its final path with the task, and its bytes follow', async () => {
    const { member, viewer, path, create } = await start()
    const staged = await upload(member, `${path}/upload`, 'prices', here)
    expect(staged).toEqual({
      name: 'prices.txt',
      path: expect.stringMatching(/^staged-[\w-]{16}-prices\.txt$/),
      size: 6,
      type: 'text/plain',
      host: kind === 'folder' ? 'local' : 's3://attachments',
      staged_token: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect((await here.as(member).get(`/api/file/${staged.path}`)).body).toBe('prices')
    expect((await here.as(viewer).get(`/api/file/${staged.path}`)).status).toBe(403)

    const { status, body: task } = await create(member, { title: 'Call', attachments: [staged] })
    const { staged_token: _, ...entry } = staged
    const final = staged.path.replace('staged-', `task-${task.id}-`)
    expect([status, task.attachments]).toEqual([200, [{ ...entry, path: final }]])
    expect((await here.as(viewer).get(`/api/task/${task.id}/get`)).body.attachments).toEqual(task.attachments)
    expect((await here.as(viewer).get(`/api/file/${final}`)).body).toBe('prices')
    expect((await here.as(member).get(`/api/file/${staged.path}`)).status).toBe(404)

    // The job may run twice.
    for (const _round of [1, 2]) await settleAll(systemContext(here.deps), { paths: [final] })
    expect([await isStored(staged.path, here), await isStored(final, here)]).toEqual([false, true])
    expect((await here.as(viewer).get(`/api/file/${final}`)).body).toBe('prices')
  })

  test('files may have 50 MB', async () => {
    const { member, path, create } = await start()
    const bytes = randomBytes(MAX_UPLOAD_BYTES)
    const { body: staged } = await here.as(member).post(`${path}/upload`, { name: 'big.bin', data: base64(bytes) })
    expect(staged.size).toBe(MAX_UPLOAD_BYTES)
    const { body: task } = await create(member, { title: 'Big', attachments: [staged] })
    await settleAll(systemContext(here.deps), { paths: [task.attachments[0].path] })
    const tail = await fetch(`${here.url}/api/file/${task.attachments[0].path}`, {
      headers: { cookie: `gridpost_session=${member.session}`, range: 'bytes=-10' },
    })
    expect(Buffer.from(await tail.arrayBuffer())).toEqual(bytes.subarray(-10))
  })
})

describe('a staged file', () => {
  test('may also be attached to a standalone task, and is read by its users', async () => {
    const { account, member, viewer, admin, keys } = await onRecord()
    const staged = await upload(member, '/api/tasks/upload')
    const { body: task } = await app
      .as(member)
      .post('/api/tasks/create', { title: 'Call', assignee_user_id: viewer.id, attachments: [staged] })
    const url = `/api/file/${task.attachments[0].path}`
    expect(task.attachments[0].path).toMatch(new RegExp(`^task-${task.id}-`))
    const carl = await app.person(account.id, 'Carl Colleague')
    for (const [caller, status] of [
      [member, 200],
      [viewer, 200],
      [keys.personalViewer, 200],
      [admin, 403],
      [carl, 403],
      [keys.account, 403],
      [account.outsider, 404],
      [null, 401],
    ] as const)
      expect((await app.as(caller).get(url)).status).toBe(status)
    // A former assignee still follows the task.
    await app.as(member).post(`/api/task/${task.id}/update`, { assignee_user_id: member.id })
    expect((await app.as(viewer).get(url)).status).toBe(200)
    await app.as(viewer).post(`/api/task/${task.id}/unsubscribe`)
    expect((await app.as(viewer).get(url)).status).toBe(403)
  })

  test('works once, in the session that staged it, for a day', async () => {
    const { id, member, viewer, path, create } = await onRecord()
    const second: Person = { ...member, session: await startSession(app.deps, member.id, new Date()) }
    const staged = await upload(member, `${path}/upload`)
    const taken = async (caller: Caller) => {
      const { status, body } = await create(caller, { title: 'Call', attachments: [staged] })
      return [status, body.message]
    }
    const refused = [400, 'attachments[0].staged_token: is not a file that this session has staged, or was used before']
    expect(await taken(viewer)).toEqual(refused)
    expect(await taken(second)).toEqual(refused)
    app.setClock(new Date(Date.now() + 24 * 3_600_000 + 1_000))
    expect(await taken(member)).toEqual(refused)
    app.setClock(null)
    const both = await Promise.all([taken(member), taken(member)])
    expect(both.map(([status]) => status).sort()).toEqual([200, 400])
    expect(await taken(member)).toEqual(refused)
    expect(await app.db.read(sql`select 1 from tasks where account_id = ${id}`)).toHaveLength(1)
  })

  test('is not used up by a task that cannot be created, and is attached once for an Idempotency-Key', async () => {
    const { member, outsider, path, create } = await onRecord()
    const staged = await upload(member, `${path}/upload`)
    expect((await create(member, { title: 'Call', attachments: [staged], assignee_user_id: outsider.id })).status).toBe(400)
    const once = () => create(member, { title: 'Call', attachments: [staged] }, { 'idempotency-key': 'once' })
    const [first, again] = [await once(), await once()]
    expect([first.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([200, 'true', first.body])
  })

  test('is deleted after a day if no task uses it', async () => {
    const { member, path } = await onRecord()
    const staged = await upload(member, `${path}/upload`)
    await sweepAfter(23)
    expect(await isStored(staged.path)).toBe(true)
    await sweepAfter(25)
    expect([await isStored(staged.path), await isDropped(staged.path)]).toEqual([false, undefined])
  })

  test('that is deleted before its bytes were moved leaves nothing behind', async () => {
    const { a, b, task, post, member } = await withFiles()
    await post(member, 'update', { attachments: [b] })
    await sweepAfter(31 * 24)
    await settleAll(systemContext(app.deps), { paths: [a.path, b.path] })
    const staged = a.path.replace(`task-${task.id}-`, 'staged-')
    expect([await isStored(a.path), await isStored(staged), await isStored(b.path)]).toEqual([false, false, true])
  })
})

describe('the files of a task', () => {
  test('are the list that an update sends: an omitted file is dropped, and deleted 30 days later', async () => {
    const { a, b, task, post, member, viewer } = await withFiles()
    const c = await upload(viewer, `/api/task/${task.id}/upload`, 'c')
    expect(c).toEqual({
      name: 'c.txt',
      path: expect.stringMatching(new RegExp(`^task-${task.id}-`)),
      size: 1,
      type: 'text/plain',
      host: 'local',
    })
    const updated = await post(viewer, 'update', { attachments: [c, { path: b.path }] })
    expect([updated.status, updated.body.attachments]).toEqual([200, [c, b]])
    expect([await isDropped(a.path), await isDropped(b.path), await isDropped(c.path)]).toEqual([true, false, false])
    const tagged = await post(member, 'update', { title: 'Call', attachments: [c, b] })
    expect(tagged.headers.get('etag')).toBe('"2"')
    // Until the clean-up it can be attached again.
    expect((await post(member, 'update', { attachments: [a, b, c] })).body.attachments).toEqual([a, b, c])
    expect(await isDropped(a.path)).toBe(false)
    expect((await post(member, 'update', { attachments: null })).body.attachments).toEqual([])
    await settleAll(systemContext(app.deps), { paths: [a.path, b.path] })
    await sweepAfter(31 * 24)
    for (const { path } of [a, b, c]) expect(await isStored(path)).toBe(false)
    expect((await post(member, 'update', { attachments: [a] })).status).toBe(400)
  })

  test('do not change with an update that does not name them', async () => {
    const { a, b, post, member } = await withFiles()
    expect((await post(member, 'update', { title: 'Mail' })).body.attachments).toEqual([a, b])
  })

  test.each<[string, (files: { a: Entry; b: Entry; other: Entry; staged: Entry }) => unknown, string]>([
    ['a file of another task', ({ other }) => [other], 'attachments[0].path: is not a stored file of this task'],
    ['a file that is not stored', ({ a }) => [{ ...a, path: `${a.path}x` }], 'attachments[0].path: is not a stored file of this task'],
    ['a path outside of the storage', () => [{ path: '../../etc/passwd' }], 'attachments[0].path: is not a stored file of this task'],
    ['another name', ({ a, b }) => [b, { ...a, name: 'b.txt' }], 'attachments[1].name: differs from the uploaded file'],
    ['another size', ({ a }) => [{ ...a, size: 2 }], 'attachments[0].size: differs from the uploaded file'],
    ['another type', ({ a }) => [{ ...a, type: 'text/html' }], 'attachments[0].type: differs from the uploaded file'],
    ['another host', ({ a }) => [{ ...a, host: 'evil' }], 'attachments[0].host: differs from the uploaded file'],
    ['a file twice', ({ a, b }) => [a, b, a], 'attachments[2].path: is listed twice'],
    ['a staged file', ({ staged }) => [staged], 'attachments[0].staged_token: is not a known key'],
    ['no path', () => [{}], 'attachments[0].path: is required'],
    ['no list', () => ({ path: 'x' }), 'attachments: must be a list'],
    ['a text', () => ['x'], 'attachments[0]: must be an object'],
    ['too many', ({ a }) => Array(101).fill(a), 'attachments: must have at most 100 files'],
  ])('cannot become %s', async (_, given, message) => {
    const account = await withFiles()
    const { task, a, b, post, member, create, path } = account
    const { body: second } = await create(member, { title: 'Other' })
    const other = await upload(member, `/api/task/${second.id}/upload`)
    const staged = await upload(member, `${path}/upload`)
    const before = await rowOf(task.id)
    const attachments = given({ a, b, other, staged })
    const refused = await post(member, 'update', { title: 'Changed', attachments })
    expect([refused.status, refused.body.message]).toEqual([400, message])
    expect(await rowOf(task.id)).toEqual(before)
    expect(await isDropped(a.path)).toBe(false)
  })

  test.each<[string, (staged: Entry) => unknown, string]>([
    ['no token', ({ staged_token: _, ...file }) => [file], 'attachments[0].staged_token: is required'],
    [
      'an unknown token',
      (file) => [{ ...file, ...FAR }],
      'attachments[0].staged_token: is not a file that this session has staged, or was used before',
    ],
    ['another name', (file) => [{ ...file, name: 'b.txt' }], 'attachments[0].name: differs from the uploaded file'],
    ['another path', (file) => [{ ...file, path: 'task-1-x' }], 'attachments[0].path: differs from the uploaded file'],
    ['another size', (file) => [{ ...file, size: 6 }], 'attachments[0].size: differs from the uploaded file'],
    ['a token twice', (file) => [file, file], 'attachments[1].staged_token: is listed twice'],
  ])('of a new task cannot be staged with %s', async (_, given, message) => {
    const { id, member, path, create } = await onRecord()
    const staged = await upload(member, `${path}/upload`)
    const refused = await create(member, { title: 'Call', attachments: given(staged) })
    expect([refused.status, refused.body.message]).toEqual([400, message])
    expect(await app.db.read(sql`select 1 from tasks where account_id = ${id}`)).toEqual([])
    expect((await create(member, { title: 'Call', attachments: [staged] })).status).toBe(200)
  })

  test('are deleted with the task, with its record, and with their comment', async () => {
    const { a, b, task, post, member, table, record } = await withFiles()
    const c = await upload(member, `/api/task/${task.id}/comments/upload`, 'c')
    const { body: comment } = await post(member, 'comments/create', { content: 'See', attachments: [c] })
    expect(comment.attachments).toEqual([c])
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body.recent_comments[0].attachments).toEqual([c])
    expect(await isDropped(c.path)).toBe(false)
    await post(member, `comment/${comment.id}/delete`)
    expect(await isDropped(c.path)).toBe(true)
    await post(member, 'comments/create', { content: 'Again', attachments: [c] })
    await post(member, 'delete')
    for (const { path } of [a, b, c]) {
      expect(await isDropped(path)).toBe(true)
      expect((await app.as(member).get(`/api/file/${path}`)).status).toBe(404)
    }
    const other = await withFiles()
    await app.as(other.owner).post(`/api/table/${other.table}/record/${other.record}/delete`)
    expect([await isDropped(other.a.path), (await app.as(other.owner).get(`/api/file/${other.a.path}`)).status]).toEqual([false, 404])
    expect([table, record]).not.toContain(other.table)
  })

  test('may be all of a comment, but a comment of nothing is refused', async () => {
    const { task, post, member, viewer } = await withFiles()
    for (const content of [undefined, '', '  \n']) {
      const c = await upload(member, `/api/task/${task.id}/comments/upload`, 'c')
      const { status, body } = await post(member, 'comments/create', { content, attachments: [c] })
      expect([status, body.content, body.attachments]).toEqual([200, '', [c]])
      expect((await app.as(viewer).get(`/api/task/${task.id}/get`)).body.recent_comments[0]).toMatchObject({
        content: '',
        attachments: [c],
      })
      expect(await isDropped(c.path)).toBe(false)
    }
    for (const body of [{}, { content: ' ' }, { attachments: [] }, { content: '', attachments: null }])
      expect((await post(member, 'comments/create', body)).status, JSON.stringify(body)).toBe(400)
  })

  test('and of its comments survive the clean-up while they are referenced', async () => {
    const { a, b, task, post, member, viewer } = await withFiles()
    const c = await upload(viewer, `/api/task/${task.id}/comments/upload`, 'c')
    await post(viewer, 'comments/create', { content: 'See', attachments: [c] })
    await settleAll(systemContext(app.deps), { paths: [a.path, b.path] })
    await sweepAfter(31 * 24)
    for (const { path } of [a, b, c]) expect((await app.as(member).get(`/api/file/${path}`)).status).toBe(200)
  })
})

test('the files of tasks are deleted with their table, once that is deleted for good', async () => {
  const { a, b, table, admin, member, post, task } = await withFiles()
  const c = await upload(member, `/api/task/${task.id}/comments/upload`, 'c')
  await post(member, 'comments/create', { content: 'See', attachments: [c] })
  await app.as(admin).post(`/api/table/${table}/delete`)
  expect((await app.as(member).get(`/api/file/${a.path}`)).status).toBe(404)
  expect(await isDropped(a.path)).toBe(false)
  await purge({ ...systemContext(app.deps), now: new Date(Date.now() + 8 * 86_400_000) }, { table_id: table })
  for (const { path } of [a, b, c]) expect(await isDropped(path)).toBe(true)
})

describe('the four uploads', () => {
  test('are allowed for sessions of users with access', async () => {
    const { task, path, member, viewer, admin, outsider, keys } = await withFiles()
    const places = ['/api/tasks/upload', `${path}/upload`, `/api/task/${task.id}/upload`, `/api/task/${task.id}/comments/upload`]
    for (const place of places) {
      for (const key of [keys.account, keys.personal, keys.accountReadOnly, keys.accountOtherSpace]) {
        const refused = await app.as(key).post(place, {})
        expect([refused.status, refused.body.message]).toEqual([403, 'API endpoint not available to API keys'])
      }
      expect((await app.as(null).post(place, {})).status).toBe(401)
      for (const person of [member, viewer]) expect((await app.as(person).post(place, textFile('x'))).status).toBe(200)
    }
    const statuses = async (person: Person) =>
      Promise.all(places.map(async (place) => (await app.as(person).post(place, textFile('x'))).status))
    expect(await statuses(admin)).toEqual([200, 200, 403, 200])
    expect(await statuses(outsider)).toEqual([200, 404, 403, 403])
  })

  test.each<[object, string]>([
    [{ name: 'a' }, 'data: is required'],
    [{ data: '' }, 'name: is required'],
    [{ name: ' ', data: '' }, 'name: must not be empty'],
    [{ name: 'a', data: 'not base64!' }, 'data: must be base64'],
    [{ name: 'a', data: 5 }, 'data: must be text'],
    [{ name: 'a', type: 'text', data: '' }, 'type: must be a media type, such as image/png'],
    [{ name: 'a\0', data: '' }, 'name: must not contain NUL'],
    [{ name: 'a', data: '', field_id: 'x' }, 'field_id: is not a known key'],
  ])('refuse %j', async (body, message) => {
    const { task, path, member } = await shared
    for (const place of ['/api/tasks/upload', `${path}/upload`, `/api/task/${task.id}/upload`, `/api/task/${task.id}/comments/upload`]) {
      const refused = await app.as(member).post(place, body)
      expect([refused.status, refused.body.message]).toEqual([400, message])
    }
  })

  test('accept at most 50 MB', async () => {
    const { task, path, member } = await shared
    const more = base64(Buffer.alloc(MAX_UPLOAD_BYTES + 1))
    for (const place of ['/api/tasks/upload', `${path}/upload`, `/api/task/${task.id}/upload`, `/api/task/${task.id}/comments/upload`]) {
      const refused = await app.as(member).post(place, { name: 'big.bin', data: more })
      expect([refused.status, refused.body.issues[0].path], place).toEqual([413, ['data']])
    }
    const huge = await app.as(member).post(`${path}/upload`, { name: 'big.bin', data: 'A'.repeat(MAX_UPLOAD_BYTES * 1.5) })
    expect([huge.status, huge.body.message]).toEqual([413, 'data: must have at most 50 MB'])
  })

  test('accept more large files at once than are read at once', async () => {
    const { member } = await shared
    const body = { name: 'large.bin', data: base64(Buffer.alloc(4 * 1_048_576)) }
    const answers = await Promise.all(Array.from({ length: 10 }, () => app.as(member).post('/api/tasks/upload', body)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })

  test('accept an empty file', async () => {
    const { member } = await shared
    const { body } = await app.as(member).post('/api/tasks/upload', { name: 'empty', data: '' })
    expect((await app.as(member).get(`/api/file/${body.path}`)).body).toBe('')
  })
})

test('attachments of a comment are fixed when it is posted', async () => {
  const { task, post, member, viewer } = await withFiles()
  const c = await upload(member, `/api/task/${task.id}/comments/upload`, 'c')
  const { body: comment } = await post(member, 'comments/create', { content: 'See', attachments: [c] })
  expect(comment.attachments).toEqual([c])
  const before = await app.db.read(sql`select * from task_comments where id = ${comment.id}`)
  for (const attachments of [[c], [], 'x']) {
    const refused = await post(member, `comment/${comment.id}/update`, { content: 'New', attachments })
    expect([refused.status, refused.body.message]).toEqual([400, 'attachments: are fixed when the comment is posted'])
  }
  expect((await post(viewer, `comment/${comment.id}/update`, { content: 'New', attachments: [] })).status).toBe(403)
  expect(await app.db.read(sql`select * from task_comments where id = ${comment.id}`)).toEqual(before)
})

test('attachments come from no key, whatever their value', async () => {
  const { task, post, create, path, keys, keyOf, id, member } = await withFiles()
  const createMany = (key: string, body: object) => app.as(key).post(`${path}/createMany`, body)
  const message = 'Attachments cannot be set via the public API'
  const { body: comment } = await post(keys.account, 'comments/create', { content: 'x' })
  const own = await keyOf({ accountId: id, userId: member.id }, { kind: 'personal' })
  for (const key of [keys.account, keys.personal, own]) {
    const { rpc } = app.as(key)
    for (const attachments of [null, [], 'x', {}, 0, false, [null], [{ path: 'x' }]]) {
      const answers = [
        await create(key, { title: 'Call', attachments }),
        await create(key, { attachments }),
        await post(key, 'update', { attachments }),
        await post(key, 'update', { title: 5, attachments }),
        await post(key, 'comments/create', { content: 'x', attachments }),
        await post(key, 'comments/create', { attachments }),
        await createMany(key, { tasks: [{ title: 'Call' }], attachments }),
        ...(key === keys.account ? [await post(key, `comment/${comment.id}/update`, { content: 'y', attachments })] : []),
        ...(key === keys.account ? [] : [await app.as(key).post('/api/tasks/create', { title: 'Call', attachments })]),
        ...(key === keys.account ? [] : [await app.as(key).post('/api/tasks/createMany', { tasks: [], attachments })]),
      ]
      expect(answers.map(({ status, body }) => [status, body.message])).toEqual(answers.map(() => [403, message]))
      const many = await createMany(key, { tasks: [{ title: 'Call', attachments }, { attachments }, { title: 'Fine' }] })
      expect(many.body).toMatchObject([
        { ok: false, code: 'FORBIDDEN', message: `tasks[0]: ${message}` },
        { ok: false, code: 'FORBIDDEN', message: `tasks[1]: ${message}` },
        { ok: true },
      ])
      const input = { task_id: task.id, attachments } as { task_id: number; attachments: null }
      const byRpc = [
        () => rpc.tasks.update.mutate(input),
        () => rpc.tasks.comments.create.mutate({ ...input, content: 'x' }),
        () => rpc.tasks.createOnRecord.mutate({ table_id: task.table_id, record_id: task.record_id, title: 'Call', ...input }),
      ]
      for (const call of byRpc) await expect(call()).rejects.toMatchObject({ message, data: { httpStatus: 403, code: 'FORBIDDEN' } })
    }
  }
  expect((await rowOf(task.id)) as object).toMatchObject({ version: 1 })
  expect(await app.db.read(sql`select id, content from task_comments where task_id = ${task.id}`)).toEqual([
    { id: comment.id, content: 'x' },
  ])
})

const shared = withFiles()
