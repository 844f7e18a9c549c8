/** Nodes of a Citus cluster that are frozen or dead, and servers that crash during a commit. Skipped without CITUS_DIR. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { examine } from '../scripts/doctor/doctor.ts'
import { queues } from '../src/background.ts'
import { largeTablesOnNodes } from '../src/indexes/elsewhere.ts'
import { systemContext } from '../src/platform/context.ts'
import { deploy } from '../src/platform/database/migrations/deploy.ts'
import { queueSchema } from '../src/platform/jobs/queue-schema.ts'
import { moveSpace, placeSpace } from '../src/tables/elsewhere/placement.ts'
import { type TestAccount, type TestApp, testApp } from './support/app.ts'
import { CITUS_DIR, type CitusCluster, inDatabase, joinNodes, startCitus, withCitus } from './support/citus.ts'
import type { Server } from './support/replica.ts'

/** Less than the ten seconds after which a statement is cancelled. */
const SOON_MS = 8_000

describe.skipIf(!CITUS_DIR)(withCitus('on a cluster of three'), () => {
  let cluster: CitusCluster
  let app: TestApp
  let account: TestAccount
  let [first, second] = ['', '']
  const held: (() => Promise<void>)[] = []

  beforeAll(async () => {
    cluster = await startCitus()
    ;[first, second] = cluster.workers.map(cluster.nameOf) as [string, string]
    app = await testApp({ DATABASE_URL: cluster.coordinator.url })
    account = await app.account()
  })
  // The next test goes on after one that has failed.
  afterEach(async () => {
    for (const worker of cluster.workers) worker.resume()
    for (const release of held.splice(0)) await release()
  })
  afterAll(async () => {
    await app?.stop()
    await cluster?.stop()
  })

  const owner = () => app.as(account.owner)

  /** A table with a record in a new space, which is on the node. */
  async function tableOn(node: string | null) {
    const space = await app.makeSpace(account.id, account.owner.id, {})
    if (node) await placeSpace(systemContext(app.deps), space, node)
    const { body: table } = await owner().post(`/api/space/${space}/tables/create`, {
      name: 'Cases',
      fields: [{ name: 'Title', type: 'text' }],
    })
    const { status, body } = await create(table.id, 'first')
    expect({ status, body }).toMatchObject({ status: 200 })
    return { space, id: table.id as number }
  }
  const create = (tableId: number, title: string, headers = {}) =>
    owner().post(`/api/table/${tableId}/records/create`, { data: { title } }, headers)
  const read = (tableId: number) => owner().post(`/api/table/${tableId}/records/query`, {})
  const titles = async (tableId: number): Promise<string[]> => {
    const { status, body } = await read(tableId)
    expect({ status, body }).toMatchObject({ status: 200 })
    return body.map(({ title }: { title: string }) => title)
  }
  /** 1 or 0, as /metrics tells. */
  const answersOf = async (node: string) => {
    const text = await app.deps.metrics.text(app.deps)
    return new RegExp(`^gridpost_node_answers\\{node="${node}"\\} (\\d)$`, 'm').exec(text)?.[1]
  }
  const shown = ({ status, body, headers }: Awaited<ReturnType<typeof read>>) => ({
    status,
    message: body.message,
    retryAfter: headers.get('retry-after'),
  })
  const away = (node: string) => ({ status: 503, message: `The node ${node}, which has these records, does not answer`, retryAfter: '5' })

  const doctor = () =>
    examine({
      environment: { DATABASE_URL: cluster.coordinator.url, SECRET_KEY: 'a key for tests, long enough to be one' },
      tryOut: async () => null,
    })

  /** A write of one statement that was on its way to a node when it froze: the node may still carry it out, although it was refused. */
  const UNSURE = 'unsure'

  test.each([
    ['frozen', (node: Server) => node.suspend(), async (node: Server) => node.resume()],
    ['killed', (node: Server) => node.kill(), (node: Server) => node.start()],
  ])('a node that is %s is named within seconds, its spaces are refused at once, and others are served', async (_, stop, start) => {
    const [kept, lost, local] = [await tableOn(first), await tableOn(second), await tableOn(null)]
    expect([await answersOf(first), await answersOf(second)]).toEqual(['1', '1'])
    await stop(cluster.workers[1])
    const from = performance.now()
    // These came before it was known.
    const addField = (tableId: number) => owner().post(`/api/table/${tableId}/fields/create`, { name: 'Amount', type: 'number' })
    const earlyChange = addField(kept.id)
    const early = await Promise.all([
      read(lost.id),
      create(lost.id, UNSURE),
      create(lost.id, 'lost', { 'idempotency-key': 'early' }),
      owner().post(`/api/table/${lost.id}/records/create_batch`, { records: [{ data: { title: UNSURE } }, { data: { title: UNSURE } }] }),
      owner().post(`/api/tasks/onRecord/${lost.id}/1/create`, { title: 'lost' }),
    ])
    expect(early.map(shown)).toEqual(early.map(() => away(second)))
    const needed = { ...away(second), message: `The node ${second} does not answer, and this change needs all nodes` }
    expect(shown(await earlyChange)).toEqual(needed)
    expect(performance.now() - from).toBeLessThan(SOON_MS)
    expect(await largeTablesOnNodes(app.deps)).toEqual([])

    await vi.waitFor(async () => expect(await answersOf(second)).toBe('0'), { timeout: SOON_MS })
    const known = performance.now()
    const many = Array.from({ length: 20 }, (_, index) => (index % 2 ? read(lost.id) : create(lost.id, 'lost')))
    for (const answer of await Promise.all(many)) expect(shown(answer)).toEqual(away(second))
    expect([shown(await addField(lost.id)), shown(await addField(kept.id))]).toEqual([away(second), needed])
    // None of them has waited for the node, which would take a second at least.
    expect(performance.now() - known).toBeLessThan(SOON_MS / 2)

    expect(await answersOf(first)).toBe('1')
    for (const { id } of [kept, local]) {
      expect((await create(id, 'second')).status).toBe(200)
      expect(await titles(id)).toEqual(['first', 'second'])
    }
    await expect(moveSpace(systemContext(app.deps), kept.space, second)).rejects.toThrow(`The node ${second} does not answer`)
    await expect(moveSpace(systemContext(app.deps), lost.space, first)).rejects.toThrow(`The node ${second} does not answer`)
    const { findings } = await doctor()
    expect(findings).toContainEqual(expect.objectContaining({ check: 'nodes.away', examples: [second] }))

    await start(cluster.workers[1])
    await vi.waitFor(async () => expect(await answersOf(second)).toBe('1'), { timeout: SOON_MS })
    expect((await titles(lost.id)).filter((title) => title !== UNSURE)).toEqual(['first'])
    expect((await create(lost.id, 'second')).status).toBe(200)
    expect((await doctor()).findings.filter(({ check }) => check.startsWith('nodes'))).toEqual([])
  })

  /** Lets commits on the server wait for a standby that does not exist: they are on its disk, and not acknowledged. */
  async function holdCommits(server: Server): Promise<void> {
    const set = async (value: string) => {
      await server.query(`alter system set synchronous_standby_names = '${value}'`)
      await server.query('select pg_reload_conf()')
    }
    await set('*')
    held.push(() => set(''))
  }
  const untilHeld = (server: Server) =>
    expect
      .poll(() => server.query("select from pg_stat_activity where wait_event = 'SyncRep' and query ~ 'COMMIT|PREPARE'"), { interval: 20 })
      .not.toEqual([])

  const coordinator = () => cluster.coordinator
  const node = () => cluster.workers[0]
  test.each([
    ['a coordinator that crashes before its own commit, when the node has prepared,', coordinator, node, 503],
    ['a coordinator that crashes after its own commit, before the node has committed,', coordinator, coordinator, 503],
    ['a node that crashes when it has prepared, before the coordinator knows of it,', node, node, 503],
    ['a node that crashes after the commit of the coordinator, before its own,', node, coordinator, 200],
  ])('%s leaves a record with its answer, or neither', async (_, crashing, holding, status) => {
    const { id } = await tableOn(first)
    const key = { 'idempotency-key': `crash-${id}` }
    await holdCommits(holding())
    const interrupted = create(id, 'new', key)
    await untilHeld(holding())
    await crashing().kill()
    // What ALTER SYSTEM has set, for the case that the server held its own commits.
    if (holding() === crashing()) held.splice(0)
    for (const release of held.splice(0)) await release()
    expect((await interrupted).status).toBe(status)
    writeFileSync(join(crashing().connection.host, 'postgresql.auto.conf'), '')
    await crashing().start()
    // A caller without an answer repeats the request.
    await expect.poll(async () => (await create(id, 'new', key)).status, { interval: 200 }).toBe(200)
    await expect.poll(() => titles(id), { interval: 200 }).toEqual(['first', 'new'])
    const prepared = () => cluster.workers[0].query('select gid from pg_prepared_xacts')
    await expect.poll(() => prepared(), { interval: 200 }).toEqual([])
  })

  test('a change of a table waits for readers on the node only as long as for those of a table that is on none', async () => {
    const [placed, local] = [await tableOn(first), await tableOn(null)]
    const holders = await Promise.all([reader(node(), placed.id), reader(coordinator(), local.id)])
    held.push(async () => void (await Promise.all(holders.map((holder) => holder.end()))))
    const change = async ({ id }: { id: number }) => {
      const from = performance.now()
      const { status, body } = await owner().post(`/api/table/${id}/fields/create`, { name: 'Amount', type: 'number' })
      return { status, message: body.message, ms: performance.now() - from }
    }
    const [onNode, here] = await Promise.all([change(placed), change(local)])
    expect(onNode).toEqual({ status: 503, message: here?.message, ms: expect.any(Number) })
    expect(here?.status).toBe(503)
    expect(Math.abs((onNode?.ms ?? 0) - (here?.ms ?? 0))).toBeLessThan(3_000)
    // The change has left no lock behind.
    expect(await titles(placed.id)).toEqual(['first'])
    for (const release of held.splice(0)) await release()
    expect(await change(placed)).toMatchObject({ status: 200 })
  })

  /** A session with an open transaction that has read the table, or its shard. */
  async function reader({ connection }: Server, tableId: number): Promise<pg.Client> {
    const client = new pg.Client({ ...connection, options: '-c citus.override_table_visibility=off' })
    await client.connect()
    const { rows } = await client.query(
      `select relname from pg_class where relnamespace = 't${tableId}'::regnamespace and relkind = 'r' order by length(relname) desc limit 1`,
    )
    await client.query('begin')
    await client.query(`select from t${tableId}.${rows[0].relname}`)
    return client
  }

  test('a role that is no superuser needs the right CREATE on each node, and the doctor says where it is missing', async () => {
    const { coordinator, workers } = cluster
    const on = (server: Server, ...statements: string[]) => inDatabase(server, 'limited', statements)
    for (const server of [coordinator, ...workers]) await inDatabase(server, 'postgres', ['create database limited'])
    // Citus makes the role on all nodes, where it is part of a cluster.
    await coordinator.query('create role limited login')
    const grant = 'grant create on database limited to limited'
    await on(coordinator, grant, 'grant create on schema public to limited')
    await deploy({ ...coordinator.connection, user: 'limited', database: 'limited' }, { prepare: queueSchema(queues) })
    await joinNodes(cluster, 'limited')
    const { host, port } = coordinator.connection
    const environment = {
      DATABASE_URL: `postgresql://limited@localhost:${port}/limited?host=${encodeURIComponent(host)}`,
      SECRET_KEY: 'a key for tests, long enough to be one',
    }
    const other = await testApp(environment)
    const { id, owner: person } = await other.account()
    const space = await other.makeSpace(id, person.id, {})
    const missing = async () =>
      (await examine({ environment, tryOut: async () => null })).findings.filter(({ check }) => check.startsWith('nodes'))
    const advice = 'GRANT CREATE ON DATABASE limited TO limited'
    expect(await missing()).toMatchObject([{ check: 'nodes.rights', examples: [`${first}: ${advice}`, `${second}: ${advice}`] }])
    await expect(placeSpace(systemContext(other.deps), space, first)).rejects.toThrow(
      `Space ${space} was not placed: permission denied for database`,
    )

    // Citus repeats it on the nodes.
    await on(coordinator, grant)
    expect(await missing()).toEqual([])

    const login = (attribute: string) => on(workers[1], 'set citus.enable_ddl_propagation = off', `alter role limited ${attribute}`)
    await login('nologin')
    expect(await missing()).toMatchObject([{ check: 'nodes.refused', examples: [`${second}: role "limited" is not permitted to log in`] }])
    await login('login')
    expect(await missing()).toEqual([])
    await placeSpace(systemContext(other.deps), space, first)
    const key = other.as(person)
    const { body: table } = await key.post(`/api/space/${space}/tables/create`, {
      name: 'Cases',
      fields: [{ name: 'Title', type: 'text' }],
    })
    expect((await key.post(`/api/table/${table.id}/records/create`, { data: { title: 'first' } })).status).toBe(200)
    await moveSpace(systemContext(other.deps), space, second)
    expect((await key.post(`/api/table/${table.id}/records/query`, {})).body).toMatchObject([{ title: 'first' }])
    await other.stop()
  })

  test('placing and moving a space are audited', async () => {
    const { space } = await tableOn(first)
    await moveSpace(systemContext(app.deps), space, second)
    await moveSpace(systemContext(app.deps), space, second)
    const { body } = await owner().get(`/api/audit/list?space_id=${space}`)
    const rows = body.filter(({ action }: { action: string }) => /^space\.(placed|moved)$/.test(action))
    expect(rows).toMatchObject([
      { action: 'space.moved', actor_user_id: null, object: { type: 'space', id: String(space) }, detail: { node: second, before: first } },
      { action: 'space.placed', actor_user_id: null, object: { type: 'space', id: String(space) }, detail: { node: first } },
    ])
    expect(rows).toHaveLength(2)
  })
})
