import { beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { later, NOW, sorted, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, told, subscribersOf } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

async function withTask(body: object = {}) {
  const account = await onRecord()
  const { body: task } = await account.create(account.member, { title: 'Call', assignee_user_id: account.viewer.id, ...body })
  const post = (caller: Caller, verb: string, input?: object, headers?: Record<string, string>) =>
    app.as(caller).post(`/api/task/${task.id}/${verb}`, input, headers)
  const events = async (userId: number) => (await told(userId)).map(({ event_type }) => event_type)
  return { ...account, task, post, events }
}

describe('changing a task', () => {
  test('keeps absent properties and clears those that are null', async () => {
    const { task, post, member } = await withTask({ details: 'Long', due_date: '2026-03-31' })
    app.setClock(later(1))
    const { status, body, headers } = await post(member, 'update', { title: 'Mail', details: null })
    expect(status).toBe(200)
    expect(body).toEqual({ ...task, title: 'Mail', details: null, updated_at: '2026-03-30 09:31:00', version: 2 })
    expect(headers.get('etag')).toBe('"2"')
    expect(await app.as(member).rpc.tasks.update.mutate({ task_id: task.id, title: 'Fax' })).toEqual({
      ...body,
      title: 'Fax',
      version: 3,
    })
  })

  test('recomputes the reminder, and marks it as not sent', async () => {
    const { task, post, viewer } = await withTask({ due_date: '2026-03-31', due_time: '14:30', reminder_offset_mins: 30 })
    const sent = () => app.db.write(sql`update tasks set reminder_sent_at = '2026-03-31 14:00:00' where id = ${task.id}`)
    await sent()
    expect((await post(viewer, 'update', { title: 'Mail', due_time: '14:30' })).body.reminder_sent_at).toBe('2026-03-31 14:00:00')
    expect((await post(viewer, 'update', { due_date: '2026-04-01' })).body).toMatchObject({
      reminder_at: '2026-04-01 14:00:00',
      reminder_sent_at: null,
    })
    await sent()
    expect((await post(viewer, 'update', { due_time: null })).body).toMatchObject({
      due_date: '2026-04-01',
      due_time: null,
      reminder_offset_mins: null,
      reminder_at: null,
      reminder_sent_at: null,
    })
    expect((await post(viewer, 'update', { reminder_time: '08:00' })).body).toMatchObject({
      reminder_time: '08:00:00',
      reminder_at: '2026-04-01 08:00:00',
    })
    expect((await post(viewer, 'update', { due_date: null })).body).toMatchObject({
      due_date: null,
      reminder_time: null,
      reminder_at: null,
    })
  })

  test('to another assignee subscribes and notifies them, once', async () => {
    const { task, post, member, viewer, admin, events } = await withTask()
    expect((await post(member, 'update', { assignee_email: admin.email })).body.assignee_user_id).toBe(admin.id)
    expect(await subscribersOf(task.id)).toEqual(sorted(member.id, viewer.id, admin.id))
    await post(member, 'update', { assignee_user_id: admin.id })
    await post(admin, 'update', { assignee_email: admin.email, title: 'Mail' })
    expect(await events(admin.id)).toEqual(['TASK_ASSIGNED'])
    // The same applies to a task that the caller takes over.
    await post(member, 'update', { assignee_user_id: member.id })
    expect(await events(member.id)).toEqual(['TASK_ASSIGNED'])
  })

  test('names the address that is ignored in favour of an id', async () => {
    const { post, member, admin, viewer } = await withTask()
    const answer = await post(member, 'update', { assignee_user_id: admin.id, assignee_email: 'nobody@example.com' })
    expect([answer.body.assignee_user_id, answer.headers.get('x-ignored')]).toEqual([admin.id, 'assignee_email'])
    expect((await post(member, 'update', { assignee_user_id: viewer.id })).headers.get('x-ignored')).toBeNull()
  })

  test.each<[object, string]>([
    [{ title: null }, 'title: must not be null'],
    [{ title: ' ' }, 'title: must not be empty'],
    [{ assignee_user_id: null }, 'assignee_user_id: must not be null'],
    [{ assignee_email: null }, 'assignee_email: must not be null'],
    [{ assignee_user_id: 999_999 }, 'assignee_user_id: is not a member of the space'],
    [{ assignee_email: 'nobody@example.com' }, 'assignee_email: is not a member of the space'],
    [{ assigner_user_id: 1 }, 'assigner_user_id: is not a known key'],
    [{ status: 'done' }, 'status: is not a known key'],
    [{ due_time: '10:00' }, 'due_time: needs due_date'],
    [{ due_date: '2026-03-31', reminder_offset_mins: 5 }, 'reminder_offset_mins: needs due_time'],
    [{ due_date: null, reminder_time: '10:00' }, 'reminder_time: needs due_date'],
  ])('refuses %j and changes nothing', async (input, message) => {
    const { task, post, member } = await withTask()
    const { status, body } = await post(member, 'update', input)
    expect([status, body.message]).toEqual([400, message])
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body).toMatchObject(task)
  })

  test('is allowed for the creator, the assignee and account keys in scope', async () => {
    const { post, member, viewer, admin, owner, keys } = await withTask()
    for (const caller of [member, viewer, keys.personal, keys.personalViewer, keys.account])
      expect((await post(caller, 'update', { title: 'Mail' })).status).toBe(200)
    for (const [caller, message] of [
      [admin, 'Not authorized'],
      [owner, 'Not authorized'],
      [keys.personalOutsider, 'Not authorized'],
      [keys.accountReadOnly, 'API key is read-only'],
      [keys.accountOtherSpace, 'API key not authorized for this workspace'],
    ] as const) {
      // The rights are checked before the shape of the body.
      const { status, body } = await post(caller, 'update', { title: null })
      expect([status, body.message]).toEqual([403, message])
    }
    expect((await post(keys.account, 'update', { attachments: [] })).body.message).toBe('Attachments cannot be set via the public API')
    expect((await post(null, 'update', {})).status).toBe(401)
  })

  test('refuses a stale version, and returns the current row', async () => {
    const { post, member, viewer } = await withTask()
    expect((await post(member, 'update', { title: 'One' }, { 'if-match': '"1"' })).status).toBe(200)
    const nothing = await post(viewer, 'update', { title: 'One', details: null })
    expect([nothing.status, nothing.headers.get('etag')]).toEqual([200, '"2"'])
    for (const due_time of ['14:30', '14:30:00']) await post(viewer, 'update', { due_date: '2026-03-31', due_time })
    expect((await post(viewer, 'update', { due_time: '14:30' })).headers.get('etag')).toBe('"3"')
    const stale = await post(viewer, 'update', { title: 'Two' }, { 'if-match': '"1"' })
    expect([stale.status, stale.body.message, stale.body.current.title]).toEqual([409, 'The task has changed since', 'One'])
    const both = await Promise.all(['Three', 'Four'].map((title) => post(member, 'update', { title }, { 'if-match': '"3"' })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  })
})

describe('If-Match', () => {
  test.each([
    ['"1", "2"', 200],
    ['"2","1"', 200],
    ['"x", W/"1"', 200],
    ['*', 200],
    ['"2", "3"', 409],
    ['"9999999999"', 409],
    ['1', 409],
    ['', 409],
    ['nonsense', 409],
  ])('of %s on version 1 is %i, on tasks and records', async (ifMatch, status) => {
    const { task, member, table, record } = await withTask()
    const update = (path: string, body: object) => app.as(member).post(`${path}/update`, body, { 'if-match': ifMatch })
    expect((await update(`/api/task/${task.id}`, { title: 'Mail' })).status).toBe(status)
    expect((await update(`/api/table/${table}/record/${record}`, { data: { name: 'Engines' } })).status).toBe(status)
  })

  test('is sent by each call of the client, also by concurrent ones', async () => {
    const { task, create, member } = await withTask()
    const { body: other } = await create(member, { title: 'Call' })
    const { rpc } = app.as(member)
    const update = (task_id: number, title: string, ifMatch: string) =>
      rpc.tasks.update.mutate({ task_id, title }, { context: { ifMatch } }).then(
        (row) => row.title,
        ({ data }) => [data.code, data.current.title],
      )
    expect(await Promise.all([update(task.id, 'Mail', '"1"'), update(other.id, 'Fax', '"2"')])).toEqual(['Mail', ['CONFLICT', 'Call']])
    expect(await update(task.id, 'Fax', '')).toEqual(['CONFLICT', 'Mail'])
  })
})

describe('deleting a task', () => {
  test('deletes its comments with it, and works once', async () => {
    const { task, post, member } = await withTask()
    await post(member, 'comments/create', { content: 'Hello' })
    expect((await post(member, 'delete')).body).toEqual({ ok: true })
    const again = await post(member, 'delete')
    expect([again.status, again.body.message]).toEqual([404, 'Task not found'])
    expect(await app.db.read(sql`select 1 from task_comments where task_id = ${task.id}`)).toEqual([])
  })

  test('is allowed for the creator, the assignee, admins of the space and account keys in scope', async () => {
    for (const who of ['member', 'viewer', 'admin', 'owner'] as const) {
      const account = await withTask()
      expect((await account.post(account[who], 'delete')).status, who).toBe(200)
    }
    const { post, create, admin, member, keys } = await withTask()
    for (const caller of [keys.accountReadOnly, keys.accountOtherSpace, keys.accountOutsider, keys.personalOutsider])
      expect((await post(caller, 'delete')).status).toBe(403)
    expect((await post(keys.account, 'delete')).status).toBe(200)
    const { body } = await create(admin, { title: 'Mine' })
    const refused = await app.as(member).post(`/api/task/${body.id}/delete`)
    expect([refused.status, refused.body.message]).toEqual([403, 'Not authorized'])
  })

  test('succeeds for one of two concurrent calls', async () => {
    const { post, member, viewer } = await withTask()
    const answers = await Promise.all([post(member, 'delete'), post(viewer, 'delete')])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
  })
})

describe('following a task', () => {
  test('is refused twice, unless forced', async () => {
    const { post, admin } = await withTask()
    const call = async (verb: string, input?: object) => {
      const { status, body } = await post(admin, verb, input)
      return status === 200 ? body : [status, body.message]
    }
    expect(await call('unsubscribe')).toEqual([409, 'Not subscribed'])
    expect(await call('unsubscribe', { force: true })).toEqual({ ok: true, subscribed: false })
    expect(await call('subscribe')).toEqual({ ok: true, subscribed: true })
    expect(await call('subscribe')).toEqual([409, 'Already subscribed'])
    expect(await call('subscribe', { force: false })).toEqual([409, 'Already subscribed'])
    expect(await call('subscribe', { force: true })).toEqual({ ok: true, subscribed: true })
    expect(await call('unsubscribe')).toEqual({ ok: true, subscribed: false })
    expect(await call('subscribe', { force: 'yes' })).toEqual([400, 'force: must be true or false'])
  })

  test('succeeds for one of two concurrent calls', async () => {
    const { task, admin } = await withTask()
    const { subscribe } = app.as(admin).rpc.tasks
    const answers = await Promise.allSettled([subscribe.mutate({ task_id: task.id }), subscribe.mutate({ task_id: task.id })])
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('acts as the owner for an account key, and requires read access', async () => {
    const { task, post, keys, owner, viewer } = await withTask()
    expect((await post(keys.account, 'subscribe')).status).toBe(200)
    expect(await subscribersOf(task.id)).toContain(owner.id)
    expect((await app.as(keys.account).get(`/api/task/${task.id}/get`)).body.subscribed).toBe(true)
    expect((await post(keys.accountReadOnly, 'subscribe')).body.message).toBe('API key is read-only')
    expect((await post(keys.personalOutsider, 'subscribe')).body.message).toBe('Not authorized')
    expect((await post(viewer, 'unsubscribe')).status).toBe(200)
    expect(await subscribersOf(task.id)).not.toContain(viewer.id)
  })

  test('stops its notifications when it ends', async () => {
    const { post, member, viewer, events } = await withTask()
    await post(member, 'unsubscribe')
    await post(viewer, 'markDone')
    await post(viewer, 'comments/create', { content: 'Done' })
    expect(await events(member.id)).toEqual([])
  })
})

describe('comments', () => {
  test('are listed newest first', async () => {
    const { task, post, member } = await withTask()
    for (const content of ['One', 'Two', 'Three']) await post(member, 'comments/create', { content })
    const { body, headers } = await app.as(member).get(`/api/task/${task.id}/comments/get?limit=2&offset=1`)
    expect([headers.get('x-total-count'), ...body.map(({ content }: { content: string }) => content)]).toEqual(['3', 'Two', 'One'])
    const { rows, total } = await app.as(member).rpc.tasks.comments.list.query({ task_id: task.id, limit: 1 })
    expect([total, rows[0]?.content]).toEqual([3, 'Three'])
    expect((await app.as(member).get(`/api/task/${task.id}/comments/get?limit=x`)).status).toBe(400)
  })

  test('carry the name of their author: a user or a key', async () => {
    const { task, post, viewer, keys } = await withTask()
    expect((await post(viewer, 'comments/create', { content: 'Hello' })).body).toEqual({
      id: expect.any(Number),
      task_id: task.id,
      content: 'Hello',
      user_id: viewer.id,
      user_name: 'Vera Viewer',
      api_key_id: null,
      attachments: [],
      created_at: '2026-03-30 09:30:00',
      updated_at: null,
    })
    for (const key of [keys.account, keys.personal])
      expect((await post(key, 'comments/create', { content: 'Hello' })).body).toMatchObject({
        user_id: 0,
        user_name: 'API: Test key',
        api_key_id: expect.any(Number),
      })
  })

  test('notify the subscribers, except for the author', async () => {
    const { post, member, viewer, admin, keys, events } = await withTask()
    await post(admin, 'comments/create', { content: 'From outside' })
    await post(keys.personal, 'comments/create', { content: 'From the member’s key' })
    await post(keys.account, 'comments/create', { content: 'From nobody' })
    expect(await events(member.id)).toEqual(['TASK_COMMENT', 'TASK_COMMENT'])
    expect(await events(viewer.id)).toEqual(['TASK_ASSIGNED', 'TASK_COMMENT', 'TASK_COMMENT', 'TASK_COMMENT'])
    // A comment subscribes nobody.
    expect(await events(admin.id)).toEqual([])
    expect((await told(member.id))[0]).toMatchObject({ message: 'Ada Admin commented on the task “Call”.', summary: 'From outside' })
  })

  test('notify and subscribe mentioned users instead', async () => {
    const { task, id, post, member, viewer, admin, owner, outsider, events } = await withTask()
    const nobody = await app.person(id, 'Nora Nowhere')
    const content = `@{${admin.id}:Ada} @{${viewer.id}:Vera} @{${member.id}:me} @{${nobody.id}:Nora} @{${outsider.id}:Sam} @{${admin.id}:again} @{1 @{x:y}`
    const { body } = await post(member, 'comments/create', { content })
    expect(body.content).toBe(content)
    expect(await events(admin.id)).toEqual(['task.comment.mention'])
    expect(await events(viewer.id)).toEqual(['TASK_ASSIGNED', 'task.comment.mention'])
    for (const person of [member, nobody, outsider]) expect(await events(person.id)).toEqual([])
    expect(await subscribersOf(task.id)).toEqual(sorted(member.id, viewer.id, admin.id))
    expect((await told(admin.id))[0]).toMatchObject({
      actor_user_id: member.id,
      message: 'Max Member mentioned you on the task “Call”.',
      summary: '@Ada @Vera @me @Nora @Sam @again @{1 @{x:y}',
    })
    // The owner counts as a member; a mention that is added later notifies only the new user.
    await post(member, `comment/${body.id}/update`, { content: `@{${admin.id}:Ada} @{${owner.id}:Olga}` })
    expect(await events(owner.id)).toEqual(['task.comment.mention'])
    expect(await events(admin.id)).toEqual(['task.comment.mention'])
  })

  test('can be edited by their author for 15 minutes', async () => {
    const { task, post, member, viewer, admin, owner } = await withTask()
    const { body: comment } = await post(member, 'comments/create', { content: 'One' })
    const edit = async (caller: Caller) => {
      const { status, body } = await post(caller, `comment/${comment.id}/update`, { content: 'Two' })
      return status === 200 ? body : [status, body.message]
    }
    for (const caller of [viewer, admin, owner]) expect(await edit(caller)).toEqual([403, 'Not authorized'])
    app.setClock(later(15))
    expect(await edit(member)).toEqual({ ...comment, content: 'Two', updated_at: '2026-03-30 09:45:00' })
    expect(
      await app.as(member).rpc.tasks.comments.update.mutate({ task_id: task.id, comment_id: comment.id, content: 'Three' }),
    ).toMatchObject({
      content: 'Three',
    })
    app.setClock(new Date(later(15).getTime() + 1000))
    expect(await edit(member)).toEqual([403, 'Comment can no longer be edited'])
  })

  test('can be edited for 15 whole minutes, whatever fraction of a second they were written at', async () => {
    const { post, member } = await withTask()
    const since = (seconds: number) => new Date(NOW.getTime() + 900 + seconds * 1000)
    app.setClock(since(0))
    const { body: comment } = await post(member, 'comments/create', { content: 'One' })
    const edit = async (seconds: number) => {
      app.setClock(since(seconds))
      return (await post(member, `comment/${comment.id}/update`, { content: 'Two' })).status
    }
    expect(await edit(899.9)).toBe(200)
    expect(await edit(900)).toBe(200)
    expect(await edit(901)).toBe(403)
  })

  test('of a key can be edited by that key', async () => {
    const { id, post, member, keys, owner, keyOf } = await withTask()
    const { body: comment } = await post(keys.personal, 'comments/create', { content: 'One' })
    const sibling = await keyOf({ accountId: id, userId: member.id }, { kind: 'personal' })
    for (const caller of [member, sibling, keys.account, owner])
      expect((await post(caller, `comment/${comment.id}/update`, { content: 'Two' })).body.message).toBe('Not authorized')
    expect((await post(keys.personal, `comment/${comment.id}/update`, { content: 'Two' })).body.content).toBe('Two')
  })

  test('can be deleted by their author, the creator of the task, or an admin of the space', async () => {
    const { post, member, viewer, admin, owner, keys, task } = await withTask()
    const by = async (writer: Caller, deleter: Caller) => {
      const { body } = await post(writer, 'comments/create', { content: 'One' })
      return (await post(deleter, `comment/${body.id}/delete`)).status
    }
    expect(await by(viewer, viewer)).toBe(200)
    for (const deleter of [member, admin, owner, keys.account]) expect(await by(viewer, deleter)).toBe(200)
    for (const deleter of [viewer, keys.personalViewer]) expect(await by(member, deleter)).toBe(403)
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body.comment_count).toBe(2)
  })

  test('are found only on their own task', async () => {
    const { post, member, create } = await withTask()
    const { body: comment } = await post(member, 'comments/create', { content: 'One' })
    const { body: other } = await create(member, { title: 'Other' })
    for (const verb of ['update', 'delete']) {
      const answer = await app
        .as(member)
        .post(`/api/task/${other.id}/comment/${comment.id}/${verb}`, verb === 'update' ? { content: 'x' } : undefined)
      expect([answer.status, answer.body.message]).toEqual([404, 'Comment not found'])
    }
    expect((await post(member, `comment/${comment.id}/delete`)).body).toEqual({ ok: true })
    expect((await post(member, `comment/${comment.id}/delete`)).status).toBe(404)
  })

  test.each<[object, string]>([
    [{}, 'content: is required'],
    [{ content: ' \n' }, 'content: must not be empty'],
    [{ content: 'x'.repeat(50_001) }, 'content: must have at most 50000 characters'],
    [{ content: 'x', user_id: 1 }, 'user_id: is not a known key'],
    [{ content: ['x'] }, 'content: must be text'],
  ])('are refused for %#', async (input, message) => {
    const { status, body } = await shared.post(shared.member, 'comments/create', input)
    expect([status, body.message]).toEqual([400, message])
  })

  test('accept no attachments from a key, and none on an edit', async () => {
    const { post, member, keys } = await withTask()
    const { body: comment } = await post(member, 'comments/create', { content: 'One' })
    const words = 'Attachments cannot be set via the public API'
    for (const key of [keys.account, keys.personal])
      expect((await post(key, 'comments/create', { content: 'x', attachments: [] })).body.message).toBe(words)
    expect((await post(keys.account, `comment/${comment.id}/update`, { content: 'x', attachments: [] })).status).toBe(403)
    expect((await post(member, `comment/${comment.id}/update`, { content: 'x', attachments: [] })).status).toBe(400)
  })

  test('can be written only by readers', async () => {
    const { post, keys, outsider } = await withTask()
    for (const [caller, status, message] of [
      [null, 401, 'Sign in, or send an API key as a bearer token'],
      [keys.accountReadOnly, 403, 'API key is read-only'],
      [keys.accountOtherSpace, 403, 'API key not authorized for this workspace'],
      [outsider, 403, 'Not authorized'],
    ] as const) {
      const answer = await post(caller, 'comments/create', {})
      expect([answer.status, answer.body.message]).toEqual([status, message])
    }
  })
})

const shared = await withTask()
