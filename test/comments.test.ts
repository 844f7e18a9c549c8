import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()

async function newRecord(account: TestAccount, name = 'Deals') {
  const table = await makeTable(app, account, { name, records: [{ name: 'Acme' }] })
  const [id = 0] = table.records
  return { table_id: table.id, record_id: id, path: `/api/table/${table.id}/record/${id}`, follow: `/api/subscriptions/${table.id}` }
}

const heard = async (caller: Caller) =>
  (await app.as(caller).post('/api/notifications/list')).body.map(
    ({ event_type, message, summary }: { event_type: string; message: string; summary: string }) => [event_type, message, summary],
  )

/** Inserts a mail among the comments, as sending or receiving one does. */
async function email(
  account: TestAccount,
  record: { table_id: number; record_id: number },
  type: 'email_out' | 'email_in',
): Promise<number> {
  const secret = 'secret@example.com'
  const error = { code: '550', enhanced: '5.1.1', message: `550 5.1.1 <${secret}>: no such user` }
  const { id } = await app.db.prisma.recordComment.create({
    data: {
      accountId: account.id,
      spaceId: account.space,
      tableId: record.table_id,
      recordId: record.record_id,
      type,
      userId: 0,
      userName: 'Ann',
      content: 'Hello',
      metadata: { status: 'sent', to: ['a@example.com'], bcc: [secret], error, recipients: [{ email: secret, kind: 'bcc', error }] },
    },
  })
  return id
}

describe('a comment', () => {
  test('is written, listed newest first, rewritten and deleted, on REST and RPC', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.member)
    const first = await as.post(`${record.path}/comments/create`, { content: 'First' })
    expect(first.body).toEqual({
      id: expect.any(Number),
      table_id: record.table_id,
      record_id: record.record_id,
      type: 'comment',
      user_id: account.member.id,
      user_name: 'Max Member',
      api_key_id: null,
      content: 'First',
      attachments: [],
      metadata: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      updated_at: null,
    })
    const ids = { table_id: record.table_id, record_id: record.record_id }
    const second = await app.as(account.admin).rpc.comments.create.mutate({ ...ids, content: 'Second' })
    const list = await app.as(account.viewer).get(`${record.path}/comments/get`)
    expect(list.body).toEqual([second, first.body])
    expect(list.headers.get('x-total-count')).toBe('2')
    expect(await as.rpc.comments.list.query({ ...ids, limit: 1, offset: 1 })).toEqual({ rows: [first.body], total: 2 })
    expect((await as.get(`${record.path}/comments/get?limit=9999&offset=-3`)).body).toHaveLength(2)
    expect((await as.get(`${record.path}/comments/get?offset=5`)).headers.get('x-total-count')).toBe('2')

    const rewritten = await as.post(`${record.path}/comment/${first.body.id}/update`, { content: 'Better' })
    expect(rewritten.body).toEqual({ ...first.body, content: 'Better', updated_at: expect.any(String) })
    const answers = await Promise.all([1, 2].map(() => as.post(`${record.path}/comment/${first.body.id}/delete`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    expect((await as.get(`${record.path}/comments/get`)).body).toEqual([second])
  })

  test('is signed by the key that wrote it, also by a personal key', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    for (const key of [account.keys.account, account.keys.personal]) {
      const { body } = await app.as(key).post(`${record.path}/comments/create`, { content: 'By key' })
      expect(body).toMatchObject({ user_id: 0, user_name: 'API: Test key', api_key_id: expect.any(Number) })
      expect((await app.as(key).post(`${record.path}/comment/${body.id}/update`, { content: 'Still by key' })).status).toBe(200)
      const other = key === account.keys.account ? account.keys.personal : account.member
      expect((await app.as(other).post(`${record.path}/comment/${body.id}/update`, { content: 'Forged' })).status).toBe(403)
    }
  })

  test('is on its own record, by its own author and heard by its own followers, in whatever order comments are written', async () => {
    const account = await app.account()
    const { member, viewer, keys } = account
    const records = [await newRecord(account, 'Deals'), await newRecord(account, 'Leads')]
    for (const { follow } of records) await app.as(viewer).post(`${follow}/subscribe`)
    const written = []
    for (const [index, caller] of [member, keys.personal, keys.account, member, keys.account, keys.personal].entries()) {
      const { path, ...ids } = records[index % 2] as (typeof records)[0]
      const content = `“${index}” \\ "${index}"\n\u{1f600}`
      const { body } = await app.as(caller).post(`${path}/comments/create`, { content })
      const author = caller === member ? { user_id: member.id, user_name: 'Max Member' } : { user_id: 0, user_name: 'API: Test key' }
      expect(body).toMatchObject({ table_id: ids.table_id, record_id: ids.record_id, content, ...author, attachments: [], metadata: null })
      expect((await heard(viewer))[0]).toEqual([
        'COMMENT',
        `${caller === keys.account ? 'API: Test key' : 'Max Member'} commented on a record of “${index % 2 ? 'Leads' : 'Deals'}”.`,
        expect.stringContaining(`“${index}”`),
      ])
      written.push(body)
    }
    for (const [index, { path }] of records.entries())
      expect((await app.as(viewer).get(`${path}/comments/get`)).body).toEqual(written.filter((_, at) => at % 2 === index).reverse())
  })

  test('is refused when it is empty, too long or has unknown keys', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.member)
    for (const [input, path] of [
      [{}, ['content']],
      [{ content: ' \n ' }, ['content']],
      [{ content: 'x'.repeat(50_001) }, ['content']],
      [{ content: 5 }, ['content']],
      [{ content: 'x', author: 1 }, ['author']],
      [{ content: 'x', attachments: 'a' }, ['attachments']],
      [{ content: 'x', attachments: [{ path: '1-1-none' }] }, ['attachments', 0, 'path']],
      [{ content: 'x', attachments: [{ name: 'a' }] }, ['attachments', 0, 'path']],
    ] as const) {
      const answer = await as.post(`${record.path}/comments/create`, input)
      expect([answer.status, answer.body.issues[0].path]).toEqual([400, path])
    }
    expect((await as.get(`${record.path}/comments/get`)).body).toEqual([])
    expect((await as.get(`${record.path}/comments/get?limit=x`)).status).toBe(400)
  })

  test('carries the files that were uploaded for it, and releases them when it is deleted', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.keys.account)
    const data = Buffer.from('hello').toString('base64')
    const file = (await as.post(`${record.path}/comments/upload`, { name: 'a.txt', type: 'text/plain', data })).body
    expect(file).toMatchObject({ name: 'a.txt', size: 5, type: 'text/plain', host: 'local' })
    const { body } = await as.post(`${record.path}/comments/create`, { content: 'See', attachments: [{ ...file, name: 'forged' }, file] })
    expect(body.attachments).toEqual([file])
    const isDropped = async () =>
      (
        await app.db.read<{ dropped: boolean }>(sql`select dropped_at is not null as dropped from stored_files where path = ${file.path}`)
      )[0]?.dropped
    expect(await isDropped()).toBe(false)
    for (const attachments of [[], 'x'])
      expect(await as.post(`${record.path}/comment/${body.id}/update`, { content: 'x', attachments })).toMatchObject({
        status: 400,
        body: { message: 'attachments: are fixed when the comment is posted' },
      })
    await as.post(`${record.path}/comment/${body.id}/delete`)
    expect(await isDropped()).toBe(true)
  })

  test('may consist of a file alone, whose name then sums it up', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.member)
    await app.as(account.viewer).post(`${record.follow}/subscribe`)
    const upload = async () =>
      (await as.post(`${record.path}/comments/upload`, { name: 'plan.pdf', data: Buffer.from('x').toString('base64') })).body
    const comments = []
    for (const content of [{}, { content: null }, { content: '' }, { content: ' \n' }]) {
      const answer = await as.post(`${record.path}/comments/create`, { ...content, attachments: [await upload()] })
      expect(answer).toMatchObject({ status: 200, body: { content: '', attachments: [{ name: 'plan.pdf' }] } })
      comments.push(answer.body)
    }
    const ids = { table_id: record.table_id, record_id: record.record_id }
    const byRpc = await as.rpc.comments.create.mutate({ ...ids, attachments: [await upload()] })
    expect(byRpc.content).toBe('')
    expect((await heard(account.viewer))[0]).toEqual(['COMMENT', 'Max Member commented on a record of “Deals”.', 'plan.pdf'])
    const [first] = comments
    const update = (id: number, content: string) => as.post(`${record.path}/comment/${id}/update`, { content })
    expect((await update(first.id, 'With text')).body.content).toBe('With text')
    expect((await update(first.id, ' ')).body.content).toBe('')
    const text = (await as.post(`${record.path}/comments/create`, { content: 'Text' })).body
    expect(await update(text.id, ' ')).toMatchObject({ status: 400, body: { message: 'content: must not be empty' } })
    for (const attachments of [[], null])
      expect(await as.post(`${record.path}/comments/create`, { attachments })).toMatchObject({
        status: 400,
        body: { message: 'content: is required' },
      })
  })

  test('can be edited by its author for 15 minutes, and deleted by its author or an admin', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const { body } = await app.as(account.member).post(`${record.path}/comments/create`, { content: 'Mine' })
    const comment = `${record.path}/comment/${body.id}`
    const second = await app.person(account.id, 'Sue Second')
    await app.as(account.owner).post(`/api/space/${account.space}/members/add`, { email: second.email, role: 'member' })
    for (const caller of [second, account.admin, account.owner, account.keys.account])
      expect(await app.as(caller).post(`${comment}/update`, { content: 'x' })).toMatchObject({
        status: 403,
        body: { message: 'Not authorized' },
      })
    for (const caller of [second, account.viewer, account.keys.personalViewer])
      expect((await app.as(caller).post(`${comment}/delete`)).status).toBe(403)
    for (const caller of [account.outsider, account.keys.accountOutsider]) {
      expect((await app.as(caller).post(`${comment}/delete`)).status).toBe(404)
      expect((await app.as(caller).get(`${record.path}/comments/get`)).status).toBe(404)
    }
    await app.db.write(sql`update record_comments set created_at = created_at - interval '16 minutes' where id = ${body.id}`)
    expect(await app.as(account.member).post(`${comment}/update`, { content: 'Late' })).toMatchObject({
      status: 403,
      body: { message: 'Comment can no longer be edited' },
    })
    expect((await app.as(account.admin).post(`${comment}/delete`)).status).toBe(200)
    expect(await app.as(account.admin).post(`${comment}/delete`)).toMatchObject({ status: 404, body: { message: 'Comment not found' } })
    const viewer = await app.as(account.viewer).post(`${record.path}/comments/create`, { content: 'x' })
    expect(viewer).toMatchObject({ status: 403, body: { message: 'Not authorized' } })
  })

  test('is found only on its own record', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.member)
    const { body } = await as.post(`${record.path}/comments/create`, { content: 'Here' })
    const other = (await as.post(`/api/table/${record.table_id}/records/create`, { data: {} })).body.id
    const elsewhere = `/api/table/${record.table_id}/record/${other}/comment/${body.id}`
    expect(await as.post(`${elsewhere}/update`, { content: 'x' })).toMatchObject({ status: 404, body: { message: 'Comment not found' } })
    expect((await as.post(`${elsewhere}/delete`)).status).toBe(404)
    expect((await as.post(`/api/table/${record.table_id}/record/999999/comment/${body.id}/delete`)).body.message).toBe('Record not found')
  })

  test('is deleted with its record', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.member)
    await as.post(`${record.path}/comments/create`, { content: 'Here' })
    await as.post(`${record.follow}/${record.record_id}/subscribe`)
    await as.post(`${record.path}/delete`)
    expect((await as.get(`${record.path}/comments/get`)).status).toBe(404)
    expect(await app.db.read(sql`select 1 from record_comments where table_id = ${record.table_id}`)).toEqual([])
    expect(await app.db.read(sql`select 1 from subscriptions where table_id = ${record.table_id}`)).toEqual([])
  })

  test('leaves nothing behind if its record is deleted at the same moment', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.member)
    const writing = Array.from({ length: 10 }, () => as.post(`${record.path}/comments/create`, { content: 'x' }))
    const [gone, ...written] = await Promise.all([as.post(`${record.path}/delete`), ...writing])
    expect(gone.status).toBe(200)
    for (const { status } of written) expect([200, 404]).toContain(status)
    expect(await app.db.read(sql`select 1 from record_comments where table_id = ${record.table_id}`)).toEqual([])
  })
})

describe('a mail among the comments', () => {
  test('cannot be rewritten, and is deleted by an admin', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    for (const type of ['email_out', 'email_in'] as const) {
      const id = await email(account, record, type)
      for (const caller of [account.member, account.owner])
        expect((await app.as(caller).post(`${record.path}/comment/${id}/update`, { content: 'x' })).status).toBe(403)
      expect((await app.as(account.member).post(`${record.path}/comment/${id}/delete`)).status).toBe(403)
      expect((await app.as(account.admin).post(`${record.path}/comment/${id}/delete`)).status).toBe(200)
    }
  })

  test('shows blind copies only to callers who can write', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    await email(account, record, 'email_out')
    const metadataFor = async (caller: Caller) => (await app.as(caller).get(`${record.path}/comments/get`)).body[0].metadata
    for (const caller of [account.member, account.keys.account])
      expect(await metadataFor(caller)).toMatchObject({ bcc: ['secret@example.com'] })
    for (const caller of [account.viewer, account.keys.personalViewer, account.keys.accountReadOnly])
      expect(JSON.stringify(await metadataFor(caller))).not.toContain('secret@example.com')
  })
})

describe('a notification of a comment goes to', () => {
  test('each mentioned member once, who then follows the record', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const { member, viewer, admin, outsider } = account
    const content = `Hi @{${viewer.id}:Vera} @{${viewer.id}:Vera} @{${outsider.id}:Sam} @{${member.id}:me} @{999999:no} @{x:y} @{${admin.id}:`
    const { body } = await app.as(member).post(`${record.path}/comments/create`, { content })
    expect(await heard(viewer)).toEqual([
      ['comment.mention', 'Max Member mentioned you on a record of “Deals”.', `Hi @Vera @Vera @Sam @me @no @{x:y} @{${admin.id}:`],
    ])
    for (const person of [member, admin, outsider]) expect(await heard(person)).toEqual([])
    const status = await app.as(viewer).post(`${record.follow}/status`, { record_id: record.record_id })
    expect(status.body).toEqual({ table: false, record: true })

    // An edit notifies only the newly mentioned users.
    await app.as(member).post(`${record.path}/comment/${body.id}/update`, { content: `@{${viewer.id}:Vera} @{${admin.id}:Ada}` })
    expect(await heard(viewer)).toHaveLength(1)
    expect(await heard(admin)).toEqual([['comment.mention', 'Max Member mentioned you on a record of “Deals”.', '@Vera @Ada']])
  })

  test('each follower of the record or its table once, but not to the author', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const { member, viewer, admin, owner } = account
    for (const person of [member, viewer]) await app.as(person).post(`${record.follow}/${record.record_id}/subscribe`)
    for (const person of [viewer, admin]) await app.as(person).post(`${record.follow}/subscribe`)
    await app.as(account.keys.account).post(`${record.follow}/subscribe`)
    await app.as(member).post(`${record.path}/comments/create`, { content: 'News' })
    const told = ['COMMENT', 'Max Member commented on a record of “Deals”.', 'News']
    for (const person of [viewer, admin, owner]) expect(await heard(person)).toEqual([told])
    expect(await heard(member)).toEqual([])
    // An account key is no user, so the account's owner is notified of its comments.
    await app.as(account.keys.account).post(`${record.path}/comments/create`, { content: 'By key' })
    expect((await heard(owner))[0]).toEqual(['COMMENT', 'API: Test key commented on a record of “Deals”.', 'By key'])
    // Former members get no more notifications.
    await app.as(owner).post(`/api/space/${account.space}/member/${admin.id}/remove`)
    await app.as(member).post(`${record.path}/comments/create`, { content: 'More' })
    expect(await heard(admin)).toEqual([])
    // They get none later either: added again, they find only the notifications from before.
    await app.as(owner).post(`/api/space/${account.space}/members/add`, { email: admin.email, role: 'admin' })
    expect((await heard(admin)).map(([, , summary]: string[]) => summary)).toEqual(['By key', 'News'])
  })
})

describe('following', () => {
  test('starts and ends once, unless it is forced', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const as = app.as(account.viewer)
    for (const path of [record.follow, `${record.follow}/${record.record_id}`]) {
      expect((await as.post(`${path}/unsubscribe`)).body).toMatchObject({ code: 'CONFLICT', message: 'Not subscribed' })
      expect((await as.post(`${path}/unsubscribe`, { force: true })).body).toEqual({ ok: true, subscribed: false })
      const answers = await Promise.all([1, 2, 3].map(() => as.post(`${path}/subscribe`)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
      expect((await as.post(`${path}/subscribe`)).body.message).toBe('Already subscribed')
      expect((await as.post(`${path}/subscribe`, { force: true })).body).toEqual({ ok: true, subscribed: true })
    }
    expect((await as.post(`${record.follow}/status`, { record_id: record.record_id })).body).toEqual({ table: true, record: true })
    expect((await as.post(`${record.follow}/unsubscribe`)).body).toEqual({ ok: true, subscribed: false })
    expect(await as.rpc.subscriptions.status.query({ table_id: record.table_id, record_id: record.record_id })).toEqual({
      table: false,
      record: true,
    })
    expect((await as.post(`${record.follow}/status`)).body).toEqual({ table: false, record: false })
    expect(await as.post(`${record.follow}/status`, { record_id: 999_999 })).toMatchObject({
      status: 404,
      body: { message: 'Record not found' },
    })
  })

  test('needs read access; a read-only key may read the state, but not change it', async () => {
    const account = await app.account()
    const record = await newRecord(account)
    const readOnly = app.as(account.keys.accountReadOnly)
    expect((await readOnly.post(`${record.follow}/status`)).status).toBe(200)
    expect((await readOnly.post(`${record.follow}/subscribe`)).body.message).toBe('API key is read-only')
    expect((await app.as(account.outsider).post(`${record.follow}/subscribe`)).status).toBe(404)
    const colleague = await app.person(account.id, 'Carl Colleague')
    expect((await app.as(colleague).post(`${record.follow}/subscribe`)).status).toBe(403)
  })
})
