import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { works } from '../src/background.ts'
import { decideMail, mailLetter } from '../src/notifications/mail.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { openMailer } from '../src/platform/mail/mailer.ts'
import { sweepReminders } from '../src/tasks/reminders/reminder-sweep.ts'
import { type Person, testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { later, NOW, taskSupport } from './support/tasks.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp(
  { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'Gridpost <news@grid.example>', PUBLIC_URL: 'https://grid.example' },
  { worker: true },
)
const { onRecord, holding } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

/** Sends the mails that are due at that instant, and waits until all letters to the user have been handed over. */
async function mailed(person: Person, at: Date = NOW) {
  app.setClock(at)
  await decideMail(systemContext(app.deps))
  return letters(person)
}

async function letters({ id, email }: Person) {
  const waiting = async () => {
    const [row] = await app.db.read<{ count: number }>(sql`
      select count(*) from pgboss.job
      where name like 'notifications.%' and state < 'completed' and (data->>'user_id' is null or data->>'user_id' = ${String(id)})`)
    return row?.count
  }
  await expect.poll(waiting).toBe(0)
  return smtp.received.filter(({ envelopeTo }) => envelopeTo.includes(email)).map(({ email: letter }) => letter)
}

const prefer = (person: Person, mail_preference: string) => app.as(person).post('/api/auth/profile', { mail_preference })
const stillWaiting = async ({ id }: Person) =>
  (await app.db.read(sql`select id from notifications where user_id = ${id} and mailed_at is null`)).length

/** A viewer whom tasks can be assigned to. */
async function assigning(timezone = 'UTC') {
  const account = await onRecord()
  const { viewer, member, create, table } = account
  const { name: tableName } = (await app.as(member).get(`/api/table/${table}/get`)).body
  await app.as(viewer).post('/api/auth/profile', { timezone })
  const assign = (body: object = {}) => create(member, { title: 'Call back', assignee_user_id: viewer.id, ...body })
  return { ...account, assign, tableName }
}

const headerOf = (letter: { headers: { key: string; value: string }[] } | undefined, key: string) =>
  letter?.headers.find((header) => header.key === key)?.value

describe('the mail preference', () => {
  test('is a digest unless the user chooses another one', async () => {
    const { member } = await onRecord()
    expect((await app.as(member).get('/api/auth/me')).body.mail_preference).toBe('digest')
    expect((await prefer(member, 'at_once')).body.mail_preference).toBe('at_once')
    expect(await app.as(member).rpc.auth.profile.mutate({ name: 'Maximilian' })).toMatchObject({ mail_preference: 'at_once' })
    const bad = await prefer(member, 'weekly')
    expect([bad.status, bad.body.issues[0].path]).toEqual([400, ['mail_preference']])
    expect((await app.as(member).get('/api/auth/me')).body).toMatchObject({ mail_preference: 'at_once', name: 'Maximilian' })
  })
})

describe('mail at once', () => {
  test('contains one notification', async () => {
    const { viewer, assign, tableName } = await assigning('Asia/Kolkata')
    await prefer(viewer, 'at_once')
    const { body: task } = await assign({ due_date: '2026-03-31', due_time: '20:00' })
    const [letter, ...more] = await mailed(viewer)
    expect(more).toEqual([])
    expect(letter).toMatchObject({
      from: { name: 'Gridpost', address: 'news@grid.example' },
      to: [{ address: viewer.email }],
      subject: 'Max Member assigned you the task “Call back”',
    })
    expect(letter?.text).toContain(
      `Hello Vera Viewer,\n\n“Call back” – ${tableName}: “Analytical Engines” – due Wednesday, 1 April 2026, 01:30\n- Max Member assigned you the task “Call back”. (15:00)\nhttps://grid.example/task/${task.id}\n`,
    )
    expect(letter?.html).toContain(`<a href="https://grid.example/task/${task.id}"`)
    expect(headerOf(letter, 'auto-submitted')).toBe('auto-generated')
    expect(headerOf(letter, 'list-unsubscribe')).toMatch(new RegExp(`^<https://grid.example/unsubscribe/${viewer.id}\\.[\\w-]{43}>$`))
    expect(headerOf(letter, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    expect(letter?.messageId).toMatch(/^<notifications\.[0-9a-f]{32}@grid\.example>$/)
    expect(await mailed(viewer, later(90))).toHaveLength(1)
  })

  test('names the record of a notification', async () => {
    const { member, viewer, table, record } = await assigning()
    await prefer(viewer, 'at_once')
    await app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: `Look, @{${viewer.id}:Vera}!` })
    const [letter] = await mailed(viewer)
    expect(letter?.text).toContain(`\n“Analytical Engines” – `)
    expect(letter?.text).toContain(`(09:30)\n  > Look, @Vera!\nhttps://grid.example/table/${table}/record/${record}\n`)
  })

  test('contains a plain HTTP link without the one-click header, which requires https', async () => {
    const { viewer, assign } = await assigning()
    await assign()
    const ids = await app.db.read<{ id: number }>(sql`select id from notifications where user_id = ${viewer.id}`)
    const context = { ...systemContext(app.deps), publicUrl: () => 'http://grid.local:3000' }
    await mailLetter(context, { user_id: viewer.id, notification_ids: ids.map(({ id }) => id) })
    const [letter] = await letters(viewer)
    expect(headerOf(letter, 'list-unsubscribe')).toMatch(/^<http:\/\/grid\.local:3000\/unsubscribe\//)
    expect(headerOf(letter, 'list-unsubscribe-post')).toBeUndefined()
    expect(letter?.messageId).toMatch(/@grid\.local>$/)
  })

  test('bundles the notifications of the same minute', async () => {
    const { viewer, assign } = await assigning()
    await prefer(viewer, 'at_once')
    for (const title of ['One', 'Two', 'Three']) await assign({ title })
    const [letter, ...more] = await mailed(viewer)
    expect(more).toEqual([])
    expect(letter?.subject).toBe('3 notifications: “Three”, “Two” and 1 more')
  })

  test('is decided once, by any number of concurrent sweeps', async () => {
    const { viewer, assign } = await assigning()
    await prefer(viewer, 'at_once')
    for (const title of ['One', 'Two', 'Three']) await assign({ title })
    await Promise.all(Array.from({ length: 5 }, () => decideMail(systemContext(app.deps))))
    expect((await letters(viewer)).map(({ subject }) => subject)).toEqual(['3 notifications: “Three”, “Two” and 1 more'])
  })
})

describe('a digest', () => {
  test('bundles unread notifications at the top of the hour, once', async () => {
    const { viewer, member, assign, tableName } = await assigning()
    const { body: task } = await assign()
    await assign({ title: 'Read already' })
    await app.as(member).post(`/api/task/${task.id}/comments/create`, { content: 'Did they <b>answer</b>?' })
    const { body: all } = await app.as(viewer).post('/api/notifications/list')
    await app.as(viewer).post(`/api/notifications/${all[1].id}/markRead`)
    expect(await mailed(viewer, new Date('2026-03-30T09:59:59Z'))).toEqual([])
    expect(await stillWaiting(viewer)).toBe(3)
    const [letter] = await mailed(viewer, new Date('2026-03-30T10:00:00Z'))
    expect(letter?.subject).toBe('2 notifications: “Call back”')
    expect(letter?.text).toContain(
      `“Call back” – ${tableName}: “Analytical Engines”\n- Max Member commented on the task “Call back”. (09:30)\n  > Did they <b>answer</b>?\n- Max Member assigned you`,
    )
    expect(letter?.html).toContain('Did they &lt;b&gt;answer&lt;/b&gt;?')
    expect(letter?.text).not.toContain('Read already')
    expect(await stillWaiting(viewer)).toBe(0)
    expect(await mailed(viewer, new Date('2026-03-30T11:00:00Z'))).toHaveLength(1)
  })

  test('is not sent when everything has been read', async () => {
    const { viewer, assign } = await assigning()
    await assign()
    await app.as(viewer).post('/api/notifications/markAllRead')
    expect(await mailed(viewer, later(60))).toEqual([])
    expect(await stillWaiting(viewer)).toBe(0)
  })

  test('is sent after a downtime with everything that has waited', async () => {
    const { viewer, assign } = await assigning()
    await assign({ title: 'One' })
    app.setClock(later(200))
    await assign({ title: 'Two' })
    expect((await mailed(viewer, later(600))).map(({ subject }) => subject)).toEqual(['2 notifications: “Two”, “One”'])
  })

  test('lists the newest twenty notifications, and counts the others', async () => {
    const { viewer, assign } = await assigning()
    for (let index = 1; index <= 23; index++) await assign({ title: `Task ${index}` })
    const [letter] = await mailed(viewer, later(60))
    expect(letter?.subject).toBe('23 notifications: “Task 23”, “Task 22” and 21 more')
    expect([letter?.text, letter?.html].map((part) => part?.match(/… and 3 more\./g)?.length)).toEqual([1, 1])
    expect(letter?.text).not.toContain('Task 3”')
  })

  test('is sent once to each user, however many notifications wait', async () => {
    const { id, viewer, admin } = await assigning()
    // There are more notifications, of two users, than one transaction takes.
    await app.db.write(sql`
      insert into notifications (user_id, account_id, event_type, message, url, summary, created_at)
      select u, ${id}, 'TASK_ASSIGNED', 'Something was assigned to you.', '/task/1', '', '2026-03-30 09:00:00'
      from generate_series(1, 3000), unnest(array[${viewer.id}, ${admin.id}]::int[]) u`)
    await mailed(viewer, later(60))
    const jobs = await app.db.read<{ user_id: number; count: number }>(sql`
      select (data->>'user_id')::int as user_id, jsonb_array_length(data->'notification_ids') as count from pgboss.job
      where name = 'notifications.letter' and (data->>'user_id')::int in (${viewer.id}, ${admin.id}) order by 1`)
    expect(jobs).toEqual([admin.id, viewer.id].sort((a, b) => a - b).map((user_id) => ({ user_id, count: 1_000 })))
    expect([await stillWaiting(viewer), await stillWaiting(admin)]).toEqual([0, 0])
  })

  test.each([
    ['UTC', '2026-03-30T09:30:00Z', '2026-03-30T10:00:00Z'],
    ['Pacific/Kiritimati', '2026-03-30T09:30:00Z', '2026-03-30T10:00:00Z'],
    ['Etc/GMT+12', '2026-03-30T09:30:00Z', '2026-03-30T10:00:00Z'],
    ['Asia/Kolkata', '2026-03-30T09:29:00Z', '2026-03-30T09:30:00Z'],
    ['Asia/Kathmandu', '2026-03-30T09:30:00Z', '2026-03-30T10:15:00Z'],
    // The clock skips 02:00, goes back to 02:00, and moves half an hour ahead.
    ['Europe/Berlin', '2026-03-29T00:30:00Z', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25T01:00:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T14:45:00Z', '2026-10-03T15:30:00Z'],
  ])('in %s with a notification at %s is sent at %s', async (timezone, at, due) => {
    app.setClock(new Date(at))
    const { viewer, assign } = await assigning(timezone)
    await assign()
    expect(await mailed(viewer, new Date(Date.parse(due) - 1_000))).toEqual([])
    expect(await mailed(viewer, new Date(due))).toHaveLength(1)
  })
})

describe('no mail', () => {
  test('goes to a user who turned it off, nor later about what happened before it was turned on', async () => {
    const { viewer, assign } = await assigning()
    await prefer(viewer, 'none')
    await assign()
    expect(await mailed(viewer, later(60))).toEqual([])
    expect(await stillWaiting(viewer)).toBe(0)
    await prefer(viewer, 'at_once')
    await assign({ title: 'From now on' })
    expect((await mailed(viewer, later(61))).map(({ subject }) => subject)).toEqual(['Max Member assigned you the task “From now on”'])
  })

  test('goes to an invited or a deleted user', async () => {
    const { viewer, assign } = await assigning()
    await prefer(viewer, 'at_once')
    await assign()
    await app.db.write(sql`update users set status = 'invited' where id = ${viewer.id}`)
    expect(await mailed(viewer, later(60))).toEqual([])
  })

  test('is enqueued without a server to send it through', async () => {
    const { viewer, assign } = await assigning()
    await assign()
    app.setClock(later(60))
    const mailer = openMailer({ smtpUrl: undefined, mailFrom: 'x@y.example' })
    await decideMail({ ...systemContext(app.deps), mailer })
    expect([await letters(viewer), await stillWaiting(viewer)]).toEqual([[], 0])
  })

  const cases: [string, (made: Awaited<ReturnType<typeof assigning>> & { task: number }) => Promise<unknown>][] = [
    ['was removed from the space', ({ owner, space, viewer }) => app.as(owner).post(`/api/space/${space}/member/${viewer.id}/remove`)],
    ['has read it', ({ viewer }) => app.as(viewer).post('/api/notifications/markAllRead')],
    ['unsubscribed', ({ viewer }) => prefer(viewer, 'none')],
    ['lost the task', ({ member, task }) => app.as(member).post(`/api/task/${task}/delete`)],
    ['lost the table', ({ owner, table }) => app.as(owner).post(`/api/table/${table}/delete`)],
  ]
  test.each(cases)('goes to who %s between the decision and the sending', async (_, happen) => {
    // A pending digest is not sent by the sweep of each minute during the test.
    const made = await assigning()
    const { body } = await made.assign()
    const [row] = await app.db.read<{ id: number }>(sql`select id from notifications where user_id = ${made.viewer.id}`)
    await happen({ ...made, task: body.id })
    await mailLetter(systemContext(app.deps), { user_id: made.viewer.id, notification_ids: [row?.id ?? 0] })
    expect(await letters(made.viewer)).toEqual([])
  })

  test('goes to anyone about a deleted record', async () => {
    const { member, viewer, table, record } = await onRecord()
    await prefer(viewer, 'at_once')
    await app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: `@{${viewer.id}:Vera}` })
    await app.as(member).post(`/api/table/${table}/record/${record}/delete`)
    expect([await mailed(viewer), await stillWaiting(viewer)]).toEqual([[], 0])
  })

  test('about a standalone task goes to a user who has lost access to it', async () => {
    const { member, viewer } = await onRecord()
    await prefer(viewer, 'at_once')
    const { body } = await app.as(member).post('/api/tasks/create', { title: 'Plan', assignee_user_id: viewer.id })
    await app.as(member).post(`/api/task/${body.id}/update`, { assignee_user_id: member.id })
    await app.as(viewer).post(`/api/task/${body.id}/unsubscribe`)
    expect(await mailed(viewer)).toEqual([])
  })
})

describe('a reminder', () => {
  const due = { title: 'Call back', due_date: '2026-03-30', due_time: '10:00', reminder_offset_mins: 15 }

  test('is mailed at once to users with a digest, and leaves the rest to the digest', async () => {
    const { viewer, assign } = await assigning('Europe/Berlin')
    await assign(due)
    app.setClock(later(15))
    await sweepReminders(systemContext(app.deps), async () => {})
    const [letter, ...more] = await letters(viewer)
    expect(more).toEqual([])
    expect(letter?.subject).toBe('Reminder: “Call back”')
    expect(letter?.text).toContain('“Analytical Engines” – due Monday, 30 March 2026, 12:00\n- Reminder: “Call back”. (11:45)')
    expect(await stillWaiting(viewer)).toBe(1)
  })

  test('is bundled with other notifications of the same time', async () => {
    const { viewer, assign } = await assigning()
    for (const title of ['One', 'Two']) await assign({ ...due, title })
    app.setClock(later(15))
    await sweepReminders(systemContext(app.deps), async () => {})
    expect((await letters(viewer)).map(({ subject }) => subject)).toEqual(['2 reminders: “Two”, “One”'])
  })

  test('is not mailed to a user who turned mail off', async () => {
    const { viewer, assign } = await assigning()
    await prefer(viewer, 'none')
    await assign(due)
    app.setClock(later(15))
    await sweepReminders(systemContext(app.deps), async () => {})
    expect([await letters(viewer), await stillWaiting(viewer)]).toEqual([[], 1])
  })
})

describe('the queues', () => {
  test('send reminders and mail by themselves, and retry a task that was locked', async () => {
    const { viewer, assign } = await assigning()
    const { body: task } = await assign({ title: 'Call back', due_date: '2026-03-30', due_time: '10:00', reminder_offset_mins: 15 })
    const remind = works.find(({ queue }) => queue.name === 'tasks.remind')
    expect(remind?.cron).toBe('* * * * *')
    app.setClock(later(15))
    const letGo = await holding(sql`select 1 from tasks where id = ${task.id} for update`)
    await remind?.run(systemContext(app.deps), {} as never)
    expect(await stillWaiting(viewer)).toBe(1)
    await letGo()
    await expect.poll(async () => (await letters(viewer)).map(({ subject }) => subject)).toEqual(['Reminder: “Call back”'])
  })
})

describe('a letter that the server refuses', () => {
  test('is retried as the same message, and the others are not sent twice', async () => {
    const { viewer, admin, assign } = await assigning()
    for (const person of [viewer, admin]) await prefer(person, 'at_once')
    await assign()
    await assign({ assignee_user_id: admin.id })
    smtp.recipients.set(viewer.email, 451)
    const [row] = await app.db.read<{ id: number }>(sql`select id from notifications where user_id = ${viewer.id}`)
    const job = { user_id: viewer.id, notification_ids: [row?.id ?? 0] }
    await expect(mailLetter(systemContext(app.deps), job)).rejects.toThrow()
    smtp.recipients.delete(viewer.email)
    expect(await mailed(admin)).toHaveLength(1)
    const [first, ...more] = await letters(viewer)
    expect(more).toEqual([])
    await mailLetter(systemContext(app.deps), job)
    expect((await letters(viewer)).map(({ messageId }) => messageId)).toEqual([first?.messageId, first?.messageId])
    expect(await letters(admin)).toHaveLength(1)
  })
})

describe('the unsubscribe link', () => {
  const form = (body: string, type = 'application/x-www-form-urlencoded') => ({ method: 'POST', headers: { 'content-type': type }, body })

  async function linked() {
    const made = await assigning()
    await prefer(made.viewer, 'at_once')
    await made.assign()
    const [letter] = await mailed(made.viewer)
    const link = new URL((headerOf(letter, 'list-unsubscribe') ?? '').slice(1, -1))
    expect(letter?.text).toContain(link.href)
    const preference = async () => (await app.as(made.viewer).get('/api/auth/me')).body.mail_preference
    return { ...made, path: link.pathname, preference }
  }

  test('asks for confirmation, and changes nothing when it is opened', async () => {
    const { path, preference } = await linked()
    const { status, headers, body } = await app.as(null).get(path)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(body).toContain('<button>Stop the mails</button>')
    expect((await app.as(null).send(path, { method: 'HEAD' })).status).toBe(200)
    expect(await preference()).toBe('at_once')
  })

  test('works repeatedly with the one click of a mail program', async () => {
    const { path, preference, viewer } = await linked()
    for (const time of ['once', 'twice']) {
      const { status, body } = await app.as(null).send(path, form('List-Unsubscribe=One-Click'))
      expect([time, status, body.includes('No more mails')]).toEqual([time, 200, true])
      expect(await preference()).toBe('none')
    }
    await prefer(viewer, 'digest')
    const multipart = '--b\r\ncontent-disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n'
    expect((await app.as(null).send(path, form(multipart, 'multipart/form-data; boundary=b'))).status).toBe(200)
    expect(await preference()).toBe('none')
    await prefer(viewer, 'digest')
    expect((await app.as(null).send(path, { method: 'POST' })).status).toBe(200)
    expect(await preference()).toBe('none')
  })

  test('works for no other user', async () => {
    const { path, preference, member } = await linked()
    const [, signature = ''] = path.split('.')
    const changed = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`
    const wrong = [
      `${member.id}.${signature}`,
      `${path.slice(13).split('.')[0]}.${changed}`,
      `0.${signature}`,
      `9999999999.${signature}`,
      'x',
      `${signature}`,
    ]
    for (const token of wrong) {
      for (const init of [{ method: 'GET' }, form('List-Unsubscribe=One-Click')]) {
        const { status, body } = await app.as(null).send(`/unsubscribe/${token}`, init)
        expect([token, status]).toEqual([token, 404])
        expect(body).toContain('This link is incomplete')
      }
    }
    expect(await preference()).toBe('at_once')
    expect((await app.as(member).get('/api/auth/me')).body.mail_preference).toBe('digest')
  })

  test('of a deleted user changes nothing', async () => {
    const { path, viewer } = await linked()
    await app.db.write(sql`update users set status = 'deleted' where id = ${viewer.id}`)
    expect((await app.as(null).send(path, form(''))).status).toBe(404)
  })
})

test('no transaction is opened while nothing is due, though a digest is waiting', async () => {
  const { viewer, assign } = await assigning()
  await assign()
  expect(await mailed(viewer)).toEqual([])
  const transaction = vi.fn()
  await decideMail({ ...systemContext(app.deps), transaction })
  await sweepReminders({ ...systemContext(app.deps), transaction }, async () => {})
  expect(transaction).not.toHaveBeenCalled()
  expect(await stillWaiting(viewer)).toBe(1)
})
