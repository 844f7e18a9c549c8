/** Statements that take long run a few at a time, so that they leave connections to the short ones. */
import { unavailable } from './errors.ts'

/** What took longer the last time is a scan; along an index a page takes milliseconds, on a busy machine tens. */
const LONG_MS = 500
/** How many run at once in a process (design.md §3), of the ten connections that it has. */
const PLACES = 4
/** Whoever waits for a place holds no connection, and can be left to wait longer than for one. */
const PATIENCE_MS = 5_000
/** Texts that are remembered to take long, the latest. */
const MAX_REMEMBERED = 200

/** Somebody who waits for an answer. */
export interface Caller {
  /** Calls back when they hang up before it. @returns how to stop listening */
  onHangUp(listener: () => void): () => void
}

/** One a process. Nothing is asked of Postgres to tell scans from other statements: how long each text took says it. */
export class Scans {
  readonly #long = new Set<string>()
  readonly #queue = new Set<() => void>()
  #running = 0

  /**
   * Waits for a place, if the statement needs one.
   * @returns how to give it back; undefined where none is needed
   * @throws AppError 503 when none was to be had in time, or the caller hung up
   */
  enter(text: string, caller: Caller): Promise<() => void> | undefined {
    return this.#long.has(text) ? this.#place(caller) : undefined
  }

  /** Remembers how long the statement took. @param isAnswered false when it failed, which says nothing for it */
  note(text: string, tookMs: number, isAnswered: boolean): void {
    if (tookMs < LONG_MS) {
      if (isAnswered && this.#long.size) this.#long.delete(text)
      return
    }
    this.#long.delete(text)
    this.#long.add(text)
    const [oldest] = this.#long.size > MAX_REMEMBERED ? this.#long : []
    if (oldest !== undefined) this.#long.delete(oldest)
  }

  async #place(caller: Caller): Promise<() => void> {
    if (this.#running < PLACES) this.#running++
    else await this.#turn(caller)
    return () => {
      // The place passes on to the one who waits longest, so the count stays.
      const [next] = this.#queue
      if (next) next()
      else this.#running--
    }
  }

  #turn(caller: Caller): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      this.#queue.delete(take)
      clearTimeout(timer)
      stop()
    }
    const take = () => {
      leave()
      resolve()
    }
    const giveUp = () => {
      leave()
      reject(unavailable('Too busy, please try again', 2))
    }
    const timer = setTimeout(giveUp, PATIENCE_MS)
    const stop = caller.onHangUp(giveUp)
    this.#queue.add(take)
    return promise
  }
}
