/** A map of at most `max` entries. A new entry takes the place of the one that was read or written longest ago. */
export class BoundedMap<Key, Value> {
  readonly #max: number
  /** A Map iterates in the order of insertion, so the entry that was used longest ago is always the first. */
  readonly #entries = new Map<Key, { value: Value }>()
  /** The key that is last in the order. Reading it again moves nothing. */
  #newest: Key | undefined

  constructor(max: number) {
    this.#max = max
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

  set(key: Key, value: Value): void {
    this.#moveToEnd(key, { value })
    if (this.#entries.size <= this.#max) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest as Key)
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }

  #moveToEnd(key: Key, entry: { value: Value }): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    this.#newest = key
  }
}
