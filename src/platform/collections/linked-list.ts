/**
 * A list for what changes with every request. A Map or a Set of requests would keep each request long after its end: V8 replaces the table
 * of a Map after a few additions and removals, and the old table refers to its successor and to its entries. Once a table is in the old
 * generation, all later entries survive until the next full collection.
 */

/** An item that was added. */
export interface Entry<Item> {
  /** Undefined once it was removed. */
  item: Item | undefined
  older: Entry<Item> | undefined
  newer: Entry<Item> | undefined
}

/** The items in the order in which they were added or moved to the end. */
export class LinkedList<Item> {
  #oldest: Entry<Item> | undefined
  #newest: Entry<Item> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get oldest(): Item | undefined {
    return this.#oldest?.item
  }

  get newest(): Item | undefined {
    return this.#newest?.item
  }

  add(item: Item): Entry<Item> {
    const entry: Entry<Item> = { item, older: undefined, newer: undefined }
    this.#append(entry)
    this.#size++
    return entry
  }

  /** Removing an entry again has no effect. */
  remove(entry: Entry<Item>): void {
    if (entry.item === undefined) return
    // A removed entry must not keep later entries alive.
    this.#unlink(entry)
    entry.item = undefined
    this.#size--
  }

  /** Makes the entry the newest, unless it was removed. */
  moveToEnd(entry: Entry<Item>): void {
    if (entry.item === undefined || entry === this.#newest) return
    this.#unlink(entry)
    this.#append(entry)
  }

  #append(entry: Entry<Item>): void {
    entry.older = this.#newest
    if (this.#newest) this.#newest.newer = entry
    else this.#oldest = entry
    this.#newest = entry
  }

  #unlink(entry: Entry<Item>): void {
    const { older, newer } = entry
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    entry.older = undefined
    entry.newer = undefined
  }

  /** The entries. The current one may be removed meanwhile; if the next one is, the iteration ends. */
  *[Symbol.iterator](): Generator<Entry<Item> & { item: Item }> {
    for (let entry = this.#oldest; entry?.item !== undefined; ) {
      const { newer } = entry
      yield entry as Entry<Item> & { item: Item }
      entry = newer
    }
  }
}
