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
/** Before that V8 still compiles much, in threads that are counted with their process. */
const WARM_UP_SECONDS = 12
/**
 * The rate for two processes, of the throughput of one, at which the load, the processes and PostgreSQL do not take two cores from each other. Two
 * services of one process each get the same rate, because two processes on two cores slow each other down, whether or not they belong to one service.
 */
const PACED_SHARE = 0.25
/** Single rounds differ by a fifth. */
const PACED_ROUNDS = 11
const PACED_SECONDS = 3
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

/** What is compared: the services get the same share of the load. */
type Side = Process[]

async function compare(bench: Bench): Promise<void> {
  await withProcesses(bench, 1, (one) =>
    withProcesses(bench, 1, (another) =>
      withProcesses(bench, 2, (two) => withLoader((load) => compareRoutes(bench, load, { one: [one], apart: [one, another], two: [two] }))),
    ),
  )
}

async function compareRoutes(bench: Bench, load: Load, { one, apart, two }: Record<'one' | 'apart' | 'two', Side>): Promise<void> {
  for (const { path, name, isKnown, expected, goal } of ROUTES) {
    const headers = isKnown ? { authorization: `Bearer ${bench.account.secret}` } : {}
    const loadOn = (side: Side, seconds: number, perSecond?: number) =>
      load({ urls: side.map(({ found }) => found), path, headers, expected, seconds, perSecond })
    for (const side of [apart, two]) await loadOn(side, WARM_UP_SECONDS)
    const atFull = await inTurn(ROUNDS, [one, two], (side) => weigh(bench, side, () => loadOn(side, SECONDS)))
    print(`${name}, ${CONNECTIONS} connections`, ['one process', 'two processes'], atFull, goal)
    const perSecond = PACED_SHARE * atFull[0].perSecond
    const paced = await inTurn(PACED_ROUNDS, [apart, two], (side) => weigh(bench, side, () => loadOn(side, PACED_SECONDS, perSecond)))
    print(`${name}, ${perSecond.toFixed(0)} requests a second`, ['two services of one process', 'one of two'], paced)
  }
}

/** Measures two sides in turn. @returns the medians of each */
async function inTurn(rounds: number, sides: [Side, Side], measure: (side: Side) => Promise<Figures>): Promise<[Figures, Figures]> {
  const figures: [Figures[], Figures[]] = [[], []]
  for (let round = 0; round < rounds; round++)
    for (const index of round % 2 ? ([1, 0] as const) : ([0, 1] as const)) figures[index].push(await measure(sides[index]))
  return [mediansOf(figures[0]), mediansOf(figures[1])]
}

async function weigh({ pids }: Bench, side: Side, run: () => Promise<LoadReport>): Promise<Figures> {
  const usedMs = (all: number[]) => all.reduce((sum, pid) => sum + cpuMs(pid, { withChildren: true }), 0)
  const used = () => ({ node: usedMs(side.map(({ child }) => child.pid ?? 0)), postgres: cpuMs(pids.postmaster, { withChildren: true }) })
  const before = used()
  const { served, refused, lost, ms } = await run()
  if (refused || lost) throw new Error(`Of ${served} requests ${refused} were refused and ${lost} lost`)
  const after = used()
  return {
    perSecond: served / (ms / 1_000),
    nodeMs: (after.node - before.node) / served,
    postgresMs: (after.postgres - before.postgres) / served,
  }
}

const mediansOf = (figures: Figures[]): Figures => {
  const of = (key: keyof Figures) => median(figures.map((figure) => figure[key]))
  return { perSecond: of('perSecond'), nodeMs: of('nodeMs'), postgresMs: of('postgresMs') }
}

const missed = (isMet: boolean) => (isMet ? '' : ', missed')

function print(name: string, sides: [string, string], [one, two]: [Figures, Figures], goal?: number): void {
  const [times, cpu] = [two.perSecond / one.perSecond, two.nodeMs / one.nodeMs]
  const throughput = goal === undefined ? '' : ` (goal ${goal}${missed(times >= goal)})`
  const shown = ({ perSecond, nodeMs, postgresMs }: Figures) =>
    `${perSecond.toFixed(0)}/s with ${nodeMs.toFixed(3)} + ${postgresMs.toFixed(3)} ms of CPU`
  console.log(
    `${name}: ${sides[0]} ${shown(one)}, ${sides[1]} ${shown(two)}: ${times.toFixed(2)} times the requests${throughput}, ` +
      `${cpu.toFixed(2)} times the CPU of node (goal ${GOALS.cpu}${missed(cpu <= GOALS.cpu)})`,
  )
}

/** What was on connections of the killed process is lost; sent again, it must succeed, and nothing else may fail. */
async function killOne(bench: Bench): Promise<void> {
  const headers = { authorization: `Bearer ${bench.account.secret}` }
  await withProcesses(bench, 2, (two) =>
    withLoader(async (load) => {
      const loading = load({ urls: [two.found], path: '/api/spaces/list', headers, expected: 200, seconds: KILL.seconds })
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
