/**
 * The suite "processes": the service as one process and as two (PROCESSES) on the same database, asked in turn. It measures what the second
 * process adds to throughput, what a request costs, and what is lost when a process is killed.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, Suite } from '../case.ts'
import { asked, withChild } from '../child.ts'
import { cpuMs, pidsOfChildren } from '../cpu.ts'
import { median } from '../measure.ts'
import { type Process, SERVICE_LISTENS, startArguments, startProcess } from '../process.ts'
import type { LoadOrder, LoadReport } from './loader.ts'

/** Of the throughput on a route without a database, and of the CPU time of a request, to those of one process. */
const GOALS = { throughput: 1.3, cpu: 1.05 }
const CONNECTIONS = 20
const ROUNDS = 5
const SECONDS = 2
const WARM_UP_SECONDS = 3
/**
 * The rate for two processes, of the throughput of one, at which the load, the processes and PostgreSQL do not take two cores from each other. One process
 * gets half of it: with fewer requests in a turn of the event loop each costs more, in any process.
 */
const PACED_SHARE = 0.25
const PACED_SECONDS = 5
const KILL = { seconds: 5, afterMs: 2_000 }

export const processes: Suite<null> = {
  defaults: { records: 0, seconds: SECONDS },
  prepare: async () => null,
  cases: () => [],
  steps: {
    'throughput and CPU': { run: compare },
    'a killed process': { run: killOne },
  },
}

interface Route {
  name: string
  path: string
  isKnown: boolean
  expected: number
  goal?: number
}

/**
 * The refusal has no part of a database, but all others of an answer. What /healthz takes is less than what the load takes to ask for it, so with two cores
 * a second process cannot answer more often.
 */
const ROUTES: Route[] = [
  { name: 'a refusal, without a database', path: '/api/spaces/list', isKnown: false, expected: 401, goal: GOALS.throughput },
  { name: 'the least answer, /healthz', path: '/healthz', isKnown: false, expected: 200 },
  { name: 'a short read', path: '/api/spaces/list', isKnown: true, expected: 200 },
]

type Load = (order: Omit<LoadOrder, 'connections'>) => Promise<LoadReport>

const withLoader = <T>(fn: (load: Load) => Promise<T>): Promise<T> =>
  withChild(join(import.meta.dirname, 'loader.ts'), (child) =>
    fn(async (order) => (await asked(child, { ...order, connections: CONNECTIONS })) as LoadReport),
  )

async function withProcesses<T>({ environment }: Bench, count: number, fn: (service: Process) => Promise<T>): Promise<T> {
  const service = await startProcess(startArguments(), SERVICE_LISTENS, { ...environment, PROCESSES: String(count) })
  try {
    return await fn(service)
  } finally {
    await service.stop()
  }
}

interface Figures {
  perSecond: number
  /** Milliseconds of CPU time for a request: of the processes with their supervisor, and of PostgreSQL. */
  nodeMs: number
  postgresMs: number
}

async function compare(bench: Bench): Promise<void> {
  await withProcesses(bench, 1, (one) => withProcesses(bench, 2, (two) => withLoader((load) => compareRoutes(bench, load, [one, two]))))
}

async function compareRoutes(bench: Bench, load: Load, sides: [Process, Process]): Promise<void> {
  for (const { path, name, isKnown, expected, goal } of ROUTES) {
    const headers = isKnown ? { authorization: `Bearer ${bench.account.secret}` } : {}
    const loadOn = (side: Process, seconds: number, perSecond?: number) =>
      load({ url: side.found, path, headers, expected, seconds, perSecond })
    for (const side of sides) await loadOn(side, WARM_UP_SECONDS)
    const [one, two] = await inTurn(sides, (side) => weigh(bench, side, () => loadOn(side, SECONDS)))
    print(`${name}, ${CONNECTIONS} connections`, goal, one, two)
    const perSecond = PACED_SHARE * one.perSecond
    const rateOf = (side: Process) => (side === sides[0] ? perSecond / 2 : perSecond)
    const [pacedOne, pacedTwo] = await inTurn(sides, (side) => weigh(bench, side, () => loadOn(side, PACED_SECONDS, rateOf(side))))
    print(`${name}, ${(perSecond / 2).toFixed(0)} requests a second for each process`, undefined, pacedOne, pacedTwo)
  }
}

/** Measures one process and two in turn. @returns the medians of each */
async function inTurn(sides: [Process, Process], measure: (side: Process) => Promise<Figures>): Promise<[Figures, Figures]> {
  const figures: [Figures[], Figures[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++)
    for (const index of round % 2 ? ([1, 0] as const) : ([0, 1] as const)) figures[index].push(await measure(sides[index]))
  return [mediansOf(figures[0]), mediansOf(figures[1])]
}

async function weigh({ pids }: Bench, { child }: Process, run: () => Promise<LoadReport>): Promise<Figures> {
  const used = () => [child.pid ?? 0, pids.postmaster].map((pid) => cpuMs(pid, { withChildren: true }))
  const before = used()
  const { served, refused, lost, ms } = await run()
  if (refused || lost) throw new Error(`Of ${served} requests ${refused} were refused and ${lost} lost`)
  const [nodeMs, postgresMs] = used().map((after, index) => (after - (before[index] ?? 0)) / served)
  return { perSecond: served / (ms / 1_000), nodeMs: nodeMs ?? Number.NaN, postgresMs: postgresMs ?? Number.NaN }
}

const mediansOf = (figures: Figures[]): Figures => {
  const of = (key: keyof Figures) => median(figures.map((figure) => figure[key]))
  return { perSecond: of('perSecond'), nodeMs: of('nodeMs'), postgresMs: of('postgresMs') }
}

const missed = (isMet: boolean) => (isMet ? '' : ', missed')

function print(name: string, goal: number | undefined, one: Figures, two: Figures): void {
  const [times, cpu] = [two.perSecond / one.perSecond, two.nodeMs / one.nodeMs]
  const throughput = goal === undefined ? '' : ` (goal ${goal}${missed(times >= goal)})`
  const shown = ({ perSecond, nodeMs, postgresMs }: Figures) =>
    `${perSecond.toFixed(0)}/s with ${nodeMs.toFixed(3)} + ${postgresMs.toFixed(3)} ms of CPU`
  console.log(
    `${name}: one process ${shown(one)}, two ${shown(two)}: ${times.toFixed(2)} times the requests${throughput}, ` +
      `${cpu.toFixed(2)} times the CPU of node (goal ${GOALS.cpu}${missed(cpu <= GOALS.cpu)})`,
  )
}

/** What was on connections of the killed process is lost; sent again, it must succeed, and nothing else may fail. */
async function killOne(bench: Bench): Promise<void> {
  const headers = { authorization: `Bearer ${bench.account.secret}` }
  await withProcesses(bench, 2, (two) =>
    withLoader(async (load) => {
      const loading = load({ url: two.found, path: '/api/spaces/list', headers, expected: 200, seconds: KILL.seconds })
      await sleep(KILL.afterMs)
      const [killed] = pidsOfChildren(two.child.pid ?? 0)
      process.kill(killed ?? 0, 'SIGKILL')
      const { served, refused, lost, failed } = await loading
      console.log(
        `a process is killed under load: ${served} served, ${lost} on its ${CONNECTIONS} connections lost and sent again, ${refused + failed} failed ` +
          `(goal 0${missed(refused + failed === 0)})`,
      )
    }),
  )
}
