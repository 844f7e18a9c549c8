/** Reads the properties of MAPI within winmail.dat (MS-OXTNEF §2.1.3.4). */

export interface Property {
  type: number
  /** Of several values the first. */
  value: Buffer
}

/** By the id of the property. */
export type Properties = Map<number, Property>

const MAX_PROPERTIES = 5_000
/** Properties from this id on have a name. */
const NAMED = 0x8000
const SEVERAL = 0x1000
/** Texts, bytes and objects say their length. All other types have one. */
const OF_ANY_LENGTH = new Set([0x0d, 0x1e, 0x1f, 0x102])
const LENGTHS: Record<number, number> = { 5: 8, 6: 8, 7: 8, 20: 8, 64: 8, 72: 16 }
const SHORT = 4

/** The properties; those before the damage if the bytes are cut or damaged. */
export function propertiesIn(bytes: Buffer): Properties {
  const properties: Properties = new Map()
  try {
    const reader = new Reader(bytes)
    for (let left = Math.min(reader.number(), MAX_PROPERTIES); left > 0; left--) addProperty(properties, reader)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return properties
}

function addProperty(properties: Properties, reader: Reader): void {
  const tag = reader.number()
  const [id, type] = [tag >>> 16, tag & 0xfff]
  if (id >= NAMED) skipName(reader)
  const isOfAnyLength = OF_ANY_LENGTH.has(type)
  const values = tag & SEVERAL || isOfAnyLength ? reader.number() : 1
  for (let index = 0; index < values; index++) {
    const value = reader.padded(isOfAnyLength ? reader.number() : (LENGTHS[type] ?? SHORT))
    if (index === 0) properties.set(id, { type, value })
  }
}

/** A GUID, and a number or a text. */
function skipName(reader: Reader): void {
  reader.padded(16)
  const isText = reader.number() === 1
  const length = reader.number()
  if (isText) reader.padded(length)
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  number(): number {
    return this.padded(4).readUInt32LE(0)
  }

  /** Values begin at multiples of four bytes. @throws RangeError if they are not there */
  padded(length: number): Buffer {
    const value = this.#bytes.subarray(this.#at, this.#at + length)
    if (value.byteLength < length) throw new RangeError('The properties are cut')
    this.#at += Math.ceil(length / 4) * 4
    return value
  }
}
