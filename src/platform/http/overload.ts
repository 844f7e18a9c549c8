/**
 * Refuses requests that the service cannot answer soon, before it reads their bodies or asks the database anything. The accounts share
 * what the process can do (fair-limit.ts), so one that floods slows down itself only.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Credentials, nameOf } from '../access/authenticate.ts'
import type { Entry } from '../collections/linked-list.ts'
import { FairLimit, type Place } from '../concurrency/fair-limit.ts'
import { requestBegins, requestEnds } from '../concurrency/loop-turns.ts'
import { accountParty, currentParty, runFor } from '../concurrency/party.ts'
import type { Metrics } from '../metrics.ts'
import { tooBusy } from './errors.ts'
import { refusals, showLimit } from './metrics.ts'
import { RPC_PREFIX } from './rpc.ts'
import { hasBody } from './slow-clients.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if the route answers under any load. */
    isAlwaysServed?: boolean
  }
  interface FastifyRequest {
    place: Place | undefined
    party: string | undefined
    /** While it is in progress, chunks of uploads wait for it. */
    inProgress: Entry<number> | undefined
  }
}

/**
 * What has come in a burst or a pause may wait, because that is better than an error: a fast processor answers a thousand short reads within a third of
 * a second, in which some 1,000 requests come at 80 % of its capacity. So 300 that wait are no flood: they come in a tenth of a second. It takes 80 ms to tell
 * a flood from a burst, and at twice the capacity 450 wait by then. While requests of the party are refused, others come all the time,
 * and one that has waited for 6 ms would be answered more than three times as late as usual. Sixteen at once use nearly all of the process and the
 * database, because short reads and writes share round trips, and few enough are begun to be answered soon if all come at once.
 */
const LIMIT = {
  ...{ places: 64, competingPlaces: 16, keptFree: 1, mostWaiting: 1_500, floodWaiting: 450, trialWaiting: 300 },
  ...{ waitMs: 1_000, refusingWaitMs: 6, countedMs: 100 },
}
/**
 * A party of which many wait gives way to the others. At the beginning of a flood it does so for longer than an account with some dozens of requests a
 * second takes to send the next one. With four places it still does three quarters of what it does with sixteen.
 */
const GIVES_WAY = { excessForMs: 30, forMs: 3, manyWaiting: 32, places: 4 }
/**
 * The places for a party whose requests are refused, on a busy process: the next request, also of another party, then waits for fewer others. While an
 * account that needs few places is there, it has its first only.
 */
const REFUSING_PLACES = { alone: 3, besideLight: 1 }
/** A party of which fewer are refused has had a pause, after which it needs all that the process can do, or it would go on being refused. */
const FEW_REFUSED = 0.25
/** The weight of a batch of RPC calls with as many calls or more. */
const MOST_WEIGHT = 4
/** Below this utilization of the event loop requests mostly wait for the database, and fewer at once would only make them slower. */
const BUSY = 0.6
const SAMPLE_MS = 50
/** If the timer of the samples comes later than by this, the process was stopped, or something took all of its time. */
const LATE_MS = 40
/** The processor is used for a few milliseconds at a time. A shorter sample could fall into such a time. */
const SHORTEST_SAMPLE_MS = 20
/** It counts as busy for this time after a busy sample. A sample may follow a pause of the load, and more requests would be begun at once. */
const BUSY_FOR_MS = 500
/** Callers without known credentials share these parties by address, so that many addresses get no more than a few accounts. */
const STRANGERS = 4
/** The methods whose body is read before the work begins. */
const AWAITED = new Set(['POST', 'PUT'])
/** Callers that came together are sent back at different times. The errors are made once, because each one costs a stack trace. */
const REFUSALS = [1, 2, 3].map((retryAfterSeconds) => tooBusy({ retryAfterSeconds }))
const KNOWN_KEYS = 10_000

export interface OverloadProtection {
  /** Notes the account of the request's credentials, so that further requests with them count for it before they are authenticated. */
  learn(request: FastifyRequest, credentials: Credentials, accountId: number): void
  /** Adds the hooks. They need `request.context`. */
  addHooks(app: FastifyInstance): void
}

export function openOverloadProtection(metrics: Metrics): OverloadProtection {
  const load = watchEventLoop(() => limit.notePause())
  const limit: FairLimit = new FairLimit({
    ...LIMIT,
    givesWay: { ...GIVES_WAY, places: (now) => (load.isBusy(now) ? GIVES_WAY.places : LIMIT.competingPlaces) },
    refusingPlaces(refusedShare, isBesideLight) {
      if (refusedShare <= FEW_REFUSED || !load.isBusy(performance.now())) return LIMIT.competingPlaces
      return isBesideLight ? REFUSING_PLACES.besideLight : REFUSING_PLACES.alone
    },
  })
  showLimit(metrics, limit)
  const accounts = new Map<string, string>()
  let refused = 0

  const partyOf = ({ context: { credentials, ip } }: FastifyRequest) => accounts.get(nameOf(credentials) ?? '') ?? strangerParty(ip)

  function enterLater(request: FastifyRequest, reply: FastifyReply, party: string, weight: number, done: Done): void {
    limit.wait(
      party,
      {
        enter: (place) => {
          // A caller that has hung up gets no answer, and its request is dropped.
          if (reply.raw.destroyed) return limit.leave(place)
          takePlace(request, place)
          runFor(party, done)
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

  return {
    learn(request, credentials, accountId) {
      const party = accountParty(accountId)
      const name = nameOf(credentials)
      if (request.party === party || name === undefined) return
      // They are soon learned again.
      if (accounts.size >= KNOWN_KEYS) accounts.clear()
      accounts.set(name, party)
    },
    addHooks(app) {
      app.addHook('onClose', async () => load.stop())
      app.decorateRequest('place')
      app.decorateRequest('party')
      app.decorateRequest('inProgress')
      app.addHook('onRequest', (request, reply, done) => {
        const { config } = request.routeOptions
        if (config.isAlwaysServed) return done()
        const party = partyOf(request)
        const weight = weightOf(request.url)
        request.party = party
        if (!config.isUpload) request.inProgress = requestBegins()
        const place = limit.tryEnter(party, weight)
        if (!place) return enterLater(request, reply, party, weight, done)
        takePlace(request, place)
        runFor(party, done)
      })
      // The stream of a body runs outside of the context of its request. A request without a body is still inside.
      app.addHook('preHandler', ({ party }, _, done) => (party === undefined || party === currentParty() ? done() : runFor(party, done)))
      // It does not run if the caller hangs up: the work goes on for some time, and counts for `countedMs`.
      app.addHook('onResponse', (request, reply, done) => {
        const { place, context, inProgress } = request
        if (inProgress) requestEnds(inProgress)
        if (place) limit.leave(place)
        // A key that was revoked must not go on counting for its account.
        if (reply.statusCode === 401) accounts.delete(nameOf(context.credentials) ?? '')
        done()
      })
    },
  }
}

/** @param paused is called when the process was stopped for a moment */
function watchEventLoop(paused: () => void) {
  let last = performance.eventLoopUtilization()
  let lastAt = performance.now()
  let busyUntil = 0
  const sample = (now: number) => {
    if (now < lastAt + SHORTEST_SAMPLE_MS) return
    const current = performance.eventLoopUtilization()
    if (performance.eventLoopUtilization(current, last).utilization > BUSY) busyUntil = now + BUSY_FOR_MS
    last = current
    lastAt = now
  }
  let tickedAt = performance.now()
  const samples = setInterval(() => {
    const now = performance.now()
    if (now > tickedAt + SAMPLE_MS + LATE_MS) paused()
    tickedAt = now
    sample(now)
  }, SAMPLE_MS).unref()
  return {
    stop: () => clearInterval(samples),
    /** It takes a sample, so that a process that has just become busy is noticed before the next sample of the timer. */
    isBusy(now: number): boolean {
      sample(now)
      return now < busyUntil
    },
  }
}

type Done = (error?: Error) => void

function takePlace(request: FastifyRequest, place: Place): void {
  request.place = place
  // Nobody waits for the body of a GET or HEAD, so the work uses its place without it.
  if (AWAITED.has(request.method) && hasBody(request)) place.body = request.raw
}

function strangerParty(ip: string): string {
  let sum = 0
  for (let at = 0; at < ip.length; at++) sum += ip.charCodeAt(at)
  return `strangers ${sum % STRANGERS}`
}

/** A batch of RPC calls counts once for each of its calls, up to a number. */
function weightOf(url: string): number {
  if (!url.startsWith(RPC_PREFIX)) return 1
  const [path = ''] = url.split('?', 1)
  return Math.min(path.split(/,|%2c/i).length, MOST_WEIGHT)
}
