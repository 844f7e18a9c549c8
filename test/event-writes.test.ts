/** Tests which changes write events. events.test.ts covers who receives them, and how. */
import { describe, expect, test } from 'vitest'
import { insertSent, updateEmail } from '../src/comments/emails.ts'
import { transitionTo } from '../src/email/states.ts'
import { deleteOldEvents } from '../src/events/log.ts'
import { userContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)

interface Written {
  type: string
  space_id: number | null
  table_id: number | null
  record_id: number | null
  task_id: number | null
  comment_id: number | null
  audience: number[] | null
}

/** Returns the events of the account since the previous call. */
async function written({ id }: Pick<TestAccount, 'id'>): Promise<Written[]> {
  const rows = await app.db.read<Written & { id: number }>(sql`
    select id, type, space_id, table_id, record_id, task_id, comment_id, audience from events
    where account_id = ${id} and audience is distinct from '{}' and id > ${seen.get(id) ?? 0} order by id`)
  seen.set(id, rows.at(-1)?.id ?? seen.get(id) ?? 0)
  return rows.map(({ id: _, ...row }) => row)
}
const seen = new Map<number, number>()

describe('events of a task on a record', () => {
  test('report every change, and its notifications', async () => {
    const { account, table, record, path, space, member, viewer, keys } = await onRecord()
    const as = app.as(keys.account)
    const place = { space_id: space, table_id: table, record_id: record, comment_id: null, audience: null }

    const { body: task } = await as.post(`${path}/create`, { title: 'Call back', assignee_user_id: member.id })
    const ofTask = { ...place, task_id: task.id }
    expect(await written(account)).toEqual([
      { ...ofTask, type: 'task.created' },
      { ...ofTask, type: 'notification', audience: [member.id] },
    ])

    await as.post(`/api/task/${task.id}/update`, { assignee_user_id: viewer.id })
    expect(await written(account)).toEqual([
      { ...ofTask, type: 'task.updated' },
      { ...ofTask, type: 'notification', audience: [viewer.id] },
    ])
    await as.post(`/api/task/${task.id}/update`, { assignee_user_id: viewer.id })
    expect(await written(account)).toEqual([])

    await app.as(viewer).post(`/api/task/${task.id}/markDone`)
    await app.as(viewer).post(`/api/task/${task.id}/markDone`)
    await app.as(viewer).post(`/api/task/${task.id}/markUndone`)
    const told = { ...ofTask, type: 'notification', audience: [member.id] }
    expect(await written(account)).toEqual([{ ...ofTask, type: 'task.done' }, told, { ...ofTask, type: 'task.undone' }, told])

    const { body: comment } = await app.as(viewer).post(`/api/task/${task.id}/comments/create`, { content: `@{${member.id}:Max}, look` })
    await app.as(viewer).post(`/api/task/${task.id}/comment/${comment.id}/update`, { content: 'Never mind' })
    await app.as(viewer).post(`/api/task/${task.id}/comment/${comment.id}/delete`)
    const ofComment = { ...ofTask, comment_id: comment.id }
    expect(await written(account)).toEqual([
      { ...ofComment, type: 'comment.created' },
      told,
      { ...ofComment, type: 'comment.updated' },
      { ...ofComment, type: 'comment.deleted' },
    ])

    await as.post(`/api/task/${task.id}/delete`)
    expect(await written(account)).toEqual([{ ...ofTask, type: 'task.deleted' }])
    expect((await as.post(`/api/task/${task.id}/delete`)).status).toBe(404)
    expect(await written(account)).toEqual([])
  })

  test('report no refused change', async () => {
    const { account, path, keys, outsider } = await onRecord()
    await app.as(keys.account).post(`${path}/create`, { title: '' })
    await app.as(keys.account).post(`${path}/create`, { title: 'Call', assignee_user_id: outsider.id })
    expect(await written(account)).toEqual([])
  })

  test('report each task that is deleted with the record', async () => {
    const { account, table, record, other, create, keys } = await onRecord()
    const ids = []
    for (const title of ['One', 'Two']) ids.push((await create(keys.account, { title })).body.id)
    await written(account)
    await app.as(keys.account).post(`/api/table/${table}/records/delete_batch`, { record_ids: [record, other] })
    const told = await written(account)
    expect(told.map(({ type, task_id, record_id }) => [type, task_id, record_id]).sort()).toEqual(
      ids.map((id) => ['task.deleted', id, record]).sort(),
    )
  })
})

describe('events of a standalone task', () => {
  test('name the users who could read it when it is deleted', async () => {
    const { account, member, viewer, admin } = await onRecord()
    const { body: task } = await app.as(member).post('/api/tasks/create', { title: 'Call', assignee_user_id: viewer.id })
    await app.as(member).post(`/api/task/${task.id}/comments/create`, { content: `@{${admin.id}:Ada}` })
    await written(account)
    await app.as(member).post(`/api/task/${task.id}/delete`)
    const [told] = await written(account)
    expect(told).toMatchObject({ type: 'task.deleted', task_id: task.id, space_id: null, table_id: null, record_id: null })
    expect([...new Set(told?.audience)].sort()).toEqual([member.id, viewer.id, admin.id].sort())
  })
})

describe('events of a record', () => {
  test('report its comments', async () => {
    const { account, table, record, space, member, admin } = await onRecord()
    const path = `/api/table/${table}/record/${record}`
    await app.as(admin).post(`/api/subscriptions/${table}/${record}/subscribe`)
    const { body: comment } = await app.as(member).post(`${path}/comments/create`, { content: 'Look at this' })
    await app.as(member).post(`${path}/comment/${comment.id}/update`, { content: `Look, @{${admin.id}:Ada}` })
    await app.as(member).post(`${path}/comment/${comment.id}/delete`)
    const place = { space_id: space, table_id: table, record_id: record, task_id: null, comment_id: null, audience: null }
    const ofComment = { ...place, comment_id: comment.id }
    const told = { ...place, type: 'notification', audience: [admin.id] }
    expect(await written(account)).toEqual([
      { ...ofComment, type: 'comment.created' },
      told,
      { ...ofComment, type: 'comment.updated' },
      told,
      { ...ofComment, type: 'comment.deleted' },
    ])
  })

  test('report a mail as a comment, and then each change of its status', async () => {
    const { account, table, record, space, member } = await onRecord()
    const place = { account_id: account.id, space_id: space, table_id: table, record_id: record }
    const { actor, now } = userContext(app.deps, { ...member, accountId: account.id, userId: member.id, timeZone: 'UTC', isOwner: false })
    const metadata = { status: 'queued' }
    const id = (await insertSent(app.db, { ...place, content: '', attachments: [], metadata }, actor, now)) ?? 0
    const change = (from: string[], metadata: object) => updateEmail(app.db, id, { from, metadata }, now)
    expect(await updateEmail(app.db, id, transitionTo('sent', now), now)).toBe(true)
    expect(await updateEmail(app.db, id, transitionTo('dropped', now), now)).toBe(false)
    expect(await change(['sent'], { error: null })).toBe(true)
    expect((await written(account)).map(({ type, comment_id, task_id, table_id }) => [type, comment_id, task_id, table_id])).toEqual([
      ['comment.created', id, null, table],
      ['email.status', id, null, table],
    ])
  })
})

describe('events', () => {
  test('are rolled back with the change that they report', async () => {
    const { account, table, record, member } = await onRecord()
    const place = { account_id: account.id, space_id: account.space, table_id: table, record_id: record }
    const context = userContext(app.deps, { ...member, accountId: account.id, userId: member.id, timeZone: 'UTC', isOwner: false })
    const change = context.transaction(async () => {
      await insertSent(app.db, { ...place, content: '', attachments: [], metadata: {} }, context.actor, context.now)
      expect(await written(account)).toHaveLength(1)
      throw new Error('undone')
    })
    await expect(change).rejects.toThrow('undone')
    seen.clear()
    expect(await written(account)).toEqual([])
  })

  test('are forgotten however many there are', async () => {
    const { account } = await onRecord()
    const inserted = (count: number, hours: number) =>
      app.db.write(sql`
        insert into events (type, account_id, audience, at)
        select 'record.updated', ${account.id}, '{}', now() at time zone 'UTC' - make_interval(hours => ${hours}::int) from generate_series(1, ${count}::int)`)
    await inserted(25_000, 25)
    await inserted(10, 1)
    await deleteOldEvents(app.db, new Date(), app.settings)
    const left = await app.db.read(sql`select 1 from events where account_id = ${account.id} and space_id is null`)
    expect(left).toHaveLength(10)
  })

  test('are kept for a day, and the newest one longer', async () => {
    const { account, create, member } = await onRecord()
    for (const title of ['One', 'Two', 'Three']) await create(member, { title })
    const told = await app.db.read<{ id: number }>(
      sql`select id from events where account_id = ${account.id} and type = 'task.created' order by id`,
    )
    await app.db.write(sql`update events set at = at - interval '25 hours' where id <= ${told[1]?.id ?? 0}`)
    await deleteOldEvents(app.db, new Date(), app.settings)
    expect(await app.db.read(sql`select id from events where account_id = ${account.id} and task_id is not null`)).toEqual([told[2]])
    await deleteOldEvents(app.db, new Date(Date.now() + 48 * 3_600_000), app.settings)
    expect(await app.db.read(sql`select id from events`)).toEqual([told[2]])
  })
})
