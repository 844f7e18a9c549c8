/**
 * Refuses requests that the service cannot answer soon, before it reads their bodies or asks the database anything. The accounts share
 * what the process can do (fair-limit.ts), so one that floods slows down itself only.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Credentials } from '../access/authenticate.ts'
import { BoundedMap } from '../bounded-map.ts'
import { FairLimit, type Place } from '../fair-limit.ts'
import { accountParty, runFor } from '../party.ts'
import { tooBusy } from './errors.ts'
import { RPC_PREFIX } from './rpc.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if the route answers under any load. */
    isAlwaysServed?: boolean
  }
  interface FastifyRequest {
    place: Place | undefined
    party: string | undefined
  }
}

/**
 * The database answers short reads of 16 requests at once as fast as those of 50. Half a second of waiting for a burst is better than
 * an error, so the waiting of a party that is not being refused is long.
 */
const LIMIT = { places: 64, crowdedPlaces: 16, keptFree: 4, mostWaiting: 100, waitMs: 1_000, refusingWaitMs: 50, countedMs: 100 }
/** Callers without known credentials share these parties by address, so that many addresses get no more than a few accounts. */
const STRANGERS = 4
const KNOWN_KEYS = 10_000
/** A connection that repeats a request at once is refused again only after this time, so that refusing costs less than serving. */
const REPEATED_REFUSAL_MS = 100
const REPEATED_WITHIN_MS = 1_000

export interface OverloadProtection {
  /** Notes the account of the request's credentials, so that further requests with them count for it before they are authenticated. */
  learn(request: FastifyRequest, credentials: Credentials, accountId: number): void
  /** Adds the hooks. They need `request.context`. */
  addHooks(app: FastifyInstance): void
}

export function openOverloadProtection(): OverloadProtection {
  const limit = new FairLimit(LIMIT)
  const accounts = new BoundedMap<string, string | undefined>(KNOWN_KEYS)
  const refusedAt = new WeakMap<Socket, number>()
  let refusals = 0

  const partyOf = ({ context: { credentials, ip } }: FastifyRequest) =>
    ('tokenHash' in credentials && accounts.get(nameOf(credentials.tokenHash))) || strangerParty(ip)

  function enterLater(request: FastifyRequest, reply: FastifyReply, party: string, weight: number, done: Done): void {
    limit.wait(
      party,
      {
        enter: (place) => {
          // A caller that has hung up gets no answer, and its request is dropped.
          if (reply.raw.destroyed) return limit.leave(place)
          request.place = place
          runFor(party, done)
        },
        refuse: () => refuse(request, done),
      },
      weight,
    )
  }

  function refuse({ raw: { socket } }: FastifyRequest, done: Done): void {
    const now = performance.now()
    const isRepeated = now - (refusedAt.get(socket) ?? Number.NEGATIVE_INFINITY) < REPEATED_WITHIN_MS
    refusedAt.set(socket, now)
    // Callers that came together are sent back at different times.
    const error = tooBusy({ retryAfterSeconds: 1 + (refusals++ % 3) })
    if (isRepeated) setTimeout(() => done(error), REPEATED_REFUSAL_MS).unref()
    else done(error)
  }

  return {
    learn(request, credentials, accountId) {
      const party = accountParty(accountId)
      if (request.party !== party && 'tokenHash' in credentials) accounts.set(nameOf(credentials.tokenHash), party)
    },
    addHooks(app) {
      app.decorateRequest('place')
      app.decorateRequest('party')
      app.addHook('onRequest', (request, reply, done) => {
        if (request.routeOptions.config.isAlwaysServed) return done()
        const party = partyOf(request)
        const weight = weightOf(request.url)
        request.party = party
        request.place = limit.tryEnter(party, weight)
        if (request.place) runFor(party, done)
        else enterLater(request, reply, party, weight, done)
      })
      // The stream of a body runs outside of the context of its request.
      app.addHook('preHandler', ({ party }, _, done) => (party === undefined ? done() : runFor(party, done)))
      app.addHook('onResponse', (request, reply, done) => {
        const { place, context } = request
        if (place) limit.leave(place)
        // A key that was revoked must not go on counting for its account.
        if (reply.statusCode === 401 && 'tokenHash' in context.credentials) accounts.set(nameOf(context.credentials.tokenHash), undefined)
        done()
      })
    },
  }
}

type Done = (error?: Error) => void

const nameOf = (tokenHash: Buffer) => tokenHash.toString('latin1')

function strangerParty(ip: string): string {
  let sum = 0
  for (let at = 0; at < ip.length; at++) sum += ip.charCodeAt(at)
  return `strangers ${sum % STRANGERS}`
}

/** A batch of RPC calls counts once for each of its calls. */
function weightOf(url: string): number {
  if (!url.startsWith(RPC_PREFIX)) return 1
  const [path = ''] = url.split('?', 1)
  return Math.min(path.split(/,|%2c/i).length, LIMIT.crowdedPlaces)
}
