/** What differs between the limits of the service (fair-limit.ts). */
import type { GivesWay } from './giving-way.ts'

export interface FairLimitOptions {
  /** The places while one party is alone and nobody is refused. */
  places: number
  /** The places while several parties compete. By default all. */
  competingPlaces?: number
  /**
   * A party whose requests are refused gets a place beyond its first only while fewer than this are taken: with fewer in progress, each ends sooner.
   * By default it is treated as without refusals.
   * @param refusedShare of the last hundreds of its requests, from 0 to 1
   * @param isBesideLight whether a request of another account that needs few places has begun a moment ago (`givesWay`)
   */
  refusingPlaces?: (refusedShare: number, isBesideLight: boolean) => number
  /** The places that a party leaves free for others while several compete. */
  keptFree: number
  /** True if a party leaves them free even while it is alone, because its work holds places for minutes. */
  isAlwaysShared?: boolean
  /** The number of requests of a party that may wait. One more takes the place of the one that has waited longest. */
  mostWaiting: number
  /**
   * With more than this waiting, a party that floods (inflow.ts) is refused; until then one beyond `mostWaiting` is refused by itself, and the party
   * only if one has waited for `waitMs`. At times a trial shows whether it still floods (waiting-party.ts). By default a party is refused as soon as one of its requests
   * is, and until a second after the last.
   */
  floodWaiting?: number
  /** A trial has failed as soon as more than this wait. By default `floodWaiting`. */
  trialWaiting?: number
  /** The longest wait; and the longest wait in a party whose requests are being refused. */
  waitMs: number
  refusingWaitMs: number
  /** How a party of which many requests wait gives way to accounts that need few places. By default it does not. */
  givesWay?: GivesWay
  /**
   * Work that takes longer than this no longer counts: it probably waits for a client, a lock or a slow statement, which have limits of
   * their own.
   */
  countedMs?: number
}
