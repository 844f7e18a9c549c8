/** Spaces on the nodes of a Citus cluster. Without CITUS_DIR only what a service without Citus answers is tested. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { examine } from '../scripts/doctor/doctor.ts'
import type { TableDef } from '../src/fields/definition.ts'
import { largeTablesOnNodes } from '../src/indexes/elsewhere.ts'
import { systemContext } from '../src/platform/context.ts'
import { type Database, recordsOf, sql } from '../src/platform/database/database.ts'
import { openNodes } from '../src/platform/database/nodes/nodes.ts'
import type { Statement } from '../src/platform/database/statements/statement.ts'
import { insertRows } from '../src/records/rows.ts'
import { updateRow } from '../src/records/update-row.ts'
import { tableDefinitions } from '../src/tables/definition-cache.ts'
import { moveSpace, placeSpace } from '../src/tables/elsewhere/placement.ts'
import { type TestAccount, type TestApp, testApp } from './support/app.ts'
import { CITUS_DIR, type CitusCluster, inDatabase, startCitus, withCitus } from './support/citus.ts'
import { queriesOf, queriesWith } from './support/statements.ts'

test.skipIf(inject('nodes'))('without Citus a space cannot be placed or moved', async () => {
  const app = await testApp()
  const { space } = await app.account()
  const reason = 'The database of this service has no nodes: DATABASE_URL must name the coordinator of a Citus cluster'
  await expect(placeSpace(systemContext(app.deps), space, 'db2:5432')).rejects.toThrow(reason)
  await expect(moveSpace(systemContext(app.deps), space, 'db2:5432')).rejects.toThrow(reason)
})

test('while the coordinator is away, the log says once that the nodes were not read', async () => {
  // The service of another test samples the event loop meanwhile, for which it needs the real clock.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const warn = vi.fn()
  const nodes = openNodes({}, { size: 1, observe: () => () => {}, silentMs: undefined, log: { info: vi.fn(), warn } })
  let asked = 0
  const read = async ({ isShort }: Statement) => {
    if (!isShort) return [{}]
    asked++
    throw new Error('Connection terminated')
  }
  await nodes.follow({ read } as unknown as Database)
  await vi.advanceTimersByTimeAsync(5_000)
  await nodes.close()
  vi.useRealTimers()
  expect(asked).toBeGreaterThan(3)
  expect(warn).toHaveBeenCalledOnce()
})

describe.skipIf(!CITUS_DIR)(withCitus('on a cluster of three'), () => {
  let cluster: CitusCluster
  let app: TestApp
  let account: TestAccount
  let [first, second] = ['', '']

  beforeAll(async () => {
    cluster = await startCitus()
    ;[first, second] = cluster.workers.map(cluster.nameOf) as [string, string]
    app = await testApp({ DATABASE_URL: cluster.coordinator.url })
    account = await app.account()
  })
  afterAll(async () => {
    await app?.stop()
    await cluster?.stop()
  })

  const place = (space: number, node: string) => placeSpace(systemContext(app.deps), space, node)
  const move = (space: number, node: string) => moveSpace(systemContext(app.deps), space, node)
  const owner = () => app.as(account.owner)

  async function table(space: number, records: number): Promise<number> {
    const { body, status } = await owner().post(`/api/space/${space}/tables/create`, {
      name: `Cases ${Math.random()}`,
      fields: [
        { name: 'Title', type: 'text' },
        { name: 'Amount', type: 'number' },
        { name: 'Owner', type: 'user' },
      ],
    })
    expect({ status, body }).toMatchObject({ status: 200 })
    const data = Array.from({ length: records }, (_, index) => ({ data: { title: `Case ${index}`, amount: index } }))
    if (records) expect((await owner().post(`/api/table/${body.id}/records/create_batch`, { records: data })).status).toBe(200)
    return body.id
  }
  const newSpace = () => app.makeSpace(account.id, account.owner.id, {})
  const nodeOf = async (tableId: number) => {
    const rows = await cluster.coordinator.query<{ node: string }>(
      `select nodename || ':' || nodeport as node from citus_shards where table_name = to_regclass('t${tableId}.records')`,
    )
    return rows.map(({ node }) => node)
  }
  /** Counts the records in a statement on records alone, which the node is asked. */
  const countOnNode = async (tableId: number) => {
    const [row] = await app.db.records(tableId).read<{ n: number }>(sql`select count(*) as n from ${recordsOf(tableId)}`)
    return row?.n
  }
  const titles = async (tableId: number) => {
    const { status, body } = await owner().post(`/api/table/${tableId}/records/query`, {})
    expect({ status, body }).toMatchObject({ status: 200 })
    return body.map(({ title }: { title: string }) => title)
  }

  test('a space is placed with its records, new tables follow, and it moves while it is used', async () => {
    const space = await newSpace()
    const old = await table(space, 30)
    const before = await titles(old)
    expect(before).toHaveLength(30)
    expect(await nodeOf(old)).toEqual([])
    expect(await place(space, first)).toEqual({ space_id: space, node: first, tables: 1, is_changed: true })
    expect(await nodeOf(old)).toEqual([first])
    expect(await titles(old)).toEqual(before)
    const later = await table(space, 3)
    expect(await nodeOf(later)).toEqual([first])
    // Repeating changes nothing.
    expect(await place(space, first)).toEqual({ space_id: space, node: first, tables: 2, is_changed: false })

    expect(await move(space, second)).toEqual({ space_id: space, node: second, tables: 2, is_changed: true })
    expect([await nodeOf(old), await nodeOf(later)]).toEqual([[second], [second]])
    expect([await titles(old), await titles(later)]).toEqual([before, before.slice(0, 3)])
    expect(await move(space, second)).toEqual({ space_id: space, node: second, tables: 2, is_changed: false })
    expect([app.db.isElsewhere(old), await countOnNode(old)]).toEqual([true, 30])
    // The coordinator keeps no copy of the records.
    expect(await cluster.coordinator.query(`select pg_relation_size('t${old}.records')::int as bytes`)).toEqual([{ bytes: 0 }])
  })

  test('no request fails while a space is moved, and no record is lost', async () => {
    const space = await newSpace()
    await place(space, first)
    const id = await table(space, 100)
    let isMoved = false
    let created = 100
    const failures: unknown[] = []
    const meanwhile = async (request: () => Promise<void>) => {
      while (!isMoved) await request()
    }
    const note = ({ status, body }: { status: number; body: unknown }) => {
      if (status !== 200) failures.push(body)
      return status === 200
    }
    const write = async () => {
      if (note(await owner().post(`/api/table/${id}/records/create`, { data: { title: 'new' } }))) created++
    }
    const read = async () => void note(await owner().post(`/api/table/${id}/records/query`, {}))
    const callers = [write, write, read, read].map(meanwhile)
    await move(space, second)
    isMoved = true
    await Promise.all(callers)
    expect(failures).toEqual([])
    expect(created).toBeGreaterThan(100)
    expect([await nodeOf(id), await countOnNode(id)]).toEqual([[second], created])
  })

  test('a move builds one index after another, so that requests keep their share of a small node', async () => {
    const space = await newSpace()
    await place(space, first)
    const id = await table(space, 100)
    for (const column of ['title', 'amount', 'owner']) await cluster.coordinator.query(`create index on t${id}.records (${column})`)
    const target = cluster.workers[1]
    const onTarget = (...statements: string[]) =>
      inDatabase(target, target.connection.database, ['set citus.enable_ddl_propagation = off', ...statements])
    await onTarget(
      'create function slow_index() returns event_trigger language plpgsql as $$ begin perform pg_sleep(0.3); end $$',
      `create event trigger slow_index on ddl_command_start when tag in ('CREATE INDEX') execute function slow_index()`,
    )
    try {
      const counts: number[] = []
      let isMoved = false
      const counting = async () => {
        while (!isMoved) {
          const builds = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
          counts.push((await target.query(builds)).length)
          await sleep(20)
        }
      }
      const counted = counting()
      await move(space, second).finally(() => {
        isMoved = true
      })
      await counted
      expect(Math.max(...counts)).toBe(1)
    } finally {
      await onTarget('drop event trigger slow_index', 'drop function slow_index')
    }
  })

  test('a running service notices that another process has placed a space', async () => {
    const space = await newSpace()
    const id = await table(space, 2)
    const other = await testApp({ DATABASE_URL: cluster.coordinator.url })
    await placeSpace(systemContext(other.deps), space, first)
    const { status, body } = await owner().post(`/api/table/${id}/records/create`, { data: { title: 'Case 2' } })
    expect({ status, body }).toMatchObject({ status: 200 })
    const { id: taken } = (await owner().post(`/api/table/${id}/record/${body.id}/update`, { data: { amount: 5 } })).body
    expect(taken).toBe(body.id)
    expect(await titles(id)).toEqual(['Case 0', 'Case 1', 'Case 2'])
    await other.stop()
  })

  /** Lets the service take the records of all spaces for records on the coordinator, until it looks where they are. */
  function forgetPlacement(): void {
    const { db } = app
    const forgotten = [vi.spyOn(db, 'isElsewhere').mockReturnValue(false), vi.spyOn(db, 'records').mockReturnValue(db)]
    const look = vi.spyOn(db, 'refreshPlacement').mockImplementation(async () => {
      for (const spy of [...forgotten, look]) spy.mockRestore()
      await db.refreshPlacement()
    })
  }

  test.each([
    ['a create', 'records/create', { data: { title: 'new' } }, {}],
    ['a create with an Idempotency-Key', 'records/create', { data: { title: 'new' } }, { 'idempotency-key': 'create' }],
    ['an update with an Idempotency-Key', 'record/1/update', { data: { title: 'new' } }, { 'idempotency-key': 'update' }],
    ['a page', 'records/query', { order_by: 'created_by' }, {}],
    ['groups', 'records/groups', { by: 'created_by' }, {}],
    ['a board', 'records/board', { by: 'created_by' }, {}],
    ['sums', 'records/aggregate', { by: [{ field: 'created_by' }], measures: [{ fn: 'count' }] }, {}],
  ])('%s is repeated by a service that does not know yet where the space is', async (_, path, input, headers) => {
    const space = await newSpace()
    await place(space, first)
    const id = await table(space, 1)
    forgetPlacement()
    const { status, body } = await owner().post(`/api/table/${id}/${path}`, input, headers)
    expect({ status, body, isKnown: app.db.isElsewhere(id) }).toMatchObject({ status: 200, isKnown: true })
    expect((await titles(id)).filter((title: string) => title === 'new')).toHaveLength(path.endsWith('e') ? 1 : 0)
  })

  test('a write by an outdated definition is refused, also when it has waited for the change of its table', async () => {
    const space = await newSpace()
    await place(space, first)
    const id = await table(space, 1)
    const { db } = app
    const definition = async () => (await tableDefinitions(db, [id])).get(id) as TableDef
    const by = { now: new Date(), userId: null, keyId: null }
    const cells = new Map([['title', 'late']])
    const writesBy = (present: TableDef) => [
      ...[1, 2, 100].map((count) => () => insertRows(db, present, Array(count).fill(cells), by)),
      () => updateRow(db, present, 1, cells, { ...by, ifMatch: undefined }),
    ]
    const refused = (writes: Promise<unknown>[]) =>
      Promise.all(writes.map((write) => expect(write).rejects.toThrow('The table does not have this version any more')))

    const outdated = await definition()
    // From the third time on the statements are prepared.
    for (let time = 0; time < 7; time++) for (const write of writesBy(outdated)) await write()
    const before = await titles(id)
    expect((await owner().post(`/api/table/${id}/fields/create`, { name: 'Later', type: 'text' })).status).toBe(200)
    await refused(writesBy(outdated).map((write) => write()))

    const present = await definition()
    const holder = await db.connect()
    await holder.query('begin')
    await holder.query(`update tables set version = version + 1 where id = ${id}`)
    await holder.query(`lock table t${id}.records in exclusive mode`)
    const writes = writesBy(present)
    const waiting = refused(writes.map((write) => write()))
    const locks = `select from pg_locks where relation = 't${id}.records'::regclass and not granted`
    await vi.waitFor(async () => expect(await cluster.coordinator.query(locks)).toHaveLength(writes.length), { timeout: 60_000 })
    await holder.query('commit')
    await holder.end()
    await waiting
    expect(await titles(id)).toEqual(before)
  })

  /** Holds the first statement with the text until it is released. */
  const holdFirst = (part: string) => {
    const [isHeld, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isFirst = true
    const before = async ({ text }: Statement) => {
      if (!isFirst || !text.includes(part)) return
      isFirst = false
      isHeld.resolve()
      await released.promise
    }
    return { before, isHeld: isHeld.promise, release: released.resolve }
  }

  /** Waits until so many callers wait for the lock of a task. */
  const waiting = (count: number) =>
    vi.waitFor(
      async () => {
        const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from tasks k%'`
        expect(await cluster.coordinator.query(waits)).toHaveLength(count)
      },
      { timeout: 60_000 },
    )

  test('creates with upsert of one task that wait in a row do not count as a deadlock', async () => {
    const space = await newSpace()
    await place(space, first)
    const id = await table(space, 1)
    expect(app.db.isElsewhere(id)).toBe(true)
    const create = (title: string, upsert = true) =>
      owner().post(`/api/tasks/onRecord/${id}/1/create`, { title, external_id: `one of ${id}`, upsert })
    const present = queriesOf(app.db)
    const [inserting, insertingToo] = [holdFirst('insert into tasks'), holdFirst('insert into tasks')]
    const updating = holdFirst('update tasks set title')
    Object.assign(
      app.db,
      queriesWith(app.db, async (statement) => {
        await inserting.before(statement)
        await insertingToo.before(statement)
        await updating.before(statement)
      }),
    )
    try {
      // Both have found no task and locked the record.
      const inserter = create('inserter')
      await inserting.isHeld
      const inserterToo = create('inserter, too')
      await insertingToo.isHeld
      expect((await create('made', false)).status).toBe(200)
      const holder = create('holder')
      await updating.isHeld
      // It inserts nothing, and waits for the task that the holder has locked.
      inserting.release()
      await waiting(1)
      const last = create('last')
      await waiting(2)
      insertingToo.release()
      await waiting(3)
      // What the daemon of Citus does now and then.
      const [found] = await cluster.coordinator.query<{ is: boolean }>('select check_distributed_deadlocks() as is')
      updating.release()
      const answers = await Promise.all([inserter, inserterToo, holder, last])
      expect(answers.map(({ status, body }) => ({ status, message: body.message }))).toEqual(Array(4).fill({ status: 200 }))
      expect(found).toEqual({ is: false })
    } finally {
      for (const held of [inserting, insertingToo, updating]) held.release()
      Object.assign(app.db, present)
    }
  })

  test('updates and creates with upsert of one task that wait in a row do not count as a deadlock', async () => {
    const space = await newSpace()
    await place(space, first)
    const id = await table(space, 1)
    expect(app.db.isElsewhere(id)).toBe(true)
    const upsert = (title: string) =>
      owner().post(`/api/tasks/onRecord/${id}/1/create`, { title, external_id: `updated of ${id}`, upsert: true })
    const { body: task } = await upsert('made')
    const update = (title: string) => owner().post(`/api/task/${task.id}/update`, { title })
    const present = queriesOf(app.db)
    const updating = holdFirst('update tasks set title')
    Object.assign(app.db, queriesWith(app.db, updating.before))
    try {
      const holder = update('holder')
      await updating.isHeld
      const others: ReturnType<typeof update>[] = []
      for (const change of [upsert, update, upsert]) {
        others.push(change(`change ${others.length}`))
        await waiting(others.length)
      }
      const [found] = await cluster.coordinator.query<{ is: boolean }>('select check_distributed_deadlocks() as is')
      updating.release()
      const answers = await Promise.all([holder, ...others])
      expect(answers.map(({ status, body }) => ({ status, message: body.message }))).toEqual(Array(4).fill({ status: 200 }))
      expect(found).toEqual({ is: false })
    } finally {
      updating.release()
      Object.assign(app.db, present)
    }
  })

  test('a wrong space or node is refused with the reason', async () => {
    const space = await newSpace()
    await expect(place(999_999, first)).rejects.toThrow('There is no space 999999')
    await expect(place(space, 'db9')).rejects.toThrow(`There is no node db9: there are ${[first, second].sort().join(', ')}`)
    await expect(move(space, first)).rejects.toThrow(`Space ${space} is on no node yet: npm run admin -- space place ${space} ${first}`)
    await place(space, first)
    await expect(place(space, second)).rejects.toThrow(
      `Space ${space} is on ${first} already: npm run admin -- space move ${space} ${second}`,
    )
    await expect(place(space, cluster.nameOf(cluster.coordinator))).rejects.toThrow('There is no node')
    const [host, port] = [cluster.workers[1].connection.host, cluster.workers[1].connection.port]
    const takesShards = (is: boolean) =>
      cluster.coordinator.query(`select citus_set_node_property('${host}', ${port}, 'shouldhaveshards', ${is})`)
    await takesShards(false)
    await expect(move(space, second)).rejects.toThrow(
      `The node ${second} takes no spaces: it is disabled, or its shouldhaveshards is false`,
    )
    await takesShards(true)
  })

  /** Ends the connection of the command that places or moves a space. The caller holds a lock that keeps it from finishing. */
  async function killWhileWaiting(command: Promise<unknown>): Promise<void> {
    const ended = expect(command).rejects.toThrow()
    await vi.waitFor(
      async () => {
        const killed = await cluster.coordinator.query(`
          select pg_terminate_backend(pid) from pg_locks l join pg_stat_activity a using (pid)
          where l.locktype = 'advisory' and l.classid = 7203 and l.granted and a.state = 'active' and (
            a.query like '%citus_move_shard_placement%' or exists (select from pg_locks w where w.pid = a.pid and not w.granted))`)
        expect(killed).toHaveLength(1)
      },
      { timeout: 60_000, interval: 50 },
    )
    await ended
  }

  test('a command that is killed leaves the space as it was, and is repeated', async () => {
    const space = await newSpace()
    const id = await table(space, 5)
    const before = await titles(id)
    const holder = await app.db.connect()
    await holder.query('begin')
    await holder.query(`update t${id}.records set version = version`)
    await killWhileWaiting(place(space, first))
    await holder.query('rollback')
    expect([await nodeOf(id), await titles(id)]).toEqual([[], before])
    const { findings } = await doctor()
    expect(findings).toContainEqual(expect.objectContaining({ check: 'nodes.prepared', examples: [`space ${space}`] }))

    // Another table of the space is not placed before the others.
    expect(await nodeOf(await table(space, 0))).toEqual([])
    expect(await place(space, second)).toMatchObject({ node: second, tables: 2, is_changed: true })
    expect([await nodeOf(id), await titles(id)]).toEqual([[second], before])

    // The copy begins when the transactions that were open on the node have ended.
    const onNode = new pg.Client(cluster.workers[1].connection)
    await onNode.connect()
    await onNode.query('begin')
    await onNode.query('select pg_current_xact_id()')
    await killWhileWaiting(move(space, first))
    await onNode.end()
    expect([await nodeOf(id), await titles(id)]).toEqual([[second], before])

    await holder.query('begin')
    await holder.query(`update t${id}.records set version = version`)
    await killWhileWaiting(move(space, first))
    await holder.query('rollback')
    await holder.end()
    expect([await nodeOf(id), await titles(id)]).toEqual([[second], before])
    expect(await move(space, first)).toMatchObject({ node: first, is_changed: true })
    expect([await nodeOf(id), await titles(id)]).toEqual([[first], before])
    expect((await doctor()).findings.filter(({ check }) => check.startsWith('nodes'))).toEqual([])
  })

  test('a space is not placed on a node or moved to one whose disk is full', async () => {
    const space = await newSpace()
    const id = await table(space, 3)
    const before = await titles(id)
    const onNode = (text: string) => cluster.workers[0].query(`set citus.enable_ddl_propagation = off; ${text}`)
    // Stands in for the disk: a statement that makes the table there fails with the error of a full one.
    await onNode(`create function fill_disk() returns event_trigger language plpgsql as $$
      begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`)
    const fill = () => onNode("create event trigger full_disk on ddl_command_end when tag in ('CREATE TABLE') execute function fill_disk()")
    const clear = () => onNode('drop event trigger full_disk')
    await fill()
    await expect(place(space, first)).rejects.toThrow(`Space ${space} was not placed: a node is full`)
    expect([await nodeOf(id), await titles(id)]).toEqual([[], before])
    await clear()
    await place(space, second)
    await fill()
    await expect(move(space, first)).rejects.toThrow(`Space ${space} was not moved: a node is full`)
    expect([await nodeOf(id), await titles(id)]).toEqual([[second], before])
    await clear()
    expect(await move(space, first)).toMatchObject({ node: first, is_changed: true })
    expect([await nodeOf(id), await titles(id)]).toEqual([[first], before])
  })

  const doctor = () =>
    examine({
      environment: { DATABASE_URL: cluster.coordinator.url, SECRET_KEY: 'a key for tests, long enough to be one' },
      tryOut: async () => null,
    })

  test('the doctor names what is where', async () => {
    const space = await newSpace()
    await place(space, second)
    const large = await table(space, 3)
    await cluster.coordinator.query(`
      insert into t${large}.records (created_at, updated_at, title) select now(), now(), repeat('x', 100) from generate_series(1, 6000)`)
    expect(await largeTablesOnNodes(app.deps)).toEqual([large])
    const { notes } = await doctor()
    const [note] = notes.filter((line) => line.includes(second))
    expect(note).toMatch(new RegExp(`^node +${second}: spaces (\\d+, )*${space}(, \\d+)*, \\d+ tables?, \\d+ kB$`))
  })

  test('a node that is away: its spaces answer 503 with its name, everything else goes on', async () => {
    const [here, there] = [await newSpace(), await newSpace()]
    await place(here, first)
    await place(there, second)
    const [kept, lost, local] = [await table(here, 3), await table(there, 3), await table(await newSpace(), 3)]
    const moved = await newSpace()
    await place(moved, second)
    const found = await table(moved, 2)
    expect(await countOnNode(found)).toBe(2)
    await move(moved, first)
    await cluster.workers[1].kill()
    // The process may still believe that this space is on the node that is away.
    expect(await countOnNode(found)).toBe(2)
    await expect(countOnNode(lost)).rejects.toThrow(`The node ${second}, which has these records, does not answer`)
    for (const [path, input] of [
      ['records/query', {}],
      ['records/count', {}],
      ['records/create', { data: { title: 'new' } }],
    ] as const) {
      const { status, body, headers } = await owner().post(`/api/table/${lost}/${path}`, input)
      expect({ path, status, message: body.message }).toEqual({
        path,
        status: 503,
        message: `The node ${second}, which has these records, does not answer`,
      })
      expect(headers.get('retry-after')).toBe('5')
    }
    expect([await titles(kept), await titles(local)]).toEqual([await titles(kept), ['Case 0', 'Case 1', 'Case 2']])
    expect((await owner().post(`/api/table/${kept}/records/create`, { data: { title: 'new' } })).status).toBe(200)
    // A space that is on no node needs none of them.
    await table(await newSpace(), 1)
    await expect(move(here, second)).rejects.toThrow(`The node ${second} does not answer`)
    await expect(place(await newSpace(), second)).rejects.toThrow(`The node ${second} does not answer`)
    expect((await doctor()).findings).toContainEqual(expect.objectContaining({ check: 'nodes.away', examples: [second] }))
    await cluster.workers[1].start()
    // A node that was away for three seconds is refused until its next check, which is once a second.
    await vi.waitFor(async () => expect(await titles(lost)).toEqual(['Case 0', 'Case 1', 'Case 2']), { timeout: 60_000 })
  })

  test('a node whose standby has taken over is asked at its new address', async () => {
    const space = await newSpace()
    await place(space, second)
    const id = await table(space, 3)
    expect(await countOnNode(id)).toBe(3)
    const { host, port } = cluster.workers[1].connection
    const standby = (await cluster.takeOver()).connection
    await cluster.coordinator.query(
      `select citus_update_node(nodeid, '${standby.host}', ${standby.port}) from pg_dist_node where nodename = '${host}' and nodeport = ${port}`,
    )
    expect(await countOnNode(id)).toBe(3)
    expect(await titles(id)).toEqual(['Case 0', 'Case 1', 'Case 2'])
  })
})
