/** A party of a limit (fair-limit.ts): what it has in progress, and its queue. */
import type { Entry } from '../collections/linked-list.ts'
import { Inflow } from './inflow.ts'

/** Waits for a place. One of its functions is called later, unless it stops waiting. */
export interface Waiter<Place> {
  enter(place: Place): void
  refuse(): void
}

export interface Waiting<Place> {
  readonly waiter: Waiter<Place>
  readonly weight: number
  readonly since: number
}

/** A party counts as refused for this time after its last refusal. */
export const REFUSING_MS = 1_000
/**
 * Callers who repeat a refused request at once look like a flood for as long as they are refused, even if there are only a few who would wait for their
 * answers. So a party is on trial at times, and nothing of it is refused: at first after a second, then after four times as long as before, but never after
 * more than 16 s. The queue of callers who wait for their answers soon stops growing, that of a flood does not.
 */
const TRIAL = { afterMs: 1_000, longer: 4, mostAfterMs: 16_000 }
/** The queue has stopped growing if it becomes longer by at most so many in this time. */
const STEADY = { forMs: 40, mostGrowth: 32 }
/** After this time without refusals the next trial comes after a second again. */
const FORGOTTEN_MS = 10_000
/** How much a request counts in the share that is refused. */
const SHARE_OF_ONE = 0.003

export class WaitingParty<Place> {
  readonly name: string
  /** The weight of its places that count. */
  inside = 0
  /** In the order of arrival. */
  readonly waiting: Waiting<Place>[] = []
  /** Its place among the parties that wait. */
  turn: Entry<WaitingParty<Place>> | undefined
  readonly inflow = new Inflow()
  #refusingUntil = 0
  #refusedShare = 0
  #trialAt = 0
  #trialAfterMs = TRIAL.afterMs
  /** How many waited when the trial was last looked at. */
  #seen: { length: number; at: number } | undefined

  constructor(name: string) {
    this.name = name
  }

  /** Whether it is being refused: its newest request is served first and, except in a trial, none that has waited for long. */
  isRefused(now: number): boolean {
    return now < this.#refusingUntil
  }

  /** The share of the last hundreds of its requests that was refused. */
  get refusedShare(): number {
    return this.#refusedShare
  }

  isIdle(now: number): boolean {
    // If a party that is being refused were forgotten, its next requests would be served oldest first, each after a full wait.
    return this.inside === 0 && this.waiting.length === 0 && !this.isRefused(now)
  }

  beginRefusing(now: number): void {
    if (!this.isRefused(now)) this.#tryAfter(now - this.#refusingUntil > FORGOTTEN_MS ? TRIAL.afterMs : this.#trialAfterMs, now)
    this.#refusingUntil = now + REFUSING_MS
  }

  /** Whether nothing of it is refused for a moment, although it is being refused, to see whether it still floods. */
  isOnTrial(now: number): boolean {
    return this.isRefused(now) && now >= this.#trialAt
  }

  /** To be called during a trial. @param most the number of waiting requests that only a flood exceeds */
  judgeTrial(most: number, now: number): void {
    const { length } = this.waiting
    this.#seen ??= { length, at: now }
    if (length > most) this.#tryAfter(Math.min(TRIAL.longer * this.#trialAfterMs, TRIAL.mostAfterMs), now)
    else if (now >= this.#seen.at + STEADY.forMs) {
      if (length - this.#seen.length <= STEADY.mostGrowth) this.#refusingUntil = now
      else this.#seen = { length, at: now }
    }
  }

  #tryAfter(ms: number, now: number): void {
    this.#trialAfterMs = ms
    this.#trialAt = now + ms
    this.#seen = undefined
  }

  noteRefusal(): void {
    this.#refusedShare += SHARE_OF_ONE * (1 - this.#refusedShare)
  }

  notePlace(): void {
    this.#refusedShare -= SHARE_OF_ONE * this.#refusedShare
  }

  add(waiting: Waiting<Place>): void {
    if (this.waiting.length === 0) this.inflow.reset()
    this.inflow.came()
    this.waiting.push(waiting)
  }

  /** @returns false if it does not wait any more */
  remove(waiting: Waiting<Place>): boolean {
    const at = this.waiting.indexOf(waiting)
    if (at >= 0) this.waiting.splice(at, 1)
    return at >= 0
  }
}
