/**
 * A party of which many requests wait gives way to accounts that need few places: else their requests would wait for all that it has in progress,
 * until a flood is noticed (fair-limit.ts).
 */
import { LightAccounts } from './light-accounts.ts'
import { isAccountParty } from './party.ts'
import type { WaitingParty } from './waiting-party.ts'

export interface GivesWay {
  /** A party gives way if more than this wait. */
  manyWaiting: number
  /** The places that it keeps. The other account must need no more itself, and none of it may wait. A party on trial gets them, too. */
  places: (now: number) => number
  /** For how long it gives way after a request of the other account has begun. It must have time left to catch up … */
  forMs: number
  /** … but while clearly more of its requests come than are served, as at the beginning of a flood, it gives way for this time. */
  excessForMs: number
}

type Party = WaitingParty<unknown>

export class GivingWay {
  readonly #options: GivesWay
  readonly #light = new LightAccounts()

  constructor(options: GivesWay) {
    this.#options = options
  }

  /** Notes that a request of the party has got its place. */
  begins(party: Party, now: number): void {
    if (!isAccountParty(party.name)) return
    const isLight = party.waiting.length === 0 && party.inside <= this.#options.places(now) && !party.isRefused(now)
    if (isLight) this.#light.note(party.name, now)
    else this.#light.forget(party.name)
  }

  /** Whether the party has to leave a free place to others. */
  mustWait(party: Party, now: number): boolean {
    const { manyWaiting, places } = this.#options
    return party.waiting.length > manyWaiting && this.isBesideLight(party, now) && party.inside >= places(now)
  }

  /** Whether a request of another account that needs few places has begun a moment ago. */
  isBesideLight(party: Party, now: number): boolean {
    const { forMs, excessForMs } = this.#options
    return now < this.#light.lastBeside(party.name) + (party.inflow.exceedsServed ? excessForMs : forMs)
  }
}
