/** What requests cost on each server: the same requests to a service on one server and to one whose space is on a node, in turn. */
import type { Server } from '../../../test/support/replica.ts'
import type { Account } from '../case.ts'
import { cpuMs } from '../cpu.ts'
import { drive, type Target } from '../drive.ts'
import type { Filled } from '../foundation/data.ts'
import { median } from '../measure.ts'
import { type Process, postmasterIn } from '../process.ts'

const ROUNDS = 5
const BATCH = 100
const LOAD = { connections: 10, seconds: 2, isSlow: false }

export interface Side {
  name: string
  service: Process
  account: Account
  data: Filled
  /** The database servers that work for it: the one that it is connected to first. */
  servers: readonly { name: string; server: Server }[]
}

/** The bodies of new rows. */
interface Bodies {
  newRecord(index: number): object
  newTask(): unknown
}

interface Goals {
  /** The least ratio of requests per second on the node to those on one server. */
  times?: number
  /** The most CPU time of the coordinator, to that of the one server. */
  coordinator?: number
}

interface Request extends Pick<Target, 'method' | 'path' | 'body'> {
  name: string
  goals: Goals
}

const requestsOn = ({ tableId, viewId, recordIds }: Filled, { newRecord, newTask }: Bodies): Request[] => {
  const recordAt = (index: number) => recordIds[index % recordIds.length]
  return [
    {
      name: 'query 100 records through a view',
      goals: { times: 0.9, coordinator: 0.15 },
      method: 'POST',
      path: () => `/api/table/${tableId}/records/query`,
      body: () => ({ view_id: viewId, limit: 100 }),
    },
    { name: 'get a record', goals: { times: 0.5 }, method: 'GET', path: (i) => `/api/table/${tableId}/record/${recordAt(i)}/get` },
    {
      name: 'create a record',
      goals: { times: 0.4 },
      method: 'POST',
      path: () => `/api/table/${tableId}/records/create`,
      body: newRecord,
    },
    {
      name: `create ${BATCH} records at once`,
      goals: {},
      method: 'POST',
      path: () => `/api/table/${tableId}/records/create_batch`,
      body: (i) => ({ records: Array.from({ length: BATCH }, (_, at) => newRecord(i + at)) }),
    },
    {
      name: 'update a record',
      goals: {},
      method: 'POST',
      path: (i) => `/api/table/${tableId}/record/${recordAt(i)}/update`,
      body: (i) => ({ data: { amount: i } }),
    },
    {
      name: 'create a task on a record',
      goals: { times: 0.4 },
      method: 'POST',
      path: (i) => `/api/tasks/onRecord/${tableId}/${recordAt(i)}/create`,
      body: newTask,
    },
  ]
}

/** Prints medians of interleaved rounds. @param sides one server, and a node */
export async function compareRequests(sides: readonly Side[], bodies: Bodies): Promise<void> {
  const requests = sides.map(({ data }) => requestsOn(data, bodies))
  for (const [index, { name, goals }] of (requests[0] ?? []).entries()) {
    const asked = sides.map((side, at) => ({ side, request: requests[at]?.[index] as Request }))
    const [alone, placed] = await weighInTurn(asked)
    if (alone && placed) print(name, goals, alone, placed)
  }
}

interface Figures {
  perSecond: number
  /** Milliseconds of CPU time for a request: of the service, and of each database server. */
  serviceMs: number
  serverMs: number[]
}

async function weighInTurn(asked: { side: Side; request: Request }[]): Promise<Shown[]> {
  const figures = asked.map((): Figures[] => [])
  const weighAll = async (round: number) => {
    for (const one of round % 2 ? asked.toReversed() : asked) {
      const weighed = await weigh(one.side, one.request)
      // The first round warms up.
      if (round) figures[asked.indexOf(one)]?.push(weighed)
    }
  }
  for (let round = 0; round <= ROUNDS; round++) await weighAll(round)
  return asked.map(({ side }, index) => ({ side, figures: mediansOf(figures[index] ?? []) }))
}

async function weigh({ service, account, servers }: Side, request: Request): Promise<Figures> {
  const target: Target = {
    ...request,
    url: service.found,
    pid: service.child.pid ?? 0,
    headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
  }
  const [first, ...others] = servers.map(({ server }) => postmasterOf(server))
  const used = () => others.map((pid) => cpuMs(pid, { withChildren: true }))
  const before = used()
  const { perSecond, nodeMs, postgresMs, count } = await drive(target, LOAD, first ?? 0)
  const ofOthers = used().map((ms, index) => (ms - (before[index] ?? 0)) / count)
  return { perSecond, serviceMs: nodeMs, serverMs: [postgresMs, ...ofOthers] }
}

/** The socket of a server lies in its data directory. */
const postmasterOf = ({ connection }: Server) => postmasterIn(connection.host)

function mediansOf(rounds: Figures[]): Figures {
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    serviceMs: median(rounds.map(({ serviceMs }) => serviceMs)),
    serverMs: (rounds[0]?.serverMs ?? []).map((_, index) => median(rounds.map(({ serverMs }) => serverMs[index] ?? Number.NaN))),
  }
}

interface Shown {
  side: Side
  figures: Figures
}

function print(name: string, goals: Goals, alone: Shown, placed: Shown): void {
  const times = placed.figures.perSecond / alone.figures.perSecond
  const coordinator = (placed.figures.serverMs[0] ?? Number.NaN) / (alone.figures.serverMs[0] ?? Number.NaN)
  console.log(`${name}: ${shown(alone)}; ${shown(placed)}`)
  console.log(
    `  ${times.toFixed(2)} times the requests${goalText(goals.times, times >= (goals.times ?? 0))}, ` +
      `the coordinator ${coordinator.toFixed(2)} of the CPU of one server${goalText(goals.coordinator, coordinator <= (goals.coordinator ?? 0))}`,
  )
}

const goalText = (goal: number | undefined, isMet: boolean) => (goal === undefined ? '' : ` (goal ${goal}${isMet ? '' : ', missed'})`)

function shown({ side, figures: { perSecond, serviceMs, serverMs } }: Shown): string {
  const costs = side.servers.map(({ name }, index) => `${name} ${serverMs[index]?.toFixed(3)}`)
  return `${side.name} ${perSecond.toFixed(0)}/s, service ${serviceMs.toFixed(3)}, ${costs.join(', ')} ms`
}
