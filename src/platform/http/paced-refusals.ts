/**
 * Paces refusals. A refusal costs a good part of a small read, so clients that repeat a refused request at once could keep the process
 * busy with refusals. Their next refusals are held back: each response lets a few of them go.
 */
import type { Socket } from 'node:net'

/** A connection that sends a request within this time after a refusal has probably ignored Retry-After. That of a proxy may carry another caller. */
const REPEATED_WITHIN_MS = 1_000
const HELD_MS = { least: 100, most: 250 }
const PER_RESPONSE = 4
/** One more lets the oldest go: each keeps its request and answer in memory, and a thousand make each garbage collection three times as long. */
const MOST_HELD = 200
const SWEEP_MS = 50

interface Held {
  refuse: () => void
  since: number
}

export class PacedRefusals {
  readonly #refusedAt = new WeakMap<Socket, number>()
  /** In the order of their times. */
  readonly #held: Held[] = []
  #sweeper: NodeJS.Timeout | undefined

  /** Calls `refuse`: at once, or later if the connection was refused just before. */
  refuse(socket: Socket, refuse: () => void): void {
    const now = performance.now()
    const isRepeated = now - (this.#refusedAt.get(socket) ?? Number.NEGATIVE_INFINITY) < REPEATED_WITHIN_MS
    this.#refusedAt.set(socket, now)
    if (isRepeated) this.#hold(refuse, now)
    else refuse()
  }

  #hold(refuse: () => void, now: number): void {
    this.#held.push({ refuse, since: now })
    if (this.#held.length > MOST_HELD) this.#held.shift()?.refuse()
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** To be called after each response that is not a refusal. */
  responded(): void {
    if (this.#held.length) this.#release(performance.now() - HELD_MS.least, PER_RESPONSE)
  }

  #sweep(): void {
    this.#release(performance.now() - HELD_MS.most, this.#held.length)
    if (this.#held.length) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Lets those go that are held since before the time, the oldest first. */
  #release(before: number, most: number): void {
    for (let count = 0; count < most && this.#held[0] && this.#held[0].since <= before; count++) this.#held.shift()?.refuse()
  }
}
