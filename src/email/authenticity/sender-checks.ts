/** SPF, DKIM, DMARC and ARC of the messages that the receiver takes. A thread makes the checks, because a long message takes long. */
import dns from 'node:dns'
import { Worker } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import type { SenderAuthentication } from './authentication-results.ts'

/** A large message in an open file, which the thread reads by its descriptor. */
export interface RawFile {
  file: number
  bytes: number
  /** The first bytes, at least CHECKED_BYTES. */
  start: Buffer
}

export interface CheckRequest {
  /** The message without the header fields of the receiver. */
  raw: Uint8Array | RawFile
  /** The address and the EHLO of the client, and the envelope sender, which may be empty. */
  ip: string
  helo: string
  sender: string
  servers: string[]
  dnsMs: number
}

export interface SenderChecks {
  /** Never fails: a check that could not be made has the result `temperror`, or `permerror` for a message that cannot be checked. */
  check(message: Pick<CheckRequest, 'raw' | 'ip' | 'helo' | 'sender'>): Promise<SenderAuthentication>
  close(): Promise<void>
}

interface Options {
  log: FastifyBaseLogger
  /** The time for all DNS lookups of a message. */
  dnsMs?: number
  /** The thread is terminated when it does not answer in this time. */
  timeoutMs?: number
}

const MOST_AT_ONCE = 32
const IDLE_MS = 60_000
const MAX_HEAP_MB = 256
/** The largest header that is checked: mailauth parses it in one go, during which other messages wait. */
const MAX_HEADER_BYTES = 262_144
export const CHECKED_BYTES = MAX_HEADER_BYTES + 4
/** A signature may ask for a pass over the whole content, so a message with many of them would keep the thread from others. */
const MAX_SIGNATURES = 20

type Reply = { id: number; authentication: SenderAuthentication } | { id: number; error: string }

const all = (result: string): SenderAuthentication => ({ spf: result, dkim: result, dmarc: result, arc: result })

/** Starts the thread with the first message, and ends it after some time without any. */
export function openSenderChecks({ log, dnsMs = 8_000, timeoutMs = 20_000 }: Options): SenderChecks {
  const turns = new Semaphore(MOST_AT_ONCE, () => new Error('Too many messages are checked'))
  const underway = new Map<number, (reply: Reply) => void>()
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let lastId = 0

  function start(): Worker {
    const started = new Worker(new URL('./sender-check-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    started.on('message', (reply: Reply) => underway.get(reply.id)?.(reply))
    started.on('error', (error) => end(started, error instanceof Error ? error.message : 'The thread failed'))
    started.on('exit', () => end(started, 'The thread ended'))
    // An idle thread does not keep the process alive.
    started.unref()
    return started
  }

  function end(ended: Worker, error: string): void {
    if (worker !== ended) return
    worker = undefined
    void ended.terminate()
    for (const [id, answer] of underway) answer({ id, error })
  }

  async function ask(message: Omit<CheckRequest, 'servers' | 'dnsMs'>): Promise<SenderAuthentication> {
    clearTimeout(idle)
    worker ??= start()
    const current = worker
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<Reply>()
    underway.set(id, resolve)
    const timer = setTimeout(() => end(current, `The checks took longer than ${timeoutMs / 1000} s`), timeoutMs)
    try {
      current.postMessage({ id, ...message, servers: dns.getServers(), dnsMs })
      const reply = await promise
      if ('error' in reply) throw new Error(reply.error)
      return reply.authentication
    } finally {
      clearTimeout(timer)
      underway.delete(id)
      if (!underway.size) idle = setTimeout(() => void stop(), IDLE_MS).unref()
    }
  }

  async function stop(): Promise<void> {
    clearTimeout(idle)
    const last = worker
    worker = undefined
    await last?.terminate()
  }

  return {
    async check(message) {
      if (!isCheckable(message.raw)) return all('permerror')
      try {
        return await turns.run(() => ask(message), { timeoutMs })
      } catch (error) {
        log.warn({ err: error }, 'the sender of an inbound mail could not be checked')
        return all('temperror')
      }
    },
    close: stop,
  }
}

function isCheckable(raw: CheckRequest['raw']): boolean {
  const beginning = raw instanceof Uint8Array ? raw : raw.start
  const start = Buffer.from(beginning.buffer, beginning.byteOffset, Math.min(beginning.byteLength, CHECKED_BYTES))
  const ends = ['\r\n\r\n', '\n\n'].map((gap) => start.indexOf(gap)).filter((at) => at >= 0)
  const length = ends.length ? Math.min(...ends) : start.length
  if (length > MAX_HEADER_BYTES) return false
  const signatures = start.toString('latin1', 0, length).match(/^dkim-signature[ \t]*:/gim)
  return (signatures?.length ?? 0) <= MAX_SIGNATURES
}
