/** Statements that callers wait for, and that may take long, run a few at a time: the other connections are for the short ones. */
import { unavailable } from '../http/errors.ts'

/** What took longer the last time is a scan; along an index a page takes milliseconds, on a busy machine tens. */
const LONG_MS = 500
/** A scan that is quicker than this is none any more. Between the two it may only have had less company. */
const SHORT_MS = 100
/** How many scans run at once in a process (design.md §3), of the ten connections that it has. */
const SCANS = 4
/** Whoever waits for a place holds no connection, and can be left to wait longer than for one. */
const PATIENCE_MS = 5_000
/** Texts that are remembered to take long, the latest. */
const MAX_REMEMBERED = 200

/** Somebody who waits for an answer. */
export interface Caller {
  /** Calls back when they hang up before it. @returns how to stop listening */
  onHangUp(listener: () => void): () => void
}

type Leave = () => void

/** One a process. Nothing is asked of Postgres to tell scans from other statements: how long each text took says it. */
export class Scans {
  readonly #long = new Set<string>()
  readonly #scans = new Places(SCANS)
  readonly #all: Places

  /** @param places how many statements run at once, scans among them: fewer than there are connections */
  constructor(places: number) {
    this.#all = new Places(places)
  }

  /**
   * Waits for a place; a scan for one among the scans, too.
   * @returns how to give it back
   * @throws AppError 503 when none was to be had in time, or the caller hung up
   */
  enter(text: string, caller: Caller): Leave | Promise<Leave> {
    return this.#long.has(text) ? this.#enterBoth(caller) : this.#all.take(caller)
  }

  async #enterBoth(caller: Caller): Promise<Leave> {
    const leaveScans = await this.#scans.take(caller)
    try {
      const leave = await this.#all.take(caller)
      return () => {
        leave()
        leaveScans()
      }
    } catch (error) {
      leaveScans()
      throw error
    }
  }

  /** Remembers how long the statement took. @param isAnswered false when it failed, which says nothing for it */
  note(text: string, tookMs: number, isAnswered: boolean): void {
    if (tookMs < LONG_MS) {
      if (isAnswered && tookMs < SHORT_MS && this.#long.size) this.#long.delete(text)
      return
    }
    this.#long.delete(text)
    this.#long.add(text)
    const [oldest] = this.#long.size > MAX_REMEMBERED ? this.#long : []
    if (oldest !== undefined) this.#long.delete(oldest)
  }
}

/** A number of places, and a queue for them. */
class Places {
  readonly #queue = new Set<() => void>()
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  /** @throws AppError 503 when it took too long, or the caller hung up */
  take(caller: Caller): Leave | Promise<Leave> {
    if (this.#free === 0) return this.#turn(caller)
    this.#free--
    return this.#leave
  }

  /** The place passes on to the one who waits longest. */
  readonly #leave = () => {
    const [next] = this.#queue
    if (next) next()
    else this.#free++
  }

  #turn(caller: Caller): Promise<Leave> {
    const { promise, resolve, reject } = Promise.withResolvers<Leave>()
    const stopWaiting = () => {
      this.#queue.delete(take)
      clearTimeout(timer)
      stop()
    }
    const take = () => {
      stopWaiting()
      resolve(this.#leave)
    }
    const giveUp = () => {
      stopWaiting()
      reject(unavailable('Too busy, please try again', 2))
    }
    const timer = setTimeout(giveUp, PATIENCE_MS)
    const stop = caller.onHangUp(giveUp)
    this.#queue.add(take)
    return promise
  }
}
