/**
 * Drives the service and the bare server in turn, and other products with them if there are any: medians of interleaved rounds,
 * and the latency that one caller sees.
 */
import { Agent, request } from 'node:http'
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import type autocannonType from 'autocannon'
import type { Database } from '../../src/db.ts'
import type { Case, Pids } from './case.ts'
import { cpuMs } from './cpu.ts'
import type { Answer, Peer } from './others/peer.ts'
import { untilQuiet } from './others/start.ts'

const autocannon = createRequire(import.meta.url)('autocannon') as typeof autocannonType

export interface Servers {
  ours: string
  bare: string
  secret: string
  pids: Pids
  /** Mostly none. */
  others: readonly Peer[]
  db: Database
}

export interface Rounds {
  rounds: number
  /** Of one round of one side. */
  seconds: number
  connections: number[]
}

/** Until the code of both has been compiled: ours is more. */
const WARM_UP_SECONDS = 2
/** One caller: so many requests one after another, or as many as fit into the time. */
const ALONE = { requests: 200, milliseconds: 2_500 }

interface Figures {
  perSecond: number
  /** Milliseconds of CPU a request: of the server, and of Postgres. */
  nodeMs: number
  postgresMs: number
  p50: number
  p99: number
}

type Side = 'ours' | 'bare'
const SIDES: readonly Side[] = ['ours', 'bare']

/** A case as one server is asked it. */
interface Target {
  name: string
  pid: number
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  path(index: number): string
  body?: (index: number) => unknown
}

/** A round of what is slow is as long as every connection needs for so many requests, one after the other. */
const REQUESTS_OF_A_CONNECTION = 2
/** Who lets one caller wait longer than this is not driven by many: they would wait for minutes. */
const MOST_ALONE_MS = 500
const TIMEOUT_SECONDS = 60

export async function measure(cases: readonly Case[], servers: Servers, rounds: Rounds): Promise<void> {
  for (const one of cases) await compareAnswers(one, servers)
  console.log(`Answers of ${servers.others.length ? 'all' : 'both'} servers are equal. Measuring.\n`)
  const alone = await measureAlone(cases, servers)
  const ofOthers = servers.others.map(({ name }) => ` ${name} req/s | ${name} ratio | ${name} p50 / p99 ms | ${name} CPU node + pg ms |`)
  console.log(
    `\n| case | connections | ours req/s | bare req/s | ratio | goal | ours p50 / p99 ms | bare p50 / p99 ms | p99 ratio | ours CPU node + pg ms | bare CPU node + pg ms | CPU ratio |${ofOthers.join('')}\n|${'---|'.repeat(12 + 4 * servers.others.length)}`,
  )
  for (const one of cases) {
    const all = targetsOf(one, servers)
    const targets = all.filter(({ name }) => SIDES.includes(name as Side) || aloneMs(one, name) <= MOST_ALONE_MS)
    for (const target of targets) await drive(target, servers, Math.max(...rounds.connections), WARM_UP_SECONDS)
    for (const connections of rounds.connections) {
      const figures: Record<string, Figures[]> = Object.fromEntries(all.map(({ name }) => [name, []]))
      for (let round = 0; round < rounds.rounds; round++) {
        // Who goes first changes each round.
        for (const target of round % 2 ? targets.toReversed() : targets) {
          const isSide = SIDES.includes(target.name as Side)
          const ms = isSide ? Math.max(...SIDES.map((side) => aloneMs(one, side))) : aloneMs(one, target.name)
          const seconds = Math.max(rounds.seconds, Math.ceil((ms * connections * REQUESTS_OF_A_CONNECTION) / 1_000))
          figures[target.name]?.push(await drive(target, servers, connections, seconds))
        }
      }
      print(one, connections, figures, servers)
    }
  }

  function aloneMs(one: Case, name: string): number {
    return alone.get(one.name)?.[name] ?? Number.POSITIVE_INFINITY
  }
}

function print(
  { name, goal, goalP99 = Number.POSITIVE_INFINITY }: Case,
  connections: number,
  figures: Record<string, Figures[]>,
  servers: Servers,
): void {
  const [ours, bare] = [medians(figures.ours ?? []), medians(figures.bare ?? [])]
  const ratio = ours.perSecond / bare.perSecond
  const tail = ours.p99 / bare.p99
  const cells = [
    name,
    connections,
    Math.round(ours.perSecond),
    Math.round(bare.perSecond),
    ratio.toFixed(2),
    `${goal}${ratio < goal ? ', missed' : ''}`,
    `${ours.p50} / ${ours.p99}`,
    `${bare.p50} / ${bare.p99}`,
    `${tail.toFixed(1)}${tail > goalP99 ? ', missed' : ''}`,
    cpuText(ours),
    cpuText(bare),
    ((bare.nodeMs + bare.postgresMs) / (ours.nodeMs + ours.postgresMs)).toFixed(2),
    ...servers.others.flatMap((other) => {
      const own = figures[other.name] ?? []
      return own.length ? cellsOfOther(medians(own), bare) : ['–', '–', '–', '–']
    }),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

const cellsOfOther = (own: Figures, bare: Figures) => [
  own.perSecond < 10 ? own.perSecond.toFixed(1) : Math.round(own.perSecond),
  (own.perSecond / bare.perSecond).toFixed(3),
  `${own.p50} / ${own.p99}`,
  cpuText(own),
]

const cpuText = ({ nodeMs, postgresMs }: Figures) => `${nodeMs.toFixed(2)} + ${postgresMs.toFixed(2)}`

async function drive(target: Target, servers: Servers, connections: number, seconds: number): Promise<Figures> {
  let index = 0
  const used = () => ({ node: cpuMs(target.pid), postgres: cpuMs(servers.pids.postmaster, { withChildren: true }) })
  const before = used()
  const result = await autocannon({
    url: target.url,
    connections,
    duration: seconds,
    ...(servers.others.length && { timeout: TIMEOUT_SECONDS }),
    requests: [
      {
        method: target.method,
        headers: target.headers,
        setupRequest: (sent) => {
          index++
          return { ...sent, path: target.path(index), ...(target.body && { body: JSON.stringify(target.body(index)) }) }
        },
      },
    ],
  })
  if (result.non2xx || result.errors)
    throw new Error(`${target.name}: ${result.non2xx} answers were no success, ${result.errors} errors at ${target.path(index)}`)
  const after = used()
  if (servers.others.length) await untilQuiet(servers.db)
  const count = result.requests.total
  return {
    nodeMs: (after.node - before.node) / count,
    postgresMs: (after.postgres - before.postgres) / count,
    perSecond: count / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
}

function medians(figures: Figures[]): Figures {
  const of = (key: keyof Figures) => median(figures.map((figure) => figure[key]))
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), nodeMs: of('nodeMs'), postgresMs: of('postgresMs') }
}

export const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Ours, the bare server, and the other products that can answer the case. */
function targetsOf(one: Case, servers: Servers): Target[] {
  const { method, body } = one
  const own = SIDES.map((side): Target => {
    const authorization = { ...(side === 'ours' && { authorization: `Bearer ${servers.secret}` }) }
    return {
      name: side,
      pid: servers.pids[side],
      method,
      url: servers[side],
      headers: { ...jsonType(body), ...authorization },
      path: one[side],
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

// ── one caller ──────────────────────────────────────────────────────────────

/** @returns the medians by case and server */
async function measureAlone(cases: readonly Case[], servers: Servers): Promise<Map<string, Record<string, number>>> {
  const all = new Map<string, Record<string, number>>()
  const names = servers.others.map(({ name }) => ` ${name} median ms |`)
  console.log(`| one caller | ours median ms | bare median ms | goal |${names.join('')}\n|${'---|'.repeat(4 + names.length)}`)
  for (const one of cases) {
    const medianOf: Record<string, number> = {}
    for (const target of targetsOf(one, servers)) medianOf[target.name] = median(await timesAlone(target))
    all.set(one.name, medianOf)
    const { ours = Number.NaN, bare = Number.NaN } = medianOf
    const goal = one.goalMs === undefined ? '' : `under ${one.goalMs}${ours < one.goalMs ? '' : ', missed'}`
    const ofOthers = servers.others.map(({ name }) => ` ${medianOf[name]?.toFixed(1) ?? '–'} |`)
    console.log(`| ${one.name} | ${ours.toFixed(1)} | ${bare.toFixed(1)} | ${goal} |${ofOthers.join('')}`)
  }
  return all
}

async function timesAlone(target: Target): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  const end = performance.now() + ALONE.milliseconds
  for (let index = 1; times.length < ALONE.requests && performance.now() < end; index++) {
    const from = performance.now()
    await send(agent, target.url + target.path(index), target.method, target.headers, target.body?.(index))
    times.push(performance.now() - from)
  }
  agent.destroy()
  return times
}

/** Reads the answer to its end. */
function send(agent: Agent, url: string, method: string, headers: Record<string, string>, body: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers }, (answer) => {
      answer.resume()
      answer.on('end', () =>
        answer.statusCode && answer.statusCode < 300 ? resolve() : reject(new Error(`${url} answers ${answer.statusCode}`)),
      )
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

// ── the same work ───────────────────────────────────────────────────────────

/** They do the same work only if they give the same answer: ours and bare the very same, others the same rows or number. */
async function compareAnswers(one: Case, servers: Servers): Promise<void> {
  const answers = await Promise.all(
    targetsOf(one, servers).map(async (target) => {
      const init = { method: target.method, headers: target.headers, ...(target.body && { body: JSON.stringify(target.body(1)) }) }
      const answer = await fetch(target.url + target.path(1), init)
      const body = (await answer.json()) as Record<string, unknown>
      if (!answer.ok) throw new Error(`${one.name} (${target.name}) answers ${answer.status}: ${JSON.stringify(body)}`)
      for (const key of one.ignore ?? []) delete body[key]
      return { name: target.name, body }
    }),
  )
  const [ours, bare, ...others] = answers
  mustEqual(one.name, ours, bare)
  for (const { name, body } of others) {
    const { read, readBare } = one.others?.[name as Peer['name']] ?? {}
    if (read && readBare) mustEqual(one.name, { name, body: read(body as Answer) }, { name: 'bare', body: readBare(bare?.body) })
  }
}

interface Named {
  name: string
  body: unknown
}

function mustEqual(name: string, one: Named | undefined, other: Named | undefined): void {
  if (isDeepStrictEqual(one?.body, other?.body)) return
  const shown = [one, other].map((answer) => `${answer?.name} ${JSON.stringify(answer?.body)?.slice(0, 3000)}`)
  throw new Error(`${name}: the answers differ\n${shown.join('\n')}`)
}
