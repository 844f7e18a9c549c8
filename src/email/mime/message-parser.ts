/**
 * Reads the parts of a message with postal-mime, and corrects what it does to the words of people: it loses parts behind a wrong boundary,
 * mixes the text of a message in the message with theirs, and shows a text file as if they had typed it.
 */
import PostalMime, { type Email, type PostalMimeOptions } from 'postal-mime'
import { textOfHtml } from '../../platform/mail/html-text.ts'
import { hasWords } from '../quoting/words.ts'
import { Base64Lines, BodyLines } from './body-lines.ts'
import { headerBlock } from './header-text.ts'
import { textsToShow } from './shown-texts.ts'
import { fileNameOf, isMarkedAttachment, type MimeNode, textOf, typeOf } from './tree.ts'
import { signedMessage, unpackTnef, withoutResourceForks } from './unpacked-parts.ts'

const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 1_048_576, forceRfc822Attachments: true }
/** Messages in messages in messages. */
const MAX_MESSAGES = 3

interface Internals {
  root: MimeNode
  currentNode: MimeNode
  /** The message, and the position of its next line. */
  av: Uint8Array
  readPos: number
  readLine(): Line
  collectNode(node: MimeNode, alternative: MimeNode | false, isRelated: boolean): Promise<void>
}

interface Line {
  bytes: Uint8Array
  /** True for the last line of the message. */
  done: boolean
}

const Parser = PostalMime as unknown as new (options: PostalMimeOptions) => PostalMime & Internals

const DASH = 0x2d
const LINE_FEED = 0x0a
const BOUNDARY_START = '\n--'
const BASE64 = /base64/i
const QUOTED_PRINTABLE = /quoted-printable/i
const EMPTY_LINE = new Uint8Array(0)

/** The parts that have had lines, and what collects those in base64. */
const bodies = new WeakMap<MimeNode, Base64Lines | undefined>()

export class MessageParser extends Parser {
  /** In how many other messages this one is. */
  readonly #depth: number
  /** True if only the tree of parts is wanted. */
  readonly #isTree: boolean
  /** The lines of a header, how many of them were read, and the position behind them. */
  #header: { lines: Uint8Array[]; read: number; end: number } = { lines: [], read: 0, end: 0 }
  /** Where the last line begins. */
  #lastLine: number | undefined
  #charset: { name: string | undefined } | undefined
  /** Texts of parts that were unpacked. */
  readonly #made: MimeNode[] = []
  #shown: ReadonlySet<MimeNode> = new Set()

  constructor({ depth = 0, isTree = false } = {}) {
    super(LIMITS)
    this.#depth = depth
    this.#isTree = isTree
  }

  /** Called for each line. */
  override readLine(): Line {
    if (this.currentNode.state === 'header') return this.#headerLine()
    return this.#bodyLine()
  }

  #headerLine(): Line {
    const { av, readPos } = this
    if (this.#header.read === this.#header.lines.length) {
      const { lines, end, isEnded } = headerBlock(av, readPos, () => this.#charsetOfText())
      this.#header = { lines: isEnded ? [...lines, EMPTY_LINE] : lines, read: 0, end }
    }
    const bytes = this.#header.lines[this.#header.read]
    if (!bytes) return super.readLine()
    this.#header.read++
    // The loop of postal-mime ends at the end of the message, so the position stays until all lines are read.
    if (this.#header.read === this.#header.lines.length) this.readPos = this.#header.end
    return { bytes, done: this.readPos >= av.length }
  }

  /** The first name of a character set in the message that says something about letters outside of ASCII. */
  #charsetOfText(): string | undefined {
    if (!this.#charset) {
      const beginning = Buffer.from(this.av.buffer, this.av.byteOffset, Math.min(this.av.byteLength, MAX_SEARCHED)).toString('latin1')
      const names = [...beginning.matchAll(/charset\*?\s*=\s*["']?([\w.:-]{1,60})/gi)].map(([, name = '']) => name)
      this.#charset = { name: names.find((name) => !/^(us-?ascii|utf-?8)$/i.test(name)) }
    }
    return this.#charset.name
  }

  /**
   * Lines of a body that cannot be a boundary are all given to the decoder at once: a message may have millions of them. The last line of
   * the message, and the next one that may be a boundary, are left to postal-mime.
   */
  #bodyLine(): Line {
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

  /** What collects the lines of the body that is being read. */
  #decoderOfBody(): MimeNode['contentDecoder'] {
    const node = this.currentNode
    if (node.state !== 'body' || !node.contentDecoder) return null
    if (!bodies.has(node)) {
      const { encoding } = node.contentTransferEncoding
      const base64 = BASE64.test(encoding) ? new Base64Lines() : undefined
      bodies.set(node, base64)
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
    if (this.#isTree) return
    if (node === this.root) {
      await this.#unpack(node, { depth: this.#depth, isRepaired: false })
      this.#shown = await textsToShow(node, { made: this.#made, textOfMessage: (content) => this.#textOfMessage(content) })
    }
    await super.collectNode(node, alternative, isRelated)
  }

  /** Called for each leaf: whether it is text that the reader sees, not an attachment. */
  isInlineTextNode(node: MimeNode): boolean {
    return this.#shown.has(node)
  }

  /** Corrects a node and those below it, and unpacks what is in a form of its own. */
  async #unpack(node: MimeNode, within: Within): Promise<void> {
    if (isTextInFact(node)) node.contentType.parsed.value = 'text/plain'
    const isRepaired = isWithoutParts(node, this.root)
    if (isRepaired) await repair(node, within)
    if (node.contentType.multipart) {
      node.childNodes = withoutResourceForks(node)
      for (const child of node.childNodes) await this.#unpack(child, { ...within, isRepaired: within.isRepaired || isRepaired })
      return
    }
    if (typeOf(node).startsWith('text/')) node.content = bodies.get(node)?.unencoded() ?? node.content
    node.getTextContent = () => textOf(node)
    const message = within.depth < MAX_MESSAGES ? signedMessage(node) : undefined
    if (message) {
      await replace(node, message)
      return this.#unpack(node, { ...within, depth: within.depth + 1 })
    }
    const text = unpackTnef(node)
    if (text) this.#made.push(text)
  }

  async #textOfMessage(content: ArrayBuffer): Promise<string> {
    if (this.#depth >= MAX_MESSAGES) return ''
    const email = await new MessageParser({ depth: this.#depth + 1 }).parse(content)
    const text = hasWords(email.text) ? email.text : textOfHtml((email.html ?? '').slice(0, MAX_HTML))
    return hasWords(text) ? `${headingOf(email)}\n\n${text}` : ''
  }
}

const MAX_SEARCHED = 131_072
const MAX_HTML = 1_048_576

async function treeOf(message: Uint8Array): Promise<MimeNode> {
  const parser = new MessageParser({ isTree: true })
  await parser.parse(message)
  return parser.root
}

/** Where a node is. */
interface Within {
  /** In how many messages. */
  depth: number
  /** True among parts that were found by a guess. There no others are guessed, because that could go on for each line. */
  isRepaired: boolean
}

/** Finds the parts by the first line that looks like a boundary. Without such a line the whole body is one text. */
async function repair(node: MimeNode, { isRepaired }: Within): Promise<void> {
  const content = Buffer.from(node.content ?? new ArrayBuffer(0))
  const boundary = isRepaired ? undefined : guessedBoundary(content, Boolean(node.contentType.multipart))
  if (boundary !== undefined) {
    const type = node.contentType.multipart ? typeOf(node) : 'multipart/mixed'
    const header = Buffer.from(`Content-Type: ${type}; boundary="${boundary}"\r\n\r\n`, 'latin1')
    node.childNodes = (await treeOf(Buffer.concat([header, content]))).childNodes
    node.contentType.multipart = type.slice('multipart/'.length)
    node.contentType.parsed.value = type
    if (node.childNodes.length) return
  }
  node.contentType.multipart = false
  node.contentType.parsed = { value: 'text/plain', params: {} }
}

/** Makes the node the root of the message that was in it. */
async function replace(node: MimeNode, message: Uint8Array): Promise<void> {
  const root = await treeOf(message)
  const { contentType, contentDisposition, contentTransferEncoding, content, childNodes } = root
  Object.assign(node, { contentType, contentDisposition, contentTransferEncoding, content, childNodes })
  bodies.set(node, bodies.get(root))
}

/** What is shown above the text of a message in the message. */
const headingOf = ({ from, date, subject }: Email): string =>
  [from && `From: ${`${from.name} <${from.address ?? ''}>`.trim()}`, date && `Date: ${date}`, `Subject: ${subject ?? ''}`]
    .filter(Boolean)
    .join('\n')

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

/** True for a body whose type is not one at all. Mail programs show it as plain text. */
const isTextInFact = (node: MimeNode): boolean =>
  !node.contentType.multipart && !isMarkedAttachment(node) && !fileNameOf(node) && !IS_TYPE.test(typeOf(node))
const IS_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/
