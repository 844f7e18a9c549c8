/** Placing and moving a space on a Citus cluster, ended in each of their steps. Skipped without CITUS_DIR. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '../scripts/doctor/doctor.ts'
import { systemContext } from '../src/platform/context.ts'
import { moveSpace, placeSpace } from '../src/tables/elsewhere/placement.ts'
import { type TestAccount, type TestApp, testApp } from './support/app.ts'
import { CITUS_DIR, type CitusCluster, startCitus, withCitus } from './support/citus.ts'
import type { Server } from './support/replica.ts'

const ROOT = join(import.meta.dirname, '..')
const SECRET_KEY = 'a key for tests, long enough to be one'

describe.skipIf(!CITUS_DIR)(withCitus('on a cluster of three'), () => {
  let cluster: CitusCluster
  let app: TestApp
  let account: TestAccount
  let [first, second] = ['', '']
  const held: (() => Promise<void>)[] = []

  beforeAll(async () => {
    cluster = await startCitus()
    ;[first, second] = cluster.workers.map(cluster.nameOf) as [string, string]
    // A move then waits for advisory locks before and after its copy, which Citus has for its own tests.
    await set(cluster.coordinator, 'citus.running_under_citus_test_suite', 'on')
    app = await testApp({ DATABASE_URL: cluster.coordinator.url })
    account = await app.account()
  })
  const release = async () => {
    for (const each of held.splice(0).reverse()) await each()
  }
  // The next test goes on after one that has failed.
  afterEach(release)
  afterAll(async () => {
    await app?.stop()
    await cluster?.stop()
  })

  const owner = () => app.as(account.owner)
  const place = (space: number, node: string) => placeSpace(systemContext(app.deps), space, node)
  const move = (space: number, node: string) => moveSpace(systemContext(app.deps), space, node)

  async function set(server: Server, name: string, value: string): Promise<void> {
    await server.query(`alter system set ${name} = '${value}'`)
    await server.query('select pg_reload_conf()')
  }

  async function spaceWithRecords(): Promise<{ space: number; id: number }> {
    const space = await app.makeSpace(account.id, account.owner.id, {})
    const fields = [{ name: 'Title', type: 'text' }]
    const { body } = await owner().post(`/api/space/${space}/tables/create`, { name: 'Cases', fields })
    const records = Array.from({ length: 5 }, (_, index) => ({ data: { title: `Case ${index}` } }))
    expect((await owner().post(`/api/table/${body.id}/records/create_batch`, { records })).status).toBe(200)
    return { space, id: body.id }
  }
  const create = (id: number) => owner().post(`/api/table/${id}/records/create`, { data: { title: 'new' } })
  const titles = async (id: number): Promise<string[]> => {
    const { status, body } = await owner().post(`/api/table/${id}/records/query`, {})
    expect({ status, body }).toMatchObject({ status: 200 })
    return body.map(({ title }: { title: string }) => title)
  }
  const nodeOf = async (id: number) => {
    const [shard] = await cluster.coordinator.query<{ node: string }>(
      `select nodename || ':' || nodeport as node from citus_shards where table_name = to_regclass('t${id}.records')`,
    )
    return shard?.node
  }
  const nodeFindings = async () => {
    const environment = { DATABASE_URL: cluster.coordinator.url, SECRET_KEY }
    return (await examine({ environment, tryOut: async () => null })).findings.filter(({ check }) => check.startsWith('nodes'))
  }

  /** Keeps a transaction open on the server until `release`. */
  async function hold({ connection }: Server, ...statements: string[]): Promise<void> {
    const client = new pg.Client(connection)
    await client.connect()
    held.push(() => client.end())
    await client.query('begin')
    for (const statement of statements) await client.query(statement)
  }
  /** Lets commits on the server wait for a standby that does not exist: they are on its disk, and not acknowledged. */
  async function holdCommits(server: Server): Promise<void> {
    held.push(() => set(server, 'synchronous_standby_names', ''))
    await set(server, 'synchronous_standby_names', '*')
  }
  const some = (server: Server, statement: string) => expect.poll(() => server.query(statement), { interval: 20 }).not.toEqual([])

  const none = (server: Server, statement: string) => expect.poll(() => server.query(statement), { interval: 20 }).toEqual([])

  const COMMAND = "select pid from pg_locks where locktype = 'advisory' and classid = 7203 and granted"
  const waitsForLock = () => some(cluster.coordinator, `select from pg_locks where not granted and pid in (${COMMAND})`)

  /** Where a command is held, by what it waits for. */
  interface Step {
    hold(id: number): Promise<void>
    isReached(id: number): Promise<unknown>
  }
  const locking = (...statements: string[]): Step => ({ hold: () => hold(cluster.coordinator, ...statements), isReached: waitsForLock })
  const writing: Step = { hold: (id) => hold(cluster.coordinator, `update t${id}.records set version = version`), isReached: waitsForLock }
  /** The last statement before the commit. */
  const auditing = locking('lock table audit_entries in share mode')
  /** The copy begins when transactions of the node that were open have ended. This step waits for no lock of the coordinator, whose patience ends. */
  const opening: Step = {
    hold: () => hold(cluster.workers[0], 'select pg_current_xact_id()'),
    isReached: () =>
      some(cluster.workers[0], "select from pg_stat_activity where query ~ '^CREATE_REPLICATION_SLOT' and wait_event_type = 'Lock'"),
  }
  const copying = locking('select pg_advisory_xact_lock(55152, 44000)')
  const copied = locking('select pg_advisory_xact_lock(44000, 55152)')
  /** A later step that is not held before an earlier one is reached, because its obstacle would keep the command from coming so far. */
  const after = (earlier: Step, later: Step): Step => ({
    hold: earlier.hold,
    isReached: async (id) => {
      await earlier.isReached(id)
      const [free] = held.splice(0)
      await later.hold(id)
      await free?.()
      await later.isReached(id)
    },
  })
  const committing = (server: () => Server, how: string) =>
    after(auditing, {
      hold: () => holdCommits(server()),
      isReached: () => some(server(), `select from pg_stat_activity where wait_event = 'SyncRep' and query ~* '${how}'`),
    })
  const [coordinator, left, entered] = [() => cluster.coordinator, () => cluster.workers[0], () => cluster.workers[1]]

  test.each<[string, Step, 'before' | 'after']>([
    ['waits for the row of the space', locking('select from spaces for update'), 'before'],
    ['waits for writers', writing, 'before'],
    ['writes its entry of the audit log', auditing, 'before'],
    ['has its records prepared on the node', committing(left, 'prepare transaction'), 'before'],
    ['has committed on the coordinator', committing(coordinator, 'commit'), 'after'],
  ])('a space whose placing is killed while it %s has all its records, and the command is repeated', async (_, step, side) => {
    const { space, id } = await spaceWithRecords()
    const before = await titles(id)
    await killIn(step, id, () => place(space, first))
    await expectWhole(id, before, side === 'before' ? undefined : first)
    expect(await place(space, first)).toMatchObject({ node: first, tables: 1, is_changed: side === 'before' })
    expect([await nodeOf(id), await titles(id)]).toEqual([first, [...before, 'new']])
    expect(await nodeFindings()).toEqual([])
  })

  test.each<[string, Step, 'before' | 'after']>([
    ['waits for a transaction that was open on the node', opening, 'before'],
    ['begins to copy', copying, 'before'],
    ['has copied', copied, 'before'],
    ['blocks writes and writes its entry of the audit log', auditing, 'before'],
    ['has its change prepared on the node that it goes to', committing(entered, 'prepare transaction'), 'before'],
    ['has committed on the coordinator', committing(coordinator, 'commit'), 'after'],
  ])('a space whose move is killed while it %s has all its records, and the command is repeated', async (_, step, side) => {
    const { space, id } = await spaceWithRecords()
    const before = await titles(id)
    await place(space, first)
    await killIn(step, id, () => move(space, second))
    await expectWhole(id, before, side === 'before' ? first : second)
    expect(await move(space, second)).toMatchObject({ node: second, tables: 1, is_changed: side === 'before' })
    expect([await nodeOf(id), await titles(id)]).toEqual([second, [...before, 'new']])
    expect(await nodeFindings()).toEqual([])
  })

  /** Ends the session of the command in the step. */
  async function killIn(step: Step, id: number, start: () => Promise<unknown>): Promise<void> {
    await step.hold(id)
    const ended = expect(start()).rejects.toThrow()
    await step.isReached(id)
    expect(await cluster.coordinator.query(`select pg_terminate_backend(pid) from (${COMMAND}) command`)).toHaveLength(1)
    await ended
    await release()
  }

  async function expectWhole(id: number, before: string[], node: string | undefined): Promise<void> {
    await settled()
    expect([await nodeOf(id), await titles(id)]).toEqual([node, before])
    expect((await create(id)).status).toBe(200)
  }

  /** Waits until Citus has decided on what was prepared, which locks the records, and has dropped what the command has left. */
  async function settled(): Promise<void> {
    for (const worker of cluster.workers) await none(worker, 'select from pg_prepared_xacts')
    await none(cluster.coordinator, 'select from pg_dist_cleanup')
  }

  /** `npm run admin -- space <args>`. */
  function admin(...args: string[]): ChildProcess {
    const env = { ...process.env, DATABASE_URL: cluster.coordinator.url, SECRET_KEY, DATA_DIR: app.settings.dataDir }
    return spawn(process.execPath, ['scripts/admin.ts', 'space', ...args], { cwd: ROOT, env, stdio: 'ignore' })
  }

  test('a move whose process is killed ends on the servers as well, and is repeated at once', async () => {
    const { space, id } = await spaceWithRecords()
    await place(space, first)
    await opening.hold(id)
    const command = admin('move', String(space), second)
    await opening.isReached(id)
    command.kill('SIGKILL')
    await once(command, 'exit')
    await none(cluster.coordinator, COMMAND)
    await release()
    await settled()
    expect(await nodeOf(id)).toBe(first)
    expect(await move(space, second)).toMatchObject({ node: second, is_changed: true })
  })

  test('a move to a node that is killed meanwhile is refused in one line, and is repeated', async () => {
    const { space, id } = await spaceWithRecords()
    const before = await titles(id)
    await place(space, first)
    await copied.hold(id)
    const refused = expect(move(space, second)).rejects.toThrow(new RegExp(`^Space ${space} was not moved: .+$`))
    await copied.isReached(id)
    await cluster.workers[1].kill()
    await release()
    await refused
    expect([await nodeOf(id), await titles(id)]).toEqual([first, before])
    expect((await create(id)).status).toBe(200)
    await cluster.workers[1].start()
    await settled()
    expect(await move(space, second)).toMatchObject({ node: second, is_changed: true })
    expect([await nodeOf(id), await titles(id)]).toEqual([second, [...before, 'new']])
  })
})
