/** Calls the service as a careful client does: it repeats what failed, with the same Idempotency-Key. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger } from './ledger.ts'
import type { Front } from './proxy.ts'

const TIMEOUT_MS = 20_000
const PAUSE_MS = 100
/** A request that fails for longer than this, although nothing is broken any more, is a finding. */
const GIVE_UP_MS = 60_000

export interface Reply {
  /** 0 for a broken connection. */
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies have any shape.
  body: any
}

export interface Caller {
  /** Sends one request. */
  send(path: string, body?: object, key?: string): Promise<Reply>
  /** Repeats a change until it is acknowledged. @returns null if it was given up */
  insist(path: string, body: object): Promise<Reply | null>
}

/** @param isBroken whether something is broken on purpose at the moment */
export function callerOf(front: Front, session: { cookie: string }, ledger: Ledger, isBroken: () => boolean): Caller {
  async function send(path: string, body?: object, key?: string): Promise<Reply> {
    const reply = await exchange(front.url() + path, session, body, key)
    ledger.count(reply.status)
    const fault = faultOf(reply)
    if (fault) ledger.wrong.push(`${path}: ${fault}`)
    return reply
  }
  return {
    send,
    async insist(path, body) {
      const key = randomUUID()
      for (let brokenAt = performance.now(); performance.now() - brokenAt < GIVE_UP_MS; ) {
        if (isBroken()) brokenAt = performance.now()
        const reply = await send(path, body, key)
        if (reply.status >= 200 && reply.status < 300) return reply
        if ([400, 401, 403, 404, 413, 429].includes(reply.status)) return null
        await sleep(PAUSE_MS)
      }
      ledger.wrong.push(`${path}: not acknowledged for ${GIVE_UP_MS / 1_000} s`)
      return null
    },
  }
}

interface Exchange extends Reply {
  retryAfter?: string | null
  /** False for the page of a proxy. */
  isOurs?: boolean
}

async function exchange(url: string, session: { cookie: string }, body?: object, key?: string): Promise<Exchange> {
  try {
    const response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      headers: { ...session, ...(body && { 'content-type': 'application/json' }), ...(key && { 'idempotency-key': key }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    const isOurs = response.headers.has('x-request-id')
    return { status: response.status, body: isOurs ? JSON.parse(text) : text, isOurs, retryAfter: response.headers.get('retry-after') }
  } catch (error) {
    return { status: 0, body: String(error) }
  }
}

/** The refusals that a caller can act on, if they have a Retry-After: 507 says that the disk is full. */
const REFUSALS = [503, 507]

/** What is wrong with an answer. */
function faultOf({ status, body, isOurs, retryAfter }: Exchange): string | undefined {
  if (status < 500 || !isOurs) return undefined
  if (!REFUSALS.includes(status)) return `${status} ${JSON.stringify(body)}`
  return Number(retryAfter) > 0 ? undefined : `${status} without Retry-After`
}
