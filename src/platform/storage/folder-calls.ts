/**
 * Calls of the file system on a folder that may be on another machine. A call cannot be cancelled: while the other machine is gone, it
 * keeps one of the few threads that Node has for all calls of the file system, for DNS and for cryptography. So a folder gets some of these
 * threads, and never all of them.
 */
import { Semaphore } from '../concurrency/semaphore.ts'

/** The threads of the process (libuv's pool). The start command sets more than libuv's four. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE) || 4
/** The threads that no folder gets. */
const KEPT_FREE = 2

/** The calls of this process that have not ended. */
let unended = 0

/**
 * Whether a call has not ended. Node waits for all threads of its pool when a process exits, so a process with a call that hangs can only
 * be ended by a signal.
 */
export const hasUnendedCalls = (): boolean => unended > 0

interface CallOptions<Result> {
  /** How many times the usual limit the call may take, if that is longer than others. */
  patience?: number
  /** Called when a call that was given up ends after all; undefined if it has failed. */
  onLate?: (result: Result | undefined) => unknown
}

export class FolderCalls {
  readonly #limitMs: number
  readonly #threads: number
  readonly #permits: Semaphore
  /** The calls that were given up and have not ended. */
  #hanging = 0

  /** @param limitMs the longest time for a call, including the wait for a thread @param folders how many folders share the threads */
  constructor(limitMs: number, folders: number) {
    this.#limitMs = limitMs
    this.#threads = Math.max(1, Math.floor((THREADS - KEPT_FREE) / folders))
    this.#permits = new Semaphore(this.#threads, () => new NoAnswer(limitMs, false))
  }

  /** The result of the call. @throws what the call throws; Error if it takes too long. It then goes on, and keeps its thread meanwhile */
  async run<Result>(call: () => Promise<Result>, { patience = 1, onLate }: CallOptions<Result> = {}): Promise<Result> {
    // Nobody waits for threads that all hang: thousands of requests would pile up.
    if (this.#hanging >= this.#threads) throw new NoAnswer(0, false)
    const limitMs = this.#limitMs * patience
    const release = await this.#permits.acquire({ timeoutMs: limitMs })
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#hanging++
      reject(new NoAnswer(limitMs, true))
    }, limitMs)
    unended++
    const ended = (tell: () => void, result?: Result) => {
      unended--
      clearTimeout(timer)
      release()
      if (!isLate) return tell()
      this.#hanging--
      onLate?.(result)
    }
    call().then(
      (result) => ended(() => resolve(result), result),
      (error) => ended(() => reject(error)),
    )
    return promise
  }

  /** Runs the call as soon as a thread is free, to clean up after work that has failed. Its result is ignored. */
  later(call: () => Promise<unknown>): void {
    this.#permits.run(call).catch(() => {})
  }
}

/** The folder does not answer. */
export class NoAnswer extends Error {
  /** True if the call has begun, and may still end. */
  readonly isStarted: boolean

  constructor(limitMs: number, isStarted: boolean) {
    super(limitMs ? `The folder has not answered for ${limitMs} ms` : 'The folder does not answer; all calls to it hang')
    this.isStarted = isStarted
  }
}
