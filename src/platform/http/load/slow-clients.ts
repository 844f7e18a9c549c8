/** Closes the connections of clients that send nothing or too slowly, or do not read, and limits the number of connections. */
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Entry, LinkedList } from '../../collections/linked-list.ts'
import { answerHeaders } from '../answers/answer-headers.ts'
import { respondToClientError } from '../answers/client-error.ts'
import { BODY_LIMIT } from '../bodies/body-limits.ts'
import { limitUnreadAnswers, UNREAD_LIMITS, type UnreadLimits } from './unread-answers.ts'

export interface ClientLimits extends UnreadLimits {
  /** From the connection, or the first byte of a further request, to the end of the headers. */
  headersMs: number
  /** For a body of up to 1 MB. */
  bodyMs: number
  /** A larger body may take longer if it arrives at this rate on average. */
  largeBytesPerSecond: number
  /** The body of an upload may take any time in which each window of this length brings bytes at this rate. */
  uploadWindowMs: number
  uploadBytesPerSecond: number
  checkEveryMs: number
  maxConnections: number
}

export const CLIENT_LIMITS: Omit<ClientLimits, 'maxConnections'> = {
  ...UNREAD_LIMITS,
  headersMs: 30_000,
  bodyMs: 30_000,
  largeBytesPerSecond: 65_536,
  uploadWindowMs: 20_000,
  uploadBytesPerSecond: 10 * 1_024,
  checkEveryMs: 1_000,
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Its body, which is received in time. */
    receiving: Entry<Receiving> | undefined
  }
}

/** A body that is being received. */
interface Receiving {
  reply: FastifyReply
  kind: 'small' | 'large' | 'upload'
  /** The bytes that the connection had received at the end of the headers. */
  bytesBefore: number
  /** The time in which the service waited for the client. */
  waitedMs: number
  /** For an upload: the bytes that had been received after a time, oldest first. The first mark lies a whole window back. */
  marks: { waitedMs: number; received: number }[]
}

/** The options of Node's server. It also closes a connection that has sent nothing when the time for the headers has passed. */
export const serverTimes = ({ headersMs, checkEveryMs }: ClientLimits) => ({
  headersTimeout: headersMs,
  connectionsCheckingInterval: checkEveryMs,
})

/** Adds the hooks, which run before those of routes. */
export function limitClients(app: FastifyInstance, limits: ClientLimits): void {
  limitBodies(app, limits)
  limitUnreadAnswers(app, limits)
  limitConnections(app, limits)
}

function limitBodies(app: FastifyInstance, limits: ClientLimits): void {
  const { bodyMs, largeBytesPerSecond, uploadWindowMs, uploadBytesPerSecond, checkEveryMs } = limits
  const receiving = new LinkedList<Receiving>()
  let checkedAt = performance.now()

  function check(): void {
    const now = performance.now()
    // After a longer pause the process was busy: what has come since is read only after this.
    const passedMs = Math.min(now - checkedAt, 2 * checkEveryMs)
    checkedAt = now
    for (const entry of receiving) {
      const { item: body } = entry
      const { raw } = body.reply.request
      if (raw.complete || raw.destroyed) receiving.remove(entry)
      // Bytes that have arrived and were not read yet show that the client waits for the service.
      else if (raw.readableLength === 0 && isTooSlow(raw, body, passedMs)) {
        receiving.remove(entry)
        refuse(raw, body.reply)
      }
    }
  }

  function isTooSlow({ socket }: IncomingMessage, body: Receiving, passedMs: number): boolean {
    body.waitedMs += passedMs
    const received = socket.bytesRead - body.bytesBefore
    if (body.kind === 'upload') return isUploadTooSlow(body, received)
    if (body.waitedMs <= bodyMs) return false
    return body.kind === 'small' || received < (largeBytesPerSecond * body.waitedMs) / 1_000
  }

  function isUploadTooSlow({ waitedMs, marks }: Receiving, received: number): boolean {
    marks.push({ waitedMs, received })
    const begin = waitedMs - uploadWindowMs
    while (marks[1] && marks[1].waitedMs <= begin) marks.shift()
    const [first] = marks
    if (!first || first.waitedMs > begin) return false
    return received - first.received < (uploadBytesPerSecond * (waitedMs - first.waitedMs)) / 1_000
  }

  const checks = setInterval(check, checkEveryMs).unref()
  app.addHook('onClose', async () => clearInterval(checks))
  app.decorateRequest('receiving')
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request
    // A request that the service makes to itself, such as the mail catcher, has no connection, and its body is there.
    const isReceived = raw.socket instanceof Socket && hasBody(request)
    if (isReceived) {
      const marks = [{ waitedMs: 0, received: 0 }]
      request.receiving = receiving.add({ reply, kind: kindOf(request), bytesBefore: raw.socket.bytesRead, waitedMs: 0, marks })
    }
    done()
  })
  // The body of a refused request is received after the response. It stays there until it is complete.
  app.addHook('onResponse', ({ raw, receiving: entry }, _, done) => {
    if (entry && raw.complete) receiving.remove(entry)
    done()
  })
}

export const hasBody = ({ headers }: Pick<FastifyRequest, 'headers'>) =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** A body without a stated length may be as large as its route admits. */
function kindOf({ headers, routeOptions: { bodyLimit, config } }: FastifyRequest): Receiving['kind'] {
  if (config.isUpload) return 'upload'
  return Number(headers['content-length'] ?? bodyLimit) > BODY_LIMIT ? 'large' : 'small'
}

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
  // Else a supervisor would offer the connection to one process after the other for ever when all are full.
  Object.assign(server, { dropMaxConnection: true })
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
