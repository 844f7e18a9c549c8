import { beforeEach, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { type Sql, sql } from '../src/platform/database/database.ts'
import { restore as restoreSpace } from '../src/spaces/service.ts'
import { restore as restoreTable } from '../src/tables/service.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { NOW, sorted, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, told, subscribersOf } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

const create = (caller: Caller, body: object) => app.as(caller).post('/api/tasks/create', body)

describe('a standalone task', () => {
  test('has no record, and belongs to the caller by default', async () => {
    const { member, keys } = await app.account()
    const { status, body } = await create(keys.personal, { title: 'Breathe' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      space_id: null,
      table_id: null,
      record_id: null,
      creator_user_id: member.id,
      assignee_user_id: member.id,
    })
    expect((await app.as(member).get(`/api/task/${body.id}/get`)).body).toMatchObject({
      table_name: null,
      record_title: null,
      subscribers: [member.id],
      subscribed: true,
    })
    expect(await app.as(member).rpc.tasks.create.mutate({ title: 'Breathe' })).toMatchObject({ ...body, id: expect.any(Number) })
  })

  test('is out of reach for account keys', async () => {
    const { member, keys, owner } = await app.account()
    const { body: task } = await create(member, { title: 'Breathe', assignee_user_id: owner.id })
    const as = app.as(keys.account)
    const answers = [
      await as.post('/api/tasks/create', { title: '' }),
      await as.post('/api/tasks/list'),
      await as.post('/api/tasks/badgeCount'),
      await as.get(`/api/task/${task.id}/get`),
      await as.post(`/api/task/${task.id}/markDone`),
      await as.post(`/api/task/${task.id}/comments/create`, { content: 'x' }),
    ]
    for (const { status, body } of answers) expect([status, body.message]).toEqual([403, 'Task is not on a record'])
    expect((await app.as(keys.accountReadOnly).post('/api/tasks/create', {})).body.message).toBe('API key is read-only')
    expect((await app.as(keys.accountOtherSpace).get(`/api/task/${task.id}/get`)).body.message).toBe('Task is not on a record')
    expect((await app.as(null).post('/api/tasks/list')).status).toBe(401)
  })

  test('is named so for account keys in every operation, whoever’s it is, on REST and RPC', async () => {
    const { id, member, owner, keys, keyOf, outsider, space } = await app.account()
    const limited = await keyOf({ accountId: id, userId: owner.id }, { kind: 'account', space_ids: [space] })
    const { body: task } = await create(member, { title: 'Breathe' })
    const { body: theirs } = await create(outsider, { title: 'Sleep' })
    const { body: comment } = await app.as(outsider).post(`/api/task/${theirs.id}/comments/create`, { content: 'x' })
    const refused = [403, 'Task is not on a record']
    for (const key of [keys.account, keys.accountOtherSpace, keys.accountOutsider, limited])
      for (const { id: task_id } of [task, theirs]) {
        const { rpc, ...as } = app.as(key)
        const path = `/api/task/${task_id}`
        const answers = [
          ...(await Promise.all(['get', 'reminder', 'comments/get'].map((verb) => as.get(`${path}/${verb}`)))),
          ...(await Promise.all(
            ['update', 'delete', 'markDone', 'markUndone', 'subscribe', 'unsubscribe', 'comments/create'].map((verb) =>
              as.post(`${path}/${verb}`, { attachments: null }),
            ),
          )),
        ]
        expect(answers.map(({ status, body }) => [status, body.message])).toEqual(answers.map(() => refused))
        await expect(rpc.tasks.get.query({ task_id })).rejects.toMatchObject({ message: refused[1] })
        await expect(rpc.tasks.comments.create.mutate({ task_id, content: 'x' })).rejects.toMatchObject({ message: refused[1] })
      }
    for (const verb of ['update', 'delete']) {
      const { status, body } = await app.as(keys.account).post(`/api/task/${theirs.id}/comment/${comment.id}/${verb}`, { content: 'y' })
      expect([status, body.message]).toEqual(refused)
    }
    // Everybody else learns nothing of another account's task.
    for (const caller of [keys.personal, member, owner])
      expect((await app.as(caller).get(`/api/task/${theirs.id}/get`)).body.message).toBe('Not authorized')
    expect((await app.as(keys.account).get('/api/task/2000000000/get')).body.message).toBe('Task not found')
    expect((await app.as(keys.accountReadOnly).get(`/api/task/${theirs.id}/get`)).body.message).toBe('Task is not on a record')
    expect((await app.as(keys.accountReadOnly).post(`/api/task/${theirs.id}/delete`)).body.message).toBe('API key is read-only')
  })

  test('is visible to its creator, assignee and subscribers, and a mention subscribes', async () => {
    const { member, viewer, admin, owner, outsider } = await app.account()
    const { body: task } = await create(member, { title: 'Breathe', assignee_email: viewer.email })
    const see = async (caller: Caller) => (await app.as(caller).get(`/api/task/${task.id}/get`)).status
    for (const person of [member, viewer]) expect(await see(person)).toBe(200)
    for (const person of [admin, owner, outsider]) expect(await see(person)).toBe(403)
    await app.as(viewer).post(`/api/task/${task.id}/comments/create`, { content: `@{${admin.id}:Ada} @{${outsider.id}:Sam}` })
    expect(await see(admin)).toBe(200)
    expect(await see(outsider)).toBe(403)
    expect((await told(admin.id)).map(({ event_type }) => event_type)).toEqual(['task.comment.mention'])
    // A follower may comment, but not change the task.
    expect((await app.as(admin).post(`/api/task/${task.id}/comments/create`, { content: 'x' })).status).toBe(200)
    for (const verb of ['markDone', 'delete']) expect((await app.as(admin).post(`/api/task/${task.id}/${verb}`)).status).toBe(403)
    expect((await app.as(viewer).post(`/api/task/${task.id}/markDone`)).body.ok).toBe(true)
    expect((await app.as(viewer).post(`/api/task/${task.id}/delete`)).body).toEqual({ ok: true })
  })

  test('can be assigned to users who share a space with the caller', async () => {
    const account = await app.account()
    const { id, owner, member, viewer, outsider } = account
    const apart = await app.person(id, 'Paul Apart')
    await app.makeSpace(id, owner.id, { [apart.id]: 'member' })
    const assign = async (caller: Caller, assignee: { id: number }) => {
      const { status, body } = await create(caller, { title: 'Breathe', assignee_user_id: assignee.id })
      return status === 200 ? body.assignee_user_id : [status, body.message]
    }
    expect(await assign(member, viewer)).toBe(viewer.id)
    expect(await assign(member, owner)).toBe(owner.id)
    expect(await assign(owner, apart)).toBe(apart.id)
    expect(await assign(apart, owner)).toBe(owner.id)
    for (const stranger of [apart, outsider])
      expect(await assign(member, stranger)).toEqual([400, 'assignee_user_id: shares no space with you'])
    const alone = await app.person(id, 'Lone Wolf')
    expect(await assign(alone, alone)).toBe(alone.id)
  })

  test('has the caller or the assignee as its assigner', async () => {
    const { member, viewer, admin } = await app.account()
    const body = { title: 'Breathe', assignee_user_id: viewer.id }
    const given = await create(member, { ...body, assigner_user_id: viewer.id })
    expect(given.body).toMatchObject({ creator_user_id: viewer.id, assignee_user_id: viewer.id })
    expect(await subscribersOf(given.body.id)).toEqual([viewer.id])
    expect(await subscribersOf((await create(member, body)).body.id)).toEqual(sorted(member.id, viewer.id))
    expect((await create(member, { ...body, assigner_user_id: admin.id })).body.message).toBe(
      'assigner_user_id: must be the caller or the assignee',
    )
  })

  test('can be reassigned only to users who share a space with the caller', async () => {
    const { member, viewer, outsider } = await app.account()
    const { body: task } = await create(member, { title: 'Breathe' })
    const update = (body: object) => app.as(member).post(`/api/task/${task.id}/update`, body)
    expect((await update({ assignee_user_id: outsider.id })).body.message).toBe('assignee_user_id: shares no space with you')
    expect((await update({ assignee_user_id: viewer.id })).body.assignee_user_id).toBe(viewer.id)
    expect((await told(viewer.id)).map(({ event_type }) => event_type)).toEqual(['TASK_ASSIGNED'])
  })

  test.each<[object, string]>([
    [{}, 'title: is required'],
    [{ title: 'x', due_time: '10:00' }, 'due_time: needs due_date'],
    [{ title: 'x', table_id: 1 }, 'table_id: is not a known key'],
  ])('refuses %j', async (body, message) => {
    const answer = await create(shared.member, body)
    expect([answer.status, answer.body.message]).toEqual([400, message])
  })
})

describe('the caller’s tasks', () => {
  test('are listed in three tabs, with or without a record', async () => {
    const account = await onRecord()
    const { member, viewer, admin } = account
    await create(member, { title: 'Own' })
    await create(member, { title: 'Given away', assignee_user_id: viewer.id })
    await create(viewer, { title: 'Received', assignee_user_id: member.id })
    await create(viewer, { title: 'Of another' })
    await account.create(member, { title: 'On a record', due_date: '2026-04-01' })
    const { body: followed } = await account.create(admin, { title: 'Followed' })
    await app.as(member).post(`/api/task/${followed.id}/subscribe`)
    const titles = async (body?: object) => {
      const answer = await app.as(member).post('/api/tasks/list', body)
      return [answer.headers.get('x-total-count'), ...answer.body.map(({ title }: { title: string }) => title)]
    }
    expect(await titles()).toEqual(['3', 'On a record', 'Own', 'Received'])
    expect(await titles({ tab: 'my' })).toEqual(['3', 'On a record', 'Own', 'Received'])
    expect(await titles({ tab: 'delegated' })).toEqual(['1', 'Given away'])
    expect(await titles({ tab: 'all' })).toEqual(['5', 'On a record', 'Own', 'Given away', 'Received', 'Followed'])
    expect(await titles({ tab: 'all', limit: 2, offset: 3 })).toEqual(['5', 'Received', 'Followed'])
    const { rows, total } = await app.as(account.keys.personal).rpc.tasks.list.query({ tab: 'delegated' })
    expect([total, rows.map(({ title }) => title)]).toEqual([1, ['Given away']])
  })

  test('omit completed ones by default', async () => {
    const { member, keys } = await app.account()
    const { body: task } = await create(member, { title: 'Own' })
    await app.as(member).post(`/api/task/${task.id}/markDone`)
    expect((await app.as(keys.personal).post('/api/tasks/list', {})).body).toEqual([])
    expect((await app.as(keys.personal).post('/api/tasks/list', { include_done: true })).body).toHaveLength(1)
  })

  test('are open first, by due date, time and age, then done, by the latest completion and the newest', async () => {
    const { create: onTheRecord, path, member } = await onRecord()
    const due = [
      ['no date', undefined, undefined],
      ['no date, newer', undefined, undefined],
      ['late', '2026-05-02', undefined],
      ['early, no time', '2026-05-01', undefined],
      ['early, no time, newer', '2026-05-01', undefined],
      ['early, at 8', '2026-05-01', '08:00'],
      ['early, at 7', '2026-05-01', '07:00'],
      ['done before', '2026-01-01', undefined],
      ['done', '2026-01-02', undefined],
      ['done, newer', '2026-01-01', undefined],
    ] as const
    for (const [title, due_date, due_time] of due) {
      const { body } = await onTheRecord(member, { title, due_date, due_time })
      app.setClock(title === 'done before' ? NOW : new Date(NOW.getTime() + 60_000))
      if (title.startsWith('done')) await app.as(member).post(`/api/task/${body.id}/markDone`)
    }
    const expected = [6, 5, 3, 4, 2, 0, 1, 9, 8, 7].map((index) => due[index]?.[0])
    const titles = ({ body }: { body: { title: string }[] }) => body.map(({ title }) => title)
    expect(titles(await app.as(member).get(`${path}/list`))).toEqual(expected)
    expect(titles(await app.as(member).post('/api/tasks/list', { include_done: true }))).toEqual(expected)
    expect(titles(await app.as(member).post('/api/tasks/list', { include_done: true, tab: 'all' }))).toEqual(expected)
    expect(titles(await app.as(member).post('/api/tasks/list', {}))).toEqual(expected.slice(0, 7))
    expect(titles(await app.as(member).get(`${path}/list?status=done`))).toEqual(expected.slice(7))
  })

  test('are found by all words of a search, in title and details, ignoring case', async () => {
    const { member } = await app.account()
    await create(member, { title: 'Ruf ÄRZTE an', details: 'wegen 100% der Daten' })
    await create(member, { title: 'Call doctors' })
    const found = async (search: string) =>
      (await app.as(member).post('/api/tasks/list', { search })).body.map(({ title }: { title: string }) => title)
    expect(await found('ärzte DATEN')).toEqual(['Ruf ÄRZTE an'])
    expect(await found('ärzte doctors')).toEqual([])
    expect(await found('100%')).toEqual(['Ruf ÄRZTE an'])
    expect(await found('c%l')).toEqual([])
    expect(await found(' _ ')).toEqual([])
    expect(await found('  ')).toHaveLength(2)
  })

  test.each([
    ['HARBOUR', 'at the harbour'],
    ['Harbour THE', 'at the harbour'],
    ['orange', '0.5 l ORANGE'],
    ['istanbul', 'İSTANBUL'],
    ['k', '273 \u212a'],
    ['273 k', '273 \u212a'],
    ['ångström', '3 \u212bNGSTRÖM'],
    ['[a^z]\\_%', 'a pattern: [A^Z]\\_%'],
  ])('are found by %j also in letters of the other case', async (search, title) => {
    const { member } = await app.account()
    await create(member, { title })
    await create(member, { title: 'Other' })
    for (const include_done of [false, true])
      expect((await app.as(member).post('/api/tasks/list', { search, include_done })).body).toMatchObject([
        { title: title.normalize('NFC') },
      ])
  })

  test('may be searched by ASCII letters alone, but for i and k, because no other letters are lowered to ASCII', async () => {
    const found = await app.db.read<{ lower: string }>(sql`
      select lower(chr(code) collate pg_c_utf8) as lower from generate_series(128, 1114111) code
      where code not between 55296 and 57343 and lower(chr(code) collate pg_c_utf8) ~ '[\x01-\x7f]' order by 1`)
    expect(found.map(({ lower }) => lower)).toEqual(['i', 'k'])
  })

  test('omit those of tables that the caller can no longer read', async () => {
    const account = await onRecord()
    const { member, space } = account
    await account.create(member, { title: 'On a record', due_date: '2026-03-30' })
    await app.db.write(sql`delete from space_members where space_id = ${space} and user_id = ${member.id}`)
    expect((await app.as(member).post('/api/tasks/list', { tab: 'all' })).body).toEqual([])
    expect((await app.as(member).post('/api/tasks/badgeCount')).body).toEqual({ count: 0, overdue: 0 })
  })

  describe('in a deleted table or space are omitted until it is restored', () => {
    const OF_LISTS = [{}, { search: 'of the' }, { search: 'in it' }, { include_done: true }, { updated_since: '2026-01-01 00:00:00' }]
    const LISTS = (['my', 'delegated', 'all'] as const).flatMap((tab) => OF_LISTS.map((more) => ({ tab, ...more })))

    /** The titles in each list, and the badge. */
    async function seenBy(caller: Caller) {
      const lists: string[][] = []
      for (const body of LISTS) {
        const answer = await app.as(caller).post('/api/tasks/list', body)
        expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        lists.push(answer.body.map(({ title }: { title: string }) => title))
      }
      return { lists, badge: (await app.as(caller).post('/api/tasks/badgeCount')).body.count as number }
    }

    /** Tasks from and for the owner and a member, each of whom follows those of the other, on a record of each of two tables. */
    async function inTwoTables() {
      const account = await onRecord()
      const { owner, member } = account
      const { id: other, records } = await makeTable(app, account, { name: 'Others', records: [{ name: 'Ltd' }] })
      const places = { 'Of the first, in it': account.path, 'Of the other, in it': `/api/tasks/onRecord/${other}/${records[0]}` }
      const people = [owner, member]
      const pairs = people.flatMap((from) => people.map((to) => ({ from, to })))
      for (const [title, path] of Object.entries(places))
        for (const { from, to } of pairs) {
          const { body } = await app.as(from).post(`${path}/create`, { title, assignee_user_id: to.id, due_date: '2026-03-30' })
          await Promise.all(people.map((follower) => app.as(follower).post(`/api/task/${body.id}/subscribe`)))
        }
      return { ...account, seen: async () => [await seenBy(owner), await seenBy(member)] }
    }

    /** What is around the spaces and tables that the lists have to tell apart. */
    const OTHERS: Record<string, (of: { account: { id: number }; member: { id: number }; space: number }) => Sql> = {
      'among few': () => sql`select`,
      'among many spaces': ({ account, member }) => sql`
        with others as (insert into spaces (account_id, name) select ${account.id}, 'Other ' || i from generate_series(1, 20) i returning id)
        insert into space_members (account_id, space_id, user_id, role) select ${account.id}, id, ${member.id}, 'viewer' from others`,
      'among many deleted tables': ({ account, space }) => sql`
        insert into tables (account_id, space_id, name, deleted_at) select ${account.id}, ${space}, 'Other ' || i, now() from generate_series(1, 20) i`,
    }
    const KINDS = [
      ['table', ['Of the other, in it'], 2, restoreTable],
      ['space', [], 0, restoreSpace],
    ] as const
    const EACH = Object.keys(OTHERS).flatMap((others) => KINDS.map(([kind, ...rest]) => [kind, others, ...rest] as const))

    test.each(EACH)('%s %s', async (kind, others, left, badge, restore) => {
      const { owner, seen, ...ids } = await inTwoTables()
      await app.db.read((OTHERS[others] as (of: typeof ids) => Sql)(ids))
      const before = await seen()
      expect(before.map(({ lists }) => lists.map((titles) => titles.length))).toEqual(
        Array(2).fill([4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 8, 8, 8, 8, 8]),
      )
      expect(before.map((one) => one.badge)).toEqual([4, 4])
      expect((await app.as(owner).post(`/api/${kind}/${ids[kind]}/delete`)).status).toBe(200)
      const kept = (titles: string[]) => titles.filter((title) => (left as readonly string[]).includes(title))
      expect(await seen()).toEqual(before.map(({ lists }) => ({ lists: lists.map(kept), badge })))
      await restore(systemContext(app.deps), ids[kind])
      expect(await seen()).toEqual(before)
    })
  })

  test('on records are counted for the owner, who is not a member of any space', async () => {
    const account = await onRecord()
    const { owner, member, table } = account
    await account.create(owner, { title: 'On a record', due_date: '2026-03-30' })
    const badge = async () => (await app.as(owner).post('/api/tasks/badgeCount')).body.count
    expect([await badge(), (await app.as(owner).post('/api/notifications/unreadCount')).body.tasksDue]).toEqual([1, 1])
    expect((await app.as(member).post('/api/tasks/badgeCount')).body.count).toBe(0)
    await app.as(owner).post(`/api/table/${table}/delete`)
    expect(await badge()).toBe(0)
  })

  test.each([
    [{ tab: 'theirs' }, 'tab'],
    [{ search: 5 }, 'search'],
    [{ include_done: 'yes' }, 'include_done'],
    [{ limit: 'ten' }, 'limit'],
    [{ status: 'open' }, 'status'],
  ])('refuse %j', async (body, key) => {
    const answer = await app.as(shared.member).post('/api/tasks/list', body)
    expect([answer.status, answer.body.issues[0].path]).toEqual([400, [key]])
  })
})

describe('the badge', () => {
  test('counts by the local day of the caller, and timed tasks as instants', async () => {
    // In Apia it is 22:30 on 31 March; the day ends at 11:00 UTC.
    const { member, viewer } = await app.account({ timezone: 'Pacific/Apia' })
    app.setClock(new Date('2026-03-31T09:30:00Z'))
    const badge = async () => (await app.as(member).post('/api/tasks/badgeCount')).body
    const add = async (due: object, expected: { count: number; overdue: number }) => {
      await create(member, { title: 'x', ...due })
      expect(await badge(), JSON.stringify(due)).toEqual(expected)
    }
    expect(await badge()).toEqual({ count: 0, overdue: 0 })
    await add({}, { count: 0, overdue: 0 })
    await add({ due_date: '2026-03-31' }, { count: 1, overdue: 0 })
    await add({ due_date: '2026-03-30' }, { count: 2, overdue: 1 })
    await add({ due_date: '2026-04-01' }, { count: 2, overdue: 1 })
    await add({ due_date: '2026-03-31', due_time: '09:29:59' }, { count: 3, overdue: 2 })
    await add({ due_date: '2026-03-31', due_time: '09:30' }, { count: 4, overdue: 2 })
    await add({ due_date: '2026-03-31', due_time: '10:59:59' }, { count: 5, overdue: 2 })
    await add({ due_date: '2026-03-31', due_time: '11:00' }, { count: 5, overdue: 2 })
    await add({ due_date: '2026-03-30', assignee_user_id: viewer.id }, { count: 5, overdue: 2 })
    expect(await app.as(member).rpc.tasks.badgeCount.query()).toEqual({ count: 5, overdue: 2 })
    expect((await app.as(member).post('/api/notifications/unreadCount')).body).toEqual({ unread: 0, tasksDue: 5 })
    const { body } = await app.as(member).post('/api/tasks/list', {})
    await app.as(member).post(`/api/task/${body[0].id}/markDone`)
    expect((await badge()).count).toBe(4)
  })

  test('counts a day of 23 hours correctly', async () => {
    const { member } = await app.account({ timezone: 'Europe/Berlin' })
    app.setClock(new Date('2026-03-29T10:00:00Z'))
    await create(member, { title: 'x', due_date: '2026-03-29', due_time: '21:59:59' })
    await create(member, { title: 'x', due_date: '2026-03-29', due_time: '22:00' })
    expect((await app.as(member).post('/api/tasks/badgeCount')).body).toEqual({ count: 1, overdue: 0 })
  })
})

describe('without access for personal keys', async () => {
  const closed = await testApp({ PERSONAL_KEYS_ON_STANDALONE_TASKS: 'false' })
  const { keys, member } = await closed.account()

  test('every key is refused, and a session is not', async () => {
    for (const key of [keys.personal, keys.account])
      for (const path of ['list', 'create', 'badgeCount']) {
        const { status, body } = await closed.as(key).post(`/api/tasks/${path}`, { title: 'x' })
        expect([status, path, body.code]).toEqual([403, path, 'FORBIDDEN'])
      }
    expect((await closed.as(keys.personal).post('/api/tasks/list')).body.message).toBe('API endpoint not available to API keys')
    expect((await closed.as(member).post('/api/tasks/create', { title: 'x' })).status).toBe(200)
  })
})

const shared = await app.account()
