/** Load at a given rate, however slowly the service answers, and as fast as it answers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/support/until.ts'
import type { Answer, Connections } from './connections.ts'

export interface Load {
  connections: Connections
  /** The bytes of the next request. */
  request(): string
}

/** The answers of one caller in one phase. */
export interface Outcome {
  seconds: number
  /** Milliseconds from the request to its answer, in ascending order. */
  served: number[]
  refused: number[]
  /** Refusals without Retry-After. */
  withoutRetryAfter: number
  /** Other answers and failed connections, with their numbers. */
  failures: Map<string, number>
}

const TICK_MS = 2
/** Refusals, and nearly all other answers, take half a second at most. The requests of this time may be under way at once. */
const LONGEST_ANSWER_S = 0.5
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'

/**
 * Sends requests at the rate. Those for which there is no connection count as failures. The connections are opened before, as the clients of
 * a service keep theirs open.
 */
export async function atRate({ connections, request }: Load, perSecond: number, seconds: number): Promise<Outcome> {
  await connections.open(Math.ceil(perSecond * LONGEST_ANSWER_S), HEALTH)
  const collected = collector()
  const from = performance.now()
  let [sent, underWay] = [0, 0]
  for (let passedMs = 0; passedMs < seconds * 1_000; passedMs = performance.now() - from) {
    for (const due = (passedMs / 1_000) * perSecond; sent < due; sent++) {
      const answer = connections.send(request())
      if (!answer) collected.fail('all connections of the load were in use')
      else {
        underWay++
        void answer.then(collected.add, collected.failed).finally(() => underWay--)
      }
    }
    await sleep(TICK_MS)
  }
  const areAnswered = () => underWay === 0
  await until(areAnswered, () => `for ${underWay} answers`, { everyMs: TICK_MS })
  return collected.outcome(seconds)
}

/** Sends requests from a number of callers, each of which waits for its answer. */
export async function fullSpeed({ connections, request }: Load, callers: number, seconds: number): Promise<Outcome> {
  const collected = collector()
  const end = performance.now() + seconds * 1_000
  const caller = async () => {
    while (performance.now() < end) {
      const answer = connections.send(request())
      if (!answer) throw new Error('There are fewer connections than callers')
      await answer.then(collected.add, collected.failed)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return collected.outcome(seconds)
}

/** Opens connections at once, and sends the request on each. */
export async function rush({ connections, request }: Load, callers: number): Promise<Outcome> {
  const collected = collector()
  const from = performance.now()
  for (const answer of await connections.rush(callers, request()))
    if (answer.status === 'fulfilled') collected.add(answer.value)
    else collected.failed(answer.reason)
  return collected.outcome((performance.now() - from) / 1_000)
}

function collector() {
  const served: number[] = []
  const refused: number[] = []
  const failures = new Map<string, number>()
  let withoutRetryAfter = 0
  const fail = (what: string) => void failures.set(what, (failures.get(what) ?? 0) + 1)
  return {
    fail,
    failed: (error: Error) => fail(error.message),
    add({ status, retryAfter, ms }: Answer): void {
      if (status === 200) served.push(ms)
      else if (status === 503) {
        refused.push(ms)
        if (!retryAfter) withoutRetryAfter++
      } else fail(`status ${status}`)
    },
    outcome: (seconds: number): Outcome => ({
      seconds,
      served: served.sort(byValue),
      refused: refused.sort(byValue),
      withoutRetryAfter,
      failures,
    }),
  }
}

/** The answers of parts of one phase, one after another. */
export function pooled(parts: readonly Outcome[]): Outcome {
  const failures = new Map<string, number>()
  for (const part of parts) for (const [what, count] of part.failures) failures.set(what, (failures.get(what) ?? 0) + count)
  return {
    seconds: parts.reduce((sum, { seconds }) => sum + seconds, 0),
    served: parts.flatMap(({ served }) => served).sort(byValue),
    refused: parts.flatMap(({ refused }) => refused).sort(byValue),
    withoutRetryAfter: parts.reduce((sum, { withoutRetryAfter }) => sum + withoutRetryAfter, 0),
    failures,
  }
}

const byValue = (a: number, b: number) => a - b

/** The time that the share of the times does not exceed; NaN without times. */
export const percentile = (times: ArrayLike<number>, share: number): number =>
  times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN
