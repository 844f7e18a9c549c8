/** Reads winmail.dat (MS-OXTNEF): the text and the files of a message as Exchange keeps it. */
import { textOfHtml } from '../../platform/mail/html-text.ts'
import { charsetNamed } from '../mime/charsets.ts'
import { decodedText } from '../mime/text-charset.ts'
import type { MadePart } from '../mime/tree.ts'
import { hasWords } from '../quoting/words.ts'
import { decompressedRtf } from './lzfu.ts'
import { type Properties, propertiesIn } from './mapi-properties.ts'
import { rtfText } from './rtf.ts'

export interface Tnef {
  /** '' without one. */
  text: string
  files: MadePart[]
  /** False if the end is missing or damaged. */
  isWhole: boolean
}

const SIGNATURE = Buffer.from('789f3e22', 'hex')
const HEADER_BYTES = 6
/** The level, the id and the length of an attribute; a checksum follows its value. */
const ATTRIBUTE_BYTES = 9
const CHECKSUM_BYTES = 2
/** Messages in messages in messages. */
const MAX_DEPTH = 3
const MAX_FILES = 1_000
const MAX_HTML = 1_048_576

/** The attributes of a message and of its files (§2.1.3.2). */
const [TEXT, MESSAGE_PROPERTIES, CODE_PAGE] = [0x2800c, 0x69003, 0x69007]
const [NEW_FILE, FILE_NAME, FILE_CONTENT, FILE_PROPERTIES] = [0x69002, 0x18010, 0x6800f, 0x69005]

/** The properties that are read (MS-OXPROPS). */
const MESSAGE = { text: 0x1000, rtf: 0x1009, html: 0x1013, codePage: 0x3fde }
const FILE = { title: 0x3001, content: 0x3701, shortName: 0x3704, name: 0x3707, type: 0x370e, cid: 0x3712 }

export const isTnef = (bytes: Uint8Array): boolean => SIGNATURE.equals(bytes.subarray(0, SIGNATURE.byteLength))

/** The message; undefined for other bytes. */
export function readTnef(given: Uint8Array, depth = 0): Tnef | undefined {
  if (!isTnef(given) || depth >= MAX_DEPTH) return undefined
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  const message: Item = { attributes: new Map(), properties: new Map() }
  const files: Item[] = []
  let at = HEADER_BYTES
  while (at + ATTRIBUTE_BYTES <= bytes.byteLength) {
    const id = bytes.readUInt32LE(at + 1)
    const start = at + ATTRIBUTE_BYTES
    const end = start + bytes.readUInt32LE(at + 5)
    if (end > bytes.byteLength || files.length > MAX_FILES) break
    if (id === NEW_FILE) files.push({ attributes: new Map(), properties: new Map() })
    const value = bytes.subarray(start, end)
    const item = bytes[at] === OF_FILE ? files.at(-1) : message
    item?.attributes.set(id, value)
    if (item && (id === MESSAGE_PROPERTIES || id === FILE_PROPERTIES)) item.properties = propertiesIn(value)
    at = end + CHECKSUM_BYTES
  }
  const page = pageOf(message)
  return { text: textIn(message, page), files: files.flatMap((file) => partsOf(file, page, depth)), isWhole: at >= bytes.byteLength }
}

const OF_FILE = 2

/** A message or a file of it. */
interface Item {
  attributes: Map<number, Buffer>
  properties: Properties
}

/** The name of the code page of texts that are not in Unicode. */
function pageOf({ attributes, properties }: Item): string | undefined {
  const page = properties.get(MESSAGE.codePage)?.value ?? attributes.get(CODE_PAGE)
  return page && page.byteLength >= 4 ? `cp${page.readUInt32LE(0)}` : undefined
}

const UNICODE = 0x1f

function textOf(item: Item, id: number, page: string | undefined): string {
  const { type, value } = item.properties.get(id) ?? {}
  return value ? decoded(value, type === UNICODE ? 'utf-16le' : page) : ''
}

/** Texts end with a zero. */
const decoded = (value: Buffer, charset: string | undefined): string => {
  const text = charset === 'utf-16le' ? charsetNamed(charset)?.decode(value) : decodedText(value, charset)
  return (text ?? '').replace(/\0.*$/s, '')
}

/** The first form of the text that has words: plain, HTML or RTF. */
function textIn(message: Item, page: string | undefined): string {
  const forms = [
    () => textOf(message, MESSAGE.text, page),
    () => decoded(message.attributes.get(TEXT) ?? Buffer.alloc(0), page),
    () => textOfHtml(textOf(message, MESSAGE.html, page).slice(0, MAX_HTML)),
    () => rtfText(decompressedRtf(message.properties.get(MESSAGE.rtf)?.value ?? Buffer.alloc(0)) ?? Buffer.alloc(0)),
  ]
  for (const form of forms) {
    const text = form()
    if (hasWords(text)) return text
  }
  return ''
}

/** An object is named by its interface (a GUID), and may be a message. */
const OBJECT = 0x0d
const GUID_BYTES = 16

function partsOf(file: Item, page: string | undefined, depth: number): MadePart[] {
  const { type: kind, value } = file.properties.get(FILE.content) ?? {}
  const content = value && kind === OBJECT ? value.subarray(GUID_BYTES) : (value ?? file.attributes.get(FILE_CONTENT))
  if (!content) return []
  const text = (id: number) => textOf(file, id, page)
  const attribute = decoded(file.attributes.get(FILE_NAME) ?? Buffer.alloc(0), page)
  const name = text(FILE.name) || attribute || text(FILE.title) || text(FILE.shortName)
  const message = readTnef(content, depth + 1)
  if (!message)
    return [{ name, type: text(FILE.type) || 'application/octet-stream', content, ...(text(FILE.cid) && { cid: text(FILE.cid) }) }]
  const words = message.text && {
    name: `${name || 'message'}.txt`,
    type: 'text/plain',
    charset: 'utf-8',
    content: Buffer.from(message.text),
  }
  return [...(words ? [words] : []), ...message.files]
}
