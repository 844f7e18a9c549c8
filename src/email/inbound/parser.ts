import { Worker } from 'node:worker_threads'
import { Semaphore } from '../../platform/semaphore.ts'
import type { ParsedMail } from './mime.ts'

/** A message that cannot be parsed, because it is nested too deep, takes too long, or crashed the thread. A retry would not help. */
export class UnreadableMail extends Error {}

export interface MailParser {
  /**
   * Parses a raw message in the thread. Concurrent calls wait for each other.
   * @param authservId the mail server whose Authentication-Results count
   * @throws UnreadableMail
   */
  parse(raw: Uint8Array, authservId?: string): Promise<ParsedMail>
  close(): Promise<void>
}

interface Options {
  /** The thread is terminated when a message takes longer. */
  timeoutMs?: number
  /** The heap limit of the thread, so that a message cannot exhaust the memory of the process. */
  maxHeapMb?: number
  /** The time without a message after which the thread is ended. */
  idleMs?: number
}

/** After a message of this size the thread is ended, because V8 would keep the memory that it has taken. */
const LARGE_BYTES = 1_048_576

type Reply = { id: number; mail: ParsedMail } | { id: number; error: string }

interface Underway {
  id: number
  resolve(mail: ParsedMail): void
  reject(error: UnreadableMail): void
}

/** A parser with its own thread. It starts when a message comes, and ends after a large one or when none has come for a while. */
export function openParser({ timeoutMs = 20_000, maxHeapMb = 512, idleMs = 10_000 }: Options = {}): MailParser {
  let worker: Worker | undefined
  let underway: Underway | undefined
  let idle: NodeJS.Timeout | undefined
  let lastId = 0
  const turns = new Semaphore(1)

  function start(): Worker {
    const started = new Worker(new URL('./mime-worker.ts', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } })
    started.on('message', (reply: Reply) => {
      if (reply.id !== underway?.id) return
      if ('mail' in reply) underway.resolve(reply.mail)
      else underway.reject(new UnreadableMail(reply.error))
    })
    started.on('error', (error) => end(started, error instanceof Error ? error.message : 'The parser failed'))
    started.on('exit', () => end(started, 'The parser ended'))
    // An idle thread does not keep the process alive.
    started.unref()
    return started
  }

  function end(ended: Worker, reason: string): void {
    if (worker !== ended) return
    worker = undefined
    void ended.terminate()
    underway?.reject(new UnreadableMail(reason))
  }

  async function stop(): Promise<void> {
    clearTimeout(idle)
    const last = worker
    worker = undefined
    await last?.terminate()
  }

  async function parseNow(raw: Uint8Array, authservId: string | undefined): Promise<ParsedMail> {
    clearTimeout(idle)
    const isLarge = raw.byteLength > LARGE_BYTES
    worker ??= start()
    const current = worker
    const id = ++lastId
    const timer = setTimeout(() => end(current, `The message could not be read within ${timeoutMs / 1000} s`), timeoutMs)
    try {
      return await new Promise((resolve, reject) => {
        underway = { id, resolve, reject }
        current.postMessage({ id, raw, authservId })
      })
    } finally {
      clearTimeout(timer)
      underway = undefined
      if (isLarge) await stop()
      else idle = setTimeout(() => void stop(), idleMs).unref()
    }
  }

  return {
    parse: (raw, authservId) => turns.run(() => parseNow(raw, authservId)),
    async close() {
      // Waiting messages are parsed first.
      await turns.acquire()
      await stop()
    },
  }
}
