/**
 * Remembers when a request of an account that needs few places has last begun. It remembers two accounts, so that each party can be asked about one
 * other than itself.
 */
export class LightAccounts {
  #newest = ''
  #newestAt = Number.NEGATIVE_INFINITY
  #former = ''
  #formerAt = Number.NEGATIVE_INFINITY

  /** Notes that a request of the account has begun, and that it needs few places. */
  note(account: string, now: number): void {
    if (account !== this.#newest) {
      this.#former = this.#newest
      this.#formerAt = this.#newestAt
      this.#newest = account
    }
    this.#newestAt = now
  }

  /** Notes that the account needs many places, or more than it gets. */
  forget(account: string): void {
    if (account === this.#newest) {
      this.#newest = this.#former
      this.#newestAt = this.#formerAt
    } else if (account !== this.#former) return
    this.#former = ''
    this.#formerAt = Number.NEGATIVE_INFINITY
  }

  /** When a request of an account other than the party has last begun. */
  lastBeside(party: string): number {
    return party === this.#newest ? this.#formerAt : this.#newestAt
  }
}
