import { isAccountParty } from './party.ts'

/** Accounts compete if two of them have come within this time. */
const COMPETING_MS = 600_000

/** Notices that several accounts use the same limit. */
export class CompetingAccounts {
  #last = ''
  #lastAt = Number.NEGATIVE_INFINITY
  #until = 0

  /** Notes that a party has come. Those that are no accounts do not count. */
  notice(party: string, now: number): void {
    if (!isAccountParty(party)) return
    if (party !== this.#last) {
      if (now - this.#lastAt < COMPETING_MS) this.#until = now + COMPETING_MS
      this.#last = party
    }
    this.#lastAt = now
  }

  areThere(now: number): boolean {
    return now < this.#until
  }
}
