/** The context of a request that has come by HTTP. What few requests need is found when it is asked for. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Credentials, SESSION_USER_HEADER } from '../../access/authenticate.ts'
import type { Admission } from '../../access/authorize.ts'
import { keyOf } from '../../access/bearer-key.ts'
import type { Actor } from '../../actor.ts'
import type { Deps } from '../../context.ts'
import type { WalPosition } from '../../database/replicas/wal-position.ts'
import { badInput } from '../../errors.ts'
import { tokenHash } from '../../secrets/secrets.ts'
import { hangUpSignal } from '../answers/hang-up.ts'
import { isCrossSite } from './cross-site.ts'
import { isLocalCaller } from './local-callers.ts'
import { POSITION_HEADER } from './read-your-writes.ts'
import type { CookieOptions, RequestContext } from './request-context.ts'
import { callsIn, isRpc } from './rpc.ts'

export type Cookies = Pick<FastifyInstance, 'parseCookie' | 'serializeCookie'>

/** What all requests of an application share. */
export interface Application {
  deps: Deps
  cookies: Cookies
  /** The name of the cookie with the token of a session. */
  sessionCookie: string
  /** Notes that the key or the session of the request was used. */
  touch(request: FastifyRequest, actor: Actor, lastSeenAt: string | null): void
}

// A class, because five functions and twenty properties for each request took 2 % of a small one.
export class HttpRequest implements RequestContext {
  readonly deps: Deps
  readonly credentials: Credentials
  readonly now: Date
  /** Also after the caller has hung up. */
  readonly ip: string
  readonly route: RequestContext['route']
  admission: Admission | undefined = undefined
  pathIds: Record<string, number | string> | undefined = undefined
  received: RequestContext['received'] = undefined
  sendData: RequestContext['sendData'] = undefined
  needed: Promise<WalPosition | undefined> | undefined = undefined
  isCallerKnown = false
  readonly #application: Application
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  #hangUp: AbortSignal | undefined

  constructor(application: Application, request: FastifyRequest, reply: FastifyReply) {
    this.#application = application
    this.#request = request
    this.#reply = reply
    this.deps = application.deps
    this.route = request.routeOptions.config
    this.ip = request.ip
    this.credentials = this.#credentials()
    this.now = application.deps.clock()
  }

  get requestId() {
    return this.#request.id
  }
  get log() {
    return this.#request.log
  }
  get userAgent() {
    return this.#request.headers['user-agent'] ?? ''
  }
  get isCrossSite() {
    return isCrossSite(this.deps, this.#request)
  }
  get sessionUser() {
    return this.#request.headers[SESSION_USER_HEADER] as string | undefined
  }
  get isLocal() {
    return isLocalCaller(this.deps.settings, this.#request.raw)
  }
  get ifMatch() {
    return this.#request.headers['if-match']
  }
  get position() {
    return this.#request.headers[POSITION_HEADER] as string | undefined
  }

  get idempotencyKeys() {
    const { headers, url } = this.#request
    const key = headers['idempotency-key']
    return typeof key === 'string' ? idempotencyKeys(url, key) : []
  }

  setHeader(name: string, value: string): void {
    this.#reply.header(name, value)
  }

  /** The calls of a batch share it. */
  signal(): AbortSignal {
    this.#hangUp ??= hangUpSignal(this.#reply)
    return this.#hangUp
  }

  async pause(ms: number): Promise<void> {
    const { slot } = this.#request
    if (slot) slot.isIdle = true
    await sleep(ms)
  }

  cookie(name: string): string | undefined {
    const { cookie } = this.#request.headers
    return cookie ? this.#application.cookies.parseCookie(cookie)[name] : undefined
  }

  setCookie(name: string, value: string, { maxAgeSeconds: maxAge, path = '/', sameSite = 'lax' }: CookieOptions): void {
    // A proxy in TRUST_PROXY says what the browser uses.
    const secure = this.deps.publicUrl().startsWith('https:') || this.#request.protocol === 'https'
    const options = { path, httpOnly: true, sameSite, secure, maxAge } as const
    this.#reply.header('set-cookie', this.#application.cookies.serializeCookie(name, value, options))
  }

  onUse(actor: Actor, lastSeenAt: string | null): void {
    this.#application.touch(this.#request, actor, lastSeenAt)
  }

  /** If both a cookie and a key are sent, the key is used (contract.md §2). */
  #credentials(): Credentials {
    const { headers, raw } = this.#request
    if (headers.authorization !== undefined) return keyOf(raw.socket, headers.authorization)
    const token = this.cookie(this.#application.sessionCookie)
    return token ? { kind: 'session', tokenHash: tokenHash(token) } : { kind: 'none' }
  }
}

/**
 * The key of each call: a header has as many parts as an RPC batch has calls, and an empty part is no key (contract.md §9, Formats).
 * The header of a single call is one key, whatever it holds.
 * @throws AppError 400 for more or fewer parts than calls
 */
function idempotencyKeys(url: string, header: string): (string | undefined)[] {
  const calls = isBatch(url) ? callsIn(url) : 1
  if (calls === 1) return [header]
  const keys = header.split(',').map((part) => part.trim() || undefined)
  if (keys.length === calls) return keys
  throw badInput('Idempotency-Key', `must have a part for each call of the batch, separated by commas: ${calls}, not ${keys.length}`)
}

/** Whether tRPC takes the request for a batch, which it may also be with a single call. */
const isBatch = (url: string) => isRpc(url) && new URLSearchParams(url.split('?')[1]).get('batch') === '1'
