/**
 * Closes the connections of clients that do not read their answers: what they have not read stays in memory. The system tells how much of
 * an answer it has taken, which grows only while the client reads.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { perProcess } from '../../processes/per-process.ts'

export interface UnreadLimits {
  /** The system must take bytes of an answer in each window of this length, at this rate on average. */
  answerWindowMs: number
  answerBytesPerSecond: number
  /** If all answers together have more bytes in memory, those of which nothing was taken for a while are given up. */
  mostUnreadBytes: number
  stalledMs: number
  checkEveryMs: number
}

const MB = 1_048_576

/** A process has room for two of the largest pages in any case. @param of as of `perProcess` */
export function mostUnreadBytes(of?: Parameters<typeof perProcess>[2]): number {
  return perProcess(256 * MB, 64 * MB, of)
}

/** The system takes bytes in steps of up to a third of its own buffer, so a slow client needs a window of a minute. */
export const UNREAD_LIMITS: Omit<UnreadLimits, 'checkEveryMs'> = {
  answerWindowMs: 60_000,
  answerBytesPerSecond: 1_024,
  mostUnreadBytes: mostUnreadBytes(),
  stalledMs: 5_000,
}

/** The members of a TCP handle that the types of Node do not declare. */
interface Handle {
  /** Bytes that were handed to it. */
  bytesWritten: number
  /** Those of them that the system has not taken. */
  writeQueueSize: number
}

/** An answer of which the system has not taken everything. */
interface Unread {
  taken: number
  /** When the window began, and what had been taken then. */
  since: number
  takenBefore: number
  /** When the system last took bytes. */
  movedAt: number
}

export function limitUnreadAnswers(app: FastifyInstance, limits: UnreadLimits): void {
  const sockets = new Map<Socket, Unread | undefined>()
  app.server.on('connection', (socket: Socket) => {
    sockets.set(socket, undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  const { checkEveryMs } = limits
  let checkedAt = performance.now()
  let countedMs = 0
  const checks = setInterval(() => {
    const now = performance.now()
    // After a longer pause the process was busy: what clients have read meanwhile is noticed only after this.
    countedMs += Math.min(now - checkedAt, 2 * checkEveryMs)
    checkedAt = now
    check(sockets, countedMs, limits)
  }, checkEveryMs).unref()
  app.addHook('onClose', async () => clearInterval(checks))
}

/** @param now in milliseconds in which the process was not busy */
function check(sockets: Map<Socket, Unread | undefined>, now: number, limits: UnreadLimits): void {
  const unread: [Socket, Unread][] = []
  for (const [socket, known] of sockets) {
    const handle = (socket as unknown as { _handle: Handle | null })._handle
    const next = handle?.writeQueueSize ? observed(known, handle.bytesWritten - handle.writeQueueSize, now) : undefined
    if (next !== known) sockets.set(socket, next)
    if (next && isTooSlow(next, now, limits)) socket.destroy()
    else if (next) unread.push([socket, next])
  }
  giveUpStalled(unread, now, limits)
}

/** Closes the connections that have stood still for longest, until the answers of the others have room. */
function giveUpStalled(unread: readonly [Socket, Unread][], now: number, { mostUnreadBytes, stalledMs }: UnreadLimits): void {
  let total = unread.reduce((sum, [socket]) => sum + socket.writableLength, 0)
  if (total <= mostUnreadBytes) return
  const stalled = unread.filter(([, { movedAt }]) => now - movedAt >= stalledMs)
  for (const [socket] of stalled.sort(([, one], [, other]) => one.movedAt - other.movedAt)) {
    if (total <= mostUnreadBytes) return
    total -= socket.writableLength
    socket.destroy()
  }
}

function observed(known: Unread | undefined, taken: number, now: number): Unread {
  if (!known) return { taken, since: now, takenBefore: taken, movedAt: now }
  if (taken > known.taken) known.movedAt = now
  known.taken = taken
  return known
}

/** Begins the next window if the current one has passed. */
function isTooSlow(unread: Unread, now: number, { answerWindowMs, answerBytesPerSecond }: UnreadLimits): boolean {
  const passedMs = now - unread.since
  if (passedMs < answerWindowMs) return false
  const isSlow = unread.taken - unread.takenBefore < (answerBytesPerSecond * passedMs) / 1_000
  unread.since = now
  unread.takenBefore = unread.taken
  return isSlow
}
