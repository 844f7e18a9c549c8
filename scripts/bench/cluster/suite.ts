/**
 * The suite "cluster": what a request costs when its space is on a node of a Citus cluster, on each server, beside a plain server in the same
 * run; and what requests notice of a space that is moved and of a node that is killed. The servers are the suite's own. It needs CITUS_DIR.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { CITUS_DIR, type CitusCluster, startCitus } from '../../../test/support/citus.ts'
import { type Cluster, type Server, startCluster } from '../../../test/support/replica.ts'
import { ScriptError } from '../../runtime.ts'
import type { Account, Bench, Suite } from '../case.ts'
import { type Filled, fill, newRecord, newTask } from '../foundation/data.ts'
import { groundOn, makeAccount } from '../ground.ts'
import { type Process, SERVICE_LISTENS, startArguments, startProcess } from '../process.ts'
import { compareRequests, type Side } from './costs.ts'
import { type Caller, underLoad } from './load.ts'

const RECORDS = 2_000
/** Of the table that is moved. */
const MOVED_RECORDS = 100_000
const LONGEST_WAIT_MS = 200
/** How long requests go on after a node was killed: until it is known to be away, and longer. */
const AFTER_KILL_MS = 6_000

export const cluster: Suite<null> = {
  defaults: { records: 0, seconds: 2 },
  prepare: async () => {
    if (!CITUS_DIR) throw new ScriptError('The suite cluster needs CITUS_DIR, a folder with Citus (CONTRIBUTING.md, Tests)')
    return null
  },
  cases: () => [],
  steps: { 'spaces on nodes': { run: measureCluster } },
}

async function measureCluster({ environment }: Bench): Promise<void> {
  const [citus, plain] = [await startCitus(), await startCluster({ isOwnSystem: true })]
  const started: Process[] = []
  try {
    const start = async ({ url }: Server) => {
      const settings = { ...environment, DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') }
      const service = await startProcess(startArguments(), SERVICE_LISTENS, settings)
      started.push(service)
      return { service, settings }
    }
    const [onPlain, onCitus] = [await start(plain.primary), await start(citus.coordinator)]
    const placing = placingWith(onCitus.settings)
    const sides = [await plainSide(plain, onPlain.service), await placedSide(citus, onCitus.service, placing)]
    await compareRequests(sides, { newRecord, newTask })
    const placed = sides[1] as Side
    await measureMove(citus, placed, placing)
    await measureKill(citus, placed, placing)
  } finally {
    for (const service of started) await service.stop()
    await citus.stop()
    await plain.stop()
  }
}

/** Runs `npm run admin -- space place` or `space move`, as the operator does. */
type Placing = (command: 'place' | 'move', space: string, node: string) => Promise<void>

const ADMIN = join(import.meta.dirname, '../../admin.ts')

function placingWith(settings: Record<string, string>): Placing {
  const env = { ...process.env, ...settings }
  return async (...args) => void (await promisify(execFile)(process.execPath, [ADMIN, 'space', ...args], { env }))
}

async function plainSide({ primary }: Cluster, service: Process): Promise<Side> {
  const made = await makeData(primary, service.found)
  await primary.query('vacuum analyze')
  return { name: 'on one server', service, ...made, servers: [{ name: 'PostgreSQL', server: primary }] }
}

async function placedSide({ coordinator, workers, nameOf }: CitusCluster, service: Process, placing: Placing): Promise<Side> {
  const made = await makeData(coordinator, service.found)
  await placing('place', String(await spaceOf(coordinator, made.data)), nameOf(workers[0]))
  for (const server of [coordinator, workers[0]]) await server.query('vacuum analyze')
  const servers = [
    { name: 'coordinator', server: coordinator },
    { name: 'node', server: workers[0] },
  ]
  return { name: 'on a node', service, ...made, servers }
}

async function makeData({ connection }: Server, url: string): Promise<{ account: Account; data: Filled }> {
  const db = openDatabase(connection)
  try {
    const account = await makeAccount(db)
    return { account, data: await fill(await groundOn(db, url, account), { records: RECORDS }) }
  } finally {
    await db.close()
  }
}

async function spaceOf(server: Server, { tableId }: Filled): Promise<number> {
  const [row] = await server.query<{ space_id: number }>('select space_id from tables where id = $1', [tableId])
  return row?.space_id ?? 0
}

const missed = (isMet: boolean) => (isMet ? '' : ', missed')

/** Callers who write and read records of the table in turn. */
const callersOf = ({ service, account }: Side, tableId: number): Caller[] => {
  const post = (path: string, body: object): Caller => ({
    url: service.found,
    secret: account.secret,
    path: `/api/table/${tableId}/records/${path}`,
    body,
  })
  const [write, read] = [post('create', newRecord(1)), post('query', { limit: 100 })]
  return [write, write, read, read]
}

async function measureMove({ coordinator, workers, nameOf }: CitusCluster, side: Side, placing: Placing): Promise<void> {
  const { tableId } = side.data
  await coordinator.query(`
    insert into t${tableId}.records (created_at, updated_at, name, notes)
    select now(), now(), 'Deal ' || i, repeat('note ', 10) from generate_series(1, ${MOVED_RECORDS}) i`)
  const space = String(await spaceOf(coordinator, side.data))
  const from = performance.now()
  const { served, failed, slowestMs } = await underLoad(callersOf(side, tableId), () => placing('move', space, nameOf(workers[1])))
  const seconds = ((performance.now() - from) / 1_000).toFixed(1)
  console.log(
    `a space with ${MOVED_RECORDS} records is moved under load, in ${seconds} s with the start of the command: ${served} served, ${failed} failed ` +
      `(goal 0${missed(failed === 0)}), the slowest in ${slowestMs.toFixed(0)} ms (goal under ${LONGEST_WAIT_MS}${missed(slowestMs < LONGEST_WAIT_MS)})`,
  )
}

/** The space of the side is on the second node now, which is killed; another is on the first node, and a third on none. */
async function measureKill({ coordinator, workers, nameOf }: CitusCluster, side: Side, placing: Placing): Promise<void> {
  const db = openDatabase(coordinator.connection)
  try {
    const ground = await groundOn(db, side.service.found, side.account)
    const [other, local] = [await fill(ground, { records: 100 }), await fill(ground, { records: 100 })]
    await placing('place', String(await spaceOf(coordinator, other)), nameOf(workers[0]))
    const callers = [other, local].flatMap(({ tableId }) => callersOf(side, tableId))
    const lost = callersOf(side, side.data.tableId)
    const kill = async () => {
      await sleep(1_000)
      await workers[1].kill()
      await sleep(AFTER_KILL_MS)
    }
    const [others, its] = await Promise.all([underLoad(callers, kill), underLoad(lost, () => sleep(AFTER_KILL_MS))])
    console.log(
      `a node is killed under load: of the requests for other spaces ${others.served} served, ${others.failed} failed (goal 0` +
        `${missed(others.failed === 0)}), the slowest in ${others.slowestMs.toFixed(0)} ms; for its own space ${its.served} served, ${its.failed} refused`,
    )
  } finally {
    await db.close()
  }
}
