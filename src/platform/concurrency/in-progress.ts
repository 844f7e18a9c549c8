/**
 * What is in progress, the oldest first. A Map or a Set of requests would keep each request long after its end: V8 replaces the table of a Map
 * after a few additions and removals, and the old table refers to its successor and to the entries that it had. As soon as one table has been
 * promoted to the old generation, all later entries survive until the next full collection.
 */

/** An item that was added. */
export interface Entry<Item> {
  /** Undefined once it was removed. */
  item: Item | undefined
  older: Entry<Item> | undefined
  newer: Entry<Item> | undefined
}

export class InProgress<Item> {
  #oldest: Entry<Item> | undefined
  #newest: Entry<Item> | undefined

  add(item: Item): Entry<Item> {
    const entry: Entry<Item> = { item, older: this.#newest, newer: undefined }
    if (this.#newest) this.#newest.newer = entry
    else this.#oldest = entry
    this.#newest = entry
    return entry
  }

  /** Removing an entry again has no effect. */
  remove(entry: Entry<Item>): void {
    if (entry.item === undefined) return
    const { older, newer } = entry
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    // A removed entry must not keep later entries alive.
    entry.item = undefined
    entry.older = undefined
    entry.newer = undefined
  }

  /** The entries, of which the current one may be removed. */
  *[Symbol.iterator](): Generator<Entry<Item> & { item: Item }> {
    for (let entry = this.#oldest; entry; ) {
      const { newer } = entry
      yield entry as Entry<Item> & { item: Item }
      entry = newer
    }
  }
}
