/** What goes on around deleted records: reminders, copies of tasks, streams, mails, exports (contract.md §10, Deleted records). */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { decideMail } from '../src/notifications/mail.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { sweepReminders } from '../src/tasks/reminders/reminder-sweep.ts'
import { type Caller, testApp } from './support/app.ts'
import { mailDesk } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { openStream, type TestStream } from './support/streams.ts'
import { fillTable, makeTable } from './support/tables.ts'
import { later, NOW, taskSupport } from './support/tasks.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({
  ...{ RATE_LIMIT_PER_MINUTE: '100000', CATCH_DOMAIN: 'reply.example.net' },
  ...{ SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'Gridpost <news@grid.example>' },
})
const other = await testApp()
const { onRecord, told } = taskSupport(app)
const queries = queriesOf(app.db)
const opened: TestStream[] = []
afterEach(() => {
  app.setClock(null)
  Object.assign(app.db, queries)
  for (const stream of opened.splice(0)) stream.cut()
})

const context = () => systemContext(app.deps)

async function posted(caller: Caller, path: string, body?: object) {
  const answer = await app.as(caller).post(path, body)
  expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined])
  return answer.body
}

/** A record that can be deleted and restored. */
async function deletable() {
  const account = await onRecord()
  const path = `/api/table/${account.table}/record/${account.record}`
  const call = (what: 'delete' | 'restore') => posted(account.member, `${path}/${what}`)
  return { ...account, of: path, call }
}

describe('a reminder', () => {
  const DUE = { title: 'Call back', due_date: '2026-03-30', due_time: '10:00', reminder_offset_mins: 15 }
  const sweep = async (minutes: number) => {
    app.setClock(later(minutes))
    await sweepReminders(context(), async () => {})
  }
  const reminders = async (userId: number) => (await told(userId)).filter(({ event_type }) => event_type === 'TASK_REMINDER')

  test('that passes while the record is deleted is never sent', async () => {
    app.setClock(NOW)
    const { create, member, call } = await deletable()
    const { body: task } = await create(member, DUE)
    await call('delete')
    await sweep(15)
    await sweep(20)
    await call('restore')
    await sweep(20)
    await sweep(24 * 60)
    expect(await reminders(member.id)).toEqual([])
    const { body: preview } = await app.as(member).get(`/api/task/${task.id}/reminder`)
    expect(preview).toMatchObject({ fires_at: '2026-03-30 09:45:00', state: 'missed' })
    // Moved into the future, it is sent like any other.
    app.setClock(later(20))
    await posted(member, `/api/task/${task.id}/update`, { due_time: '12:00' })
    await sweep(3 * 60)
    expect(await reminders(member.id)).toHaveLength(1)
  })

  test('that is due after the restore is sent once, and one that was sent before the deletion is not sent again', async () => {
    app.setClock(NOW)
    const { create, member, call } = await deletable()
    await create(member, DUE)
    await call('delete')
    app.setClock(later(10))
    await call('restore')
    await sweep(15)
    expect(await reminders(member.id)).toHaveLength(1)
    await call('delete')
    expect(await reminders(member.id)).toEqual([])
    await call('restore')
    await sweep(20)
    expect(await reminders(member.id)).toHaveLength(1)
  })
})

describe('a copy of the tasks', () => {
  test('learns from lists and streams that a task is gone, and that it is back', async () => {
    const { create, member, record, table, call } = await deletable()
    const { body: task } = await create(member, { title: 'Call' })
    const { body: also } = await create(member, { title: 'Write' })
    const since = async () => {
      const { body } = await app.as(member).post('/api/tasks/list', { tab: 'all', updated_since: '2026-01-01 00:00:00' })
      return body.map(({ id, deleted_at }: { id: number; deleted_at?: string }) => [id, deleted_at !== undefined]).sort()
    }
    const stream = await openStream(other.url, member)
    opened.push(stream)
    await call('delete')
    await stream.until(2)
    expect(await since()).toEqual([
      [task.id, true],
      [also.id, true],
    ])
    // What is refused meanwhile leaves no event.
    expect((await create(member, { title: 'No' })).status).toBe(404)
    expect((await app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: 'No' })).status).toBe(404)
    expect((await app.as(member).post(`/api/task/${task.id}/markDone`)).status).toBe(404)
    await call('restore')
    await stream.until(4)
    expect(await since()).toEqual([
      [task.id, false],
      [also.id, false],
    ])
    expect(stream.heard.map(({ type, task_id, record_id }) => [type, task_id, record_id])).toEqual([
      ['task.deleted', task.id, record],
      ['task.deleted', also.id, record],
      ['task.updated', task.id, record],
      ['task.updated', also.id, record],
    ])
    const tombstones = await app.db.read(sql`select id from deleted_tasks where id in (${task.id}, ${also.id})`)
    expect(tombstones).toEqual([])
  })

  test('hears of a task whose record was deleted, restored and deleted again what is true in the end', async () => {
    const { create, member, call } = await deletable()
    const { body: task } = await create(member, { title: 'Call' })
    const stream = await openStream(other.url, member)
    opened.push(stream)
    for (const what of ['delete', 'restore', 'delete', 'restore', 'delete'] as const) await call(what)
    await stream.until(5)
    expect(stream.heard.at(-1)).toMatchObject({ type: 'task.deleted', task_id: task.id })
    // A stream that begins again after the first of them hears of the others.
    const again = await openStream(app.url, member, String(stream.heard[0]?.id))
    opened.push(again)
    await again.until(4)
    expect(again.heard).toEqual(stream.heard.slice(1))
  })
})

test('a notification of a deleted record is not mailed', async () => {
  app.setClock(NOW)
  const { create, member, viewer, call } = await deletable()
  await app.as(viewer).post('/api/auth/profile', { mail_preference: 'at_once' })
  await create(member, { title: 'Call', assignee_user_id: viewer.id })
  await call('delete')
  app.setClock(later(60))
  await decideMail(context())
  expect(
    await app.db.read(sql`select 1 from pgboss.job where name like 'notifications.%' and data->>'user_id' = ${String(viewer.id)}`),
  ).toEqual([])
})

describe('an export', () => {
  test('of a table goes on while its records are deleted and restored, and has each record at most once', async () => {
    const account = await app.account()
    const table = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }] })
    await fillTable(app, table.id, 3_000, { name: `'r' || i` })
    let pages = 0
    const changing = queriesWith(queries, async ({ text }) => {
      if (!/order by r\.id limit/.test(text) || ++pages !== 2) return
      const gone = Array.from({ length: 600 }, (_, index) => 700 + index)
      await posted(account.member, `${table.path}/records/delete_batch`, { record_ids: gone })
      await posted(account.member, `${table.path}/record/700/restore`)
      await posted(account.member, `${table.path}/record/1299/restore`)
    })
    Object.assign(app.db, changing)
    const answer = await fetch(`${app.url}${table.path}/export.csv`, { headers: { authorization: `Bearer ${account.keys.account}` } })
    const lines = (await answer.text()).split('\r\n').slice(1, -1)
    expect(pages).toBeGreaterThan(2)
    const expected = Array.from({ length: 3_000 }, (_, index) => index + 1).filter((id) => id <= 1_000 || id >= 1_299)
    expect(lines.map((line) => Number(/r(\d+)/.exec(line)?.[1]))).toEqual(expected)
  })
})

describe('a mail', () => {
  test('that is being handed over when its record is deleted is delivered once, and the record comes back with it', async () => {
    const { mail, table, as, arrived, metadataOf } = await mailDesk(app, smtp)
    const working = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })
    const { recordId } = mail([])
    const path = `/api/table/${table}/record/${recordId}`
    const handedOver = Promise.withResolvers<void>()
    smtp.onContent = {
      meanwhile: async () => {
        smtp.onContent = {}
        expect((await as.post(`${path}/delete`)).status).toBe(200)
        handedOver.resolve()
      },
    }
    const { body } = await as.post('/api/email/send', mail(['ann@customer.example']))
    await handedOver.promise
    await expect.poll(() => arrived().length).toBe(1)
    expect((await as.post(`${path}/restore`)).status).toBe(200)
    await app.db.write(sql`
      update outbound_emails set attempted_at = attempted_at - interval '2 minutes', leased_until = null where comment_id = ${body.id}`)
    await expect.poll(async () => (await metadataOf(body.id)).recipients[0].status).not.toBe('queued')
    expect(['sent', 'unknown']).toContain((await metadataOf(body.id)).recipients[0].status)
    expect(arrived()).toHaveLength(1)
    await working.stop()
  })
})
