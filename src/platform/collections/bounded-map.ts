import { type Entry, LinkedList } from './linked-list.ts'

interface Kept<Key, Value> {
  readonly key: Key
  value: Value
  weight: number
}

/**
 * A map of at most `max` entries, and of at most `mostWeight` if they have weights. A new entry takes the place of those that were read or
 * written longest ago; it stays, however heavy it is.
 */
export class BoundedMap<Key, Value> {
  readonly #max: number
  readonly #mostWeight: number
  readonly #entries = new Map<Key, Entry<Kept<Key, Value>>>()
  /** The order of use. That of the map stays as it is: moving an entry to its end at each use would replace its table all the time. */
  readonly #used = new LinkedList<Kept<Key, Value>>()
  #weight = 0

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
    this.#used.moveToEnd(entry)
    return entry.item?.value
  }

  /** Whether the map has the key. Asking does not count as a use. */
  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value, weight = 0): void {
    this.#put(key, value, weight)
    while (this.#entries.size > this.#max || (this.#weight > this.#mostWeight && this.#entries.size > 1)) {
      const { oldest } = this.#used
      if (oldest) this.delete(oldest.key)
    }
  }

  #put(key: Key, value: Value, weight: number): void {
    const entry = this.#entries.get(key)
    if (entry?.item) {
      this.#weight += weight - entry.item.weight
      Object.assign(entry.item, { value, weight })
      this.#used.moveToEnd(entry)
    } else {
      this.#weight += weight
      this.#entries.set(key, this.#used.add({ key, value, weight }))
    }
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#weight -= entry.item?.weight ?? 0
    this.#used.remove(entry)
    this.#entries.delete(key)
  }
}
