/**
 * Reads a raw message with postal-mime, and corrects what it does to the words of people: it joins flowed lines across quote depths, loses
 * parts behind a wrong boundary, and shows a text file as if the sender had typed it.
 */
import PostalMime, { type Email, type PostalMimeOptions } from 'postal-mime'
import { unflowed } from '../quoting/flowed.ts'
import { Base64Lines, BodyLines } from './body-lines.ts'
import { charsetOf } from './text-charset.ts'

export interface MimeMessage extends Email {
  /** The media type of the message. */
  type: string
  /** The parts of the message without those of messages in it, depth first. A message in it is one part. */
  parts: MessagePart[]
}

export interface MessagePart {
  type: string
  /** The character set that the part names. */
  charset: string | null
  /** The decoded bytes. */
  content: Uint8Array
}

/** Text is cut to fewer characters after it was read (mime.ts). */
const MAX_FLOWED = 1_000_000
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 1_048_576, maxRfc822NestingDepth: 3 }

/** @throws Error for a message with excessive nesting or headers */
export async function readMessage(raw: Uint8Array): Promise<MimeMessage> {
  const reader = new MessageParser(LIMITS)
  const email = await reader.parse(raw)
  const parts = leavesOf(reader.root).map(partOf)
  const isEmpty = !email.text?.trim() && !email.html && !email.attachments.length
  const text = isEmpty && parts.every(({ content }) => isBlank(content)) ? textAround(raw) || email.text : email.text
  return { ...email, ...(text !== undefined && { text }), type: reader.root.contentType.parsed.value, parts }
}

const isBlank = (content: Uint8Array) => content.every((byte) => byte <= 0x20)

/** The lines below the header that belong to no part, such as those that follow a boundary at once and were taken for header fields. */
function textAround(raw: Uint8Array): string {
  const whole = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MAX_FLOWED)).toString('utf8')
  const start = whole.search(/\r?\n\r?\n/)
  const lines = start < 0 ? [] : whole.slice(start).split(/\r?\n/)
  return lines
    .filter((line) => !/^(--|content-[\w-]+:|mime-version:)/i.test(line))
    .join('\n')
    .trim()
}

/** A node of the tree that postal-mime 4.0 builds. Its types do not contain the tree, so the tests notice when an update changes it. */
interface MimeNode {
  contentType: { value: string; parsed: { value: string; params: Record<string, string> }; multipart: string | false }
  contentDisposition: { parsed: { value: string; params: Record<string, string> } }
  contentTransferEncoding: { encoding: string }
  headers: { key: string }[]
  state: 'header' | 'body' | 'finished'
  contentDecoder: { update(line: Uint8Array): void } | null
  /** The decoded content; of a multipart, the text before its first part. */
  content: ArrayBuffer | null
  parentNode?: MimeNode
  childNodes: MimeNode[]
  decodeFlowedText(text: string, deleteSpace: boolean): string
}

interface Internals {
  root: MimeNode
  currentNode: MimeNode
  /** The message, and the position of its next line. */
  av: Uint8Array
  readPos: number
  readLine(): { bytes: Uint8Array; done: boolean }
  collectNode(node: MimeNode, alternative: MimeNode | false, isRelated: boolean): Promise<void>
}

const Parser = PostalMime as unknown as new (options: PostalMimeOptions) => PostalMime & Internals

const DASH = 0x2d
const LINE_FEED = 0x0a
const BOUNDARY_START = '\n--'
const BASE64 = /base64/i
const QUOTED_PRINTABLE = /quoted-printable/i

class MessageParser extends Parser {
  /** The text part that is the body although it has a file name. */
  #namedBody: MimeNode | undefined
  readonly #isRepair: boolean
  /** The parts that have had lines, and what collects those in base64. */
  readonly #bodies = new WeakMap<MimeNode, Base64Lines | undefined>()
  /** Where the last line begins. */
  #lastLine: number | undefined

  constructor(options: PostalMimeOptions, { isRepair = false } = {}) {
    super(options)
    this.#isRepair = isRepair
  }

  /**
   * Called for each line. Lines of a body that cannot be a boundary are all given to the decoder at once: a message may have millions of
   * them. The last line of the message, and the next one that may be a boundary, are left to postal-mime.
   */
  override readLine(): { bytes: Uint8Array; done: boolean } {
    const decoder = this.#decoderOfBody()
    if (!decoder) return super.readLine()
    const end = this.#endOfBodyLines()
    if (decoder instanceof BodyLines && end > this.readPos) {
      decoder.updateAll(this.av.subarray(this.readPos, end))
      this.readPos = end
    }
    while (this.readPos < end) decoder.update(super.readLine().bytes)
    return super.readLine()
  }

  /** What collects the lines of the body that is being read; undefined in a header. */
  #decoderOfBody(): MimeNode['contentDecoder'] | undefined {
    const node = this.currentNode
    if (node.state !== 'body' || !node.contentDecoder) return undefined
    if (!this.#bodies.has(node)) {
      const { encoding } = node.contentTransferEncoding
      const base64 = BASE64.test(encoding) ? new Base64Lines() : undefined
      this.#bodies.set(node, base64)
      if (base64 || !QUOTED_PRINTABLE.test(encoding)) node.contentDecoder = base64 ?? new BodyLines()
    }
    return node.contentDecoder
  }

  /** Where the next line begins that may be a boundary, or the last line. */
  #endOfBodyLines(): number {
    const { av, readPos } = this
    if (av[readPos] === DASH && av[readPos + 1] === DASH) return readPos
    const bytes = Buffer.from(av.buffer, av.byteOffset, av.byteLength)
    this.#lastLine ??= bytes.lastIndexOf(LINE_FEED, -2) + 1
    const next = bytes.indexOf(BOUNDARY_START, readPos)
    return next < 0 ? this.#lastLine : Math.min(next + 1, this.#lastLine)
  }

  /** Called for each node of the finished tree, parents first. */
  override async collectNode(node: MimeNode, alternative: MimeNode | false, isRelated: boolean): Promise<void> {
    if (isTextInFact(node, this.root)) node.contentType.parsed.value = 'text/plain'
    if (node === this.root) this.#namedBody = namedBody(node)
    if (isWithoutParts(node, this.root)) await this.#repair(node)
    await super.collectNode(node, alternative, isRelated)
  }

  /** Called for each leaf: whether it is text that the reader sees, not an attachment. */
  isInlineTextNode(node: MimeNode): boolean {
    if (!isText(node) || (isNamed(node) && node !== this.#namedBody)) return false
    node.decodeFlowedText = (text, deleteSpace) => unflowed(text.slice(0, MAX_FLOWED), deleteSpace)
    const { params } = node.contentType.parsed
    node.content = this.#bodies.get(node)?.unencoded() ?? node.content
    if (node.content) params.charset = charsetOf(new Uint8Array(node.content), params.charset, isHtml(node))
    return true
  }

  /** Finds the parts by the first line that looks like a boundary. Without such a line the whole body is one text. */
  async #repair(node: MimeNode): Promise<void> {
    const content = Buffer.from(node.content ?? new ArrayBuffer(0))
    const boundary = this.#isRepair ? undefined : guessedBoundary(content, Boolean(node.contentType.multipart))
    if (boundary !== undefined) {
      const type = node.contentType.multipart ? node.contentType.parsed.value : 'multipart/mixed'
      const repair = new MessageParser(LIMITS, { isRepair: true })
      await repair.parse(Buffer.concat([Buffer.from(`Content-Type: ${type}; boundary="${boundary}"\r\n\r\n`, 'latin1'), content]))
      node.childNodes = repair.root.childNodes
      node.contentType.multipart = type.slice('multipart/'.length)
      node.contentType.parsed.value = type
      if (node.childNodes.length) return
    }
    node.contentType.multipart = false
    node.contentType.parsed = { value: 'text/plain', params: {} }
  }
}

/** True for a multipart whose boundary is missing or never occurs, and for a whole message that lost its Content-Type. */
function isWithoutParts(node: MimeNode, root: MimeNode): boolean {
  if (node.childNodes.length || !node.content?.byteLength) return false
  if (node.contentType.multipart) return true
  const isTyped = node.headers.some(({ key }) => key === 'content-type')
  return node === root && !isTyped && guessedBoundary(Buffer.from(node.content), false) !== undefined
}

/**
 * The boundary that a line seems to be, because a header of a part follows it.
 * @param isMultipart false if nothing says that there are parts; then the closing line is needed, too
 */
function guessedBoundary(content: Buffer, isMultipart: boolean): string | undefined {
  const boundary = /^--([\w'()+,./:=?-]{1,200})[ \t]*\r?\nContent-[\w-]+:/im.exec(content.toString('latin1'))?.[1]
  if (boundary === undefined || isMultipart || content.includes(`\n--${boundary}--`)) return boundary
  return undefined
}

/** True for a body that mail programs show as plain text: its type is not one at all, or a kind of text that they do not know. */
function isTextInFact({ contentType, contentDisposition, ...node }: MimeNode, root: MimeNode): boolean {
  const { value, params } = contentType.parsed
  if (contentType.multipart || contentDisposition.parsed.value === 'attachment') return false
  if (contentDisposition.parsed.params.filename || params.name) return false
  if (!IS_TYPE.test(value)) return true
  return node.parentNode === root.parentNode && value.startsWith('text/') && !['text/plain', 'text/html', 'text/calendar'].includes(value)
}
const IS_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/

const isHtml = ({ contentType }: MimeNode) => contentType.parsed.value === 'text/html'

const isText = ({ contentType, contentDisposition }: MimeNode) =>
  ['text/plain', 'text/html'].includes(contentType.parsed.value) && contentDisposition.parsed.value !== 'attachment'

/** True for a part with a file name, unless it is one of the forms of the body: some programs name those, too. */
function isNamed({ contentType, contentDisposition, parentNode }: MimeNode): boolean {
  if (parentNode?.contentType.multipart && parentNode.contentType.multipart !== 'mixed') return false
  return Boolean(contentDisposition.parsed.params.filename || contentType.parsed.params.name)
}

/** The first text of a message in which every text has a file name. */
function namedBody(root: MimeNode): MimeNode | undefined {
  const texts = leavesOf(root).filter(isText)
  return texts.every(isNamed) ? texts[0] : undefined
}

function leavesOf(node: MimeNode): MimeNode[] {
  return node.contentType.multipart ? node.childNodes.flatMap(leavesOf) : [node]
}

const partOf = ({ contentType, content }: MimeNode): MessagePart => ({
  type: contentType.parsed.value,
  charset: contentType.parsed.params.charset ?? null,
  content: new Uint8Array(content ?? new ArrayBuffer(0)),
})
