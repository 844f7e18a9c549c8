import { beforeEach, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { purge } from '../src/tables/purge.ts'
import { testApp } from './support/app.ts'
import { later, NOW, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

/** A viewer who was assigned three tasks. */
async function assigned() {
  const account = await onRecord()
  for (const title of ['One', 'Two', 'Three']) await account.create(account.member, { title, assignee_user_id: account.viewer.id })
  const { body } = await app.as(account.viewer).post('/api/notifications/list')
  const [three, two, one] = body.map(({ id }: { id: number }) => id) as [number, number, number]
  return { ...account, one, two, three, rows: body }
}

const post = (caller: Parameters<typeof app.as>[0], path: string, body?: object) => app.as(caller).post(`/api/notifications/${path}`, body)

describe('notifications', () => {
  test('are listed newest first, the same on RPC', async () => {
    const { viewer, member, keys, id, space, table, record, rows, one } = await assigned()
    expect(rows.at(-1)).toEqual({
      id: one,
      user_id: viewer.id,
      actor_user_id: member.id,
      account_id: id,
      space_id: space,
      table_id: table,
      record_id: record,
      task_id: expect.any(Number),
      event_type: 'TASK_ASSIGNED',
      message: 'Max Member assigned you the task “One”.',
      url: expect.stringMatching(/^\/task\/\d+$/),
      summary: '“One” has no due date.',
      seen_at: null,
      read_at: null,
      created_at: '2026-03-30 09:30:00',
    })
    expect(await app.as(keys.personalViewer).rpc.notifications.list.query({})).toEqual({ rows, total: 3 })
    const page = await post(viewer, 'list', { limit: 1, offset: 1 })
    expect([page.headers.get('x-total-count'), page.body]).toEqual(['3', [rows[1]]])
    expect((await post(viewer, 'list', { offset: 9 })).headers.get('x-total-count')).toBe('3')
    expect((await post(member, 'list')).body).toEqual([])
  })

  test('are marked read and unread', async () => {
    const { viewer, one, two, three } = await assigned()
    const unread = async () => (await post(viewer, 'list', { filter: 'unread' })).body.map(({ id }: { id: number }) => id)
    expect((await post(viewer, `${two}/markRead`)).body).toEqual({ id: two, read: true })
    app.setClock(later(1))
    expect((await post(viewer, `${two}/markRead`)).body).toEqual({ id: two, read: true })
    expect((await post(viewer, 'list')).body[1]).toMatchObject({ read_at: '2026-03-30 09:30:00', seen_at: '2026-03-30 09:30:00' })
    expect(await unread()).toEqual([three, one])
    expect((await post(viewer, 'unreadCount')).body).toEqual({ unread: 2, tasksDue: 0 })
    expect(await app.as(viewer).rpc.notifications.markUnread.mutate({ id: two })).toEqual({ id: two, read: false })
    expect((await post(viewer, 'list')).body[1]).toMatchObject({ read_at: null, seen_at: '2026-03-30 09:30:00' })
    expect((await post(viewer, 'markAllRead')).body).toEqual({ ok: true })
    expect(await unread()).toEqual([])
    expect((await post(viewer, 'list')).body[1].read_at).toBe('2026-03-30 09:31:00')
  })

  test('belong to one user only', async () => {
    const { keys, member, outsider, owner, one } = await assigned()
    for (const caller of [member, outsider, owner, keys.personal]) {
      const { status, body } = await post(caller, `${one}/markRead`)
      expect([status, body.message]).toEqual([404, 'Notification not found'])
    }
    for (const path of ['list', 'unreadCount', `${one}/markRead`, `${one}/markUnread`, 'markAllRead']) {
      expect((await post(null, path)).status).toBe(401)
      const { status, body } = await post(keys.account, path)
      expect([status, body.message]).toEqual([403, 'API endpoint not available to API keys'])
    }
  })

  test('of a left space are out of reach until the user returns', async () => {
    const { viewer, owner, keys, space, table, rows, one, two } = await assigned()
    await app.as(viewer).post('/api/tasks/create', { title: 'Own', assignee_user_id: owner.id })
    const ownersRows = (await post(owner, 'list')).body
    expect(ownersRows).toHaveLength(1)
    const shown = async () => [(await post(viewer, 'list')).body, (await post(viewer, 'unreadCount')).body.unread]
    const remove = () => app.as(owner).post(`/api/space/${space}/member/${viewer.id}/remove`)
    expect((await remove()).status).toBe(200)
    expect(await shown()).toEqual([[], 0])
    expect((await post(viewer, 'list', { filter: 'unread' })).headers.get('x-total-count')).toBe('0')
    for (const verb of ['markRead', 'markUnread'])
      expect((await post(viewer, `${one}/${verb}`)).body.message).toBe('Notification not found')
    await expect(app.as(keys.personalViewer).rpc.notifications.markRead.mutate({ id: one })).rejects.toThrow('Notification not found')
    expect((await post(viewer, 'markAllRead')).status).toBe(200)

    expect((await app.as(owner).post(`/api/space/${space}/members/add`, { email: viewer.email, role: 'viewer' })).status).toBe(200)
    expect(await shown()).toEqual([rows, 3])
    expect((await post(viewer, `${two}/markRead`)).status).toBe(200)
    await app.as(owner).post(`/api/table/${table}/delete`)
    expect(await shown()).toEqual([[], 0])
    await purge({ ...systemContext(app.deps), now: new Date(Date.now() + 8 * 86_400_000) }, { table_id: table })
    expect(await app.db.read(sql`select from tables where id = ${table}`)).toEqual([])
    expect(await shown()).toEqual([[], 0])
    // Notifications without a place stay with their user.
    expect((await post(owner, 'list')).body).toEqual(ownersRows)
  })

  test('of the owner, who is in every space without being a member, stay', async () => {
    const { owner, member, create } = await assigned()
    await create(member, { title: 'For the owner', assignee_user_id: owner.id })
    expect((await post(owner, 'list')).body).toMatchObject([{ message: 'Max Member assigned you the task “For the owner”.' }])
    expect((await post(owner, 'unreadCount')).body.unread).toBe(1)
    expect((await post(owner, 'markAllRead')).status).toBe(200)
    expect((await post(owner, 'unreadCount')).body.unread).toBe(0)
  })

  test('of a standalone task belong to its users, and stay when it is deleted', async () => {
    const { viewer, member, admin } = await onRecord()
    const { body: task } = await app.as(member).post('/api/tasks/create', { title: 'Call', assignee_user_id: viewer.id })
    const count = async () => [(await post(viewer, 'list')).body.length, (await post(viewer, 'unreadCount')).body.unread]
    expect((await app.as(member).post(`/api/task/${task.id}/update`, { assignee_user_id: admin.id })).status).toBe(200)
    // The users still follow the task.
    expect(await count()).toEqual([1, 1])
    expect((await app.as(viewer).post(`/api/task/${task.id}/unsubscribe`)).status).toBe(200)
    expect(await count()).toEqual([0, 0])
    expect((await app.as(member).post(`/api/task/${task.id}/update`, { assignee_user_id: viewer.id })).status).toBe(200)
    expect(await count()).toEqual([2, 2])
    expect((await app.as(member).post(`/api/task/${task.id}/delete`)).status).toBe(200)
    expect(await count()).toEqual([2, 2])
  })

  test('can be read, but not marked, with a read-only key', async () => {
    const { id, viewer, keyOf, one } = await assigned()
    const key = await keyOf({ accountId: id, userId: viewer.id }, { kind: 'personal', read_only: true })
    expect((await post(key, 'list')).body).toHaveLength(3)
    expect((await post(key, 'unreadCount')).body.unread).toBe(3)
    for (const path of [`${one}/markRead`, 'markAllRead']) expect((await post(key, path)).body.message).toBe('API key is read-only')
  })

  test.each([
    [{ filter: 'read' }, 'filter'],
    [{ limit: '5' }, 'limit'],
    [{ page: 1 }, 'page'],
  ])('refuse %j', async (body, key) => {
    const answer = await post(shared.member, 'list', body)
    expect([answer.status, answer.body.issues[0].path]).toEqual([400, [key]])
  })
})

const shared = await app.account()
