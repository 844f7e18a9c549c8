import { beforeEach, describe, expect, test, vi } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import type { Statement } from '../src/platform/database/statements/statement.ts'
import { recordsDeleted } from '../src/tables/cascade.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { lockWaits } from './support/servers.ts'
import { makeTable } from './support/tables.ts'
import { NOW, sorted, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, told, subscribersOf, holding } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

describe('creating a task on a record', () => {
  test('returns the whole row', async () => {
    const { create, id, space, table, record, member, viewer } = await onRecord()
    const answer = await create(member, {
      title: '  Call back ',
      details: 'About the price list',
      assignee_user_id: viewer.id,
      due_date: '2026-03-31',
      due_time: '14:30',
      reminder_offset_mins: 45,
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body).toEqual({
      id: expect.any(Number),
      creator_user_id: member.id,
      assignee_user_id: viewer.id,
      account_id: id,
      space_id: space,
      table_id: table,
      record_id: record,
      title: 'Call back',
      details: 'About the price list',
      due_date: '2026-03-31',
      due_time: '14:30:00',
      reminder_offset_mins: 45,
      reminder_time: null,
      reminder_at: '2026-03-31 13:45:00',
      reminder_sent_at: null,
      status: 'open',
      completed_at: null,
      completed_by_user_id: null,
      created_at: '2026-03-30 09:30:00',
      updated_at: '2026-03-30 09:30:00',
      version: 1,
      attachments: [],
    })
  })

  test('works the same on RPC', async () => {
    const { create, table, record, keys } = await onRecord()
    const rest = await create(keys.personal, { title: 'Call', due_date: '2026-03-31', reminder_time: '08:00' })
    const rpc = await app.as(keys.personal).rpc.tasks.createOnRecord.mutate({
      table_id: table,
      record_id: record,
      title: 'Call',
      due_date: '2026-03-31',
      reminder_time: '08:00',
    })
    expect({ ...rpc, id: 0 }).toEqual({ ...rest.body, id: 0 })
    expect(rpc.reminder_at).toBe('2026-03-31 08:00:00')
  })

  test('treats null as absent', async () => {
    const { create, member } = await onRecord()
    const nulls = Object.fromEntries(
      [
        'details',
        'assignee_user_id',
        'assignee_email',
        'assigner_user_id',
        'assigner_email',
        'notify_assigner',
        'due_date',
        'due_time',
        'reminder_offset_mins',
        'reminder_time',
      ].map((key) => [key, null]),
    )
    const { status, body } = await create(member, { title: 'Call', ...nulls })
    expect(status).toBe(200)
    expect(body).toMatchObject({ assignee_user_id: member.id, creator_user_id: member.id, details: null, due_date: null })
  })

  test('is allowed for a viewer, and for an account key within its whitelist', async () => {
    const { create, account, space, keys } = await onRecord()
    expect((await create(keys.personalViewer, { title: 'Call' })).status).toBe(200)
    expect((await create(await keyFor(account, [space]), { title: 'Call' })).status).toBe(200)
  })

  test('refuses callers without access, with the messages of the contract', async () => {
    const { create, keys, outsider, path } = await onRecord()
    const refusals: [Caller, number, string][] = [
      [null, 401, 'Sign in, or send an API key as a bearer token'],
      [keys.accountReadOnly, 403, 'API key is read-only'],
      [keys.accountOtherSpace, 403, 'API key not authorized for this workspace'],
      [outsider, 404, 'Table not found'],
      [keys.accountOutsider, 404, 'Table not found'],
    ]
    for (const [caller, status, message] of refusals) {
      const answer = await create(caller, { title: '' })
      expect([answer.status, answer.body.message]).toEqual([status, message])
    }
    expect((await app.as(keys.account).get(`${path}/count`)).body).toEqual({ open: 0, total: 0 })
  })

  test('refuses an assignee of the account who is not in the space', async () => {
    const { create, id } = await onRecord()
    const { status, body } = await create(await app.person(id, 'Nora Nowhere'), { title: 'Call' })
    expect([status, body.message]).toEqual([403, 'Not authorized'])
  })

  test('refuses unknown ids', async () => {
    const { table, record, member } = await onRecord()
    const { id: elsewhere } = await makeTable(app, await app.account())
    const create = async (path: string) => {
      const { status, body } = await app.as(member).post(`/api/tasks/onRecord/${path}/create`, { title: 'Call' })
      return [status, body.message]
    }
    expect(await create(`${table}/999999`)).toEqual([404, 'Record not found'])
    expect(await create(`${table}/-1`)).toEqual([404, 'Record not found'])
    expect(await create(`999999/${record}`)).toEqual([404, 'Table not found'])
    expect(await create(`${elsewhere}/1`)).toEqual([404, 'Table not found'])
    expect(await create(`${table}/one`)).toEqual([400, 'record_id: must be a whole number'])
  })

  test.each<[string, object, string]>([
    ['no title', {}, 'title: is required'],
    ['an empty title', { title: '  ' }, 'title: must not be empty'],
    ['a title that is not a text', { title: 5 }, 'title: must be text'],
    ['a null title', { title: null }, 'title: is required'],
    ['a long title', { title: 'x'.repeat(501) }, 'title: must have at most 500 characters'],
    ['long details', { title: 'x', details: 'x'.repeat(100_001) }, 'details: must have at most 100000 characters'],
    ['an unknown key', { title: 'x', urgency: 1 }, 'urgency: is not a known key'],
    ['a day that does not exist', { title: 'x', due_date: '2026-02-30' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
    ['an instant for a date', { title: 'x', due_date: '2026-02-01T00:00:00Z' }, 'due_date: must be a date that exists, as YYYY-MM-DD'],
    ['a time without a date', { title: 'x', due_time: '10:00' }, 'due_time: needs due_date'],
    ['a time that does not exist', { title: 'x', due_date: '2026-02-01', due_time: '24:00' }, 'due_time: must be a time of day, as HH:MM'],
    ['an offset without a time', { title: 'x', due_date: '2026-02-01', reminder_offset_mins: 5 }, 'reminder_offset_mins: needs due_time'],
    [
      'both reminders',
      { title: 'x', due_date: '2026-02-01', due_time: '10:00', reminder_offset_mins: 5, reminder_time: '09:00' },
      'reminder_time: cannot be combined with reminder_offset_mins',
    ],
    [
      'a time of day for a timed task',
      { title: 'x', due_date: '2026-02-01', due_time: '10:00', reminder_time: '09:00' },
      'reminder_time: is for tasks without due_time',
    ],
    ['a reminder time without a date', { title: 'x', reminder_time: '09:00' }, 'reminder_time: needs due_date'],
    [
      'more than a year',
      { title: 'x', due_date: '2026-02-01', due_time: '10:00', reminder_offset_mins: 525_601 },
      'reminder_offset_mins: must be at most 525600',
    ],
    [
      'a negative offset',
      { title: 'x', due_date: '2026-02-01', due_time: '10:00', reminder_offset_mins: -1 },
      'reminder_offset_mins: must be 0 or more',
    ],
    ['NUL', { title: 'a\0b' }, 'title: must not contain NUL'],
  ])('refuses %s', async (_, body, message) => {
    const answer = await app.as(shared.keys.personal).post(`${shared.path}/create`, body)
    expect([answer.status, answer.body.message]).toEqual([400, message])
    expect(answer.body.issues[0].path).toEqual([message.split(':')[0]])
  })

  test('refuses attachments from every key, even an empty list', async () => {
    const { create, keys, member } = await onRecord()
    for (const key of [keys.account, keys.personal])
      expect((await create(key, { title: 'x', attachments: [] })).body.message).toBe('Attachments cannot be set via the public API')
    expect((await create(member, { title: 'x', attachments: 5 })).status).toBe(400)
  })

  test('happens once for an Idempotency-Key', async () => {
    const { create, keys, path } = await onRecord()
    const first = await create(keys.account, { title: 'Call' }, { 'idempotency-key': 'k1' })
    const again = await create(keys.account, { title: 'Call' }, { 'idempotency-key': 'k1' })
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await create(keys.account, { title: 'Mail' }, { 'idempotency-key': 'k1' })).status).toBe(409)
    expect((await app.as(keys.account).get(`${path}/count`)).body).toEqual({ open: 1, total: 1 })
  })

  test('refuses a record that was deleted with its tasks', async () => {
    const { create, table, record, other, path, member } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    const { body: kept } = await app.as(member).post(`/api/tasks/onRecord/${table}/${other}/create`, { title: 'Mail' })
    await app.as(member).post(`/api/table/${table}/record/${record}/delete`)
    expect((await create(member, { title: 'Call' })).body.message).toBe('Record not found')
    expect((await app.as(member).get(`${path}/list`)).status).toBe(404)
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body.message).toBe('Task not found')
    expect((await app.as(member).get(`/api/task/${kept.id}/get`)).status).toBe(200)
  })

  test('leaves no task behind when the record is deleted at the same moment', async () => {
    const { create, table, record, member } = await onRecord()
    const { promise: deleted, resolve: hasDeleted } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const deletion = app.db.transaction(async () => {
      await app.db.write(sql`delete from ${recordsOf(table)} where id = ${record}`)
      await recordsDeleted(systemContext(app.deps), table, [record])
      hasDeleted()
      await released
    })
    await Promise.race([deleted, deletion])
    const creation = create(member, { title: 'Call' })
    await expect.poll(() => lockWaits()).toHaveLength(1)
    release()
    const answer = await creation
    await deletion
    expect([answer.status, answer.body.message]).toEqual([404, 'Record not found'])
    expect(await app.db.read(sql`select 1 from tasks where table_id = ${table}`)).toEqual([])
  })
})

const shared = await onRecord()

async function keyFor(account: TestAccount, spaceIds: number[]): Promise<string> {
  return account.keyOf({ accountId: account.id, userId: account.owner.id }, { kind: 'account', space_ids: spaceIds })
}

describe('the assignee and the assigner', () => {
  type Who = 'owner' | 'admin' | 'member' | 'viewer'
  const cases: {
    caller: 'account' | 'personal' | 'session'
    body: { assignee?: Who; assigner?: Who; notify?: boolean }
    assignee: Who
    creator: Who
    subscribers: Who[]
    told: Who[]
  }[] = [
    { caller: 'account', body: {}, assignee: 'owner', creator: 'owner', subscribers: ['owner'], told: ['owner'] },
    { caller: 'account', body: { assignee: 'viewer' }, assignee: 'viewer', creator: 'viewer', subscribers: ['viewer'], told: ['viewer'] },
    {
      caller: 'account',
      body: { assignee: 'viewer', assigner: 'admin' },
      assignee: 'viewer',
      creator: 'admin',
      subscribers: ['admin', 'viewer'],
      told: ['viewer'],
    },
    {
      caller: 'account',
      body: { assignee: 'viewer', assigner: 'admin', notify: false },
      assignee: 'viewer',
      creator: 'admin',
      subscribers: ['viewer'],
      told: ['viewer'],
    },
    {
      caller: 'account',
      body: { assigner: 'admin' },
      assignee: 'owner',
      creator: 'admin',
      subscribers: ['owner', 'admin'],
      told: ['owner'],
    },
    { caller: 'personal', body: {}, assignee: 'member', creator: 'member', subscribers: ['member'], told: [] },
    { caller: 'personal', body: { notify: false }, assignee: 'member', creator: 'member', subscribers: ['member'], told: [] },
    {
      caller: 'personal',
      body: { assignee: 'viewer' },
      assignee: 'viewer',
      creator: 'member',
      subscribers: ['member', 'viewer'],
      told: ['viewer'],
    },
    {
      caller: 'personal',
      body: { assignee: 'owner' },
      assignee: 'owner',
      creator: 'member',
      subscribers: ['owner', 'member'],
      told: ['owner'],
    },
    {
      caller: 'personal',
      body: { assignee: 'viewer', notify: false },
      assignee: 'viewer',
      creator: 'member',
      subscribers: ['viewer'],
      told: ['viewer'],
    },
    {
      caller: 'personal',
      body: { assignee: 'viewer', assigner: 'viewer' },
      assignee: 'viewer',
      creator: 'viewer',
      subscribers: ['viewer'],
      told: ['viewer'],
    },
    {
      caller: 'personal',
      body: { assignee: 'viewer', assigner: 'member' },
      assignee: 'viewer',
      creator: 'member',
      subscribers: ['member', 'viewer'],
      told: ['viewer'],
    },
    {
      caller: 'session',
      body: { assignee: 'admin' },
      assignee: 'admin',
      creator: 'member',
      subscribers: ['admin', 'member'],
      told: ['admin'],
    },
  ]

  test.each(cases)('by $caller with $body: creator $creator, subscribers $subscribers', async ({ caller, body, ...expected }) => {
    const account = await onRecord()
    const callerIs = caller === 'session' ? account.member : account.keys[caller]
    for (const by of ['id', 'email'] as const) {
      const naming = (role: 'assignee' | 'assigner', who?: Who) =>
        who ? { [by === 'id' ? `${role}_user_id` : `${role}_email`]: account[who][by] } : {}
      const { status, body: task } = await account.create(callerIs, {
        title: 'Call',
        ...naming('assignee', body.assignee),
        ...naming('assigner', body.assigner),
        ...(body.notify !== undefined && { notify_assigner: body.notify }),
      })
      expect(status, JSON.stringify(task)).toBe(200)
      expect(task).toMatchObject({ assignee_user_id: account[expected.assignee].id, creator_user_id: account[expected.creator].id })
      expect(await subscribersOf(task.id)).toEqual(sorted(...expected.subscribers.map((who) => account[who].id)))
      for (const who of ['owner', 'admin', 'member', 'viewer'] as const) {
        const events = (await told(account[who].id)).filter(({ task_id }) => task_id === task.id).map(({ event_type }) => event_type)
        expect(events, who).toEqual(expected.told.includes(who) ? ['TASK_ASSIGNED'] : [])
      }
    }
  })

  test('refuses an assigner whom a person or personal key may not name', async () => {
    const { create, keys, member, admin, viewer } = await onRecord()
    for (const caller of [keys.personal, member]) {
      const { status, body } = await create(caller, { title: 'Call', assignee_user_id: viewer.id, assigner_email: admin.email })
      expect([status, body.message]).toEqual([400, 'assigner_email: must be the caller or the assignee'])
    }
  })

  test('refuses users who are not in the space', async () => {
    const { create, id, keys, outsider } = await onRecord()
    const nobody = await app.person(id, 'Nora Nowhere')
    for (const person of [nobody, outsider]) {
      for (const body of [
        { assignee_user_id: person.id },
        { assignee_email: person.email },
        { assigner_user_id: person.id },
        { assigner_email: person.email },
      ]) {
        const answer = await create(keys.account, { title: 'Call', ...body })
        expect([answer.status, answer.body.message]).toEqual([400, `${Object.keys(body)[0]}: is not a member of the space`])
      }
    }
  })

  test('ignores the address beside an id without a lookup, and says so', async () => {
    const { create, keys, viewer, admin } = await onRecord()
    const answer = await create(keys.account, {
      title: 'Call',
      assignee_user_id: viewer.id,
      assignee_email: 'nobody@example.com',
      assigner_user_id: admin.id,
      assigner_email: viewer.email,
    })
    expect(answer.body).toMatchObject({ assignee_user_id: viewer.id, creator_user_id: admin.id })
    expect(answer.headers.get('x-ignored')).toBe('assignee_email, assigner_email')
  })

  test('finds an address in any case', async () => {
    const { create, keys, viewer } = await onRecord()
    expect((await create(keys.account, { title: 'Call', assignee_email: viewer.email.toUpperCase() })).body.assignee_user_id).toBe(
      viewer.id,
    )
  })

  test('notifies the assignee in sentences', async () => {
    const { create, keys, member, viewer } = await onRecord()
    const timed = await create(member, { title: 'Call', assignee_user_id: viewer.id, due_date: '2026-03-31', due_time: '14:30' })
    await create(keys.account, { title: 'Mail', assignee_user_id: viewer.id })
    expect(await told(viewer.id)).toEqual([
      {
        event_type: 'TASK_ASSIGNED',
        actor_user_id: member.id,
        message: 'Max Member assigned you the task “Call”.',
        summary: '“Call” is due on 2026-03-31 at 14:30 UTC.',
        url: `/task/${timed.body.id}`,
        task_id: timed.body.id,
      },
      expect.objectContaining({
        actor_user_id: null,
        message: 'API: Test key assigned you the task “Mail”.',
        summary: '“Mail” has no due date.',
      }),
    ])
  })
})

describe('the tasks of a record', () => {
  test('are listed with open ones first by due date, those without one last, then completed ones, newest first', async () => {
    const { create, member, path } = await onRecord()
    const made: Record<string, number> = {}
    for (const [title, body] of Object.entries({
      undated: {},
      later: { due_date: '2026-04-02' },
      soon: { due_date: '2026-04-01', due_time: '18:00' },
      sooner: { due_date: '2026-04-01', due_time: '09:00' },
      that_day: { due_date: '2026-04-01' },
      done_first: { due_date: '2026-01-01' },
      done_last: {},
    }))
      made[title] = (await create(member, { title, ...body })).body.id
    await app.as(member).post(`/api/task/${made.done_first}/markDone`)
    app.setClock(new Date(NOW.getTime() + 60_000))
    await app.as(member).post(`/api/task/${made.done_last}/markDone`)

    const titles = async (query: string) => {
      const { body, headers } = await app.as(member).get(`${path}/list${query}`)
      return [headers.get('x-total-count'), ...body.map(({ title }: { title: string }) => title)]
    }
    expect(await titles('')).toEqual(['7', 'sooner', 'soon', 'that_day', 'later', 'undated', 'done_last', 'done_first'])
    expect(await titles('?status=open&limit=2&offset=1')).toEqual(['5', 'soon', 'that_day'])
    expect(await titles('?status=done')).toEqual(['2', 'done_last', 'done_first'])
    expect(await titles('?offset=100')).toEqual(['7'])
    expect(await titles('?limit=0')).toEqual(['7', 'sooner'])
    expect(await titles('?limit=100000&offset=-5')).toHaveLength(8)
    const { rows, total } = await app.as(member).rpc.tasks.listOnRecord.query({ ...ids(path), status: 'done' })
    expect([total, rows.map(({ title }) => title)]).toEqual([2, ['done_last', 'done_first']])
    expect((await app.as(member).get(`${path}/count`)).body).toEqual({ open: 5, total: 7 })
  })

  test('are readable with a read-only key, but not with a key of another account', async () => {
    const { create, keys, member, path } = await onRecord()
    await create(member, { title: 'Call' })
    expect((await app.as(keys.accountReadOnly).get(`${path}/list`)).body).toHaveLength(1)
    expect((await app.as(keys.accountReadOnly).get(`${path}/count`)).body).toEqual({ open: 1, total: 1 })
    expect((await app.as(keys.accountOtherSpace).get(`${path}/list`)).body.message).toBe('API key not authorized for this workspace')
    expect((await app.as(keys.personalOutsider).get(`${path}/list`)).body.message).toBe('Table not found')
    expect((await app.as(null).get(`${path}/list`)).status).toBe(401)
  })

  test.each([
    ['status=closed', 'status'],
    ['limit=ten', 'limit'],
    ['offset=1.5', 'offset'],
  ])('refuse %s', async (query, key) => {
    const { status, body } = await app.as(shared.member).get(`${shared.path}/list?${query}`)
    expect([status, body.issues[0].path]).toEqual([400, [key]])
  })
})

const ids = (path: string) => {
  const [, , , , table_id = 0, record_id = 0] = path.split('/').map(Number)
  return { table_id, record_id }
}

describe('getting a task', () => {
  test('returns the row with its comments and subscribers, the same on RPC', async () => {
    const { create, member, viewer, keys, table } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', assignee_user_id: viewer.id })
    for (let number = 1; number <= 21; number++)
      await app.as(member).post(`/api/task/${task.id}/comments/create`, { content: `Comment ${number}` })
    const { body, headers } = await app.as(keys.personal).get(`/api/task/${task.id}/get`)
    const [{ name }] = (await app.db.read<{ name: string }>(sql`select name from tables where id = ${table}`)) as [{ name: string }]
    const { recent_comments, ...rest } = body
    expect(rest).toEqual({
      ...task,
      comment_count: 21,
      subscribers: sorted(member.id, viewer.id),
      subscribed: true,
      table_name: name,
      record_title: 'Analytical Engines',
    })
    expect(headers.get('etag')).toBe('"1"')
    const { body: comments } = await app.as(keys.personal).get(`/api/task/${task.id}/comments/get`)
    expect(recent_comments).toEqual(comments.slice(0, 20))
    expect(recent_comments[0]).toMatchObject({ content: 'Comment 21', created_at: '2026-03-30 09:30:00' })
    expect(await app.as(keys.personal).rpc.tasks.get.query({ task_id: task.id })).toEqual(body)
    // An account key reads as the owner, who follows no task here.
    expect((await app.as(keys.account).get(`/api/task/${task.id}/get`)).body.subscribed).toBe(false)
  })

  test('is read by the same plan for all tasks, also with many comments', async () => {
    const { create, member } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    await app.db.write(sql`insert into task_comments (account_id, task_id, user_id, user_name, content, created_at)
      select ${task.account_id}::int, ${task.id}::int, ${member.id}::int, 'Ada', repeat('x', 1500), now() from generate_series(1, 5000) n`)
    await app.db.write(sql`analyze task_comments`)
    const spy = vi.spyOn(app.deps.db, 'read')
    const { body } = await app.as(member).get(`/api/task/${task.id}/get`)
    const [statement] = spy.mock.calls.find(([{ label }]) => label === 'tasks:get') ?? []
    spy.mockRestore()
    expect([body.comment_count, body.recent_comments.length]).toEqual([5000, 20])
    const { text, values } = statement as Statement
    const client = await app.db.connect()
    try {
      await client.query('set plan_cache_mode = force_generic_plan')
      await client.query(`prepare detail as ${text}`)
      const bound = values.map((value) => (value === null ? 'null' : client.escapeLiteral(`${value}`)))
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain execute detail (${bound.join()})`)
      // PostgreSQL plans a statement anew each time while it expects more rows of the plan for all values than of one for these.
      const limits = rows.flatMap(({ 'QUERY PLAN': line }) => /Limit .* rows=(\d+)/.exec(line)?.[1] ?? [])
      expect(limits).toEqual(['20'])
    } finally {
      await client.end()
    }
  })

  test('has no record title if the table has no text field', async () => {
    const account = await app.account()
    const { id: table, records } = await makeTable(app, account, { fields: [{ name: 'Name', type: 'long_text' }], records: [{}] })
    const { body } = await app.as(account.member).post(`/api/tasks/onRecord/${table}/${records[0]}/create`, { title: 'Call' })
    expect((await app.as(account.member).get(`/api/task/${body.id}/get`)).body.record_title).toBeNull()
  })

  test('succeeds while the title field is being deleted', async () => {
    const { create, member, table } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    const title = async () => (await app.as(member).get(`/api/task/${task.id}/get`)).body.record_title
    expect(await title()).toBe('Analytical Engines')
    // The field is deleted after the request was checked and before its read, so that the two see different versions.
    await app.db.write(sql`delete from fields where table_id = ${table}`)
    await app.db.write(sql`alter table ${recordsOf(table)} drop column name`)
    expect(await title()).toBeNull()
  })

  test('refuses callers who cannot read it, in any account', async () => {
    const { create, id, member, keys, outsider } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    const refusals: [Caller, number, string][] = [
      [null, 401, 'Sign in, or send an API key as a bearer token'],
      [keys.accountOtherSpace, 403, 'API key not authorized for this workspace'],
      [outsider, 403, 'Not authorized'],
      [keys.personalOutsider, 403, 'Not authorized'],
      [keys.accountOutsider, 403, 'Not authorized'],
      [await app.person(id, 'Nora Nowhere'), 403, 'Not authorized'],
    ]
    for (const [caller, status, message] of refusals) {
      for (const path of ['get', 'comments/get']) {
        const answer = await app.as(caller).get(`/api/task/${task.id}/${path}`)
        expect([answer.status, answer.body.message]).toEqual([status, message])
      }
    }
    for (const [wrong, status, message] of [
      ['999999', 404, 'Task not found'],
      ['0', 404, 'Task not found'],
      ['99999999999999999999', 404, 'Task not found'],
      ['one', 400, 'task_id: must be a whole number'],
    ]) {
      const answer = await app.as(member).get(`/api/task/${wrong}/get`)
      expect([answer.status, answer.body.message]).toEqual([status, message])
    }
  })

  test('fails once the table is deleted', async () => {
    const { create, member, table } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    await app.db.write(sql`update tables set deleted_at = now() where id = ${table}`)
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body.message).toBe('Task not found')
    expect((await app.as(member).post('/api/tasks/list', {})).body).toEqual([])
  })
})

describe('marking a task', () => {
  test('changes it once, and notifies the other subscribers', async () => {
    const { create, member, viewer } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', assignee_user_id: viewer.id })
    const mark = async (verb: string, caller: Caller = viewer) => (await app.as(caller).post(`/api/task/${task.id}/${verb}`)).body
    const row = async () => (await app.as(member).get(`/api/task/${task.id}/get`)).body

    app.setClock(new Date(NOW.getTime() + 60_000))
    expect(await mark('markUndone')).toEqual({ ok: false, status: 'open' })
    expect(await mark('markDone')).toEqual({ ok: true, status: 'done' })
    expect(await mark('markDone', member)).toEqual({ ok: false, status: 'done' })
    expect(await row()).toMatchObject({
      status: 'done',
      completed_at: '2026-03-30 09:31:00',
      completed_by_user_id: viewer.id,
      updated_at: '2026-03-30 09:31:00',
    })
    expect(await app.as(viewer).rpc.tasks.markUndone.mutate({ task_id: task.id })).toEqual({ ok: true, status: 'open' })
    expect(await row()).toMatchObject({ status: 'open', completed_at: null, completed_by_user_id: null })
    expect((await told(member.id)).map(({ event_type, message, summary }) => [event_type, message, summary])).toEqual([
      ['TASK_DONE', 'Vera Viewer completed the task “Call”.', '“Call” is done.'],
      ['TASK_UNDONE', 'Vera Viewer reopened the task “Call”.', '“Call” is open.'],
    ])
    expect((await told(viewer.id)).map(({ event_type }) => event_type)).toEqual(['TASK_ASSIGNED'])
  })

  test('succeeds for one of many concurrent calls', async () => {
    const { create, member, keys, viewer } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', assignee_user_id: viewer.id })
    const answers = await Promise.all(
      [member, viewer, keys.account, keys.personal, member, viewer].map((caller) => app.as(caller).post(`/api/task/${task.id}/markDone`)),
    )
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual(answers.map(() => [200, 'done']))
    expect(answers.filter(({ body }) => body.ok)).toHaveLength(1)
    expect(
      [...(await told(member.id)), ...(await told(viewer.id))].filter(({ event_type }) => event_type === 'TASK_DONE').length,
    ).toBeLessThanOrEqual(2)
  })

  test('fails if the task is deleted at the same moment', async () => {
    const { create, member } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    const commit = await holding(sql`delete from tasks where id = ${task.id}`)
    const marking = app.as(member).post(`/api/task/${task.id}/markDone`)
    await expect.poll(() => lockWaits()).toHaveLength(1)
    await commit()
    const { status, body } = await marking
    expect([status, body.message]).toEqual([404, 'Task not found'])
  })

  test('is allowed for the creator, the assignee, and account keys in context, as the owner', async () => {
    const { create, member, viewer, admin, owner, keys } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', assignee_user_id: viewer.id })
    const mark = async (caller: Caller) => {
      const { status, body } = await app.as(caller).post(`/api/task/${task.id}/markDone`)
      return [status, body.message]
    }
    expect(await mark(admin)).toEqual([403, 'Not authorized'])
    expect(await mark(owner)).toEqual([403, 'Not authorized'])
    expect(await mark(keys.accountReadOnly)).toEqual([403, 'API key is read-only'])
    expect(await mark(keys.accountOtherSpace)).toEqual([403, 'API key not authorized for this workspace'])
    expect(await mark(keys.accountOutsider)).toEqual([403, 'Not authorized'])
    expect(await mark(null)).toEqual([401, 'Sign in, or send an API key as a bearer token'])
    expect(await mark(keys.account)).toEqual([200, undefined])
    expect((await app.as(member).get(`/api/task/${task.id}/get`)).body.completed_by_user_id).toBe(owner.id)
    // A key is no user, so both subscribers are notified.
    for (const person of [member, viewer])
      expect((await told(person.id)).at(-1)).toMatchObject({
        event_type: 'TASK_DONE',
        actor_user_id: null,
        message: 'API: Test key completed the task “Call”.',
      })
  })

  test('does not notify former members', async () => {
    const { create, member, viewer, space } = await onRecord()
    const { body: task } = await create(member, { title: 'Call', assignee_user_id: viewer.id })
    await app.db.write(sql`delete from space_members where space_id = ${space} and user_id = ${viewer.id}`)
    await app.as(member).post(`/api/task/${task.id}/markDone`)
    expect((await told(viewer.id)).map(({ event_type }) => event_type)).toEqual(['TASK_ASSIGNED'])
    expect((await app.as(viewer).post(`/api/task/${task.id}/markUndone`)).status).toBe(403)
  })

  test('refuses every body', async () => {
    const { create, member } = await onRecord()
    const { body: task } = await create(member, { title: 'Call' })
    for (const init of [{}, { body: '' }, { body: '{}', headers: { 'content-type': 'application/json' } }])
      expect((await app.as(member).send(`/api/task/${task.id}/markDone`, { method: 'POST', ...init })).status).toBe(200)
    expect((await app.as(member).post(`/api/task/${task.id}/markDone`, { force: true })).body.message).toBe('force: is not a known key')
  })
})
