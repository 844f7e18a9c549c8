/** Files that nothing uses any more: gone at once, listed for admins, restored or deleted for good. */
import { describe, expect, test } from 'vitest'
import { dropOfField } from '../src/files/dropped/deleted-field.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ KEEP_DROPPED_FILES_DAYS: '10' })
const { isStored, sweepAfter } = fileSupport(app)
const DAYS = 24

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Files', type: 'file' },
  { name: 'More', type: 'file' },
]

interface Entry {
  path: string
  name: string
}

/** A record with two file fields and a task, and shorter ways to its operations. */
async function setUp() {
  const account = await app.account()
  const table = await makeTable(app, account, { fields: FIELDS, records: [{ name: 'Acme' }, { name: 'Other' }] })
  const [record = 0, other = 0] = table.records
  const path = `${table.path}/record/${record}`
  const task = await posted(account.member, `/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call' })
  return {
    account,
    table,
    record,
    other,
    path,
    task: { id: task.id as number, path: `/api/task/${task.id}` },
    add: async (name: string, field = 'files', to = path): Promise<Entry> =>
      (await posted(account.member, `${to}/files/create`, { field_id: field, name, data: base64(name) })).at(-1),
    removeFile: (file: Entry, field = 'files', from = path) =>
      posted(account.member, `${from}/files/delete`, { field_id: field, path: file.path }),
    upload: (to: string, name: string): Promise<Entry> => posted(account.member, `${to}/upload`, { name, data: base64(name) }),
    statusOf: async (file: Entry, caller: Caller = account.member) => (await app.as(caller).get(`/api/file/${file.path}`)).status,
    /** The status for a caller who asks for dropped files. */
    droppedStatusOf: async (file: Entry, caller: Caller) => (await app.as(caller).get(`/api/file/${file.path}?dropped=true`)).status,
    cell: async (field = 'files', of = path): Promise<string[]> =>
      (await app.as(account.member).get(`${of}/get`)).body.data[field].map(({ name }: Entry) => name),
    listed: async (caller: Caller = account.admin) => app.as(caller).get(`/api/space/${account.space}/files/dropped`),
    restore: (file: { path: string }, caller: Caller = account.admin) => app.as(caller).post('/api/file/restore', { path: file.path }),
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

async function posted(caller: Caller, path: string, body: object = {}) {
  const answer = await app.as(caller).post(path, body)
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

const namesOf = (answer: { body: Entry[] }) => answer.body.map(({ name }) => name)

describe('a file that was removed from a field', () => {
  test('is gone for members at once, listed for admins, and appended to the field again', async () => {
    const { account, table, record, add, removeFile, statusOf, droppedStatusOf, cell, listed, restore } = await setUp()
    const [a, b] = [await add('a.txt'), await add('b.txt')]
    await removeFile(a)
    for (const caller of [account.member, account.viewer, account.keys.personal])
      expect([await statusOf(a, caller), await droppedStatusOf(a, caller)]).toEqual([404, 404])
    for (const caller of [account.admin, account.owner, account.keys.account])
      expect([await statusOf(a, caller), await droppedStatusOf(a, caller)]).toEqual([404, 200])
    expect([await droppedStatusOf(a, account.outsider), await droppedStatusOf(a, account.keys.accountOtherSpace)]).toEqual([404, 403])
    expect([await statusOf(b), await droppedStatusOf(b, account.member)]).toEqual([200, 200])
    const list = await listed()
    expect(list.headers.get('x-total-count')).toBe('1')
    const { dropped_at, dropped_until, ...row } = list.body[0]
    expect(row).toEqual({
      path: a.path,
      name: 'a.txt',
      size: 5,
      type: 'application/octet-stream',
      table_id: table.id,
      record_id: record,
      task_id: null,
      field_id: 'files',
    })
    expect(Date.parse(dropped_until) - Date.parse(dropped_at)).toBe(10 * 86_400_000)
    expect((await app.as(account.admin).rpc.files.dropped.query({ space_id: account.space })).rows).toEqual(list.body)

    expect(await restore(a)).toMatchObject({ status: 200, body: a })
    expect(await cell()).toEqual(['b.txt', 'a.txt'])
    expect(await statusOf(a)).toBe(200)
    expect((await listed()).body).toEqual([])
    expect(await restore(a)).toMatchObject({ status: 409, body: { message: 'The file is in use' } })
    const audited = await app.as(account.owner).get('/api/audit/list?action=file.restored')
    expect(audited.body[0]).toMatchObject({ object: { type: 'file', id: a.path }, detail: { field_id: 'files', record_id: record } })
  })

  test('is restored once by two admins at once, and either restored or deleted while the clean-up runs', async () => {
    const { account, add, removeFile, cell, restore, statusOf } = await setUp()
    const files = await Promise.all(['a', 'b', 'c'].map((name) => add(name)))
    for (const file of files) await removeFile(file)
    for (const file of files) {
      const answers = await Promise.all([restore(file), restore(file, account.owner), restore(file, account.keys.account)])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    }
    expect(await cell()).toEqual(['a', 'b', 'c'])

    const [first = files[0] as Entry] = files
    await removeFile(first)
    const [answer] = await Promise.all([restore(first), sweepAfter(11 * DAYS)])
    const isBack = answer.status === 200
    expect(isBack || answer.status === 404).toBe(true)
    expect([await statusOf(first), (await cell()).includes('a'), await isStored(first.path)]).toEqual([isBack ? 200 : 404, isBack, isBack])
  })

  test('is restored or removed again when both happen at once, and never lost', async () => {
    const { add, removeFile, cell, restore, statusOf, listed } = await setUp()
    const file = await add('a')
    await removeFile(file)
    for (let round = 0; round < 5; round++) {
      await Promise.all([restore(file), removeFile(file).catch(() => undefined)])
      const isUsed = (await cell()).length === 1
      expect(await statusOf(file)).toBe(isUsed ? 200 : 404)
      expect(namesOf(await listed())).toEqual(isUsed ? [] : ['a'])
      if (isUsed) await removeFile(file)
    }
  })

  test('is deleted for good when its time is over', async () => {
    const { add, removeFile, restore, listed } = await setUp()
    const file = await add('a')
    await removeFile(file)
    await sweepAfter(9 * DAYS)
    expect(await isStored(file.path)).toBe(true)
    await app.db.write(sql`update stored_files set dropped_at = dropped_at - interval '10 days' where path = ${file.path}`)
    expect((await listed()).body).toEqual([])
    expect((await restore(file)).status).toBe(404)
    await sweepAfter(1)
    expect(await isStored(file.path)).toBe(false)
  })

  test('stays as long as another cell, record or comment uses it, and then belongs to that record', async () => {
    const { account, table, other, path, add, removeFile, statusOf, cell, listed, restore } = await setUp()
    const file = await add('a')
    const elsewhere = `${table.path}/record/${other}`
    await posted(account.member, `${elsewhere}/update`, { data: { more: [file] } })
    await posted(account.member, `${path}/update`, { data: { more: [file] } })
    await posted(account.member, `${path}/update`, { data: { files: [] } })
    await posted(account.member, `${path}/update`, { data: { more: [] } })
    expect([await statusOf(file), (await listed()).body]).toEqual([200, []])
    await posted(account.member, `${path}/delete`)
    expect([await statusOf(file), (await listed()).body]).toEqual([200, []])
    await removeFile(file, 'more', elsewhere)
    expect([await statusOf(file), namesOf(await listed())]).toEqual([404, ['a']])
    await restore(file)
    expect(await cell('more', elsewhere)).toEqual(['a'])

    const comment = await posted(account.member, `${elsewhere}/comments/create`, { content: 'See', attachments: [file] })
    await posted(account.member, `${elsewhere}/update`, { data: { more: null } })
    expect(await statusOf(file)).toBe(200)
    await posted(account.member, `${elsewhere}/comment/${comment.id}/delete`)
    expect(await statusOf(file)).toBe(404)
  })

  test('moves with its record: between fields, and to another record', async () => {
    const { account, table, other, path, add, statusOf, listed } = await setUp()
    const file = await add('a')
    await posted(account.member, `${path}/update`, { data: { files: [], more: [file] } })
    expect([await statusOf(file), (await listed()).body]).toEqual([200, []])
    await posted(account.member, `${path}/update`, { data: { more: [] } })
    await posted(account.member, `${table.path}/record/${other}/update`, { data: { files: [file] } })
    expect(await statusOf(file)).toBe(200)
    await posted(account.member, `${path}/delete`)
    expect(await statusOf(file)).toBe(200)
    await posted(account.member, `${table.path}/record/${other}/delete`)
    expect(await statusOf(file)).toBe(404)
  })

  test('is not restored when its record or field is gone, and restored when the field is created again', async () => {
    const { account, table, path, add, removeFile, restore, cell, statusOf, droppedStatusOf, listed } = await setUp()
    const [a, b] = [await add('a'), await add('b', 'more')]
    await removeFile(a)
    await posted(account.admin, `${table.path}/field/files/delete`)
    expect(await restore(a)).toMatchObject({ status: 409, body: { message: 'Its place is gone' } })
    await posted(account.admin, `${table.path}/fields/create`, { name: 'Files', type: 'text' })
    expect((await restore(a)).status).toBe(409)
    await posted(account.admin, `${table.path}/field/files/delete`)
    await posted(account.admin, `${table.path}/fields/create`, { name: 'Files', type: 'file' })
    expect((await restore(a)).status).toBe(200)
    expect(await cell()).toEqual(['a'])
    await posted(account.member, `${path}/delete`)
    // The record keeps its files, in case it is restored.
    for (const file of [a, b]) {
      expect(await restore(file)).toMatchObject({ status: 404, body: { message: 'File not found' } })
      expect([await statusOf(file), await droppedStatusOf(file, account.admin)]).toEqual([404, 404])
    }
    expect((await listed()).body).toEqual([])
  })
})

describe('the files of a deleted field', () => {
  test('are dropped by a job, which leaves those that something else uses', async () => {
    const { account, table, record, path, add, upload, statusOf, listed, restore, cell } = await setUp()
    const [a, b, kept] = [await add('a'), await add('b'), await add('kept')]
    const untouched = await add('other', 'more')
    const waiting = await upload(`${path}/comments`, 'waiting')
    await posted(account.member, `${path}/comments/create`, { attachments: [kept] })
    await posted(account.admin, `${table.path}/field/files/delete`)
    const job = { table_id: table.id, field_id: 'files' }
    await Promise.all([1, 2].map(() => dropOfField(systemContext(app.deps), job)))
    for (const file of [a, b]) expect(await statusOf(file)).toBe(404)
    for (const file of [kept, untouched, waiting]) expect(await statusOf(file)).toBe(200)
    const list = await listed()
    expect(namesOf(list).sort()).toEqual(['a', 'b'])
    for (const row of list.body) expect(row).toMatchObject({ record_id: record, field_id: 'files' })
    await posted(account.admin, `${table.path}/fields/create`, { name: 'Files', type: 'file' })
    for (const file of [b, a]) expect((await restore(file)).status).toBe(200)
    expect(await cell()).toEqual(['b', 'a'])
  })

  test('are left alone when the table was deleted meanwhile, because it may come back', async () => {
    const { account, table, add, listed, statusOf } = await setUp()
    const file = await add('a', 'more')
    await posted(account.admin, `${table.path}/field/files/delete`)
    await posted(account.admin, `${table.path}/delete`)
    await dropOfField(systemContext(app.deps), { table_id: table.id, field_id: 'files' })
    await app.db.write(sql`update tables set deleted_at = null where id = ${table.id}`)
    expect([await statusOf(file), (await listed()).body]).toEqual([200, []])
  })

  test('are enqueued with the deletion, and only for a field of files', async () => {
    const { account, table } = await setUp()
    const jobs = () =>
      app.db.read(sql`select data from pgboss.job where name = 'files.drop-unused' and data->>'table_id' = ${String(table.id)}`)
    await posted(account.admin, `${table.path}/field/name/delete`)
    expect(await jobs()).toEqual([])
    await posted(account.admin, `${table.path}/field/more/delete`)
    expect(await jobs()).toEqual([{ data: { table_id: table.id, field_id: 'more' } }])
  })
})

describe('a file of a deleted comment', () => {
  test('of a record or a task is gone at once, and has no place to come back to', async () => {
    const { account, table, record, path, task, upload, statusOf, droppedStatusOf, listed, restore } = await setUp()
    for (const on of [path, task.path]) {
      const file = await upload(`${on}/comments`, 'a')
      const comment = await posted(account.member, `${on}/comments/create`, { content: 'See', attachments: [file] })
      expect(await statusOf(file, account.viewer)).toBe(200)
      await posted(account.member, `${on}/comment/${comment.id}/delete`)
      for (const caller of [account.member, account.admin, account.keys.account]) expect(await statusOf(file, caller)).toBe(404)
      expect(await droppedStatusOf(file, account.admin)).toBe(200)
      const row = (await listed()).body.find(({ path }: Entry) => path === file.path)
      expect(row).toMatchObject({ table_id: table.id, record_id: record, field_id: null })
      expect(await restore(file)).toMatchObject({ status: 409, body: { message: 'Its place is gone' } })
    }
    expect((await listed()).body.map(({ task_id }: { task_id: number | null }) => task_id).sort()).toEqual([task.id, null].sort())
  })
})

describe('a file that was removed from a task', () => {
  test('is gone at once, and appended to the task again', async () => {
    const { account, task, upload, statusOf, droppedStatusOf, listed, restore } = await setUp()
    const [a, b] = [await upload(task.path, 'a'), await upload(task.path, 'b')]
    const update = (attachments: Entry[]) => posted(account.member, `${task.path}/update`, { attachments })
    await update([a, b])
    const { version } = await app.db.prisma.task.findFirstOrThrow({ where: { id: task.id }, select: { version: true } })
    await update([b])
    expect([await statusOf(a), await droppedStatusOf(a, account.admin), await statusOf(b)]).toEqual([404, 200, 200])
    expect((await listed()).body).toMatchObject([{ path: a.path, task_id: task.id, field_id: null }])
    const answers = await Promise.all([restore(a), restore(a)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const stored = (await app.as(account.member).get(`${task.path}/get`)).body
    expect(stored.attachments).toEqual([b, a])
    const after = await app.db.prisma.task.findFirstOrThrow({ where: { id: task.id }, select: { version: true } })
    expect(after.version).toBe(version + 2)
    const events = await app.db.read(sql`select type from events where task_id = ${task.id} and type = 'task.updated'`)
    expect(events).toHaveLength(3)
  })

  test('stays while a comment of the task uses it, and goes with the task', async () => {
    const { account, task, upload, statusOf, droppedStatusOf, listed, restore } = await setUp()
    const [a, b] = [await upload(task.path, 'a'), await upload(task.path, 'b')]
    const update = (attachments: Entry[]) => posted(account.member, `${task.path}/update`, { attachments })
    await update([a, b])
    await posted(account.member, `${task.path}/comments/create`, { content: 'See', attachments: [a] })
    await update([b])
    expect([await statusOf(a), (await listed()).body]).toEqual([200, []])
    await posted(account.member, `${task.path}/delete`)
    for (const file of [a, b]) {
      expect([await statusOf(file), await droppedStatusOf(file, account.admin)]).toEqual([404, 200])
      expect(await restore(file)).toMatchObject({ status: 409, body: { message: 'Its place is gone' } })
    }
    expect(namesOf(await listed()).sort()).toEqual(['a', 'b'])
  })

  test('is listed to nobody when the task is standalone, and expires', async () => {
    const { account, upload, statusOf, listed, restore } = await setUp()
    const { id } = await posted(account.keys.personal, '/api/tasks/create', { title: 'Alone' })
    const file = await upload(`/api/task/${id}`, 'a')
    await posted(account.member, `/api/task/${id}/update`, { attachments: [file] })
    await posted(account.member, `/api/task/${id}/update`, { attachments: [] })
    for (const caller of [account.owner, account.admin]) {
      expect((await listed(caller)).body).toEqual([])
      expect((await restore(file, caller)).status).toBe(404)
    }
    expect(await statusOf(file)).toBe(404)
    await sweepAfter(9 * DAYS)
    expect(await isStored(file.path)).toBe(true)
    await sweepAfter(11 * DAYS)
    expect(await isStored(file.path)).toBe(false)
  })
})

describe('dropped files', () => {
  test('are listed in pages, latest first', async () => {
    const { account, add, removeFile, listed } = await setUp()
    for (const name of ['a', 'b', 'c']) await removeFile(await add(name))
    await app.db.write(sql`
      update stored_files set dropped_at = dropped_at - case name when 'a' then interval '2 s' when 'b' then interval '1 s' else interval '0 s' end
      where space_id = ${account.space}`)
    expect(namesOf(await listed())).toEqual(['c', 'b', 'a'])
    const page = await app.as(account.admin).get(`/api/space/${account.space}/files/dropped?limit=1&offset=1`)
    expect([namesOf(page), page.headers.get('x-total-count')]).toEqual([['b'], '3'])
    expect(namesOf(await app.as(account.admin).get(`/api/space/${account.space}/files/dropped?limit=999&offset=-1`))).toHaveLength(3)
    expect((await app.as(account.admin).get(`/api/space/${account.space}/files/dropped?limit=x`)).status).toBe(400)
  })

  test('are for admins of the space', async () => {
    const { account, add, removeFile, listed, restore } = await setUp()
    const file = await add('a')
    await removeFile(file)
    const answers = async (caller: Caller) => [(await listed(caller)).status, (await restore(file, caller)).status]
    for (const caller of [account.member, account.viewer, account.keys.personal, account.keys.accountOtherSpace])
      expect(await answers(caller)).toEqual([403, 403])
    expect(await answers(account.outsider)).toEqual([404, 404])
    expect(await answers(account.keys.accountOutsider)).toEqual([404, 404])
    expect(await answers(null)).toEqual([401, 401])
    expect(await restore(file, account.keys.accountReadOnly)).toMatchObject({ status: 403, body: { message: 'API key is read-only' } })
    expect((await listed(account.keys.accountReadOnly)).status).toBe(200)
  })

  test('do not include uploads that nothing has used, nor paths that are none', async () => {
    const { account, path, upload, listed, restore } = await setUp()
    const file = await upload(`${path}/comments`, 'a')
    expect((await listed()).body).toEqual([])
    expect((await restore(file)).status).toBe(404)
    const as = app.as(account.admin)
    for (const [given, status] of [
      ['nope', 404],
      ['../../etc/passwd', 404],
      ['a b', 404],
      ['x'.repeat(10_000), 404],
      ['\0', 400],
      ['\ud800', 400],
      [5, 400],
      [null, 400],
    ] as const)
      expect((await as.post('/api/file/restore', { path: given })).status, String(given)).toBe(status)
    expect(await as.post('/api/file/restore', { path: file.path, more: 1 })).toMatchObject({
      body: { message: 'more: is not a known key' },
    })
    await sweepAfter(25)
    expect(await isStored(file.path)).toBe(false)
  })

  test('of a deleted table come back with it, and are then restored', async () => {
    const { account, table, add, removeFile, listed, restore, droppedStatusOf } = await setUp()
    const file = await add('a')
    await removeFile(file)
    await posted(account.admin, `${table.path}/delete`)
    expect([(await listed()).body, (await restore(file)).status, await droppedStatusOf(file, account.admin)]).toEqual([[], 404, 404])
    await app.db.write(sql`update tables set deleted_at = null where id = ${table.id}`)
    expect((await restore(file)).status).toBe(200)
  })

  test('of an earlier release, which did not count references, are checked for them', async () => {
    const { account, table, other, add, removeFile, statusOf, listed } = await setUp()
    const [used, unused] = [await add('used'), await add('unused')]
    await posted(account.member, `${table.path}/record/${other}/update`, { data: { files: [used] } })
    await app.db.write(sql`update stored_files set was_held = false, is_shared = null where space_id = ${account.space}`)
    for (const file of [used, unused]) await removeFile(file)
    expect([await statusOf(used), await statusOf(unused)]).toEqual([200, 404])
    expect(namesOf(await listed())).toEqual(['unused'])
  })

  test('that an upload for a stale update named are not kept in use', async () => {
    const { account, path, upload } = await setUp()
    const file = await upload(`${path}/comments`, 'a')
    const answer = await app.as(account.member).post(`${path}/update`, { data: { files: [file] } }, { 'if-match': '"99"' })
    expect(answer.status).toBe(409)
    await sweepAfter(25)
    expect(await isStored(file.path)).toBe(false)
  })
})
