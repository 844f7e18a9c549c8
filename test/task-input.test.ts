import { beforeEach, describe, expect, test, vi } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { NOW, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, told, subscribersOf } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

const DUE = { due_date: '2026-03-31', due_time: '14:30:00', reminder_offset_mins: 30 }

/** Returns a task of the member on a record, and its whole row, to the byte. */
async function withTask(body: object = {}) {
  const account = await onRecord()
  const { body: task } = await account.create(account.member, { title: 'Call', ...DUE, ...body })
  const post = (caller: Caller, verb: string, input?: object) => app.as(caller).post(`/api/task/${task.id}/${verb}`, input)
  const row = async () => (await app.db.read<{ row: string }>(sql`select (k.*)::text as row from tasks k where id = ${task.id}`))[0]?.row
  return { ...account, task, post, row }
}

/** Input that every create and update refuses, with its message. */
const refused: [object, string][] = [
  [{ due_date: '2026-02-30' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
  [{ due_date: '2026-02-29' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
  [{ due_date: '0000-12-31' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
  [{ due_date: '31.03.2026' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
  [{ due_date: '' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
  [{ due_date: 20260331 }, 'due_date: must be text'],
  [{ due_time: '24:00' }, 'due_time: must be a time of day, as HH:MM'],
  [{ due_time: '9:30' }, 'due_time: must be a time of day, as HH:MM'],
  [{ due_time: '09:60' }, 'due_time: must be a time of day, as HH:MM'],
  [{ due_time: '09:30:60' }, 'due_time: must be a time of day, as HH:MM'],
  [{ due_time: '09:30+02:00' }, 'due_time: must be a time of day, as HH:MM'],
  [{ reminder_time: '24:00', due_time: null, reminder_offset_mins: null }, 'reminder_time: must be a time of day, as HH:MM'],
  [{ reminder_offset_mins: -1 }, 'reminder_offset_mins: must be 0 or more'],
  [{ reminder_offset_mins: 525_601 }, 'reminder_offset_mins: must be at most 525600'],
  [{ reminder_offset_mins: 2 ** 53 }, 'reminder_offset_mins: is too large'],
  [{ reminder_offset_mins: 1.5 }, 'reminder_offset_mins: must be a whole number'],
  [{ reminder_offset_mins: '30' }, 'reminder_offset_mins: must be a whole number'],
  [{ reminder_time: '08:00' }, 'reminder_time: cannot be combined with reminder_offset_mins'],
  [{ reminder_time: '08:00', reminder_offset_mins: null }, 'reminder_time: is for tasks without due_time'],
  [{ due_date: null, reminder_offset_mins: null }, 'due_time: needs due_date'],
  [{ due_time: null }, 'reminder_offset_mins: needs due_time'],
  [{ due_date: '0001-01-01', due_time: '00:00' }, 'reminder_offset_mins: lies before the first day of the calendar'],
]

describe('bad dates, times and reminders', () => {
  test.each(refused)('%j are refused by both creates', async (body, message) => {
    const { member, path, keys } = shared
    for (const [caller, url] of [
      [member, `${path}/create`],
      [keys.account, `${path}/create`],
      [keys.personal, '/api/tasks/create'],
    ] as const) {
      const answer = await app.as(caller).post(url, { title: 'Bad', ...DUE, ...body })
      expect([answer.status, answer.body.message]).toEqual([400, message])
    }
    expect(await app.db.read(sql`select id from tasks where title = 'Bad'`)).toEqual([])
  })

  test.each(refused)('%j leave the task as it was, to the byte', async (body, message) => {
    const { post, member, row } = shared
    const before = await row()
    // All keys are named, so that none is dropped as impossible.
    const answer = await post(member, 'update', { ...DUE, ...body })
    expect([answer.status, answer.body.message]).toEqual([400, message])
    expect(await row()).toBe(before)
  })
})

describe('an assignee', () => {
  test('of another account, unknown, outside the space or removed from it changes nothing', async () => {
    const { post, create, id, member, viewer, outsider, owner, space, row } = await withTask()
    const nobody = await app.person(id, 'Nora Nowhere')
    await app.as(owner).post(`/api/space/${space}/member/${viewer.id}/remove`)
    const before = await row()
    for (const person of [outsider, nobody, viewer, { id: 999_999, email: 'nobody@example.com' }]) {
      for (const body of [{ assignee_user_id: person.id }, { assignee_email: person.email }]) {
        const expected = [400, `${Object.keys(body)[0]}: is not a member of the space`]
        const changed = await post(member, 'update', { title: 'Mail', ...body })
        expect([changed.status, changed.body.message]).toEqual(expected)
        const made = await create(member, { title: 'Call', ...body })
        expect([made.status, made.body.message]).toEqual(expected)
      }
    }
    expect(await row()).toBe(before)
  })

  test('who was removed from the space stays, by id and by address, until the task is reassigned', async () => {
    const { post, member, viewer, owner, space, task } = await withTask()
    await post(member, 'update', { assignee_user_id: viewer.id })
    await app.as(owner).post(`/api/space/${space}/member/${viewer.id}/remove`)
    for (const body of [{ assignee_user_id: viewer.id }, { assignee_email: viewer.email }]) {
      const answer = await post(member, 'update', { title: 'Mail', ...body })
      expect([answer.status, answer.body.assignee_user_id]).toEqual([200, viewer.id])
    }
    expect((await app.as(viewer).get(`/api/task/${task.id}/get`)).status).toBe(403)
    expect((await post(member, 'update', { assignee_user_id: member.id })).body.assignee_user_id).toBe(member.id)
    expect((await post(member, 'update', { assignee_user_id: viewer.id })).body.message).toBe(
      'assignee_user_id: is not a member of the space',
    )
  })

  test('who is assigned by many concurrent calls is notified once', async () => {
    const { post, member, admin } = await withTask()
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(member, 'update', { assignee_user_id: admin.id })))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect((await told(admin.id)).map(({ event_type }) => event_type)).toEqual(['TASK_ASSIGNED'])
  })
})

describe('a path', () => {
  test('does not accept the record of another table', async () => {
    const { account, member, table } = await onRecord()
    const { id: second, records } = await makeTable(app, account, { records: [{ name: 'A' }, { name: 'B' }, { name: 'C' }, { name: 'D' }] })
    const foreign = records.at(-1)
    for (const [method, verb] of [
      ['post', 'create'],
      ['get', 'list'],
      ['get', 'count'],
    ] as const) {
      const path = `/api/tasks/onRecord/${table}/${foreign}/${verb}`
      const { status, body } = method === 'post' ? await app.as(member).post(path, { title: 'x' }) : await app.as(member).get(path)
      expect([verb, status, body.message]).toEqual([verb, 404, 'Record not found'])
    }
    expect((await app.as(member).get(`/api/tasks/onRecord/${second}/${foreign}/count`)).body).toEqual({ open: 0, total: 0 })
  })
})

/** Statements beside the request: they record the use of a session, announce events, or look where new spaces are. */
const ASIDE = /^\s*(update sessions|notify) |pg_dist_/

describe('mentions in one comment', () => {
  /** Adds fifty more members to the space. */
  async function crowd() {
    const made = await withTask()
    const people: number[] = []
    for (let index = 0; index < 50; index++) people.push((await app.person(made.id, `Person ${index}`)).id)
    await app.db.write(sql`
      insert into space_members (space_id, user_id, account_id, role)
      select ${made.space}, u, ${made.id}, 'viewer' from unnest(${people}::int[]) u`)
    return { ...made, people }
  }

  test('of fifty users cost as many statements as none', async () => {
    const { post, member, people, task } = await crowd()
    const { db } = app.deps
    const spies = [vi.spyOn(db, 'read'), vi.spyOn(db, 'write')]
    const costOf = async (content: string) => {
      for (const spy of spies) spy.mockClear()
      expect((await post(member, 'comments/create', { content })).status).toBe(200)
      return new Set(spies.flatMap(({ mock }) => mock.calls.map(([{ text }]) => text)).filter((text) => !ASIDE.test(text))).size
    }
    // The new members changed who may do what in the account, so the first request after that looks the caller up.
    await costOf('Hello')
    // One statement authorises the request; another writes the comment with all its effects.
    expect(await costOf('Hello')).toBe(2)
    expect(await costOf(people.map((id) => `@{${id}:Person}`).join(' '))).toBe(2)
    vi.restoreAllMocks()
    expect(await subscribersOf(task.id)).toEqual([...people, member.id].sort((a, b) => a - b))
  })

  test('can be a thousand: each reachable user is notified once', async () => {
    const { post, member, people, task, outsider } = await crowd()
    const strangers = Array.from({ length: 900 }, (_, index) => 1_000_000 + index)
    const ids = [...people, ...people, ...strangers, outsider.id]
    const content = ids.map((id) => `@{${id}:Somebody}`).join(' ')
    const { status, body } = await post(member, 'comments/create', { content })
    expect([status, ids.length > 1_000, body.content]).toEqual([200, true, content])
    for (const id of people) expect((await told(id)).map(({ event_type }) => event_type)).toEqual(['task.comment.mention'])
    expect(await told(outsider.id)).toEqual([])
    expect(await subscribersOf(task.id)).toHaveLength(people.length + 1)
  })

  test('that many concurrent edits add notify once', async () => {
    const { post, member, viewer } = await withTask()
    const { body } = await post(member, 'comments/create', { content: 'Hello' })
    const edits = Array.from({ length: 6 }, () => post(member, `comment/${body.id}/update`, { content: `@{${viewer.id}:Vera}` }))
    expect((await Promise.all(edits)).every(({ status }) => status === 200)).toBe(true)
    expect((await told(viewer.id)).map(({ event_type }) => event_type)).toEqual(['task.comment.mention'])
  })
})

const shared = await withTask()

describe('refusals come in one order', () => {
  test('first the credentials, then read-only, the task, its place, the space, the row, attachments, the body', async () => {
    const { id, admin, keys, keyOf, outsider, member, task } = await withTask()
    const alone = (await app.as(member).post('/api/tasks/create', { title: 'Breathe' })).body.id
    const readOnly = await keyOf({ accountId: id, userId: member.id }, { kind: 'personal', read_only: true })
    const adminKey = await keyOf({ accountId: id, userId: admin.id }, { kind: 'personal' })
    const words = 'Attachments cannot be set via the public API'
    const cases: [Caller, number | string, number, string][] = [
      [null, 'x', 401, 'Sign in, or send an API key as a bearer token'],
      [keys.accountReadOnly, 'x', 403, 'API key is read-only'],
      [readOnly, 999_999, 403, 'API key is read-only'],
      [keys.account, 'x', 400, 'task_id: must be a whole number'],
      [keys.account, 999_999, 404, 'Task not found'],
      [keys.account, alone, 403, 'Task is not on a record'],
      [keys.accountOtherSpace, alone, 403, 'Task is not on a record'],
      [keys.accountOtherSpace, task.id, 403, 'API key not authorized for this workspace'],
      [keys.accountOutsider, alone, 403, 'Task is not on a record'],
      [keys.accountOutsider, task.id, 403, 'Not authorized'],
      [keys.personalOutsider, task.id, 403, 'Not authorized'],
      [outsider, alone, 403, 'Not authorized'],
      [adminKey, alone, 403, 'Not authorized'],
      [adminKey, task.id, 403, 'Not authorized'],
      [keys.account, task.id, 403, words],
      [keys.personal, task.id, 403, words],
      [member, task.id, 400, 'title: must not be null'],
    ]
    const bad = { title: null, attachments: 5, colour: 'red' }
    for (const [caller, taskId, status, message] of cases) {
      const rest = await app.as(caller).post(`/api/task/${taskId}/update`, bad)
      expect([taskId, rest.status, rest.body.message.split(';')[0]]).toEqual([taskId, status, message])
      const rpc = await app.as(caller).post('/trpc/tasks.update', { ...bad, task_id: taskId })
      expect([taskId, rpc.status, rpc.body.error.data.message.split(';')[0]]).toEqual([taskId, status, message])
    }
  })
})
