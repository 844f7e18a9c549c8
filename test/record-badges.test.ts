/** Tests what rows and records show beside their fields (contract.md §9): versions, badges, and marking what is unread about a record. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import type { Statement } from '../src/platform/database/statements/statement.ts'
import { type Caller, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'
import { NOW } from './support/tasks.ts'

const app = await testApp()
beforeEach(() => app.setClock(NOW))

const NONE = { open_tasks: 0, overdue_tasks: 0, comments: 0, unread: 0 }

/** A table of four records, of which some have an amount and the same tag. */
async function dealsTable() {
  const account = await app.account({ timezone: 'Pacific/Kiritimati' })
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Amount', type: 'number' },
    { name: 'Owner', type: 'user' },
  ]
  const records = [{ name: 'Acme one', amount: 3, owner: '@me' }, { name: 'Bolt' }, { name: 'Acme two', amount: 1 }, { name: 'Acme three' }]
  const table = await makeTable(app, account, { fields, records })
  const query = (body: object, caller: Caller = account.viewer) => app.as(caller).post(`${table.path}/records/query`, body)
  const get = (id: number, include: string, caller: Caller = account.viewer) =>
    app.as(caller).get(`${table.path}/record/${id}/get?include=${include}`)
  return { account, table, query, get, records: table.records as [number, number, number, number] }
}

describe('versions', () => {
  test('are in the rows of every kind of page, and are the numbers in the ETags', async () => {
    const { account, table, query, get, records } = await dealsTable()
    for (const name of ['Acme 1', 'Acme one'])
      await app.as(account.member).post(`${table.path}/record/${records[0]}/update`, { data: { name } })
    await app.as(account.member).post(`${table.path}/record/${records[2]}/update`, { data: { amount: 2 } })
    const versions: Record<number, number> = { [records[0]]: 3, [records[1]]: 1, [records[2]]: 2, [records[3]]: 1 }
    const view = await app.as(account.admin).post(`${table.path}/views/create`, { name: 'By amount', type: 'grid', order_by: 'amount' })

    for (const body of [
      {},
      { order_by: 'amount', order_dir: 'D' },
      { order: [{ field: 'amount' }, { field: 'name', dir: 'D' }] },
      { view_id: view.body.id },
      { search: 'acme', order_by: 'amount' },
      { fields: ['owner'], filter: { column: 'amount', compare: '>', value: 0 } },
      { offset: 2 },
    ]) {
      const plain = await query(body)
      const { body: rows, status } = await query({ ...body, include: ['version'] })
      expect(status, JSON.stringify(rows)).toBe(200)
      expect(rows.length).toBe(plain.body.length)
      expect(rows).toEqual(plain.body.map((row: { id: number }) => ({ ...row, _version: versions[row.id] })))
    }
    const deep = await query({ offset: 1_000, include: ['version'] })
    expect([deep.status, deep.body]).toEqual([200, []])

    for (const id of records) {
      const { headers, body } = await get(id, 'version')
      expect([headers.get('etag'), body.version]).toEqual([`"${versions[id]}"`, versions[id]])
      expect(body).toEqual((await app.as(account.viewer).get(`${table.path}/record/${id}/get`)).body)
    }
    const stale = await app
      .as(account.member)
      .post(`${table.path}/record/${records[0]}/update`, { data: { name: 'x' } }, { 'if-match': '"2"' })
    expect([stale.status, stale.body.current.version]).toEqual([409, 3])
  })

  test('are in the rows of a walk, across the empty values and in both directions', async () => {
    const { query, records } = await dealsTable()
    for (const order_dir of ['A', 'D']) {
      const ids: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await query({ order_by: 'amount', order_dir, cursor, limit: 1, include: ['version', 'badges'], fields: ['name'] })
        expect(page.body).toEqual([{ id: expect.any(Number), name: expect.any(String), _version: 1, _badges: NONE }])
        ids.push(page.body[0].id)
        cursor = page.headers.get('x-next-cursor')
      }
      expect([...ids].sort((a, b) => a - b)).toEqual(records)
    }
  })
})

describe('badges', () => {
  test('count open and overdue tasks, comments of every type, and what the caller has not read', async () => {
    const { account, table, query, get, records } = await dealsTable()
    const [one, two, three] = records
    const { member, viewer, owner, keys } = account
    const task = async (record: number, body: object) => {
      const made = await app.as(member).post(`/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call', ...body })
      expect(made.status, JSON.stringify(made.body)).toBe(200)
      return made.body.id as number
    }
    // At 09:30 UTC on the 30th, it is 23:30 on the same day in Kiritimati.
    for (const due of [
      { due_date: '2026-03-29' },
      { due_date: '2026-03-30' },
      { due_date: '2026-03-30', due_time: '09:29' },
      { due_date: '2026-03-30', due_time: '09:30' },
      {},
    ])
      await task(one, due)
    const done = await task(one, { due_date: '2026-03-01' })
    await app.as(member).post(`/api/task/${done}/markDone`)
    await task(two, { due_date: '2026-03-30', assignee_user_id: viewer.id })
    await app.as(member).post('/api/tasks/create', { title: 'On no record', assignee_user_id: viewer.id })

    const comment = (record: number, content: string) => app.as(member).post(`${table.path}/record/${record}/comments/create`, { content })
    await comment(one, `@{${viewer.id}:Vera} look`)
    await comment(three, 'Nobody')
    await app.db.write(sql`
      insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content)
      select account_id, space_id, table_id, record_id, t.type, 0, 'Somebody', 'Mail'
      from record_comments c, unnest(array['email_in', 'email_out']) as t (type) where c.record_id = ${one} and c.table_id = ${table.id}`)

    const expected = {
      [one]: { open_tasks: 5, overdue_tasks: 2, comments: 3, unread: 1 },
      [two]: { open_tasks: 1, overdue_tasks: 0, comments: 0, unread: 1 },
      [three]: { ...NONE, comments: 1 },
      [records[3]]: NONE,
    }
    const badgesFor = async (caller: Caller) => {
      const { body } = await query({ include: ['badges'], order_by: 'name' }, caller)
      return Object.fromEntries(body.map(({ id, _badges }: { id: number; _badges: object }) => [id, _badges]))
    }
    expect(await badgesFor(viewer)).toEqual(expected)
    expect(await badgesFor(keys.personalViewer)).toEqual(expected)
    const unread = (value: number | null) =>
      Object.fromEntries(Object.entries(expected).map(([id, all]) => [id, { ...all, unread: value }]))
    expect(await badgesFor(owner)).toEqual(unread(0))
    expect(await badgesFor(keys.account)).toEqual(unread(null))

    for (const [id, badges] of Object.entries(expected)) {
      const read = await get(Number(id), 'version,badges')
      expect(read.body.badges).toEqual(badges)
      const { badges: _, ...plain } = read.body
      expect(plain).toEqual((await app.as(viewer).get(`${table.path}/record/${id}/get`)).body)
    }
    const { rpc } = app.as(keys.personalViewer)
    const { rows } = await rpc.records.query.query({ table_id: table.id, include: ['badges', 'version'], limit: 1 })
    expect(rows).toEqual([expect.objectContaining({ id: one, _version: 1, _badges: expected[one] })])
    const record = await rpc.records.get.query({ table_id: table.id, record_id: two, include: ['badges'] })
    expect([record.version, record.badges]).toEqual([1, expected[two]])

    // The next second is past the task with a time, and the next local day past those without.
    app.setClock(new Date('2026-03-30T09:30:01Z'))
    expect((await badgesFor(viewer))[one].overdue_tasks).toBe(3)
    app.setClock(new Date('2026-03-30T10:00:00Z'))
    expect(await badgesFor(viewer)).toMatchObject({ [one]: { overdue_tasks: 4 }, [two]: { overdue_tasks: 1 } })
  })

  describe('of a page', () => {
    const queries = queriesOf(app.db)
    afterEach(() => Object.assign(app.db, queries))

    test('take one statement, and a page without them none', async () => {
      const { query } = await dealsTable()
      // The first pages learn whom the rows name.
      for (let page = 0; page < 2; page++) await query({})
      const sent: Statement[] = []
      Object.assign(
        app.db,
        queriesWith(app.db, (statement) => void sent.push(statement)),
      )
      const naming = (table: string) => sent.filter((statement) => JSON.stringify(statement).includes(table)).length
      // Once a minute a request also notes the use of its key, so the least of three counts.
      const least = async (body: object) => {
        const counts: number[] = []
        for (let turn = 0; turn < 3; turn++) {
          sent.length = 0
          await query(body)
          counts.push(sent.length)
        }
        return Math.min(...counts)
      }
      const plain = await least({})
      expect(await least({ include: ['version'] })).toBe(plain)
      expect([await least({ include: ['badges'] }), naming('record_comments')]).toEqual([plain + 1, 1])
      sent.length = 0
      expect((await query({ include: ['badges'], search: 'nothing has this' })).body).toEqual([])
      expect(naming('record_comments')).toBe(0)
    })
  })

  test.each([
    ['an unknown name', ['version', 'etag'], 'include.1'],
    ['a text', 'version', 'include'],
    ['an object', { version: true }, 'include'],
    ['a number', [1], 'include.0'],
    ['many names', Array(21).fill('version'), 'include'],
  ])('refuse %s', async (_, include, path) => {
    const { query } = await dealsTable()
    const answer = await query({ include })
    expect([answer.status, answer.body.issues[0].path.join('.')]).toEqual([400, path])
  })

  test('are asked for by known names, also of one record', async () => {
    const { account, table, query, get, records } = await dealsTable()
    const unknown = await get(records[0], 'badges,title')
    expect([unknown.status, unknown.body.issues[0].path]).toEqual([400, ['include', 1]])
    const { rpc } = app.as(account.keys.account)
    await expect(rpc.records.get.query({ table_id: table.id, record_id: records[0], include: ['all' as 'badges'] })).rejects.toThrow(
      "must be one of version, badges, not 'all'",
    )
    for (const include of [null, []]) expect((await query({ include })).body).toEqual((await query({})).body)
    expect((await query({ include: ['badges', 'badges'], limit: 1 })).body[0]._badges).toEqual(NONE)
    expect((await app.as(account.viewer).post(`${table.path}/records/count`, { include: ['badges'] })).body.count).toBe(4)
  })
})

describe('marking the notifications of a record as read', () => {
  async function told() {
    const deals = await dealsTable()
    const { account, table, records } = deals
    const [one, two] = records
    for (const record of [one, one, two])
      await app
        .as(account.member)
        .post(`/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call', assignee_user_id: account.viewer.id })
    await app.as(account.member).post(`${table.path}/record/${one}/comments/create`, { content: `@{${account.viewer.id}:Vera} look` })
    const unread = async (caller: Caller = account.viewer) => (await app.as(caller).post('/api/notifications/unreadCount')).body.unread
    const mark = (record: number | string, caller: Caller = account.viewer) =>
      app.as(caller).post(`${table.path}/record/${record}/markRead`)
    return { ...deals, one, two, unread, mark }
  }

  test('marks those about it and its tasks, once', async () => {
    const { account, table, one, two, unread, mark, get } = await told()
    expect((await get(one, 'badges')).body.badges.unread).toBe(3)
    expect((await mark(one)).body).toEqual({ read: 3 })
    expect((await mark(one)).body).toEqual({ read: 0 })
    expect([(await get(one, 'badges')).body.badges.unread, (await get(two, 'badges')).body.badges.unread]).toEqual([0, 1])
    expect(await unread()).toBe(1)
    const { rpc } = app.as(account.keys.personalViewer)
    expect(await rpc.notifications.markRecordRead.mutate({ table_id: table.id, record_id: two })).toEqual({ read: 1 })
    const rows = (await app.as(account.viewer).post('/api/notifications/list')).body
    expect(rows.map(({ read_at, seen_at }: Record<string, string>) => [read_at, seen_at])).toEqual(
      Array(4).fill(['2026-03-30 09:30:00', '2026-03-30 09:30:00']),
    )
  })

  test('leaves those of others, and two calls at once count each only once', async () => {
    const { account, one, mark, unread } = await told()
    expect((await mark(one, account.admin)).body).toEqual({ read: 0 })
    expect(await unread()).toBe(4)
    const answers = await Promise.all([mark(one), mark(one), mark(one)])
    expect(answers.reduce((sum, { body }) => sum + body.read, 0)).toBe(3)
  })

  test('is for users who can read the record', async () => {
    const { account, table, one, mark, unread } = await told()
    expect((await mark(one, null)).status).toBe(401)
    for (const caller of [account.keys.account]) {
      const { status, body } = await mark(one, caller)
      expect([status, body.message]).toEqual([403, 'API endpoint not available to API keys'])
    }
    const outside = await mark(one, account.outsider)
    expect([outside.status, outside.body.message]).toEqual([404, 'Table not found'])
    for (const id of [987_654, 0, -1, 2 ** 40]) {
      const { status, body } = await mark(id)
      expect([status, body.message]).toEqual([404, 'Record not found'])
    }
    expect((await mark('one')).status).toBe(400)
    expect((await app.as(account.viewer).post(`${table.path}/record/${one}/markRead`, { all: true })).status).toBe(400)
    expect((await app.as(account.viewer).post(`/api/table/987654/record/${one}/markRead`)).status).toBe(404)
    const readOnly = await app.as(account.viewer).post('/api/keys/create', { kind: 'personal', name: 'Reader', read_only: true })
    const refused = await mark(one, readOnly.body.secret)
    expect([refused.status, refused.body.message]).toEqual([403, 'API key is read-only'])
    expect(await unread()).toBe(4)
  })
})
