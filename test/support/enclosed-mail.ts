/** Builds what Outlook and Exchange put around messages: CMS of opaque S/MIME, and winmail.dat. */

/** An element of ASN.1 in DER. */
export function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const length = content.byteLength < 0x80 ? Buffer.from([content.byteLength]) : longLength(content.byteLength)
  return Buffer.concat([Buffer.from([tag]), length, content])
}

const longLength = (length: number): Buffer => {
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xffff ? 8 : 4, '0'), 'hex')
  return Buffer.concat([Buffer.from([0x80 + bytes.byteLength]), bytes])
}

/** The same in BER with an indefinite length. */
export const ber = (tag: number, ...contents: Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.from([tag, 0x80]), ...contents, Buffer.alloc(2)])

const DATA = der(0x06, Buffer.from('2a864886f70d010701', 'hex'))
const SIGNED = der(0x06, Buffer.from('2a864886f70d010702', 'hex'))
const SHA_256 = der(0x30, der(0x06, Buffer.from('608648016503040201', 'hex')), der(0x05))

/** A signed message without certificates and signers. @param isStreamed true for indefinite lengths and content in pieces */
export function signedCms(content: Buffer, { isStreamed = false, kind = SIGNED } = {}): Buffer {
  const element = isStreamed ? ber : der
  const half = Math.ceil(content.byteLength / 2)
  const octets = isStreamed ? ber(0x24, der(0x04, content.subarray(0, half)), der(0x04, content.subarray(half))) : der(0x04, content)
  const signed = element(0x30, der(0x02, Buffer.from([1])), element(0x31, SHA_256), element(0x30, DATA, element(0xa0, octets)), der(0x31))
  return element(0x30, kind, element(0xa0, signed))
}

const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** An attribute of winmail.dat. @param level 1 for the message, 2 for a file */
function attribute(level: number, id: number, value: Buffer): Buffer {
  const checksum = value.reduce((sum, byte) => (sum + byte) & 0xffff, 0)
  return Buffer.concat([Buffer.from([level]), number(id), number(value.byteLength), value, Buffer.from([checksum & 0xff, checksum >> 8])])
}

const padded = (value: Buffer) => Buffer.concat([value, Buffer.alloc((4 - (value.byteLength % 4)) % 4)])

export const [STRING_8, UNICODE, BINARY, OBJECT, NUMBER] = [0x1e, 0x1f, 0x102, 0x0d, 0x03]

/** The properties of a message or a file: the id, the type and the value of each. */
export function mapiProperties(properties: [id: number, type: number, value: Buffer | string | number][]): Buffer {
  const written = properties.map(([id, type, value]) => {
    const tag = number(id * 0x10000 + type)
    // A property with a name.
    const name = id >= 0x8000 ? Buffer.concat([Buffer.alloc(16, 7), number(0), number(1)]) : Buffer.alloc(0)
    if (typeof value === 'number') return Buffer.concat([tag, name, number(value)])
    const bytes = typeof value === 'string' ? Buffer.from(`${value}\0`, type === UNICODE ? 'utf16le' : 'latin1') : value
    return Buffer.concat([tag, name, number(1), number(bytes.byteLength), padded(bytes)])
  })
  return Buffer.concat([number(properties.length), ...written])
}

export interface TnefFile {
  name?: string
  content?: Buffer
  properties?: Buffer
}

/** winmail.dat with the properties of a message and files. */
export function winmail({ properties, text, files = [] }: { properties?: Buffer; text?: string; files?: TnefFile[] }): Buffer {
  return Buffer.concat([
    Buffer.from('789f3e22', 'hex'),
    Buffer.from([1, 0]),
    attribute(1, 0x89006, Buffer.from('00000100', 'hex')),
    attribute(1, 0x69007, Buffer.concat([number(1252), number(0)])),
    ...(text === undefined ? [] : [attribute(1, 0x2800c, Buffer.from(`${text}\0`, 'latin1'))]),
    ...(properties ? [attribute(1, 0x69003, properties)] : []),
    ...files.flatMap(({ name, content, properties: own }) => [
      attribute(2, 0x69002, Buffer.alloc(14)),
      ...(name === undefined ? [] : [attribute(2, 0x18010, Buffer.from(`${name}\0`, 'latin1'))]),
      ...(content ? [attribute(2, 0x6800f, content)] : []),
      ...(own ? [attribute(2, 0x69005, own)] : []),
    ]),
  ])
}

/** RTF as Outlook compresses it, without references: eight letters after each control byte. */
export function compressedRtf(rtf: string, { isCompressed = true } = {}): Buffer {
  const bytes = Buffer.from(rtf, 'latin1')
  const pieces = Array.from({ length: Math.ceil(bytes.byteLength / 8) }, (_, index) => [
    Buffer.from([0]),
    bytes.subarray(index * 8, index * 8 + 8),
  ]).flat()
  const content = isCompressed ? Buffer.concat(pieces) : bytes
  return Buffer.concat([
    number(content.byteLength + 12),
    number(bytes.byteLength),
    Buffer.from(isCompressed ? 'LZFu' : 'MELA'),
    number(0),
    content,
  ])
}
