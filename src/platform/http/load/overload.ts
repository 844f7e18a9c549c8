/**
 * Refuses requests that the service cannot answer soon, before it reads their bodies or asks the database anything. The accounts share
 * what the process can do (fair-queue.ts), so one that floods slows down itself only.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RememberedAccess } from '../../access/remembered-access.ts'
import type { Entry } from '../../collections/linked-list.ts'
import { accountName, currentAccount, runFor } from '../../concurrency/current-account.ts'
import { FairQueue, type Slot } from '../../concurrency/fair-queue.ts'
import { requestBegins, requestEnds } from '../../concurrency/loop-turns.ts'
import { tooBusy } from '../../errors.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { refusals, showQueue } from './overload-metrics.ts'
import { hasBody } from './slow-clients.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if the route answers under any load. */
    isAlwaysServed?: boolean
  }
  interface FastifyRequest {
    slot: Slot | undefined
    /** The name of the account that it counts for. */
    account: string | undefined
    /** While it is in progress, chunks of uploads wait for it. */
    inProgress: Entry<number> | undefined
  }
}

/**
 * What has come in a burst or a pause may wait, because that is better than an error. Sixteen at once use nearly all of a process and its
 * database, because short reads and writes share round trips, and few enough are begun that each ends soon.
 */
const QUEUE = { slots: 16, slotsOfAccount: 12, mostWaiting: 2_000, waitMs: 450, sheddingWaitMs: 50, countedMs: 100 }
/** The weight of a request with as many calls or more. */
const MOST_WEIGHT = 4
/** Callers without known credentials are so many accounts, by address, so that many addresses get no more than these. */
const STRANGERS = 4
/** The methods whose body is read before the work begins. */
const AWAITED = new Set(['POST', 'PUT'])
/** Callers that came together are sent back at different times. The errors are made once, because each one costs a stack trace. */
const REFUSALS = [1, 2, 3].map((retryAfterSeconds) => tooBusy({ retryAfterSeconds }))

interface ProtectionOptions {
  metrics: Metrics
  /** Knows the account of a request before it is authenticated. */
  remembered: RememberedAccess | undefined
  /** How many calls a request with this URL makes. */
  callsIn: (url: string) => number
}

/** Adds the hooks. They need `request.context`. */
export function protectFromOverload(app: FastifyInstance, { metrics, remembered, callsIn }: ProtectionOptions): void {
  const queue = new FairQueue(QUEUE)
  showQueue(metrics, queue)
  let refused = 0

  function accountOf({ context: { credentials, ip } }: FastifyRequest): string {
    const id = remembered?.accountOf(credentials)
    return id === undefined ? strangerName(ip) : accountName(id)
  }

  function enterLater(request: FastifyRequest, reply: FastifyReply, account: string, weight: number, done: Done): void {
    queue.wait(
      account,
      {
        enter: (slot) => {
          // A caller that has hung up gets no answer, and its request is dropped.
          if (reply.raw.destroyed) return queue.leave(slot)
          takeSlot(request, slot)
          runFor(account, done)
        },
        refuse: () => refuse(done),
      },
      weight,
    )
  }

  function refuse(done: Done): void {
    metrics.count(refusals)
    done(REFUSALS[refused++ % REFUSALS.length])
  }

  app.decorateRequest('slot')
  app.decorateRequest('account')
  app.decorateRequest('inProgress')
  app.addHook('onRequest', (request, reply, done) => {
    const { config } = request.routeOptions
    if (config.isAlwaysServed) return done()
    const account = accountOf(request)
    const weight = Math.min(callsIn(request.url), MOST_WEIGHT)
    request.account = account
    if (!config.isUpload) request.inProgress = requestBegins()
    const slot = queue.tryEnter(account, weight)
    if (!slot) return enterLater(request, reply, account, weight, done)
    takeSlot(request, slot)
    runFor(account, done)
  })
  // The stream of a body runs outside of the context of its request. A request without a body is still inside.
  app.addHook('preHandler', ({ account }, _, done) =>
    account === undefined || account === currentAccount() ? done() : runFor(account, done),
  )
  // It does not run if the caller hangs up: the work goes on for some time, and counts for `countedMs`.
  app.addHook('onResponse', (request, _, done) => {
    const { slot, inProgress } = request
    if (inProgress) requestEnds(inProgress)
    if (slot) queue.leave(slot)
    done()
  })
}

type Done = (error?: Error) => void

function takeSlot(request: FastifyRequest, slot: Slot): void {
  request.slot = slot
  // Nobody waits for the body of a GET or HEAD, so the work uses its slot without it.
  if (AWAITED.has(request.method) && hasBody(request)) slot.body = request.raw
}

function strangerName(ip: string): string {
  let sum = 0
  for (let at = 0; at < ip.length; at++) sum += ip.charCodeAt(at)
  return `strangers ${sum % STRANGERS}`
}
