/** Tells the separator of the cells of a file from its first row. */

export type Separator = ',' | ';' | '\t'

/** A first row that is longer has commas. */
const MAX_ROW_BYTES = 1_048_576

const [LF, CR, QUOTE, COMMA, SEMICOLON, TAB] = [0x0a, 0x0d, 0x22, 0x2c, 0x3b, 0x09]
const SEPARATORS: ReadonlySet<number> = new Set([COMMA, SEMICOLON, TAB])
const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Finds the end of the first row that is not empty, and what may separate its cells. The work is linear, however small the chunks are. */
class FirstRow {
  isComplete = false
  readonly #bytes: Buffer[] = []
  #size = 0
  /** True after a byte other than those of empty lines and of the byte order mark. */
  #hasBegun = false
  #isQuoted = false
  readonly #found = new Set<number>()

  add(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length && !this.isComplete) this.#step(chunk[at++] as number)
    this.#size += at
    this.#bytes.push(Buffer.from(chunk.subarray(0, at)))
    if (this.#size > MAX_ROW_BYTES) this.isComplete = true
  }

  #step(byte: number): void {
    const isLineEnd = byte === LF || byte === CR
    if (byte === QUOTE) this.#isQuoted = !this.#isQuoted
    this.#hasBegun ||= !isLineEnd && !UTF_8_MARK.includes(byte)
    if (this.#isQuoted) return
    if (isLineEnd) this.isComplete = this.#hasBegun
    else if (SEPARATORS.has(byte)) this.#found.add(byte)
  }

  /**
   * The separator: the only one of the three that is in the row. Beside commas, the others are part of the cells; semicolons beside tabs
   * leave it open.
   * @param isName whether the row as a single cell names something
   */
  separator(isName: (cell: string) => boolean): Separator {
    const [found, another] = this.#found
    if (found === undefined || found === COMMA || another !== undefined || this.#size > MAX_ROW_BYTES) return ','
    const text = Buffer.concat(this.#bytes)
      .toString()
      .replace(/^\uFEFF/, '')
      .trim()
    return isName(text) ? ',' : found === TAB ? '\t' : ';'
  }
}

/** @param isName whether a text is the name of a column, and a separator in it therefore part of the name */
export async function withSeparator(
  bytes: AsyncIterable<Uint8Array>,
  isName: (cell: string) => boolean,
): Promise<{ separator: Separator; bytes: AsyncIterable<Uint8Array> }> {
  const row = new FirstRow()
  const begun: Uint8Array[] = []
  const iterator = bytes[Symbol.asyncIterator]()
  while (!row.isComplete) {
    const next = await iterator.next()
    if (next.done) break
    begun.push(next.value)
    row.add(next.value)
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      yield* begun.splice(0)
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  return { separator: row.separator(isName), bytes: all() }
}
