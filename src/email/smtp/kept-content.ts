/** A longer content is composed again for each copy, because its bytes would stay in memory while the copies are sent. */
const MOST_BYTES = 1_048_576

/** The bytes of a message of which each recipient gets a copy. A short one is composed and signed only once. */
export class KeptContent {
  #blocks: readonly Buffer[] | undefined

  /** The content, from memory if it was read to its end before. @param compose composes it */
  async *read(compose: () => AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    if (this.#blocks) return yield* this.#blocks
    const blocks: Buffer[] = []
    let bytes = 0
    for await (const block of compose()) {
      bytes += block.length
      if (bytes <= MOST_BYTES) blocks.push(block)
      else blocks.length = 0
      yield block
    }
    if (bytes <= MOST_BYTES) this.#blocks = blocks
  }
}
