/** The suite "tables": two thousand tables, queried at random. It measures the cost of many small tables in time and memory. */
import type { Field, Suite } from '../case.ts'
import { largestChildMb, rssMb } from '../cpu.ts'
import { median } from '../measure.ts'
import { type Filled, fill } from './data.ts'

const GOAL = 0.8
const COLD_GOAL_MS = 30
const CONNECTION_GOAL_MB = 250
/** The last tables are not used until their first query is measured. */
const COLD = 100
const PASSES = 4
const AT_ONCE = 10
/** Coprime to the number of tables, so that a walk in such steps visits all of them in a scattered order. */
const STRIDE = 733

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
  tellBare: ({ tableIds }) => ({ tableIds }),
  cases: ({ tableIds }) => {
    const warm = tableIds.slice(0, -COLD)
    const table = (index: number) => warm[(index * STRIDE) % warm.length]
    return [
      {
        name: 'query a random table',
        method: 'POST',
        ours: (i) => `/api/table/${table(i)}/records/query`,
        bare: (i) => `/query/${table(i)}`,
        body: () => QUERY,
        goal: GOAL,
      },
    ]
  },
  steps: { 'first query of a cold table': { run: queryColdTables }, 'memory over all tables': { run: walkAllTables } },
}

async function queryColdTables({ key }: Field, { tableIds }: Filled): Promise<void> {
  const times: number[] = []
  for (const id of tableIds.slice(-COLD)) {
    const from = performance.now()
    await key('POST', `/api/table/${id}/records/query`, QUERY)
    times.push(performance.now() - from)
  }
  const [middle, most] = [median(times), Math.max(...times)]
  console.log(
    `\nFirst query of a cold table: median ${middle.toFixed(1)} ms, slowest of ${COLD} ${most.toFixed(1)} ms ` +
      `(goal ${COLD_GOAL_MS}${middle < COLD_GOAL_MS ? '' : ', missed'}).`,
  )
}

/** The service must not grow from pass to pass, and each connection must stay within its goal. */
async function walkAllTables({ key, pids }: Field, { tableIds }: Filled): Promise<void> {
  const afterEach: number[] = []
  for (let pass = 0; pass < PASSES; pass++) {
    const left = [...tableIds]
    const walk = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) await key('POST', `/api/table/${id}/records/query`, QUERY)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, walk))
    afterEach.push(rssMb(pids.ours))
  }
  const connectionMb = largestChildMb(pids.postmaster)
  console.log(
    `\nMemory: the service has ${afterEach.map((mb) => Math.round(mb)).join(', ')} MB after each walk over all tables; ` +
      `the largest connection ${Math.round(connectionMb)} MB (goal ${CONNECTION_GOAL_MB}${connectionMb < CONNECTION_GOAL_MB ? '' : ', missed'}).`,
  )
}
