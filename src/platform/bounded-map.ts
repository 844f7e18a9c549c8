/**
 * A map of at most `max` entries, and of at most `mostWeight` if they have weights. A new entry takes the place of those that were read or
 * written longest ago; it stays, however heavy it is.
 */
export class BoundedMap<Key, Value> {
  readonly #max: number
  /** A Map iterates in the order of insertion, so the entry that was used longest ago is always the first. */
  readonly #entries = new Map<Key, { value: Value; weight: number }>()
  readonly #mostWeight: number
  #weight = 0
  /** The key that is last in the order. Reading it again moves nothing. */
  #newest: Key | undefined

  constructor(max: number, mostWeight = Number.POSITIVE_INFINITY) {
    this.#max = max
    this.#mostWeight = mostWeight
  }

  get size(): number {
    return this.#entries.size
  }

  /** The value of the key, which counts as used now; undefined if it is not in the map. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    if (key !== this.#newest) this.#moveToEnd(key, entry)
    return entry.value
  }

  /** Whether the map has the key. Asking does not count as a use. */
  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value, weight = 0): void {
    this.#weight += weight - (this.#entries.get(key)?.weight ?? 0)
    this.#moveToEnd(key, { value, weight })
    while (this.#entries.size > this.#max || (this.#weight > this.#mostWeight && this.#entries.size > 1)) {
      const [oldest] = this.#entries.keys()
      this.delete(oldest as Key)
    }
  }

  delete(key: Key): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    this.#entries.delete(key)
  }

  #moveToEnd(key: Key, entry: { value: Value; weight: number }): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    this.#newest = key
  }
}
