/** Tests which streams hear of the changes of live tables, how the messages are coalesced, and that nothing is lost with a connection. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { createClient } from '../src/client.ts'
import { openFeed } from '../src/events/feed.ts'
import type { StreamItem } from '../src/events/schema.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { type Answer, type Caller, type TestAccount, testApp } from './support/app.ts'
import { type Heard, openStream, type TestStream } from './support/streams.ts'
import { makeTable, type TestTable } from './support/tables.ts'
import { until } from './support/until.ts'

// Two processes run on one database.
const app = await testApp()
const other = await testApp()

const opened: TestStream[] = []
async function listen(
  caller: Caller,
  tableIds: readonly number[] | undefined,
  { at = other.url, after }: { at?: string; after?: string | undefined } = {},
): Promise<TestStream> {
  const stream = await openStream(at, caller, after, tableIds)
  opened.push(stream)
  return stream
}
afterEach(() => {
  for (const stream of opened.splice(0)) stream.cut()
})

interface Row {
  type: string
  table_id?: number
  space_id?: number
  record_id?: number
  view_id?: number
  user_id?: number
  change_id?: number
  count?: number
  fields?: string[]
}

/** Writes events of live tables as the service does, in one statement. */
async function tell(account: Pick<TestAccount, 'id' | 'space'>, rows: readonly Row[]): Promise<void> {
  const events = rows.map((row) => ({ account_id: account.id, space_id: account.space, ...row }))
  await app.db.write(sql`
    insert into events (type, account_id, space_id, table_id, record_id, view_id, user_id, change_id, count, fields, audience, at)
    select e.*, '{}', now() at time zone 'UTC' from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as e (
      type text, account_id int, space_id int, table_id int, record_id int, view_id int, user_id int, change_id bigint, count int, fields text[])`)
}

const updated = ({ id }: Pick<TestTable, 'id'>, record_id: number): Row => ({
  ...{ type: 'record.updated', table_id: id, record_id, user_id: 1, change_id: 1_000 + record_id, fields: ['name'] },
})

const told = ({ heard }: { heard: readonly Heard[] }) => heard.map(({ type, table_id, record_id }) => [type, table_id, record_id])
const countOf = ({ count, type }: Heard) => (type === 'records.changed' ? (count ?? 0) : 1)
const writesIn = ({ heard }: TestStream) => heard.reduce((sum, event) => sum + countOf(event), 0)

async function withTables() {
  const account = await app.account()
  const [table, second] = [await makeTable(app, account), await makeTable(app, account)]
  return { ...account, account, table, second }
}

/** The status and the message of the answer to a stream that is refused, over REST and RPC. */
async function refusals(
  caller: Caller,
  tableIds: readonly unknown[],
): Promise<{ status?: number | undefined; message?: string | undefined }[]> {
  const as = app.as(caller)
  const rest = await as.get(`/api/events?table_ids=${tableIds.join(',')}`)
  const { promise: error, resolve: onError } = Promise.withResolvers<unknown>()
  const subscription = as.rpc.events.subscribe({ table_ids: tableIds as number[] }, { onError })
  const { data } = (await error) as { data?: { httpStatus?: number; message?: string } | null }
  subscription.unsubscribe()
  return [
    { status: rest.status, message: rest.body.message },
    { status: data?.httpStatus, message: data?.message },
  ]
}

describe('table_ids', () => {
  test('names only tables that the caller may read, whatever the reason', async () => {
    const { account, table, second, space, otherSpace, member, owner, keys, outsider } = await withTables()
    const stranger = await app.person(account.id, 'Not a member')
    const gone = await makeTable(app, account)
    await app.as(owner).post(`/api/table/${gone.id}/delete`)
    const elsewhere = await makeTable(app, { ...account, space: otherSpace })
    const spaceId = await app.makeSpace(account.id, owner.id, {})
    const buried = await makeTable(app, { ...account, space: spaceId })
    expect((await app.as(owner).post(`/api/space/${spaceId}/delete`)).status).toBe(200)
    const narrow = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', space_ids: [space] })
    const unreadable: [string, Caller, unknown[]][] = [
      ['another account', outsider, [table.id]],
      ['another account, by key', keys.accountOutsider, [table.id]],
      ['not a member', stranger, [table.id]],
      ['not a member of one of the spaces', member, [table.id, elsewhere.id]],
      ['outside the whitelist', keys.accountOtherSpace, [table.id]],
      ['one outside the whitelist', narrow, [table.id, elsewhere.id]],
      ['a deleted table', owner, [gone.id]],
      ['a table of a deleted space', owner, [buried.id]],
      ['unknown', owner, [table.id, 2_000_000_000]],
      ['huge', owner, [9_007_199_254_740_991]],
      ['negative', owner, [-1]],
      ['zero', owner, [0]],
      ['one of many', owner, [...Array.from({ length: 60 }, () => table.id), gone.id]],
    ]
    for (const [name, caller, ids] of unreadable)
      for (const refusal of await refusals(caller, ids)) expect(refusal, name).toEqual({ status: 404, message: 'Table not found' })

    for (const caller of [owner, member, account.viewer, keys.account, keys.accountReadOnly, keys.personalViewer, narrow])
      await listen(caller, [table.id, second.id])
  })

  test('takes up to 50 ids, which are checked after the credentials and the tables', async () => {
    const { table, second, owner, keys } = await withTables()
    const invalid: [string, unknown[], RegExp][] = [
      ['no number', ['abc'], /table_ids/],
      ['no whole number', [1.5], /table_ids/],
      ['no whole number beside an unreadable one', [2_000_000_000, 'x'], /table_ids/],
      ['too many', Array.from({ length: 51 }, () => table.id), /at most 50/],
    ]
    for (const [name, ids, message] of invalid)
      for (const refusal of await refusals(owner, ids))
        expect(refusal, name).toEqual({ status: 400, message: expect.stringMatching(message) })

    for (const refusal of await refusals(null, [table.id, 'x'])) expect(refusal.status).toBe(401)
    await listen(
      owner,
      Array.from({ length: 50 }, () => table.id),
    )
    // An id for each time that the key is given, and none at all.
    for (const query of [`table_ids=${table.id}&table_ids=${second.id}`, 'table_ids=']) {
      const cutting = new AbortController()
      const headers = { authorization: `Bearer ${keys.account}` }
      const response = await fetch(`${app.url}/api/events?${query}`, { signal: cutting.signal, headers })
      expect(response.status).toBe(200)
      cutting.abort()
    }
  })

  test('makes a stream hear of records, definitions, views and members, by ids', async () => {
    const { account, table, second, space, otherSpace, member, keys } = await withTables()
    const streams = [await listen(member, [table.id]), await listen(keys.account, [table.id, second.id])]
    const at = expect.any(String)
    const id = expect.any(Number)
    const place = { id, at, space_id: space, table_id: table.id }
    const by = { change_id: 7, user_id: member.id }
    const rows: [Row, object][] = [
      [
        { type: 'record.created', record_id: 1, ...by },
        { record_id: 1, ...by },
      ],
      [
        { type: 'record.updated', record_id: 1, fields: ['name', 'city'], ...by },
        { record_id: 1, fields: ['name', 'city'], ...by },
      ],
      [
        { type: 'record.deleted', record_id: 1, ...by },
        { record_id: 1, ...by },
      ],
      [
        { type: 'record.restored', record_id: 1, change_id: 8 },
        { record_id: 1, change_id: 8, user_id: null },
      ],
      [
        { type: 'records.changed', count: 200, ...by },
        { count: 200, ...by },
      ],
      [{ type: 'table.updated', user_id: member.id }, { user_id: member.id }],
      [{ type: 'view.created', view_id: 3 }, { view_id: 3 }],
      [{ type: 'view.updated', view_id: 3 }, { view_id: 3 }],
      [{ type: 'view.deleted', view_id: 3 }, { view_id: 3 }],
    ]
    for (const [index, [row]] of rows.entries()) {
      await tell(account, [{ table_id: table.id, ...row }])
      await Promise.all(streams.map((stream) => stream.until(index + 1)))
    }
    await tell(account, [{ type: 'members.changed' }])
    await tell(account, [{ type: 'members.changed', space_id: otherSpace }])
    for (const { heard, until: hear } of streams) {
      await hear(rows.length + 1)
      expect(heard).toEqual([
        ...rows.map(([{ type }, more]) => ({ ...place, type, ...more })),
        { id, at, type: 'members.changed', space_id: space },
      ])
    }
    await tell(account, [updated(second, 1)])
    await streams[1]?.until(rows.length + 2)
    expect(streams[0]?.heard).toHaveLength(rows.length + 1)
  })

  test('changes nothing for streams that name none, byte for byte', async () => {
    const { account, table, member, owner } = await withTables()
    const { body: record } = await app.as(owner).post(`${table.path}/records/create`, { data: { name: 'One' } })
    // No heartbeat comes between, however long a busy machine takes.
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10, beatMs: 3_600_000 })
    const server = await buildApp({ ...app.deps, feed })
    const url = await server.listen({ port: 0, host: '127.0.0.1' })
    const texts = await Promise.all(
      ['', `?table_ids=${table.id}`].map(async (query) => {
        const cutting = new AbortController()
        const headers = { cookie: `gridpost_session=${member.session}` }
        const response = await fetch(`${url}/api/events${query}`, { signal: cutting.signal, headers })
        const read = { text: '' }
        void response.body
          ?.pipeThrough(new TextDecoderStream())
          .pipeTo(
            new WritableStream({
              write(text) {
                read.text += text
              },
            }),
          )
          .catch(() => {})
        return { read, cut: () => cutting.abort() }
      }),
    )
    const [plain, live] = texts.map(({ read }) => read) as [{ text: string }, { text: string }]
    await tell(account, [updated(table, 1), { type: 'members.changed' }])
    const { body: task } = await app.as(owner).post(`/api/tasks/onRecord/${table.id}/${record.id}/create`, { title: 'Call' })
    await until(() => live.text.includes('task.created') && plain.text.includes('task.created'), 'for the event of the task')
    await tell(account, [updated(table, 2)])
    await until(() => live.text.includes('"record_id":2'), 'for the event of the record')
    const place = `"space_id":${account.space},"table_id":${table.id},"record_id":${record.id}`
    const frame = `event: task.created\ndata: {"id":N,"type":"task.created","at":"${task.created_at}",${place},"task_id":${task.id}}\nid: N\n\n`
    expect(plain.text.replaceAll(/("id":|id: )\d+/g, '$1N')).toBe(`retry: 2000\nid: N\n\n${frame}`)
    for (const { cut } of texts) cut()
    await server.close()
  })
})

describe('rights', () => {
  test('that end silence the table, and the stream goes on with the others', async () => {
    const { account, table, owner, viewer, admin, otherSpace, space } = await withTables()
    const elsewhere = await makeTable(app, { ...account, space: otherSpace })
    await app.as(owner).post(`/api/space/${otherSpace}/members/add`, { email: viewer.email, role: 'viewer' })
    const [stream, witness] = [await listen(viewer, [table.id, elsewhere.id]), await listen(admin, [table.id])]
    await tell(account, [updated(table, 1)])
    await Promise.all([stream.until(1), witness.until(1)])
    expect((await app.as(admin).post(`/api/space/${space}/member/${viewer.id}/remove`)).status).toBe(200)
    await tell(account, [updated(table, 2), { type: 'members.changed' }])
    await tell(account, [{ ...updated(elsewhere, 3), space_id: otherSpace }])
    await Promise.all([stream.until(2), witness.until(3)])
    // It does not come back with the right: what happened meanwhile was not told.
    await app.as(admin).post(`/api/space/${space}/members/add`, { email: viewer.email, role: 'viewer' })
    await tell(account, [updated(table, 4)])
    await tell(account, [{ ...updated(elsewhere, 5), space_id: otherSpace }])
    // The right that came back may be told as well.
    await until(() => stream.heard.some(({ record_id }) => record_id === 5), 'for the last event')
    await witness.until(4)
    expect(told(stream).filter(([type]) => type !== 'members.changed')).toEqual([
      ['record.updated', table.id, 1],
      ['record.updated', elsewhere.id, 3],
      ['record.updated', elsewhere.id, 5],
    ])
  })

  test.each<[string, (here: Here) => Promise<[Caller, () => Promise<{ status: number }>, number]>]>([
    [
      'a user who is removed from the space',
      async ({ viewer, admin, space }) => [viewer, () => app.as(admin).post(`/api/space/${space}/member/${viewer.id}/remove`), 404],
    ],
    [
      'a key that has lost the space',
      async ({ account, owner, otherSpace }) => {
        const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'Short-lived' })
        return [key, async () => app.as(owner).post(`/api/key/${await keyId(owner)}/update`, { space_ids: [otherSpace] }), 404]
      },
    ],
    [
      'a revoked key',
      async ({ account, owner }) => {
        const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'Short-lived' })
        return [key, async () => app.as(owner).post(`/api/key/${await keyId(owner)}/delete`), 401]
      },
    ],
    ['a session that has signed out', async ({ viewer }) => [viewer, () => app.as(viewer).post('/api/auth/logout'), 401]],
    ['a disabled user', async ({ viewer, owner }) => [viewer, () => app.as(owner).post(`/api/user/${viewer.id}/disable`), 401]],
    [
      'members of a deleted space',
      async ({ member, owner, space }) => [member, () => app.as(owner).post(`/api/space/${space}/delete`), 404],
    ],
  ])('of %s end at once, and so does the stream of that table', async (who, prepare) => {
    const here = await withTables()
    const { account, table, second } = here
    const [caller, revoke, refusal] = await prepare(here)
    const streams = [await listen(caller, [table.id, second.id]), await listen(caller, [table.id], { at: app.url })]
    // Events flow before, during and after.
    let record = 0
    let isOver = false
    const writing = (async () => {
      while (!isOver) {
        await tell(account, [updated(table, ++record)])
        await sleep(5)
      }
    })()
    await Promise.all(streams.map((stream) => stream.until(2)))
    const { status } = await revoke()
    const last = record + 1
    expect(status).toBe(200)
    await Promise.all(streams.map(({ ended }) => ended))
    await until(() => record > last, 'for an event after the revocation to be written')
    isOver = true
    await writing
    const [marked] = await app.db.read<{ id: number }>(sql`
      select id from events where account_id = ${account.id} and table_id = ${table.id} and record_id = ${last}`)
    for (const stream of streams) {
      if (who.includes('deleted space')) expect(stream.heard.at(-1)?.type).toBe('table.deleted')
      expect(stream.heard.filter(({ id, record_id }) => id > (marked?.id ?? 0) || (record_id ?? 0) > last)).toEqual([])
      await expect(listen(caller, [table.id], { after: stream.lastId() })).rejects.toThrow(String(refusal))
    }
  })

  test('of a deleted table end with its last event', async () => {
    const { account, table, second, owner, member } = await withTables()
    const streams = [await listen(member, [table.id]), await listen(member, [table.id, second.id])]
    await tell(account, [updated(table, 1)])
    await Promise.all(streams.map((stream) => stream.until(1)))
    expect((await app.as(owner).post(`/api/table/${table.id}/delete`)).status).toBe(200)
    await tell(account, [updated(table, 2), updated(second, 3)])
    await streams[0]?.ended
    await streams[1]?.until(3)
    const ofTable = [
      ['record.updated', table.id, 1],
      ['table.deleted', table.id, undefined],
    ]
    expect(streams.map(told)).toEqual([ofTable, [...ofTable, ['record.updated', second.id, 3]]])
    await expect(listen(member, [table.id, second.id])).rejects.toThrow('404')
  })
})

type Here = Awaited<ReturnType<typeof withTables>>
async function keyId(owner: Caller): Promise<number> {
  const { body: keys } = await app.as(owner).get('/api/keys/list')
  return keys.find(({ name }: { name: string }) => name === 'Short-lived').id
}

describe('a change of a caller', () => {
  test('is told to streams of another process within 300 ms, by the id that its answer has', async () => {
    const { table, space, member, viewer, owner } = await withTables()
    const stream = await listen(viewer, [table.id])
    const tookMs: number[] = []
    const changed: object[] = []
    const change = async (path: string, body: object | undefined, event: (answer: Answer) => object) => {
      const began = performance.now()
      const answer = await app.as(member).post(`${table.path}${path}`, body)
      expect(answer.status).toBe(200)
      const by = { change_id: Number(answer.headers.get('x-change-id')), user_id: member.id }
      changed.push({ id: expect.any(Number), at: expect.any(String), space_id: space, table_id: table.id, ...by, ...event(answer) })
      await stream.until(changed.length)
      tookMs.push(performance.now() - began)
      await sleep(300)
      return answer.body
    }
    const { id } = await change('/records/create', { data: { name: 'a' } }, ({ body }) => ({ type: 'record.created', record_id: body.id }))
    const rename = (name: string) =>
      change(`/record/${id}/update`, { data: { name } }, () => ({ type: 'record.updated', record_id: id, fields: ['name'] }))
    await rename('b')
    await change(`/record/${id}/delete`, undefined, () => ({ type: 'record.deleted', record_id: id }))
    await change(`/record/${id}/restore`, undefined, () => ({ type: 'record.restored', record_id: id }))
    await change('/records/create_batch', { records: [{ data: {} }, { data: {} }] }, () => ({ type: 'records.changed', count: 2 }))
    // A busy machine may delay some of them.
    expect(Math.min(...tookMs)).toBeLessThan(300)
    await rename('last')
    expect(stream.heard).toEqual(changed)
    // What changed nothing is told to nobody.
    await app.as(member).post(`${table.path}/record/${id}/update`, { data: { name: 'last' } })
    await app.as(owner).post(`${table.path}/update`, { name: `Renamed ${table.id}` })
    await stream.until(changed.length + 1)
    expect(stream.heard.at(-1)).toMatchObject({ type: 'table.updated', table_id: table.id })
  })

  test('is not told to who lost the right before, however many others change the table meanwhile', async () => {
    const { table, space, member, viewer, admin } = await withTables()
    const { body: record } = await app.as(member).post(`${table.path}/records/create`, { data: { name: 'a' } })
    const update = (name: string) => app.as(member).post(`${table.path}/record/${record.id}/update`, { data: { name } })
    const witness = await listen(admin, [table.id])
    for (let round = 0; round < 8; round++) {
      const streams = await Promise.all([listen(viewer, [table.id]), listen(viewer, [table.id], { at: app.url })])
      const before = Array.from({ length: 4 }, (_, n) => update(`before ${round} ${n}`))
      const removed = app.as(admin).post(`/api/space/${space}/member/${viewer.id}/remove`)
      const after = removed.then(({ status }) => {
        expect(status).toBe(200)
        return update(`after ${round}`)
      })
      const [{ headers }] = await Promise.all([after, ...before, ...streams.map(({ ended }) => ended)])
      const change = Number(headers.get('x-change-id'))
      const [event] = await app.db.read<{ id: number }>(sql`select id from events where table_id = ${table.id} and change_id = ${change}`)
      expect(event).toBeDefined()
      for (const { heard } of streams) expect(heard.filter(({ id, change_id }) => id === event?.id || change_id === change)).toEqual([])
      await app.as(admin).post(`/api/space/${space}/members/add`, { email: viewer.email, role: 'viewer' })
    }
    expect(writesIn(witness)).toBeGreaterThan(0)
  })
})

describe('a stream', () => {
  test('that is opened while others write hears of every change after its start', async () => {
    const { account, table, second, member, keys } = await withTables()
    await tell(account, [updated(table, 1), updated(second, 1)])
    let isOver = false
    const writing = (async () => {
      for (let n = 2; !isOver; n++) {
        await tell(account, [updated(table, n), updated(second, n)])
        await sleep(2)
      }
    })()
    const streams = await Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        await sleep(n * 25)
        // The first of each process names a table that no other stream has named before.
        const tables = [[table], [second], [table, second]][n % 3] ?? []
        const stream = await listen(
          n % 2 ? member : keys.account,
          tables.map(({ id }) => id),
          { at: n % 4 < 2 ? app.url : other.url },
        )
        const start = Number(stream.lastId())
        return { stream, start, tables }
      }),
    )
    isOver = true
    await writing
    for (const { stream, start, tables } of streams) {
      const [{ count } = { count: 0 }] = await app.db.read<{ count: number }>(sql`
        select count(*)::int as count from events e, events s
        where s.id = ${start} and (e.xact_id, e.id) > (s.xact_id, s.id) and e.table_id = any(${tables.map(({ id }) => id)}::int[])`)
      await until(
        () => writesIn(stream) >= count,
        () => `for ${count} changes, not ${writesIn(stream)}`,
      )
      expect(writesIn(stream)).toBe(count)
    }
  })

  test('goes on behind an event that is held back by an open transaction, in order', async () => {
    const { account, table, second, member } = await withTables()
    const stream = await listen(member, [table.id, second.id])
    const slow = await app.db.connect()
    try {
      await slow.query('begin')
      await slow.query(
        `insert into events (type, account_id, space_id, table_id, record_id, user_id, change_id, audience, at)
        values ('record.created', $1, $2, $3, 1, 1, 1, '{}', now())`,
        [account.id, account.space, table.id],
      )
      await tell(account, [updated(second, 2)])
      const held = await listen(member, [second.id, table.id], { at: app.url })
      await sleep(100)
      expect([...stream.heard, ...held.heard]).toEqual([])
      await slow.query('commit')
      for (const one of [stream, held]) {
        await one.until(2)
        expect(told(one)).toEqual([
          ['record.created', table.id, 1],
          ['record.updated', second.id, 2],
        ])
      }
    } finally {
      await slow.end()
    }
  })

  test('is told that it has missed something when its last event is no longer kept', async () => {
    const { account, table, member } = await withTables()
    const stream = await listen(member, [table.id])
    await tell(account, [updated(table, 1)])
    await stream.until(1)
    stream.cut()
    await tell(account, [updated(table, 2)])
    await app.db.write(sql`delete from events where id = ${Number(stream.lastId())}`)
    const resumed = await listen(member, [table.id], { after: stream.lastId() })
    await tell(account, [updated(table, 3)])
    await resumed.until(2)
    expect(told(resumed)).toEqual([
      ['reset', undefined, undefined],
      ['record.updated', table.id, 3],
    ])
  })

  test('goes on at another process when its own stops', async () => {
    const { account, table, member } = await withTables()
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10 })
    const server = await buildApp({ ...app.deps, feed })
    const stream = await listen(member, [table.id], { at: await server.listen({ port: 0, host: '127.0.0.1' }) })
    await tell(account, [updated(table, 1), updated(table, 2), updated(table, 3)])
    await stream.until(1)
    // What was held is told by the next process.
    await server.close()
    await stream.ended
    const resumed = await listen(member, [table.id], { after: stream.lastId() })
    await until(() => writesIn(stream) + writesIn(resumed) === 3, 'for what was not told')
  })

  test('checks its caller and tables before each sending when access is not remembered', async () => {
    const { account, table, second, space, otherSpace, owner, member } = await withTables()
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10, remembersAccess: false })
    const server = await buildApp({ ...app.deps, feed, rememberedAccess: undefined })
    const at = await server.listen({ port: 0, host: '127.0.0.1' })
    const elsewhere = await makeTable(app, { ...account, space: otherSpace })
    const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account' })
    const [stream, witness] = [await listen(key, [table.id, elsewhere.id], { at }), await listen(member, [table.id, second.id], { at })]
    await tell(account, [updated(table, 1)])
    await Promise.all([stream.until(1), witness.until(1)])
    // As if somebody had turned off the triggers that change the version of the access.
    await app.db.transaction(async () => {
      await app.db.write(sql`set local session_replication_role = replica`)
      await app.db.write(
        sql`update api_keys set all_spaces = false, space_ids = array[${otherSpace}::int] where token_hash = ${tokenHash(key)}`,
      )
      await app.db.write(sql`delete from space_members where space_id = ${space} and user_id = ${member.id}`)
    })
    await tell(account, [updated(table, 2), { ...updated(elsewhere, 3), space_id: otherSpace }])
    await Promise.all([stream.until(2), witness.ended])
    expect(told(stream)).toEqual([
      ['record.updated', table.id, 1],
      ['record.updated', elsewhere.id, 3],
    ])
    expect(witness.heard).toHaveLength(1)
    await server.close()
  })
})

describe('messages of a table', () => {
  test('keep a distance: the first comes at once, what follows becomes one', async () => {
    const { account, table, second, member } = await withTables()
    const stream = await listen(member, [table.id, second.id])
    await tell(account, [
      updated(table, 1),
      updated(table, 2),
      updated(table, 3),
      { type: 'records.changed', table_id: table.id, count: 10 },
    ])
    await stream.until(2)
    await sleep(300)
    // One that is alone keeps its form, though it had to wait.
    await tell(account, [updated(table, 4), updated(table, 5)])
    await stream.until(4)
    const [, , third] = await app.db.read<{ id: number }>(sql`
      select id from events where account_id = ${account.id} order by xact_id desc, id desc limit 3`)
    expect(stream.heard.slice(0, 4)).toEqual([
      expect.objectContaining({ type: 'record.updated', record_id: 1, change_id: 1_001 }),
      {
        ...{ id: third?.id, type: 'records.changed', at: expect.any(String), space_id: account.space, table_id: table.id },
        ...{ change_id: null, user_id: null, count: 12 },
      },
      expect.objectContaining({ type: 'record.updated', record_id: 4, change_id: 1_004 }),
      expect.objectContaining({ type: 'record.updated', record_id: 5, change_id: 1_005, fields: ['name'] }),
    ])
  })

  test('of definitions, views and members are not lost in what becomes one', async () => {
    const { account, table, member } = await withTables()
    const stream = await listen(member, [table.id])
    const of = (row: Row): Row => ({ table_id: table.id, ...row })
    await tell(account, [
      ...[updated(table, 1), updated(table, 2)],
      ...[of({ type: 'table.updated' }), of({ type: 'view.updated', view_id: 1 }), of({ type: 'view.updated', view_id: 2 })],
      ...[
        of({ type: 'view.updated', view_id: 1 }),
        updated(table, 3),
        of({ type: 'table.updated' }),
        of({ type: 'view.deleted', view_id: 2 }),
      ],
    ])
    await stream.until(6)
    await sleep(300)
    expect(stream.heard.map(({ type, view_id, count }) => [type, view_id ?? count])).toEqual([
      ['record.updated', undefined],
      ['records.changed', 2],
      ['table.updated', undefined],
      ['view.updated', 1],
      ['view.updated', 2],
      ['view.deleted', 2],
    ])
    await tell(account, [{ type: 'members.changed' }, { type: 'members.changed' }, { type: 'members.changed' }])
    await stream.until(8)
    await sleep(300)
    expect(stream.heard).toHaveLength(8)
  })

  test('are followed by everything that came later, in order, and a stream can be resumed after each', async () => {
    const { account, table, second, member } = await withTables()
    const stream = await listen(member, [table.id, second.id])
    // Of both tables in turn: the messages of each cover events between those of the other.
    await tell(
      account,
      Array.from({ length: 40 }, (_, n) => updated(n % 2 ? second : table, n + 1)),
    )
    await stream.until(4)
    await sleep(300)
    expect(stream.heard).toHaveLength(4)
    expect(writesIn(stream)).toBe(40)
    const kept = await app.db.read<{ id: number; table_id: number }>(sql`
      select id, table_id from events where account_id = ${account.id} order by xact_id, id`)
    for (const [index, { id }] of stream.heard.entries()) {
      const resumed = await listen(member, [table.id, second.id], { after: String(id) })
      await tell(account, [updated(second, 100 + index)])
      await until(() => Number(resumed.lastId()) > (kept.at(-1)?.id ?? 0), 'for the event behind all')
      const heard = [...stream.heard.slice(0, index + 1), ...resumed.heard]
      // Nothing between is left out: every table that changed after what was sent is told again.
      for (const one of [table, second]) {
        const sent = heard.filter(({ table_id }) => table_id === one.id).reduce((sum, event) => sum + countOf(event), 0)
        expect(sent).toBeGreaterThanOrEqual(kept.filter(({ table_id }) => table_id === one.id).length)
      }
      resumed.cut()
    }
  })

  test('are few, however many changes there are, and the last one tells of the last change', async () => {
    const { account, table, member, keys } = await withTables()
    const streams = [await listen(member, [table.id]), await listen(keys.account, [table.id], { at: app.url })]
    const began = performance.now()
    for (let from = 1; from <= 10_000; from += 100) {
      await tell(
        account,
        Array.from({ length: 100 }, (_, n) => updated(table, from + n)),
      )
      await sleep(10)
    }
    const [last] = await app.db.read<{ id: number }>(sql`
      select id from events where account_id = ${account.id} order by xact_id desc, id desc limit 1`)
    for (const stream of streams) {
      await until(() => stream.heard.at(-1)?.id === last?.id, 'for the last event')
      const seconds = (performance.now() - began) / 1_000
      expect(writesIn(stream)).toBe(10_000)
      expect(stream.heard.length).toBeLessThanOrEqual(Math.ceil(4 * seconds) + 1)
    }
  })

  test('that were missed for long are few as well', async () => {
    const { account, table, second, member, owner } = await withTables()
    const stream = await listen(member, [table.id, second.id])
    await tell(account, [updated(table, 1)])
    await stream.until(1)
    stream.cut()
    await app.db.write(sql`
      insert into events (type, account_id, space_id, table_id, record_id, user_id, change_id, fields, audience, at)
      select 'record.updated', ${account.id}, ${account.space}, case when n % 2 = 0 then ${table.id}::int else ${second.id}::int end, n, 1, n,
        array['name'], '{}', now() from generate_series(1, 10000) n`)
    const { body: task } = await app.as(owner).post('/api/tasks/create', { title: 'Behind all', assignee_user_id: member.id })
    const resumed = await listen(member, [table.id, second.id], { after: stream.lastId() })
    await until(() => resumed.heard.some(({ task_id }) => task_id === task.id), 'for the event behind all')
    await until(() => writesIn(resumed) >= 10_000, 'for all changes')
    const changes = resumed.heard.filter(({ task_id }) => task_id === undefined)
    expect(changes.reduce((sum, event) => sum + countOf(event), 0)).toBe(10_000)
    expect(changes.length).toBeLessThanOrEqual(12)
    // A stream that names no table gets none of them.
    const plain = await listen(member, undefined, { after: stream.lastId() })
    await until(() => plain.heard.some(({ task_id }) => task_id === task.id), 'for the event behind all')
    expect(plain.heard.every(({ task_id }) => task_id === task.id)).toBe(true)
  })
})

describe('the subscription', () => {
  test('delivers the same to the typed client, which reconnects by itself, until its tables are gone', async () => {
    const { account, table, owner, keys } = await withTables()
    let cutter = new AbortController()
    const client = createClient({
      baseUrl: other.url,
      apiKey: keys.personal,
      fetch: (url, init) => fetch(url, { ...init, signal: AbortSignal.any([cutter.signal, ...(init?.signal ? [init.signal] : [])]) }),
    })
    const heard: StreamItem[] = []
    const ended = new Promise<unknown>((onError) => {
      client.events.subscribe({ table_ids: [table.id] }, { onData: ({ data }) => void heard.push(data), onError })
    })
    await expect.poll(() => heard).toHaveLength(1)
    await tell(account, [updated(table, 1)])
    await expect.poll(() => heard).toHaveLength(2)
    const [cutting] = [cutter]
    cutter = new AbortController()
    cutting.abort()
    await tell(account, [updated(table, 2)])
    await expect.poll(() => heard).toHaveLength(3)
    expect(heard.slice(1)).toEqual(
      [1, 2].map((record_id) => ({
        ...{ id: expect.any(Number), type: 'record.updated', at: expect.any(String), space_id: account.space, table_id: table.id },
        ...{ record_id, change_id: 1_000 + record_id, user_id: 1, fields: ['name'] },
      })),
    )
    await app.as(owner).post(`/api/table/${table.id}/delete`)
    expect(await ended).toMatchObject({ data: { code: 'NOT_FOUND', message: 'Table not found' } })
    expect(heard.at(-1)).toMatchObject({ type: 'table.deleted', table_id: table.id })
    await expect.poll(() => other.deps.feed.size()).toBe(0)
  })
})
