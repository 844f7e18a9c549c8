/** Closes the connections of clients that send nothing or too slowly, and limits the number of connections. */
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerHeaders } from './answer-headers.ts'
import { respondToClientError } from './client-error.ts'
import { BODY_LIMIT } from './trpc.ts'

export interface ClientLimits {
  /** From the connection, or the first byte of a further request, to the end of the headers. */
  headersMs: number
  /** For a body of up to 1 MB. */
  bodyMs: number
  /** A larger body may take longer if it arrives at this rate on average. */
  uploadBytesPerSecond: number
  checkEveryMs: number
  maxConnections: number
}

/** An upload of 70 MB, 50 MB as base64, takes 18 minutes at this rate. */
export const CLIENT_LIMITS: Omit<ClientLimits, 'maxConnections'> = {
  headersMs: 30_000,
  bodyMs: 30_000,
  uploadBytesPerSecond: 65_536,
  checkEveryMs: 1_000,
}

/** A body that is being received. */
interface Receiving {
  reply: FastifyReply
  isUpload: boolean
  /** The bytes that the connection had received at the end of the headers. */
  bytesBefore: number
  /** The time in which the service waited for the client. */
  waitedMs: number
}

/** The options of Node's server. It also closes a connection that has sent nothing when the time for the headers has passed. */
export const serverTimes = ({ headersMs, checkEveryMs }: ClientLimits) => ({
  headersTimeout: headersMs,
  connectionsCheckingInterval: checkEveryMs,
})

/** Adds the hooks, which run before those of routes. */
export function limitClients(app: FastifyInstance, limits: ClientLimits): void {
  limitBodies(app, limits)
  limitConnections(app, limits)
}

function limitBodies(app: FastifyInstance, limits: ClientLimits): void {
  const { bodyMs, uploadBytesPerSecond, checkEveryMs } = limits
  const receiving = new Map<IncomingMessage, Receiving>()
  let checkedAt = performance.now()

  function check(): void {
    const now = performance.now()
    const passedMs = now - checkedAt
    checkedAt = now
    for (const [raw, body] of receiving) {
      if (raw.complete || raw.destroyed) receiving.delete(raw)
      // Bytes that have arrived and were not read yet show that the client waits for the service.
      else if (raw.readableLength === 0 && isTooSlow(raw, body, passedMs)) {
        receiving.delete(raw)
        refuse(raw, body.reply)
      }
    }
  }

  function isTooSlow({ socket }: IncomingMessage, body: Receiving, passedMs: number): boolean {
    body.waitedMs += passedMs
    if (body.waitedMs <= bodyMs) return false
    const received = socket.bytesRead - body.bytesBefore
    return !body.isUpload || received < (uploadBytesPerSecond * body.waitedMs) / 1_000
  }

  const checks = setInterval(check, checkEveryMs).unref()
  app.addHook('onClose', async () => clearInterval(checks))
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    // A request that the service makes to itself, such as the mail catcher, has no connection, and its body is there.
    const isReceived = raw.socket instanceof Socket && hasBody(request)
    if (isReceived) receiving.set(raw, { reply, isUpload: isUpload(request), bytesBefore: raw.socket.bytesRead, waitedMs: 0 })
    done()
  })
  // The body of a refused request is received after the response. It stays in the map until it is complete.
  app.addHook('onResponse', ({ raw }, _, done) => {
    if (raw.complete) receiving.delete(raw)
    done()
  })
}

const hasBody = ({ headers }: FastifyRequest) => headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** A body without a stated length may be as large as its route admits. */
const isUpload = ({ headers, routeOptions: { bodyLimit } }: FastifyRequest) => Number(headers['content-length'] ?? bodyLimit) > BODY_LIMIT

function refuse({ socket }: IncomingMessage, { raw, request }: FastifyReply): void {
  if (raw.headersSent) socket.destroy()
  else
    respondToClientError(Object.assign(new Error('The body was not received in time'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket, {
      ...answerHeaders(request.context.deps.settings),
      'x-request-id': request.id,
    })
}

/** Connections without a byte are closed after this time if no more can be accepted. */
const SILENT_MS = 1_000

/** At the limit new connections are dropped, so the idle ones are closed. */
function limitConnections({ server }: FastifyInstance, { maxConnections }: ClientLimits): void {
  const connectedAt = new Map<Socket, number>()
  let closedAt = 0
  server.maxConnections = maxConnections
  server.on('connection', (socket: Socket) => {
    connectedAt.set(socket, performance.now())
    socket.once('close', () => connectedAt.delete(socket))
  })
  server.on('drop', () => {
    const now = performance.now()
    if (now - closedAt < SILENT_MS) return
    closedAt = now
    server.closeIdleConnections()
    for (const [socket, at] of connectedAt) if (socket.bytesRead === 0 && now - at > SILENT_MS) socket.destroy()
  })
}
