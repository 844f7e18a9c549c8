/**
 * Reads the content of a signed or compressed CMS message (RFC 5652 §5, RFC 3274): the message in opaque S/MIME (RFC 8551 §3.5.2).
 * Signatures are not checked. Lengths may be indefinite (BER, X.690 §8.1.3), as programs write them that stream.
 */
import { inflateSync } from 'node:zlib'

const SIGNED = '2a864886f70d010702'
const COMPRESSED = '2a864886f70d0109100109'

const [SEQUENCE, OBJECT_ID, OCTETS, IS_CONSTRUCTED, FIRST_OF_CONTEXT] = [0x30, 0x06, 0x04, 0x20, 0xa0]
const MAX_DEPTH = 30
const MAX_INFLATED = 32 * 1_048_576

/** Bytes that are no CMS, or end too early. */
class NotCms extends Error {}

/** The content; undefined for an encrypted message, one without a content, and bytes that are no CMS. */
export function contentOfCms(given: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  try {
    // Some programs leave out the header that says that it is in base64.
    return contentIn(
      new BerReader(bytes[0] === SEQUENCE ? bytes : Buffer.from(bytes.toString('latin1').replace(/-----[^-]*-----/g, ''), 'base64')),
    )
  } catch (error) {
    if (error instanceof NotCms || (error as NodeJS.ErrnoException).code?.startsWith('Z_') || error instanceof RangeError) return undefined
    throw error
  }
}

/** ContentInfo: the kind, and in it the version, the algorithms, and the kind and the octets of the content. */
function contentIn(reader: BerReader): Buffer | undefined {
  reader.enter(SEQUENCE)
  const kind = reader.primitive(OBJECT_ID).toString('hex')
  if (kind !== SIGNED && kind !== COMPRESSED) return undefined
  reader.enter(FIRST_OF_CONTEXT)
  reader.enter(SEQUENCE)
  reader.skip()
  reader.skip()
  reader.enter(SEQUENCE)
  reader.primitive(OBJECT_ID)
  if (!reader.isNext(FIRST_OF_CONTEXT)) return undefined
  reader.enter(FIRST_OF_CONTEXT)
  const content = reader.octets()
  return kind === COMPRESSED ? inflateSync(content, { maxOutputLength: MAX_INFLATED }) : content
}

interface Header {
  tag: number
  /** Undefined for an indefinite length, which two zero bytes end. */
  length: number | undefined
}

/** Goes through elements in their order. */
class BerReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  isNext(tag: number): boolean {
    return this.#bytes[this.#at] === tag
  }

  /** Goes to the first element within the next one. */
  enter(tag: number): void {
    if (this.#header().tag !== tag) throw new NotCms()
  }

  primitive(tag: number): Buffer {
    const header = this.#header()
    if (header.tag !== tag || header.length === undefined) throw new NotCms()
    return this.#take(header.length)
  }

  skip(depth = 0): void {
    const { tag, length } = this.#header()
    if (length !== undefined) this.#take(length)
    else this.#untilEnd(tag, depth, () => this.skip(depth + 1))
  }

  /** The octets of a string, which may be in pieces. */
  octets(): Buffer {
    const octets = new Octets(this.#bytes.byteLength - this.#at)
    this.#collect(octets, 0)
    return octets.collected
  }

  #collect(octets: Octets, depth: number): void {
    const { tag, length } = this.#header()
    if ((tag & ~IS_CONSTRUCTED) !== OCTETS) throw new NotCms()
    if (!(tag & IS_CONSTRUCTED)) {
      if (length === undefined) throw new NotCms()
      octets.add(this.#take(length))
    } else if (length === undefined) this.#untilEnd(tag, depth, () => this.#collect(octets, depth + 1))
    else for (const end = this.#at + length; this.#at < end; ) this.#collect(octets, depth + 1)
    if (depth > MAX_DEPTH) throw new NotCms()
  }

  /** Reads the elements of one with an indefinite length. */
  #untilEnd(tag: number, depth: number, read: () => void): void {
    if (depth > MAX_DEPTH || !(tag & IS_CONSTRUCTED)) throw new NotCms()
    while (this.#bytes[this.#at] !== 0 || this.#bytes[this.#at + 1] !== 0) read()
    this.#at += 2
  }

  #header(): Header {
    const tag = this.#byte()
    // Tags of several bytes are not used in CMS.
    if ((tag & 0x1f) === 0x1f) throw new NotCms()
    const first = this.#byte()
    if (first === 0x80) return { tag, length: undefined }
    if (first < 0x80) return { tag, length: first }
    const bytes = this.#take(first & 0x7f)
    if (bytes.byteLength > 6) throw new NotCms()
    return { tag, length: bytes.readUIntBE(0, bytes.byteLength) }
  }

  #byte(): number {
    return this.#take(1)[0] as number
  }

  #take(length: number): Buffer {
    const bytes = this.#bytes.subarray(this.#at, this.#at + length)
    if (bytes.byteLength < length) throw new NotCms()
    this.#at += length
    return bytes
  }
}

/** The octets of a string that has come in pieces, of which there may be millions. */
class Octets {
  readonly #bytes: Buffer
  #length = 0

  constructor(most: number) {
    this.#bytes = Buffer.alloc(most)
  }

  add(piece: Buffer): void {
    this.#length += piece.copy(this.#bytes, this.#length)
  }

  get collected(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}
