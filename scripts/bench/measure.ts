/** Drives the service and the bare server in turn: medians of interleaved rounds, and the latency that one caller sees. */
import { Agent, request } from 'node:http'
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import type autocannonType from 'autocannon'
import type { Case, Pids } from './case.ts'
import { cpuMs } from './cpu.ts'

const autocannon = createRequire(import.meta.url)('autocannon') as typeof autocannonType

export interface Servers {
  ours: string
  bare: string
  secret: string
  pids: Pids
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

export async function measure(cases: readonly Case[], servers: Servers, rounds: Rounds): Promise<void> {
  for (const one of cases) await compareAnswers(one, servers)
  console.log('Answers of both servers are equal. Measuring.\n')
  await measureAlone(cases, servers)
  console.log(
    '\n| case | connections | ours req/s | bare req/s | ratio | goal | ours p50 / p99 ms | bare p50 / p99 ms | ours CPU node + pg ms | bare CPU node + pg ms | CPU ratio |\n|---|---|---|---|---|---|---|---|---|---|---|',
  )
  for (const one of cases) {
    for (const side of SIDES) await drive(one, side, servers, Math.max(...rounds.connections), WARM_UP_SECONDS)
    for (const connections of rounds.connections) {
      const figures: Record<Side, Figures[]> = { ours: [], bare: [] }
      for (let round = 0; round < rounds.rounds; round++) {
        // Who goes first changes each round.
        for (const side of round % 2 ? SIDES.toReversed() : SIDES)
          figures[side].push(await drive(one, side, servers, connections, rounds.seconds))
      }
      print(one, connections, medians(figures.ours), medians(figures.bare))
    }
  }
}

function print({ name, goal }: Case, connections: number, ours: Figures, bare: Figures): void {
  const ratio = ours.perSecond / bare.perSecond
  const cells = [
    name,
    connections,
    Math.round(ours.perSecond),
    Math.round(bare.perSecond),
    ratio.toFixed(2),
    `${goal}${ratio < goal ? ', missed' : ''}`,
    `${ours.p50} / ${ours.p99}`,
    `${bare.p50} / ${bare.p99}`,
    cpuText(ours),
    cpuText(bare),
    ((bare.nodeMs + bare.postgresMs) / (ours.nodeMs + ours.postgresMs)).toFixed(2),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

const cpuText = ({ nodeMs, postgresMs }: Figures) => `${nodeMs.toFixed(2)} + ${postgresMs.toFixed(2)}`

async function drive(one: Case, side: Side, servers: Servers, connections: number, seconds: number): Promise<Figures> {
  let index = 0
  const used = () => ({ node: cpuMs(servers.pids[side]), postgres: cpuMs(servers.pids.postmaster, { withChildren: true }) })
  const before = used()
  const result = await autocannon({
    url: servers[side],
    connections,
    duration: seconds,
    requests: [
      {
        method: one.method,
        headers: headersOf(one, side, servers),
        setupRequest: (sent) => {
          index++
          return { ...sent, path: one[side](index), ...(one.body && { body: JSON.stringify(one.body(index)) }) }
        },
      },
    ],
  })
  if (result.non2xx || result.errors)
    throw new Error(`${one.name} (${side}): ${result.non2xx} answers were no success, ${result.errors} errors`)
  const after = used()
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

function headersOf({ body }: Case, side: Side, { secret }: Servers): Record<string, string> {
  return { ...(body && { 'content-type': 'application/json' }), ...(side === 'ours' && { authorization: `Bearer ${secret}` }) }
}

// ── one caller ──────────────────────────────────────────────────────────────

async function measureAlone(cases: readonly Case[], servers: Servers): Promise<void> {
  console.log('| one caller | ours median ms | bare median ms | goal |\n|---|---|---|---|')
  for (const one of cases) {
    const [ours, bare] = [median(await timesAlone(one, 'ours', servers)), median(await timesAlone(one, 'bare', servers))]
    const goal = one.goalMs === undefined ? '' : `under ${one.goalMs}${ours < one.goalMs ? '' : ', missed'}`
    console.log(`| ${one.name} | ${ours.toFixed(1)} | ${bare.toFixed(1)} | ${goal} |`)
  }
}

async function timesAlone(one: Case, side: Side, servers: Servers): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  const end = performance.now() + ALONE.milliseconds
  for (let index = 1; times.length < ALONE.requests && performance.now() < end; index++) {
    const from = performance.now()
    await send(agent, servers[side] + one[side](index), one.method, headersOf(one, side, servers), one.body?.(index))
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
      answer.on('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`${url} answers ${answer.statusCode}`))))
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

// ── the same work ───────────────────────────────────────────────────────────

/** Both do the same work only if they give the same answer. */
async function compareAnswers(one: Case, servers: Servers): Promise<void> {
  const [ours, bare] = await Promise.all(
    SIDES.map(async (side) => {
      const init = { method: one.method, headers: headersOf(one, side, servers), ...(one.body && { body: JSON.stringify(one.body(1)) }) }
      const answer = await fetch(servers[side] + one[side](1), init)
      const body = (await answer.json()) as Record<string, unknown>
      if (answer.status !== 200) throw new Error(`${one.name} (${side}) answers ${answer.status}: ${JSON.stringify(body)}`)
      for (const key of one.ignore ?? []) delete body[key]
      return body
    }),
  )
  if (!isDeepStrictEqual(ours, bare))
    throw new Error(
      `${one.name}: the answers differ\nours ${JSON.stringify(ours).slice(0, 3000)}\nbare ${JSON.stringify(bare).slice(0, 3000)}`,
    )
}
