/** Drives a server with many callers or with one, and measures the load. */
import { Agent, request } from 'node:http'
import { createRequire } from 'node:module'
import type autocannonType from 'autocannon'
import { cpuMs } from './cpu.ts'

const autocannon = createRequire(import.meta.url)('autocannon') as typeof autocannonType

/** A case in the form of one server's API. */
export interface Target {
  name: string
  pid: number
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  /** The secret of the caller, if it changes from request to request. */
  secret?: (index: number) => string
  path(index: number): string
  body?: (index: number) => unknown
}

export function headersOf({ headers, secret }: Target, index: number): Record<string, string> {
  return secret ? { ...headers, authorization: `Bearer ${secret(index)}` } : headers
}

export interface Figures {
  perSecond: number
  /** Milliseconds of CPU per request: of the server, and of Postgres. */
  nodeMs: number
  postgresMs: number
  p50: number
  p99: number
}

/** The result of one round of one server. */
export interface Load {
  connections: number
  seconds: number
  /** All requests that began in these seconds are awaited and counted: for a slow product, pending ones are a large part. */
  isSlow: boolean
}

/** A round of a slow product is as long as each connection needs for this number of requests in sequence... */
const REQUESTS_OF_A_CONNECTION = 2
/** ...but no longer than this. */
const MOST_SECONDS = 20
/**
 * Another product that is slow gets at most this number of seconds, and only as many callers as get their turns in them; one alone might
 * keep one core busy.
 */
const OTHERS = { requestsOfACaller: 3, seconds: 5, fewestCallers: 2 }

/** @param aloneMs the latency of one caller */
export function loadOf(aloneMs: number, connections: number, seconds: number): Load {
  const needed = Math.ceil((aloneMs * connections * REQUESTS_OF_A_CONNECTION) / 1_000)
  return { connections, seconds: Math.max(seconds, Math.min(needed, MOST_SECONDS)), isSlow: false }
}

/** Returns the same for another product, which may be slower by orders of magnitude. */
export function loadOfOther(aloneMs: number, connections: number, seconds: number): Load {
  const turnMs = aloneMs * OTHERS.requestsOfACaller
  if (turnMs * connections <= seconds * 1_000) return { connections, seconds, isSlow: false }
  const callers = Math.min(connections, Math.max(OTHERS.fewestCallers, Math.floor((OTHERS.seconds * 1_000) / turnMs)))
  return { connections: callers, seconds: Math.max(seconds, Math.min((turnMs * callers) / 1_000, OTHERS.seconds)), isSlow: true }
}

/** @throws Error on an error answer */
export async function drive(target: Target, load: Load, postmaster: number): Promise<Counted<Figures>> {
  const used = () => ({ node: cpuMs(target.pid), postgres: cpuMs(postmaster, { withChildren: true }) })
  const before = used()
  const driven = load.isSlow ? await byHand(target, load) : await byAutocannon(target, load)
  const after = used()
  const { count } = driven
  return { ...driven, nodeMs: (after.node - before.node) / count, postgresMs: (after.postgres - before.postgres) / count }
}

/** With the number of requests that were answered. */
type Counted<T> = T & { count: number }
type Driven = Counted<Pick<Figures, 'perSecond' | 'p50' | 'p99'>>

/** Counts the requests of all rounds, so that a case that chooses by the index does not choose the same in each round. */
let asked = 0

async function byAutocannon(target: Target, { connections, seconds }: Load): Promise<Driven> {
  const result = await autocannon({
    url: target.url,
    connections,
    duration: seconds,
    timeout: TIMEOUT_MS / 1_000,
    requests: [
      {
        method: target.method,
        headers: target.headers,
        setupRequest: (sent) => {
          const index = ++asked
          const body = target.body && { body: JSON.stringify(target.body(index)) }
          return { ...sent, path: target.path(index), headers: headersOf(target, index), ...body }
        },
      },
    ],
  })
  const { requests, duration, latency } = result
  if (result.non2xx || result.errors || !requests.total)
    throw new Error(`of ${requests.total} answers ${result.non2xx} were no success, ${result.errors} errors at ${target.path(asked)}`)
  return { count: requests.total, perSecond: requests.total / duration, p50: latency.p50, p99: latency.p99 }
}

async function byHand(target: Target, { connections, seconds }: Load): Promise<Driven> {
  const from = performance.now()
  const times = (await ask(target, connections, seconds * 1_000)).toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN)
  return { count: times.length, perSecond: (times.length * 1_000) / (performance.now() - from), p50: at(0.5), p99: at(0.99) }
}

// ── few callers ─────────────────────────────────────────────────────────────

/** One caller sends this number of requests in sequence, or as many as fit into the time. */
const ALONE = { requests: 200, milliseconds: 2_500 }
/** A server that takes longer to answer has failed. */
const TIMEOUT_MS = 60_000

/** Returns the latencies of one caller in sequence, in milliseconds. @throws Error on an error answer */
export const timesAlone = (target: Target): Promise<number[]> => ask(target, 1, ALONE.milliseconds, ALONE.requests)

/**
 * Runs callers that start no request after the given time, and awaits the pending ones. @returns the latency of each request in
 * milliseconds
 */
async function ask(target: Target, callers: number, milliseconds: number, requests = Number.POSITIVE_INFINITY): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const times: number[] = []
  let end = performance.now() + milliseconds
  let sent = 0
  const caller = async () => {
    while (sent++ < requests && performance.now() < end) {
      const from = performance.now()
      await send(agent, target, ++asked)
      times.push(performance.now() - from)
    }
  }
  try {
    await Promise.all(Array.from({ length: callers }, caller))
  } finally {
    // After a failure, the other callers send no more requests.
    end = 0
    agent.destroy()
  }
  return times
}

/** Reads the whole answer. */
function send(agent: Agent, target: Target, index: number): Promise<void> {
  const { url, path, method, body } = target
  const headers = headersOf(target, index)
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const sent = request(url + path(index), { agent, method, headers, signal }, (answer) => {
      answer.resume()
      answer.on('error', reject)
      answer.on('end', () =>
        answer.statusCode && answer.statusCode < 300
          ? resolve()
          : reject(new Error(`${path(index)} is answered with ${answer.statusCode}`)),
      )
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body(index)))
  })
}
