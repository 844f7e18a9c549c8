/** Tests who receives which events, when, and after which failures. event-writes.test.ts covers which changes write events. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { buildApp } from '../src/app.ts'
import { createClient } from '../src/client.ts'
import { openFeed } from '../src/events/feed.ts'
import { type EventPosition, lastPosition, readEvents } from '../src/events/order.ts'
import type { StreamItem } from '../src/events/schema.ts'
import { reauthenticate } from '../src/platform/access/reauthenticate.ts'
import type { Actor } from '../src/platform/actor.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { type Caller, testApp } from './support/app.ts'
import { emptyDatabase } from './support/database.ts'
import { openStream, type TestStream } from './support/streams.ts'
import { taskSupport } from './support/tasks.ts'

// Two processes run on one database.
const app = await testApp()
const other = await testApp()
const { onRecord } = taskSupport(app)

const opened: TestStream[] = []
async function listen(caller: Caller, { at = other.url, after }: { at?: string; after?: string | undefined } = {}): Promise<TestStream> {
  const stream = await openStream(at, caller, after)
  opened.push(stream)
  return stream
}
afterEach(() => {
  for (const stream of opened.splice(0)) stream.cut()
})

async function openClient(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection)
  await client.connect()
  return client
}

const tasksOf = ({ heard }: TestStream) => heard.filter(({ type }) => type === 'task.created').map(({ task_id }) => task_id)

describe('GET /api/events', () => {
  test('requires credentials, and sends headers for proxies', async () => {
    const { member } = await onRecord()
    expect((await app.as(null).get('/api/events')).status).toBe(401)
    expect((await app.as('gp_acct_nothing').get('/api/events')).status).toBe(401)
    const { headers, lastId } = await listen(member, { at: app.url })
    expect(headers.get('content-type')).toBe('text/event-stream')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-accel-buffering')).toBe('no')
    expect(headers.get('x-request-id')).toMatch(/^req-/)
    expect(lastId()).toMatch(/^\d+$/)
  })

  test('delivers within a second a change that another process made', async () => {
    const { create, member, space, table, record, keys } = await onRecord()
    const streams = [await listen(member), await listen(keys.accountReadOnly), await listen(keys.personalViewer)]
    const tookMs: number[] = []
    const created: object[] = []
    for (let count = 1; count <= 5; count++) {
      const began = performance.now()
      const { body: task } = await create(keys.account, { title: 'Call back', assignee_user_id: member.id })
      await Promise.all(streams.map(({ until }, index) => until(index ? count : 2 * count)))
      tookMs.push(performance.now() - began)
      const place = { space_id: space, table_id: table, record_id: record, task_id: task.id }
      created.push({ id: expect.any(Number), type: 'task.created', at: task.created_at, ...place })
    }
    // A busy machine may delay some of them.
    expect(Math.min(...tookMs)).toBeLessThan(1_000)
    for (const { heard } of streams.slice(1)) expect(heard).toEqual(created)
    expect(streams[0]?.heard).toEqual(created.flatMap((event) => [event, { ...event, type: 'notification' }]))
  })

  test('delivers to each caller only the events that they may read', async () => {
    const { create, account, member, viewer, admin, owner, outsider, keys, otherSpace } = await onRecord()
    const both = await account.keyOf(
      { accountId: account.id, userId: owner.id },
      { kind: 'account', space_ids: [account.space, otherSpace] },
    )
    const people = [await listen(member), await listen(viewer)] as const
    const inside = { owner, admin, key: keys.account, readOnly: keys.accountReadOnly, listed: both }
    const outside = { unlisted: keys.accountOtherSpace, outsider, outsiderKey: keys.accountOutsider }
    const streams = new Map<string, TestStream>()
    for (const [name, caller] of Object.entries({ ...inside, ...outside })) streams.set(name, await listen(caller))

    // A standalone task is visible to two users, and to no key of the account.
    const { body: own } = await app.as(member).post('/api/tasks/create', { title: 'Between us', assignee_user_id: viewer.id })
    await Promise.all([people[0].until(1), people[1].until(2)])
    await app.as(member).post(`/api/task/${own.id}/delete`)
    const { body: task } = await create(member, { title: 'For all', assignee_user_id: viewer.id })
    await Promise.all([people[0].until(3), people[1].until(5)])

    const told = ({ heard }: TestStream) => heard.map(({ type, task_id }) => [type, task_id])
    const ofAll = [
      ['task.created', own.id],
      ['task.deleted', own.id],
      ['task.created', task.id],
    ]
    expect(told(people[0])).toEqual(ofAll)
    expect(told(people[1])).toEqual([ofAll[0], ['notification', own.id], ofAll[1], ofAll[2], ['notification', task.id]])
    for (const name of Object.keys(inside)) await streams.get(name)?.until(1)
    for (const [name, stream] of streams) expect(told(stream), name).toEqual(name in inside ? [['task.created', task.id]] : [])
  })

  test('stops delivery to a user who is removed from the space, and resumes it when they return', async () => {
    const { create, space, member, viewer, admin } = await onRecord()
    const [stream, witness] = [await listen(viewer), await listen(member)]
    await create(member, { title: 'One' })
    await stream.until(1)
    await app.as(admin).post(`/api/space/${space}/member/${viewer.id}/remove`)
    await create(member, { title: 'Two' })
    await witness.until(2)
    await app.as(admin).post(`/api/space/${space}/members/add`, { email: viewer.email, role: 'viewer' })
    const { body: third } = await create(member, { title: 'Three' })
    await Promise.all([stream.until(2), witness.until(3)])
    expect(tasksOf(stream)).toEqual([tasksOf(witness)[0], third.id])
  })

  test('delivers no event of a table that has been deleted', async () => {
    const { create, table, member, owner, keys } = await onRecord()
    const first = await listen(member)
    await create(member, { title: 'One' })
    await first.until(1)
    first.cut()
    await create(member, { title: 'Two' })
    await app.as(keys.account).post(`/api/table/${table}/delete`)
    const [resumed, witness] = [await listen(member, { after: first.lastId() }), await listen(owner)]
    const { body: task } = await app.as(member).post('/api/tasks/create', { title: 'Elsewhere', assignee_user_id: owner.id })
    await Promise.all([resumed.until(1), witness.until(1)])
    expect(tasksOf(resumed)).toEqual([task.id])
  })

  test.each<[string, (here: Here) => Promise<Revocation>]>([
    [
      'a revoked key',
      async ({ account, owner }: Here) => {
        const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'Short-lived' })
        const { body: keys } = await app.as(owner).get('/api/keys/list')
        const { id } = keys.find(({ name }: { name: string }) => name === 'Short-lived')
        return { caller: key, revoke: () => app.as(owner).post(`/api/key/${id}/delete`) }
      },
    ],
    [
      'a rotated key',
      async ({ account, owner }: Here) => {
        const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'Short-lived' })
        const { body: keys } = await app.as(owner).get('/api/keys/list')
        const { id } = keys.find(({ name }: { name: string }) => name === 'Short-lived')
        return { caller: key, revoke: () => app.as(owner).post(`/api/key/${id}/rotate`) }
      },
    ],
    [
      'a session that has signed out',
      async ({ viewer }: Here) => {
        return { caller: viewer, revoke: () => app.as(viewer).post('/api/auth/logout') }
      },
    ],
    [
      'a disabled user',
      async ({ viewer, owner }: Here) => {
        return { caller: viewer, revoke: () => app.as(owner).post(`/api/user/${viewer.id}/disable`) }
      },
    ],
    [
      'a key that has lost the space',
      async ({ account, owner, otherSpace }: Here) => {
        const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'Short-lived' })
        const { body: keys } = await app.as(owner).get('/api/keys/list')
        const { id } = keys.find(({ name }: { name: string }) => name === 'Short-lived')
        return { caller: key, goesOn: true, revoke: () => app.as(owner).post(`/api/key/${id}/update`, { space_ids: [otherSpace] }) }
      },
    ],
  ])('sends nothing that was done after the answer to %s', async (_, prepare) => {
    const here = await onRecord()
    const { caller, revoke, goesOn = false } = await prepare(here)
    const [stream, witness] = [await listen(caller), await listen(here.member)]
    await here.create(here.member, { title: 'Before' })
    await Promise.all([stream.until(1), witness.until(1)])
    expect((await revoke()).status).toBe(200)
    const { body: after } = await here.create(here.member, { title: 'After' })
    await witness.until(2)
    if (!goesOn) {
      await stream.ended
      await expect(openStream(app.url, caller, stream.lastId())).rejects.toThrow('401')
    }
    expect(tasksOf(witness)).toContain(after.id)
    expect(tasksOf(stream)).not.toContain(after.id)
  })

  test('sends nothing that was done after a key was revoked, however many streams it has and whatever goes on meanwhile', async () => {
    const here = await onRecord()
    const { account, owner, create, member } = here
    const witness = await listen(member)
    let done = 0
    for (let round = 0; round < 10; round++) {
      const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: `Round ${round}` })
      const { body: keys } = await app.as(owner).get('/api/keys/list')
      const { id } = keys.find(({ name }: { name: string }) => name === `Round ${round}`)
      const streams = await Promise.all([listen(key), listen(key, { at: app.url })])
      const before = Array.from({ length: 5 }, (_, n) => create(member, { title: `Before ${n}` }))
      const revoked = app
        .as(owner)
        .post(`/api/key/${id}/delete`)
        .then(() => create(member, { title: 'After' }))
      const [{ body: after }] = await Promise.all([revoked, ...before])
      done += 6
      await Promise.all([witness.until(done), ...streams.map(({ ended }) => ended)])
      for (const stream of streams) expect(tasksOf(stream)).not.toContain(after.id)
    }
  })

  test('checks every caller before it sends when access is not remembered', async () => {
    const { account, owner, create, member } = await onRecord()
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10, remembersAccess: false })
    const server = await buildApp({ ...app.deps, feed, rememberedAccess: undefined })
    const at = await server.listen({ port: 0, host: '127.0.0.1' })
    const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account' })
    const [stream, witness] = [await listen(key, { at }), await listen(member, { at })]
    await create(member, { title: 'Before' })
    await Promise.all([stream.until(1), witness.until(1)])
    // As if somebody had turned off the triggers that change the version of the access.
    await app.db.transaction(async () => {
      await app.db.write(sql`set local session_replication_role = replica`)
      await app.db.write(sql`delete from api_keys where token_hash = ${tokenHash(key)}`)
    })
    await create(member, { title: 'After' })
    await Promise.all([stream.ended, witness.until(2)])
    expect(tasksOf(stream)).toHaveLength(1)
    await server.close()
  })

  test('ends with a key that expires, at the first change after that', async () => {
    const { account, owner, create, member } = await onRecord()
    let now = app.deps.clock()
    const feed = openFeed(app.db, { log: app.deps.log, clock: () => now, maxStreams: 10 })
    const server = await buildApp({ ...app.deps, feed })
    const at = await server.listen({ port: 0, host: '127.0.0.1' })
    const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'For an hour' })
    await app.db.write(
      sql`update api_keys set expires_at = now() at time zone 'UTC' + interval '1 hour' where token_hash = ${tokenHash(key)}`,
    )
    const [stream, witness] = [await listen(key, { at }), await listen(member, { at })]
    await create(member, { title: 'Before' })
    await Promise.all([stream.until(1), witness.until(1)])
    now = new Date(now.getTime() + 3_601_000)
    await create(member, { title: 'After' })
    await Promise.all([stream.ended, witness.until(2)])
    expect(tasksOf(stream)).toHaveLength(1)
    await server.close()
  })
})

type Here = Awaited<ReturnType<typeof onRecord>>
interface Revocation {
  caller: Caller
  /** Whether the stream goes on, with what the caller may still see. */
  goesOn?: boolean
  revoke(): Promise<{ status: number }>
}

describe('a resumed stream', () => {
  test('receives the missed events, without gaps or duplicates, from any process', async () => {
    const { create, member } = await onRecord()
    const stream = await listen(member)
    const ids: number[] = []
    const add = async (title: string) => void ids.push((await create(member, { title })).body.id)
    for (const title of ['One', 'Two']) await add(title)
    await stream.until(2)
    stream.cut()
    for (const title of ['Three', 'Four']) await add(title)
    const resumed = await listen(member, { at: app.url, after: stream.lastId() })
    await add('Five')
    await resumed.until(3)
    // The connection is cut before any event, so the stream resumes from where it was opened.
    const quiet = await listen(member)
    quiet.cut()
    await add('Six')
    const woken = await listen(member, { after: quiet.lastId() })
    await woken.until(1)
    expect([...tasksOf(stream), ...tasksOf(resumed).slice(0, 3), ...tasksOf(woken)]).toEqual(ids)
  })

  test('receives more than a page of missed events, and the new ones after them', async () => {
    const { account, create, member, table, record, space } = await onRecord()
    const before = await listen(member)
    before.cut()
    await app.db.write(sql`
      insert into events (type, account_id, space_id, table_id, record_id, task_id, at)
      select 'task.updated', ${account.id}, ${space}, ${table}, ${record}, n, now() from generate_series(1, 1800) n`)
    const resuming = listen(member, { after: before.lastId() })
    const created = await Promise.all(['One', 'Two', 'Three'].map(async (title) => (await create(member, { title })).body.id))
    const { heard } = await resuming
    await (await resuming).until(1_803)
    expect(heard.slice(0, 1_800).map(({ task_id }) => task_id)).toEqual(Array.from({ length: 1_800 }, (_, n) => n + 1))
    expect(
      heard
        .slice(1_800)
        .map(({ task_id }) => task_id)
        .sort(),
    ).toEqual(created.sort())
  })

  test('receives no further page once its key is revoked, however slowly it has read', async () => {
    const { account, space, table, record, owner } = await onRecord()
    const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account' })
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10, beatMs: 60_000 })
    const [first] = await app.db.write<{ id: number }>(sql`
      with added as (
        insert into events (type, account_id, space_id, table_id, record_id, task_id, at)
        select 'task.updated', ${account.id}, ${space}, ${table}, ${record}, n, now() from generate_series(1, 1001) n returning id
      ) select min(id)::int as id from added`)
    const { promise: readPage, resolve: readsOn } = Promise.withResolvers<void>()
    const pages: number[] = []
    const ends: string[] = []
    const caller = { credentials: { kind: 'key', tokenHash: tokenHash(key) }, ip: '127.0.0.1' } as const
    const [checked] = await reauthenticate(app.db, [caller], app.deps.clock())
    const calls = { open: () => {}, beat: () => {}, drained: () => readPage, end: (why: string) => void ends.push(why) }
    const send = (events: readonly unknown[]) => void pages.push(events.length)
    await feed.subscribe({ ...caller, actor: checked?.actor as Actor, ...calls, send }, first?.id)
    await expect.poll(() => pages).toEqual([500])
    await app.db.write(sql`delete from api_keys where token_hash = ${tokenHash(key)}`)
    readsOn()
    await expect.poll(() => ends).toEqual(['ended'])
    expect(pages).toEqual([500])
    await feed.close()
  })

  test('is told when its last event is no longer kept, or never existed', async () => {
    const { create, member, outsider } = await onRecord()
    const stream = await listen(member)
    await create(member, { title: 'One' })
    await stream.until(1)
    stream.cut()
    await create(member, { title: 'Two' })
    await app.db.write(sql`delete from events where id = ${Number(stream.lastId())}`)
    for (const after of [stream.lastId(), '999999999999', 'abc', '-1', '9'.repeat(30)]) {
      const resumed = await listen(member, { after })
      await resumed.until(1)
      expect(resumed.heard).toEqual([{ id: Number(resumed.lastId()), type: 'reset', at: expect.any(String) }])
      // From there it continues like any other stream.
      resumed.cut()
      const again = await listen(outsider, { after: resumed.lastId() })
      expect(again.heard).toEqual([])
      again.cut()
    }
  })
})

describe('the order', () => {
  test('holds when transactions commit in another order than they write', async () => {
    const { account, create, member, space, table, record } = await onRecord()
    const stream = await listen(member)
    const slow = await app.db.connect()
    try {
      await slow.query('begin')
      await slow.query(
        `insert into events (type, account_id, space_id, table_id, record_id, task_id, at) values ('task.updated', $1, $2, $3, $4, 1, now())`,
        [account.id, space, table, record],
      )
      const { body: task } = await create(member, { title: 'Written later, committed first' })
      // This event is held back, because the older transaction's event would follow it.
      const held = await listen(member, { at: app.url })
      await slow.query('commit')
      for (const { until, heard } of [stream, held]) {
        await until(2)
        expect(heard.map(({ type, task_id }) => [type, task_id])).toEqual([
          ['task.updated', 1],
          ['task.created', task.id],
        ])
      }
      const [first, second] = stream.heard
      const afterFirst = await listen(member, { after: String(first?.id) })
      await afterFirst.until(1)
      const afterSecond = await listen(member, { after: String(second?.id) })
      const { body: last } = await create(member, { title: 'Last' })
      await Promise.all([afterFirst.until(2), afterSecond.until(1)])
      expect([tasksOf(afterFirst), tasksOf(afterSecond)]).toEqual([[task.id, last.id], [last.id]])
    } finally {
      await slow.end()
    }
  })

  test.each([
    ['here', () => app.db.connect()],
    ['in another database', async () => openClient((await emptyDatabase()).connection)],
  ])('waits for no transaction that writes no events, %s', async (_, connect) => {
    const { create, member } = await onRecord()
    const stream = await listen(member)
    const slow = await connect()
    try {
      await slow.query('begin')
      await slow.query('create table of_another_kind ()')
      await create(member, { title: 'Meanwhile' })
      await stream.until(1)
      stream.cut()
      const resumed = await listen(member, { after: stream.lastId() })
      await create(member, { title: 'And again' })
      await resumed.until(1)
    } finally {
      await slow.end()
    }
  })

  test('holds when a transaction writes its event long after its start', async () => {
    const { account, create, member, space, table, record } = await onRecord()
    const stream = await listen(member)
    const late = await app.db.connect()
    try {
      await late.query('begin')
      await late.query('select pg_current_xact_id()')
      const { body: before } = await create(member, { title: 'Before its event' })
      await stream.until(1)
      await late.query(
        `insert into events (type, account_id, space_id, table_id, record_id, task_id, at) values ('task.updated', $1, $2, $3, $4, 1, now())`,
        [account.id, space, table, record],
      )
      const { body: after } = await create(member, { title: 'After its event' })
      // Its id is older than the last delivered one; an event that is held back does not count as lost.
      const resumed = await listen(member, { at: app.url, after: stream.lastId() })
      expect([stream.heard.length, resumed.heard.length]).toEqual([1, 0])
      await late.query('commit')
      const behind = [
        ['task.updated', 1],
        ['task.created', after.id],
      ]
      await Promise.all([stream.until(3), resumed.until(2)])
      const told = ({ heard }: TestStream) => heard.map(({ type, task_id }) => [type, task_id])
      expect([told(stream), told(resumed)]).toEqual([[['task.created', before.id], ...behind], behind])
    } finally {
      await late.end()
    }
  })

  test('is the same for each reader while many transactions write early, late and not at all', async () => {
    const { account } = await onRecord()
    let isWriting = true
    /** Writes up to three events in a transaction; every other one takes its id early, and some are rolled back. */
    async function write(client: Awaited<ReturnType<typeof app.db.connect>>, writer: number, round: number): Promise<void> {
      await client.query('begin')
      if ((writer + round) % 2) await client.query('select pg_current_xact_id()')
      for (let n = 0; n < (writer + round) % 4; n++) {
        await client.query('select pg_sleep($1)', [((writer * 7 + round * 3 + n) % 5) / 1_000])
        const statement = `insert into events (type, account_id, task_id, at) values ('task.updated', $1, $2, now())`
        await client.query(statement, [account.id, round])
      }
      await client.query(round % 9 ? 'commit' : 'rollback')
    }
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      const client = await app.db.connect()
      try {
        for (let round = 0; round < 40; round++) await write(client, writer, round)
      } finally {
        await client.end()
      }
    })
    const from = await lastPosition(app.db)
    const readers = [app, other].map(async ({ db }) => {
      const read: number[] = []
      for (let last: EventPosition = from, isLast = false; ; ) {
        const { events, isHeldBack } = await readEvents(db, last)
        read.push(...events.map(({ id }) => id))
        last = events.at(-1) ?? last
        if (isLast && !events.length && !isHeldBack) return read
        isLast = !isWriting
      }
    })
    await Promise.all(writers).finally(() => {
      isWriting = false
    })
    const kept = await app.db.read<{ id: number }>(sql`
      select id from events where (xact_id, id) > (${from.xact_id}, ${from.id}) order by xact_id, id`)
    expect(kept.length).toBeGreaterThan(200)
    for (const read of await Promise.all(readers)) expect(read).toEqual(kept.map(({ id }) => id))
  })

  test('loses nothing while writers commit at random', async () => {
    const { create, member } = await onRecord()
    const stream = await listen(member)
    // As many writers as a process serves of one account at once, so that none of them is refused.
    const made = await Promise.all(
      Array.from({ length: 12 }, async (_, writer) => {
        const ids: number[] = []
        for (let n = writer; n < 60; n += 12) {
          await sleep((n * 37) % 50)
          ids.push((await create(member, { title: `Task ${n}` }, n % 3 ? {} : { 'idempotency-key': `random-${n}` })).body.id)
        }
        return ids
      }),
    )
    await stream.until(60)
    expect(tasksOf(stream).sort()).toEqual(made.flat().sort())
  })
})

describe('the subscription', () => {
  test('delivers the same to the typed client, which reconnects by itself', async () => {
    const { create, member, keys, space, table, record } = await onRecord()
    let cutter = new AbortController()
    const client = createClient({
      baseUrl: other.url,
      apiKey: keys.personal,
      fetch: (url, init) => fetch(url, { ...init, signal: AbortSignal.any([cutter.signal, ...(init?.signal ? [init.signal] : [])]) }),
    })
    const heard: StreamItem[] = []
    const states: string[] = []
    const subscription = client.events.subscribe(
      {},
      { onData: ({ data }) => void heard.push(data), onConnectionStateChange: ({ state }) => void states.push(state) },
    )
    const hear = (count: number) => expect.poll(() => heard).toHaveLength(count)
    const cut = () => {
      const [cutting] = [cutter]
      cutter = new AbortController()
      cutting.abort()
    }
    await hear(1)
    expect(heard[0]).toEqual({ id: expect.any(Number), type: 'ready', at: expect.any(String) })
    // The connection is cut once before any event, and once after several.
    cut()
    const { body: first } = await create(member, { title: 'One' })
    await hear(2)
    cut()
    const { body: second } = await create(member, { title: 'Two' })
    const { body: third } = await create(member, { title: 'Three' })
    await hear(4)
    const place = {
      id: expect.any(Number),
      type: 'task.created',
      at: expect.any(String),
      space_id: space,
      table_id: table,
      record_id: record,
    }
    expect(heard.slice(1)).toEqual([first, second, third].map(({ id }) => ({ ...place, task_id: id })))
    expect(states.filter((state) => state === 'pending')).toHaveLength(3)
    subscription.unsubscribe()
    await expect.poll(() => other.deps.feed.size()).toBe(0)
  })

  test('ends with an error when its key is revoked, and requires a key', async () => {
    const { account, owner, member, create } = await onRecord()
    const key = await account.keyOf({ accountId: account.id, userId: owner.id }, { kind: 'account', name: 'Short-lived' })
    const heard: StreamItem[] = []
    const failed = (apiKey: string) =>
      new Promise<unknown>((onError) => {
        createClient({ baseUrl: other.url, apiKey }).events.subscribe({}, { onError, onData: ({ data }) => void heard.push(data) })
      })
    expect(await failed('gp_user_nothing')).toMatchObject({ data: { code: 'UNAUTHORIZED' } })
    const ended = failed(key)
    await expect.poll(() => heard).toHaveLength(1)
    const { body: keys } = await app.as(owner).get('/api/keys/list')
    await app.as(owner).post(`/api/key/${keys.find(({ name }: { name: string }) => name === 'Short-lived').id}/delete`)
    // An event within a second of the deletion may still be delivered.
    let isOver = false
    const writing = (async () => {
      for (; !isOver; await sleep(200)) await create(member, { title: 'After' })
    })()
    expect(await ended).toMatchObject({ data: { code: 'UNAUTHORIZED' } })
    isOver = true
    await writing
  })

  test('refuses unknown input', async () => {
    const { member } = await onRecord()
    const error = await new Promise<unknown>((onError) => {
      app.as(member).rpc.events.subscribe({ since: 1 } as never, { onError })
    })
    expect(error).toMatchObject({ data: { code: 'BAD_REQUEST' } })
  })
})

describe('after a failure', () => {
  test('a lost LISTEN connection is reopened, and no event is lost', async () => {
    const { create, member } = await onRecord()
    const stream = await listen(member)
    const ids: number[] = []
    for (let round = 0; round < 3; round++) {
      const [cut] = await app.db.write<{ count: number }>(sql`
        select count(pg_terminate_backend(pid))::int as count from pg_stat_activity
        where datname = current_database() and query ilike 'listen %' and pid <> pg_backend_pid()`)
      if (round === 0) expect(cut?.count).toBeGreaterThan(0)
      ids.push((await create(member, { title: `Round ${round}` })).body.id)
      await stream.until(round + 1)
    }
    expect(tasksOf(stream)).toEqual(ids)
  })

  test('a reader that does not read is disconnected, and can resume later', async () => {
    const { account, member, space, table, record } = await onRecord()
    const begin = await listen(member)
    begin.cut()
    const open = (count: number) => expect.poll(() => other.deps.feed.size(), { interval: 20 }).toBe(count)
    await open(0)
    const request = get(`${other.url}/api/events`, { headers: { cookie: `gridpost_session=${member.session}` } })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.pause()
    await open(1)
    await app.db.write(sql`
      insert into events (type, account_id, space_id, table_id, record_id, task_id, at)
      select 'task.updated', ${account.id}, ${space}, ${table}, ${record}, n, now() from generate_series(1, ${MANY}::int) n`)
    await open(0)
    const resumed = await listen(member, { after: begin.lastId() })
    await resumed.until(2_000)
    expect(resumed.heard.every(({ task_id }, index) => task_id === index + 1)).toBe(true)
  })

  test('each caller may hold a limited number of streams', async () => {
    const narrow = await testApp({ EVENT_STREAMS_PER_CALLER: '2' })
    const { member, viewer, keys } = await onRecord()
    const first = await listen(member, { at: narrow.url })
    await listen(member, { at: narrow.url })
    await expect(openStream(narrow.url, member)).rejects.toThrow('429')
    await listen(viewer, { at: narrow.url })
    await listen(keys.personal, { at: narrow.url })
    first.cut()
    await vi.waitFor(() => listen(member, { at: narrow.url }), { timeout: 60_000 })
    expect(narrow.deps.feed.size()).toBe(4)
  })

  test('a quiet stream keeps its position, and ends with its session', async () => {
    const { member } = await onRecord()
    const elsewhere = await onRecord()
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10, beatMs: 50 })
    const server = await buildApp({ ...app.deps, feed })
    const stream = await listen(member, { at: await server.listen({ port: 0, host: '127.0.0.1' }) })
    const begun = stream.lastId()
    // The stream may see none of these events, and its first position need not be kept.
    await elsewhere.create(elsewhere.member, { title: 'Somebody else’s' })
    await expect.poll(() => stream.lastId()).not.toBe(begun)
    await app.db.write(sql`delete from events where id = ${Number(begun)}`)
    expect(stream.heard).toEqual([])
    await app.db.write(sql`delete from sessions where user_id = ${member.id}`)
    await stream.ended
    await expect(listen(member)).rejects.toThrow('401')
    await server.close()
  })

  test('a stopping process ends its streams', async () => {
    const { create, member } = await onRecord()
    const feed = openFeed(app.db, { log: app.deps.log, clock: app.deps.clock, maxStreams: 10 })
    const server = await buildApp({ ...app.deps, feed })
    const url = await server.listen({ port: 0, host: '127.0.0.1' })
    const stream = await listen(member, { at: url })
    await server.close()
    await stream.ended
    await create(member, { title: 'Meanwhile' })
    const resumed = await listen(member, { after: stream.lastId() })
    await resumed.until(1)
  })
})

/** Exceeds the buffers of the sockets. */
const MANY = 60_000
