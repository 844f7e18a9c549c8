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
/** Of the table that is moved, unless `--records` says otherwise. */
const MOVED_RECORDS = 100_000
/** There and back. */
const MOVES = 4
const LONGEST_WAIT_MS = 200
/** How long requests go on after a node was killed: until it is known to be away, and longer. */
const AFTER_KILL_MS = 6_000

export const cluster: Suite<null> = {
  defaults: { records: MOVED_RECORDS, seconds: 2 },
  prepare: async () => {
    if (!CITUS_DIR) throw new ScriptError('The suite cluster needs CITUS_DIR, a folder with Citus (CONTRIBUTING.md, Tests)')
    return null
  },
  cases: () => [],
  steps: {
    'requests to spaces on nodes': { run: (bench) => onCluster(bench, measureRequests) },
    'moves of a space': { run: (bench) => onCluster(bench, (on) => measureMoves(on, bench.records)) },
    'a node that is killed': { run: (bench) => onCluster(bench, measureKill) },
  },
}

interface OnCluster {
  citus: CitusCluster
  /** Its space is on the first node. */
  placed: Side
  placing: Placing
  /** Starts another service on the server, until the end of the step. */
  start(server: Server): Promise<{ service: Process; settings: Record<string, string> }>
}

/** Runs the step on servers of its own. */
async function onCluster({ environment }: Bench, measure: (on: OnCluster) => Promise<void>): Promise<void> {
  const citus = await startCitus()
  const started: Process[] = []
  const start = async ({ url }: Server) => {
    const settings = { ...environment, DATABASE_URL: url, SECRET_KEY: randomBytes(32).toString('hex') }
    const service = await startProcess(startArguments(), SERVICE_LISTENS, settings)
    started.push(service)
    return { service, settings }
  }
  try {
    const { service, settings } = await start(citus.coordinator)
    const placing = placingWith(settings)
    await measure({ citus, placed: await placedSide(citus, service, placing), placing, start })
  } finally {
    for (const service of started) await service.stop()
    await citus.stop()
  }
}

async function measureRequests({ placed, start }: OnCluster): Promise<void> {
  const plain = await startCluster({ isOwnSystem: true })
  try {
    const { service } = await start(plain.primary)
    await compareRequests([await plainSide(plain, service), placed], { newRecord, newTask })
    await service.stop()
  } finally {
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

/** Lets the service make the indexes that a table of its size gets. @returns how many there are, once there are no more */
async function indexed(coordinator: Server, { service, account, data: { tableId } }: Side): Promise<number> {
  const db = openDatabase(coordinator.connection)
  try {
    const { browser } = await groundOn(db, service.found, account)
    await browser('POST', `/api/table/${tableId}/views/create`, { name: 'By amount', type: 'grid', order_by: 'amount' })
  } finally {
    await db.close()
  }
  let [count, since] = [0, performance.now()]
  while (performance.now() - since < INDEXES_SETTLE_MS) {
    await sleep(100)
    const present = await coordinator.query('select from pg_indexes where schemaname = $1', [`t${tableId}`])
    if (present.length !== count) since = performance.now()
    count = present.length
  }
  return count
}

/** The next index of a large table is built within this time. */
const INDEXES_SETTLE_MS = 5_000

/** Moves the space to the other node and back while it is read and written. */
async function measureMoves({ citus: { coordinator, workers, nameOf }, placed, placing }: OnCluster, records: number): Promise<void> {
  const { tableId } = placed.data
  await coordinator.query(`
    insert into t${tableId}.records (created_at, updated_at, name, notes)
    select now(), now(), 'Deal ' || i, repeat('note ', 10) from generate_series(1, ${records}) i`)
  const indexes = await indexed(coordinator, placed)
  const space = String(await spaceOf(coordinator, placed.data))
  for (let move = 1; move <= MOVES; move++) {
    const target = nameOf(workers[move % 2] as Server)
    const from = performance.now()
    const { served, failed, slowestMs } = await underLoad(callersOf(placed, tableId), () => placing('move', space, target))
    const seconds = ((performance.now() - from) / 1_000).toFixed(1)
    console.log(
      `a space with ${records} records and ${indexes} indexes is moved under load, in ${seconds} s with the start of the command: ${served} served, ${failed} failed ` +
        `(goal 0${missed(failed === 0)}), the slowest in ${slowestMs.toFixed(0)} ms (goal under ${LONGEST_WAIT_MS}${missed(slowestMs < LONGEST_WAIT_MS)})`,
    )
  }
}

/** The node of the side's space is killed; another space is on the other node, and a third on none. */
async function measureKill({ citus, placed: side, placing }: OnCluster): Promise<void> {
  const { coordinator, workers, nameOf } = citus
  const db = openDatabase(coordinator.connection)
  try {
    const ground = await groundOn(db, side.service.found, side.account)
    const [other, local] = [await fill(ground, { records: 100 }), await fill(ground, { records: 100 })]
    await placing('place', String(await spaceOf(coordinator, other)), nameOf(workers[1]))
    const callers = [other, local].flatMap(({ tableId }) => callersOf(side, tableId))
    const lost = callersOf(side, side.data.tableId)
    const kill = async () => {
      await sleep(1_000)
      await workers[0].kill()
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
