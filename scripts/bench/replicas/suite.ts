/**
 * The suite "replicas": what a request costs on the primary, on the replica and in the service, with and without DATABASE_REPLICA_URLS. Both
 * services use the same primary and are asked in turn. The servers are the suite's own; no data directory is needed.
 */
import { randomBytes } from 'node:crypto'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { type Cluster, type Server, startCluster } from '../../../test/support/replica.ts'
import { until } from '../../../test/support/until.ts'
import type { Account, Bench, Suite } from '../case.ts'
import { cpuMs } from '../cpu.ts'
import { drive, type Target } from '../drive.ts'
import { type Filled, fill } from '../foundation/data.ts'
import { groundOn, makeAccount } from '../ground.ts'
import { median } from '../measure.ts'
import { type Process, postmasterIn, SERVICE_LISTENS, startArguments, startProcess } from '../process.ts'

/** Of the primary's CPU time for a page, to that without replicas. */
const GOAL = 0.3
const RECORDS = 2_000
const ROUNDS = 5
const LOAD = { connections: 10, seconds: 2, isSlow: false }

export const replicas: Suite<null> = {
  defaults: { records: 0, seconds: LOAD.seconds },
  prepare: async () => null,
  cases: () => [],
  steps: { 'CPU of each server': { run: compare } },
}

interface Setup {
  account: Account
  data: Filled
  servers: { primary: Server; replica: Server }
}

interface Request extends Pick<Target, 'name' | 'method' | 'path'> {
  body?: (index: number) => unknown
  hasGoal?: boolean
}

/** The requests, most of which are answered from the replica as a whole behind the access check. */
const requestsOn = ({ tableId, viewId, recordIds, taskIds }: Filled): Request[] => [
  {
    name: 'query 100 records through a view',
    hasGoal: true,
    method: 'POST',
    path: () => `/api/table/${tableId}/records/query`,
    body: () => ({ view_id: viewId, limit: 100 }),
  },
  {
    name: 'count the records of a view',
    method: 'POST',
    path: () => `/api/table/${tableId}/records/count`,
    body: () => ({ view_id: viewId }),
  },
  {
    name: 'list the tasks of a record',
    method: 'GET',
    path: (i) => `/api/tasks/onRecord/${tableId}/${recordIds[i % recordIds.length]}/list`,
  },
  { name: 'get a task, which comes with the access check', method: 'GET', path: (i) => `/api/task/${taskIds[i % taskIds.length]}/get` },
  {
    name: 'get a record, which comes with the access check',
    method: 'GET',
    path: (i) => `/api/table/${tableId}/record/${recordIds[i % recordIds.length]}/get`,
  },
]

async function compare({ environment }: Bench): Promise<void> {
  const cluster = await startCluster({ isOwnSystem: true })
  const started: Process[] = []
  try {
    const start = async (settings: Record<string, string>) => {
      const service = await startProcess(startArguments(), SERVICE_LISTENS, {
        ...environment,
        DATABASE_URL: cluster.primary.url,
        SECRET_KEY: randomBytes(32).toString('hex'),
        ...settings,
      })
      started.push(service)
      return service
    }
    const alone = await start({})
    const setup = await prepare(cluster, alone.found)
    const withReplica = await start({ DATABASE_REPLICA_URLS: setup.servers.replica.url })
    await untilRead(withReplica.found)
    for (const request of requestsOn(setup.data)) await compareRequest(setup, request, alone, withReplica)
  } finally {
    for (const service of started) await service.stop()
    await cluster.stop()
  }
}

async function prepare(cluster: Cluster, url: string): Promise<Setup> {
  const db = openDatabase(cluster.primary.connection)
  try {
    const account = await makeAccount(db)
    const data = await fill(await groundOn(db, url, account), { records: RECORDS })
    await cluster.primary.query('analyze')
    return { account, data, servers: { primary: cluster.primary, replica: await cluster.replicate('replica') } }
  } finally {
    await db.close()
  }
}

async function untilRead(url: string): Promise<void> {
  await until(async () => {
    const { replicas } = (await (await fetch(`${url}/readyz`)).json()) as { replicas?: { read: number } }
    return replicas?.read
  }, 'for the service to read the replica')
}

/** Milliseconds of CPU time for a request. */
interface Costs {
  node: number
  primary: number
  replica: number
}

interface Side {
  name: string
  service: Process
  headers: Record<string, string>
}

async function compareRequest({ account, servers }: Setup, request: Request, alone: Process, withReplica: Process): Promise<void> {
  const position = await positionOf(withReplica.found, account)
  const sides: Side[] = [
    { name: 'without replicas', service: alone, headers: {} },
    { name: 'with a replica', service: withReplica, headers: {} },
    { name: 'with a replica and X-Position', service: withReplica, headers: { 'x-position': position } },
  ]
  const costs = sides.map((): Costs[] => [])
  const round = async (order: Side[], index: number) => {
    for (const side of index % 2 ? order.toReversed() : order) {
      const weighed = await weigh(targetOf(side, request, account), servers)
      // The first round warms up.
      if (index) costs[order.indexOf(side)]?.push(weighed)
    }
  }
  for (let index = 0; index <= ROUNDS; index++) await round(sides, index)
  print(
    request,
    sides.map(({ name }, index) => ({ name, costs: medianOf(costs[index] ?? []) })),
  )
}

const targetOf = ({ service, headers }: Side, request: Request, { secret }: Account): Target => ({
  ...request,
  url: service.found,
  pid: service.child.pid ?? 0,
  headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
})

function print({ name, hasGoal }: Request, [base, ...others]: { name: string; costs: Costs }[]): void {
  console.log(`${name}: ${base?.name} ${shown(base?.costs)}`)
  for (const { name: side, costs } of others) {
    const times = costs.primary / (base?.costs.primary ?? Number.NaN)
    const goal = hasGoal ? ` (goal ${GOAL}${times <= GOAL ? '' : ', missed'})` : ''
    console.log(`  ${side} ${shown(costs)}: ${times.toFixed(2)} times the CPU of the primary${goal}`)
  }
}

async function weigh(target: Target, { primary, replica }: Setup['servers']): Promise<Costs> {
  const used = () => cpuMs(postmasterOf(replica), { withChildren: true })
  const before = used()
  const { nodeMs, postgresMs, count } = await drive(target, LOAD, postmasterOf(primary))
  return { node: nodeMs, primary: postgresMs, replica: (used() - before) / count }
}

/** The socket of a server lies in its data directory. */
const postmasterOf = ({ connection }: Server) => postmasterIn(connection.host)

/** The position that the answer to a write carries. */
async function positionOf(url: string, { secret }: Account): Promise<string> {
  const answer = await fetch(`${url}/api/spaces/create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Position' }),
  })
  return answer.headers.get('x-position') ?? ''
}

function medianOf(rounds: Costs[]): Costs {
  const of = (key: keyof Costs) => median(rounds.map((costs) => costs[key]))
  return { node: of('node'), primary: of('primary'), replica: of('replica') }
}

const shown = ({ node, primary, replica }: Costs = { node: Number.NaN, primary: Number.NaN, replica: Number.NaN }) =>
  `node ${node.toFixed(3)}, primary ${primary.toFixed(3)}, replica ${replica.toFixed(3)} ms`
