import { type ChildProcess, fork } from 'node:child_process'
import { Semaphore } from '../../platform/semaphore.ts'
import type { ParsedMail } from './mime.ts'

/** A message that cannot be parsed, because it is nested too deep, takes too long, or crashed its process. A retry would not help. */
export class UnreadableMail extends Error {}

export interface MailParser {
  /**
   * Parses a raw message in a process of its own. Concurrent calls wait for each other.
   * @param authservId the mail server whose Authentication-Results count
   * @throws UnreadableMail; Error if the process could not be started, or was ended from outside
   */
  parse(raw: Uint8Array, authservId?: string): Promise<ParsedMail>
  close(): Promise<void>
}

interface Options {
  /** The process is killed when a message takes longer. */
  timeoutMs?: number
  /** The heap limit of the process. */
  maxHeapMb?: number
  /** The time without a message after which the process is ended. */
  idleMs?: number
}

/**
 * A message over this size is large: it is read beside the others, so that a sender of hostile messages delays no ordinary ones, and after
 * it the process is ended, to give back the memory that it has taken.
 */
export const LARGE_BYTES = 1_048_576

type Reply = { id: number; mail: ParsedMail } | { id: number; error: string }

interface Underway {
  id: number
  resolve(mail: ParsedMail): void
  reject(error: Error): void
}

const MODULE = new URL('./mime-process.ts', import.meta.url)
/** Signals of a terminal or a supervisor, which say nothing about the message. */
const FROM_OUTSIDE = new Set<NodeJS.Signals | null>(['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * A parser with its own process. It starts when a message comes, and ends after a large one or when none has come for a while. It is not a
 * thread: the memory that a thread takes outside of its heap stays with the whole process, in small pieces of 600 MB in all after a dozen
 * hostile messages.
 */
export function openParser({ timeoutMs = 20_000, maxHeapMb = 512, idleMs = 10_000 }: Options = {}): MailParser {
  let child: ChildProcess | undefined
  let underway: Underway | undefined
  let idle: NodeJS.Timeout | undefined
  let lastId = 0
  const turns = new Semaphore(1)

  function start(): ChildProcess {
    const started = fork(MODULE, {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${maxHeapMb}`],
      // It needs none of the service's secrets.
      env: process.env.TZ === undefined ? {} : { TZ: process.env.TZ },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    started.on('message', (reply: Reply) => {
      if (reply.id !== underway?.id) return
      if ('mail' in reply) underway.resolve(reply.mail)
      else underway.reject(new UnreadableMail(reply.error))
    })
    started.on('error', (error) => end(started, error))
    started.on('exit', (_, signal) =>
      end(started, FROM_OUTSIDE.has(signal) ? new Error(`The parser got ${signal}`) : new UnreadableMail('The parser ended')),
    )
    // An idle process does not keep the service alive.
    started.unref()
    started.channel?.unref()
    return started
  }

  function end(ended: ChildProcess, reason: Error): void {
    ended.kill('SIGKILL')
    if (child !== ended) return
    child = undefined
    underway?.reject(reason)
  }

  function stop(): void {
    clearTimeout(idle)
    child?.kill('SIGKILL')
    child = undefined
  }

  async function parseNow(raw: Uint8Array, authservId: string | undefined): Promise<ParsedMail> {
    clearTimeout(idle)
    const isLarge = raw.byteLength > LARGE_BYTES
    child ??= start()
    const current = child
    const id = ++lastId
    const tooSlow = () => end(current, new UnreadableMail(`The message could not be read within ${timeoutMs / 1000} s`))
    const timer = setTimeout(tooSlow, timeoutMs)
    try {
      return await new Promise((resolve, reject) => {
        underway = { id, resolve, reject }
        current.send({ id, raw, authservId })
      })
    } finally {
      clearTimeout(timer)
      underway = undefined
      if (isLarge) stop()
      else idle = setTimeout(stop, idleMs).unref()
    }
  }

  return {
    parse: (raw, authservId) => turns.run(() => parseNow(raw, authservId)),
    async close() {
      // Waiting messages are parsed first.
      await turns.acquire()
      stop()
    },
  }
}
