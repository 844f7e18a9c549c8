/**
 * The suite "tables": ten thousand tables of two thousand accounts, asked at random. It measures what many small tables cost in time and memory:
 * a request, the first request of a table, a connection, and a process that starts or does nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { api } from '../api.ts'
import type { Bench, Suite } from '../case.ts'
import { largestChildMb, residentMb, rssMb } from '../cpu.ts'
import { SERVICE_LISTENS, startArguments, startProcess } from '../process.ts'
import { type Filled, fill } from './data.ts'

const GOALS = { ratio: 0.8, coldMs: 20, connectionMb: 250, startMs: 3_000, idleMb: 150 }
/** The tables of the last tenants are not used until their first query is measured. */
const COLD_TENANTS = 200
const PASSES = 3
const AT_ONCE = 10
const STARTS = 3
/** By then a process has done what follows a start. */
const IDLE_MS = 8_000

const QUERY = {
  filters: [
    { column: 'status', compare: '=', value: 'Open' },
    { column: 'due', compare: '<=', value: 'today' },
  ],
  order_by: 'due',
  order_dir: 'D',
  limit: 100,
}

export const tables: Suite<Filled> = {
  defaults: { records: 500, seconds: 3 },
  prepare: fill,
  bare: 'tables/bare.ts',
  tellBare: ({ tenants }) => ({ tableId: tenants[0]?.tableIds[0] }),
  cases: ({ tenants }) => {
    const warm = tablesOf(tenants.slice(0, -COLD_TENANTS))
    const table = (index: number) => warm[scattered(index) % warm.length] as Table
    return [
      {
        name: 'query a random table',
        method: 'POST',
        ours: (i) => `/api/table/${table(i).id}/records/query`,
        bare: (i) => `/query/${table(i).id}`,
        secret: (i) => table(i).secret,
        body: () => QUERY,
        goal: GOALS.ratio,
      },
    ]
  },
  steps: {
    'first query of a cold table': { run: queryColdTables },
    'memory over all tables': { run: walkAllTables },
    'start and idle memory': { run: startAnother },
  },
}

interface Table {
  id: number
  secret: string
}

const tablesOf = (tenants: Filled['tenants']): Table[] => tenants.flatMap(({ secret, tableIds }) => tableIds.map((id) => ({ id, secret })))

/** A whole number that looks random, the same for the same index (the end of MurmurHash3). */
function scattered(index: number): number {
  const mixed = Math.imul(index ^ (index >>> 16), 0x85ebca6b)
  const again = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (again ^ (again >>> 16)) >>> 0
}

const query = ({ url }: Pick<Bench, 'url'>, { id, secret }: Table) =>
  api(url, { authorization: `Bearer ${secret}` })('POST', `/api/table/${id}/records/query`, QUERY)

const missed = (isMet: boolean) => (isMet ? '' : ', missed')

async function queryColdTables(bench: Bench, { tenants }: Filled): Promise<void> {
  const times: number[] = []
  for (const table of tablesOf(tenants.slice(-COLD_TENANTS))) {
    const from = performance.now()
    await query(bench, table)
    times.push(performance.now() - from)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(share * times.length)] ?? Number.NaN
  console.log(
    `\nFirst query of a cold table: p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms of ${times.length} ` +
      `(goal ${GOALS.coldMs}${missed(at(0.99) < GOALS.coldMs)}).`,
  )
}

/** The service must not grow from pass to pass. One caller alone always gets the same connection, which so comes to know all tables. */
async function walkAllTables(bench: Bench, { tenants }: Filled): Promise<void> {
  const all = tablesOf(tenants)
  const afterEach: number[] = []
  for (let pass = 0; pass <= PASSES; pass++) {
    const left = all.toReversed()
    const walk = async () => {
      for (let table = left.pop(); table; table = left.pop()) await query(bench, table)
    }
    await Promise.all(Array.from({ length: pass ? AT_ONCE : 1 }, walk))
    afterEach.push(rssMb(bench.pids.ours))
  }
  const connectionMb = largestChildMb(bench.pids.postmaster)
  console.log(
    `\nMemory: the service has ${afterEach.map((mb) => Math.round(mb)).join(', ')} MB after each walk over all ${all.length} tables; ` +
      `the largest connection ${Math.round(connectionMb)} MB (goal ${GOALS.connectionMb}${missed(connectionMb < GOALS.connectionMb)}).`,
  )
}

/** Starts processes beside the one that is measured, on the same database, as one that is replaced would be. */
async function startAnother({ environment }: Bench): Promise<void> {
  const starts: number[] = []
  let idleMb = Number.NaN
  for (let round = 0; round < STARTS; round++) {
    const from = performance.now()
    const service = await startProcess(startArguments(), SERVICE_LISTENS, environment)
    starts.push(performance.now() - from)
    if (round === 0) {
      await sleep(IDLE_MS)
      idleMb = residentMb(service.child.pid ?? 0)
    }
    await service.stop()
  }
  const slowest = Math.max(...starts)
  console.log(
    `\nA process listens after ${starts.map((ms) => Math.round(ms)).join(', ')} ms (goal ${GOALS.startMs}${missed(slowest < GOALS.startMs)}); ` +
      `idle it has ${Math.round(idleMb)} MB (goal ${GOALS.idleMb}${missed(idleMb < GOALS.idleMb)}).`,
  )
}
