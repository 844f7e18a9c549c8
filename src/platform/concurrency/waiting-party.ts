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

  constructor(name: string) {
    this.name = name
  }

  /** Whether it is being refused: its newest request is served first, and none that has waited for long. */
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
    this.#refusingUntil = now + REFUSING_MS
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
