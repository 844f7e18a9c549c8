/**
 * Drives the service and the bare server in turn, and other products with them if there are any: medians of interleaved rounds,
 * and the latency that one caller sees.
 */
import type { Database } from '../../src/platform/database/database.ts'
import { compareAnswers } from './answers.ts'
import type { Case, Pids } from './case.ts'
import { drive, type Figures, type Load, loadOf, loadOfOther, type Target, timesAlone } from './drive.ts'
import type { Peer } from './others/peer.ts'
import { untilQuiet } from './sql.ts'

export interface Servers {
  ours: string
  bare: string
  secret: string
  pids: Pids
  /** Usually empty. */
  others: readonly Peer[]
  db: Database
}

export interface Rounds {
  rounds: number
  /** Figures of one round of one server. */
  seconds: number
  connections: number[]
}

/** Requests before the first round, until the code of both has been compiled: the service has more. */
const WARM_UP_SECONDS = 2
/** The least ratio of the service's requests per second to those of the best other product. */
const TIMES_THE_BEST_OTHER = 6

type Side = 'ours' | 'bare'
const SIDES: readonly Side[] = ['ours', 'bare']
const isSide = ({ name }: Target) => SIDES.includes(name as Side)

/** @returns the cases without figures because of error answers, with the reason */
export async function measure(cases: readonly Case[], servers: Servers, rounds: Rounds): Promise<string[]> {
  const asked = cases.map((one) => ({ one, targets: targetsOf(one, servers) }))
  for (const { one, targets } of asked) await compareAnswers(one, targets)
  console.log(`Answers of ${servers.others.length ? 'all' : 'both'} servers are equal. Measuring.\n`)
  const failed: string[] = []
  const printAlone = tableAlone(servers)
  const alone = new Map<Case, Alone>()
  for (const { one, targets } of asked) {
    const waits = await measureAlone(one, targets, failed)
    alone.set(one, waits)
    printAlone(one, waits)
  }
  const print = tableOfRounds(servers)
  for (const { one, targets } of asked) {
    const driven = new Driven(one, servers, rounds.rounds, failed)
    const loads = (connections: number) => loadsOf(targets, alone.get(one) ?? {}, connections, rounds.seconds)
    await driven.warmUp(loads(Math.max(...rounds.connections)))
    for (const connections of rounds.connections) {
      await driven.inTurn(loads(connections))
      print(one, connections, driven.figuresOf(loads(connections)))
    }
  }
  return failed
}

/** The service, the bare server, and the other products that support the case. */
function targetsOf(one: Case, servers: Servers): Target[] {
  const { method, body, secret } = one
  const own = SIDES.map((side): Target => {
    const authorization = { ...(side === 'ours' && { authorization: `Bearer ${servers.secret}` }) }
    return {
      name: side,
      pid: servers.pids[side],
      method,
      url: servers[side],
      headers: { ...jsonType(body), ...authorization },
      path: one[side],
      ...(secret && side === 'ours' && { secret }),
      ...(body && { body }),
    }
  })
  const others = servers.others.flatMap((peer): Target[] => {
    const asked = one.others?.[peer.name]
    if (!asked) return []
    const { origin, pathname } = new URL(peer.url)
    const path = (pathname === '/' ? '' : pathname) + asked.path
    const headers = { ...jsonType(asked.body), ...peer.headers }
    return [{ ...peer, method: asked.method, url: origin, headers, path: () => path, ...(asked.body && { body: asked.body }) }]
  })
  return [...own, ...others]
}

const jsonType = (body: unknown): Record<string, string> => (body ? { 'content-type': 'application/json' } : {})

// ── many callers ────────────────────────────────────────────────────────────

interface Loaded {
  target: Target
  load: Load
}

/** Drives the service and bare for the same time. A server that failed with one caller is left out. */
function loadsOf(targets: readonly Target[], alone: Alone, connections: number, seconds: number): Loaded[] {
  const slower = Math.max(...SIDES.map((side) => alone[side] ?? 0))
  return targets.flatMap((target) => {
    const ms = alone[target.name]
    if (ms === undefined) return []
    return [{ target, load: isSide(target) ? loadOf(slower, connections, seconds) : loadOfOther(ms, connections, seconds) }]
  })
}

/** Drives the rounds of one case. A product so slow that several numbers of connections give it the same callers is driven once. */
class Driven {
  readonly #figures = new Map<string, Figures[] | 'failed'>()
  readonly #one: Case
  readonly #servers: Servers
  readonly #rounds: number
  readonly #failed: string[]

  constructor(one: Case, servers: Servers, rounds: number, failed: string[]) {
    this.#one = one
    this.#servers = servers
    this.#rounds = rounds
    this.#failed = failed
  }

  /** A slow product is warm since it answered one caller. */
  async warmUp(loads: readonly Loaded[]): Promise<void> {
    for (const { target, load } of loads) {
      if (load.isSlow) continue
      // If the warm-up fails, the rounds fail, too.
      await this.#drive(target, { ...load, seconds: WARM_UP_SECONDS }).catch(() => {})
    }
  }

  async inTurn(loads: readonly Loaded[]): Promise<void> {
    const left = loads.filter((loaded) => !this.#figures.has(keyOf(loaded)))
    for (let round = 0; round < this.#rounds; round++) {
      // The first server changes with each round.
      for (const loaded of round % 2 ? left.toReversed() : left) {
        const before = this.#figures.get(keyOf(loaded)) ?? []
        if (before === 'failed') continue
        try {
          this.#figures.set(keyOf(loaded), [...before, await this.#drive(loaded.target, loaded.load)])
        } catch (error) {
          this.#figures.set(keyOf(loaded), 'failed')
          this.#failed.push(`${this.#one.name}, ${loaded.load.connections} connections, ${loaded.target.name}: ${(error as Error).message}`)
        }
      }
    }
  }

  /** The medians by server. */
  figuresOf(loads: readonly Loaded[]): Record<string, Shown> {
    return Object.fromEntries(
      loads.flatMap((loaded) => {
        const figures = this.#figures.get(keyOf(loaded)) ?? 'failed'
        return figures === 'failed' ? [] : [[loaded.target.name, { ...medians(figures), callers: loaded.load.connections }]]
      }),
    )
  }

  async #drive(target: Target, load: Load): Promise<Figures> {
    try {
      return await drive(target, load, this.#servers.pids.postmaster)
    } finally {
      await untilQuiet(this.#servers.db)
    }
  }
}

const keyOf = ({ target, load }: Loaded) => `${target.name} ${load.connections}`

interface Shown extends Figures {
  callers: number
}

function medians(figures: readonly Figures[]): Figures {
  const of = (key: keyof Figures) => median(figures.map((figure) => figure[key]))
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), nodeMs: of('nodeMs'), postgresMs: of('postgresMs') }
}

export const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const NONE: Shown = { perSecond: Number.NaN, p50: Number.NaN, p99: Number.NaN, nodeMs: Number.NaN, postgresMs: Number.NaN, callers: 0 }

/** Prints the head of the table, and later its rows. */
function tableOfRounds({ others }: Servers) {
  const best = others.length ? ' times the best other | goal |' : ''
  const ofOthers = others.map(({ name }) => ` ${name} req/s | ${name} ratio | ${name} p50 / p99 ms | ${name} CPU node + pg ms |`)
  const head = `| case | connections | ours req/s | bare req/s | ratio | goal | ours p50 / p99 ms | bare p50 / p99 ms | p99 ratio | ours CPU node + pg ms | bare CPU node + pg ms | CPU ratio |${best}${ofOthers.join('')}`
  console.log(`\n${head}\n${lineBelow(head)}`)
  return ({ name, goal, goalP99 = Number.POSITIVE_INFINITY }: Case, connections: number, figures: Record<string, Shown>) => {
    const { ours = NONE, bare = NONE } = figures
    const ratio = ours.perSecond / bare.perSecond
    const tail = ours.p99 / bare.p99
    const theirs = others.map((other) => figures[other.name] ?? NONE)
    const rates = theirs.map(({ perSecond }) => perSecond).filter(Number.isFinite)
    const times = rates.length ? ours.perSecond / Math.max(...rates) : Number.NaN
    const cells = [
      name,
      connections,
      fixed(ours.perSecond, 0),
      fixed(bare.perSecond, 0),
      fixed(ratio, 2),
      `${goal}${ratio < goal ? ', missed' : ''}`,
      tailText(ours),
      tailText(bare),
      `${fixed(tail, 1)}${tail > goalP99 ? ', missed' : ''}`,
      cpuText(ours),
      cpuText(bare),
      fixed((bare.nodeMs + bare.postgresMs) / (ours.nodeMs + ours.postgresMs), 2),
      ...(others.length
        ? [fixed(times, 1), rates.length ? `${TIMES_THE_BEST_OTHER}${times < TIMES_THE_BEST_OTHER ? ', missed' : ''}` : '–']
        : []),
      ...theirs.flatMap((own) => [
        fixed(own.perSecond, own.perSecond < 1 ? 2 : own.perSecond < 10 ? 1 : 0) + callersText(own, connections),
        fixed(own.perSecond / bare.perSecond, 3),
        tailText(own),
        cpuText(own),
      ]),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

const lineBelow = (head: string) => `|${'---|'.repeat(head.split('|').length - 2)}`
const fixed = (value: number, digits: number) => (Number.isFinite(value) ? value.toFixed(digits) : '–')
const tailText = ({ p50, p99 }: Figures) => (Number.isFinite(p50) ? `${p50} / ${p99}` : '–')
const cpuText = ({ nodeMs, postgresMs }: Figures) => (Number.isFinite(nodeMs) ? `${nodeMs.toFixed(2)} + ${postgresMs.toFixed(2)}` : '–')
const callersText = ({ callers }: Shown, connections: number) =>
  callers && callers < connections ? ` from ${callers} ${callers === 1 ? 'caller' : 'callers'}` : ''

// ── one caller ──────────────────────────────────────────────────────────────

/** The median latency by server, in milliseconds; without failed servers. */
type Alone = Record<string, number>

async function measureAlone(one: Case, targets: readonly Target[], failed: string[]): Promise<Alone> {
  const waits: Alone = {}
  for (const target of targets) {
    try {
      waits[target.name] = median(await timesAlone(target))
    } catch (error) {
      failed.push(`${one.name}, one caller, ${target.name}: ${(error as Error).message}`)
    }
  }
  return waits
}

function tableAlone({ others }: Servers) {
  const head = `| one caller | ours median ms | bare median ms | goal |${others.map(({ name }) => ` ${name} median ms |`).join('')}`
  console.log(`${head}\n${lineBelow(head)}`)
  return ({ name, goalMs }: Case, waits: Alone) => {
    const { ours = Number.NaN, bare = Number.NaN } = waits
    const goal = goalMs === undefined ? '' : `under ${goalMs}${ours < goalMs ? '' : ', missed'}`
    const theirs = others.map((other) => fixed(waits[other.name] ?? Number.NaN, 1))
    console.log(`| ${[name, fixed(ours, 1), fixed(bare, 1), goal, ...theirs].join(' | ')} |`)
  }
}
