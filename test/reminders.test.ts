import { beforeEach, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { type Sql, sql } from '../src/platform/database/database.ts'
import { sweepReminders } from '../src/tasks/reminders/reminder-sweep.ts'
import { testApp } from './support/app.ts'
import { later, NOW, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, told, holding } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

/** Runs a sweep at that instant, and returns when it wants to run again. */
async function sweep(now: Date = later(0)): Promise<Date[]> {
  const again: Date[] = []
  app.setClock(now)
  await sweepReminders(systemContext(app.deps), async (at) => void again.push(at))
  return again
}

const reminders = async (userId: number) => (await told(userId)).filter(({ event_type }) => event_type === 'TASK_REMINDER')

/** A task due at 10:00 UTC on the day of NOW, 09:30, with a reminder at 09:45. */
const DUE = { title: 'Call back', due_date: '2026-03-30', due_time: '10:00', reminder_offset_mins: 15 }
const AT = later(15)

async function withReminder(body: object = {}) {
  const account = await onRecord()
  const answer = await account.create(account.member, { ...DUE, ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  const path = `/api/task/${answer.body.id}`
  const post = (action: string, input?: object) => app.as(account.member).post(`${path}/${action}`, input)
  const preview = async () => (await app.as(account.member).get(`${path}/reminder`)).body
  return { ...account, id: answer.body.id as number, path, post, preview }
}

const change = (statement: Sql) => app.db.write(statement)

describe('a reminder', () => {
  test('fires at its instant, not a second before, and once', async () => {
    const { id, space, table, record, member, path, account } = await withReminder()
    await sweep(new Date(AT.getTime() - 1_000))
    expect(await reminders(member.id)).toEqual([])
    expect(await sweep(AT)).toEqual([])
    await sweep(later(16))
    const [row, ...more] = await app.db.read(sql`select * from notifications where user_id = ${member.id} and event_type = 'TASK_REMINDER'`)
    expect(more).toEqual([])
    expect(row).toMatchObject({
      actor_user_id: null,
      account_id: account.id,
      space_id: space,
      table_id: table,
      record_id: record,
      task_id: id,
      message: 'Reminder: “Call back”.',
      summary: '“Call back” is due on 2026-03-30 at 10:00 UTC.',
      url: `/task/${id}`,
      created_at: '2026-03-30 09:45:00',
    })
    const { body, headers } = await app.as(member).get(`${path}/get`)
    expect(body).toMatchObject({ reminder_sent_at: '2026-03-30 09:45:00', updated_at: '2026-03-30 09:45:00' })
    expect(headers.get('etag')).toBe('"1"')
  })

  test('goes only to the assignee', async () => {
    const { owner, viewer, member, post } = await withReminder()
    await post('update', { assignee_user_id: viewer.id })
    await sweep(AT)
    expect(await reminders(viewer.id)).toHaveLength(1)
    for (const { id } of [owner, member]) expect(await reminders(id)).toEqual([])
  })

  test('of a task without a time fires at its time of day in UTC, in every zone of the assignee', async () => {
    const account = await app.account({ timezone: 'Pacific/Kiritimati' })
    await app.as(account.member).post('/api/tasks/create', { title: 'Plan', due_date: '2026-03-31', reminder_time: '00:00' })
    await sweep(new Date('2026-03-30T23:59:59Z'))
    expect(await reminders(account.member.id)).toEqual([])
    await sweep(new Date('2026-03-31T00:00:00Z'))
    expect(await reminders(account.member.id)).toMatchObject([{ summary: '“Plan” is due on 2026-03-31.' }])
  })

  test.each([
    [16, 'Reminder: “Call back”.'],
    [17, 'Reminder (late by 2 min): “Call back”.'],
    [15 + 200, 'Reminder (late by 3 h): “Call back”.'],
    [15 + 1_440, 'Reminder (late by 1 day): “Call back”.'],
    [15 + 4_400, 'Reminder (late by 3 days): “Call back”.'],
  ])('sent %i minutes after NOW says how late it is', async (minutes, message) => {
    const { member } = await withReminder()
    await sweep(later(minutes))
    expect(await reminders(member.id)).toMatchObject([{ message }])
  })

  test('is sent in the order of the instants after a downtime', async () => {
    const { create, member } = await onRecord()
    for (const due_time of ['11:00', '10:00', '12:00', '10:30'])
      await create(member, { title: due_time, due_date: '2026-03-30', due_time, reminder_offset_mins: 0 })
    await sweep(later(300))
    expect((await reminders(member.id)).map(({ summary }) => summary.slice(1, 6))).toEqual(['10:00', '10:30', '11:00', '12:00'])
  })

  test('is sent by one of several concurrent sweeps', async () => {
    const { create, member } = await onRecord()
    const titles = Array.from({ length: 30 }, (_, index) => `Task ${index}`)
    for (const title of titles) await create(member, { ...DUE, title })
    app.setClock(AT)
    const scopes = Array.from({ length: 6 }, () => systemContext(app.deps))
    await Promise.all(scopes.map((context) => sweepReminders(context, async () => {})))
    await sweep(AT)
    expect((await reminders(member.id)).map(({ message }) => message).sort()).toEqual(titles.map((title) => `Reminder: “${title}”.`).sort())
  })
})

describe('no reminder is sent', () => {
  const cases: [string, (made: Awaited<ReturnType<typeof withReminder>>) => Promise<unknown>, string][] = [
    ['for a completed task', ({ post }) => post('markDone'), 'missed'],
    ['for a deleted task', ({ post }) => post('delete'), ''],
    ['for a task whose due date was cleared', ({ post }) => post('update', { due_date: null }), 'none'],
    ['for a task whose reminder was cleared', ({ post }) => post('update', { reminder_offset_mins: null }), 'none'],
    ['for a task that was postponed', ({ post }) => post('update', { due_time: '10:02' }), 'scheduled'],
    [
      'to an assignee who was removed from the space',
      ({ space, member, owner }) => app.as(owner).post(`/api/space/${space}/member/${member.id}/remove`),
      'missed',
    ],
    ['to a deleted user', ({ member }) => change(sql`update users set status = 'deleted' where id = ${member.id}`), 'missed'],
    ['for a task in a deleted table', ({ table, owner }) => app.as(owner).post(`/api/table/${table}/delete`), ''],
    ['for a task in a deleted space', ({ space, owner }) => app.as(owner).post(`/api/space/${space}/delete`), ''],
    ['for a task on a deleted record', ({ table, record, owner }) => app.as(owner).post(`/api/table/${table}/record/${record}/delete`), ''],
  ]
  test.each(cases)('%s', async (_, happen, state) => {
    const made = await withReminder()
    await happen(made)
    await sweep(AT)
    await sweep(later(16))
    expect(await reminders(made.member.id)).toEqual([])
    if (state) expect((await app.as(made.owner).get(`${made.path}/reminder`)).body).toMatchObject({ state })
  })

  test('that was past when it was set, until it is moved ahead', async () => {
    const { member, post, preview } = await withReminder({ reminder_offset_mins: 31 })
    expect(await preview()).toMatchObject({ fires_at: '2026-03-30 09:29:00', state: 'missed' })
    await sweep(AT)
    expect(await reminders(member.id)).toEqual([])
    await post('update', { due_time: '12:00' })
    expect(await preview()).toMatchObject({ fires_at: '2026-03-30 11:29:00', state: 'scheduled' })
    await post('update', { due_time: '09:00' })
    expect(await preview()).toMatchObject({ state: 'missed' })
    await sweep(later(200))
    expect(await reminders(member.id)).toEqual([])
  })

  test('that lies at the very second at which it is set is not past', async () => {
    const { member, preview } = await withReminder({ reminder_offset_mins: 30 })
    expect(await preview()).toMatchObject({ fires_at: '2026-03-30 09:30:00', state: 'scheduled' })
    await sweep()
    expect(await reminders(member.id)).toHaveLength(1)
  })

  test('whose time went by while the task was done', async () => {
    const { member, post, preview } = await withReminder()
    await post('markDone')
    expect(await preview()).toMatchObject({ state: 'none', fires_at: '2026-03-30 09:45:00' })
    app.setClock(later(20))
    await post('markUndone')
    expect(await preview()).toMatchObject({ state: 'missed' })
    await sweep(later(21))
    expect(await reminders(member.id)).toEqual([])
  })
})

describe('a change before it fires', () => {
  test('that reopens the task in time lets it fire', async () => {
    const { member, post, preview } = await withReminder()
    await post('markDone')
    await post('markUndone')
    expect(await preview()).toMatchObject({ state: 'scheduled' })
    await sweep(AT)
    expect(await reminders(member.id)).toHaveLength(1)
    expect(await preview()).toMatchObject({ state: 'sent' })
  })

  test('after it has fired lets it fire again, but only if it moves the reminder', async () => {
    const { member, post, preview } = await withReminder()
    await sweep(AT)
    await post('update', { title: 'Call again', due_date: '2026-03-30' })
    await sweep(later(20))
    expect(await reminders(member.id)).toHaveLength(1)
    await post('update', { due_time: '11:00' })
    expect(await preview()).toMatchObject({ state: 'scheduled', fires_at: '2026-03-30 10:45:00' })
    await sweep(later(75))
    expect((await reminders(member.id)).map(({ message }) => message)).toEqual(['Reminder: “Call back”.', 'Reminder: “Call again”.'])
  })

  test('that is uncommitted delays only this reminder: the sweep skips the task and retries it', async () => {
    const { id, member, viewer } = await withReminder()
    const commit = await holding(sql`update tasks set assignee_user_id = ${viewer.id} where id = ${id}`)
    expect(await sweep(AT)).toEqual([new Date(AT.getTime() + 5_000)])
    await commit()
    expect(await reminders(member.id)).toEqual([])
    expect(await sweep(AT)).toEqual([])
    expect(await reminders(member.id)).toEqual([])
    expect(await reminders(viewer.id)).toHaveLength(1)
  })
})

describe('the preview', () => {
  test('shows when and to whom it will be sent, the same on RPC', async () => {
    const { id, member, viewer, keys, post, preview } = await withReminder()
    const expected = {
      fires_at: '2026-03-30 09:45:00',
      local: '2026-03-30 09:45:00',
      timezone: 'UTC',
      to: { id: member.id, name: 'Max Member', email: member.email },
      state: 'scheduled',
    }
    expect(await preview()).toEqual(expected)
    for (const caller of [keys.account, keys.accountReadOnly, viewer]) {
      expect(await app.as(caller).rpc.tasks.reminder.query({ task_id: id })).toEqual(expected)
    }
    await post('update', { reminder_offset_mins: null })
    expect(await preview()).toEqual({ ...expected, fires_at: null, local: null, state: 'none' })
  })

  test('names nobody while the assignee cannot see the task', async () => {
    const { owner, space, member, path } = await withReminder()
    await app.as(owner).post(`/api/space/${space}/member/${member.id}/remove`)
    expect((await app.as(owner).get(`${path}/reminder`)).body).toMatchObject({ to: null, state: 'none', fires_at: '2026-03-30 09:45:00' })
  })

  test('is allowed for readers of the task', async () => {
    const { path, keys, outsider } = await withReminder()
    const answers = await Promise.all(
      [null, keys.accountOtherSpace, outsider, keys.personalOutsider].map((who) => app.as(who).get(`${path}/reminder`)),
    )
    expect(answers.map(({ status, body }) => [status, body.message])).toEqual([
      [401, expect.any(String)],
      [403, 'API key not authorized for this workspace'],
      [403, 'Not authorized'],
      [403, 'Not authorized'],
    ])
    const alone = await app.as(keys.personal).post('/api/tasks/create', { ...DUE })
    expect((await app.as(keys.account).get(`/api/task/${alone.body.id}/reminder`)).body.message).toBe('Task is not on a record')
    expect((await app.as(keys.personal).get(`/api/task/${alone.body.id}/reminder`)).body).toMatchObject({ state: 'scheduled' })
  })

  test.each([
    // The last second before the clocks go ahead in Berlin, and the first one after it; the same in autumn.
    ['Europe/Berlin', '2026-03-29', '00:59:59', '2026-03-29 01:59:59'],
    ['Europe/Berlin', '2026-03-29', '01:00:00', '2026-03-29 03:00:00'],
    ['Europe/Berlin', '2026-10-25', '00:59:59', '2026-10-25 02:59:59'],
    ['Europe/Berlin', '2026-10-25', '01:00:00', '2026-10-25 02:00:00'],
    // Zones with UTC+14 and UTC-12, with half hours and quarters, and with half an hour of summer time.
    ['Pacific/Kiritimati', '2026-12-31', '10:00', '2027-01-01 00:00:00'],
    ['Etc/GMT+12', '2027-01-01', '11:59:59', '2026-12-31 23:59:59'],
    ['Asia/Kolkata', '2026-03-30', '18:30', '2026-03-31 00:00:00'],
    ['Asia/Kathmandu', '2026-03-30', '18:14:59', '2026-03-30 23:59:59'],
    ['Australia/Lord_Howe', '2026-10-03', '15:29:59', '2026-10-04 01:59:59'],
    ['Australia/Lord_Howe', '2026-10-03', '15:30', '2026-10-04 02:30:00'],
    // The first and the last days of the calendar.
    ['Pacific/Kiritimati', '9999-12-31', '23:00', '+010000-01-01 13:00:00'],
  ])('by the clock of the assignee in %s: %s %s is %s', async (timezone, due_date, reminder_time, local) => {
    const { member } = await app.account({ timezone })
    const { body } = await app.as(member).post('/api/tasks/create', { title: 'Plan', due_date, reminder_time })
    expect(body).toMatchObject({ due_date, due_time: null })
    expect((await app.as(member).get(`/api/task/${body.id}/reminder`)).body).toMatchObject({
      fires_at: body.reminder_at,
      local,
      timezone,
    })
  })
})
