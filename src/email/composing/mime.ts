/** Writes messages: their header with nodemailer, and their text here, in a fraction of the time of nodemailer's streams. */
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type Composer from 'nodemailer/lib/mail-composer'
import type * as MimeFunctions from 'nodemailer/lib/mime-funcs'
import type Node from 'nodemailer/lib/mime-node'
import { withoutUnseen } from '../../platform/unseen-characters.ts'
import type { Mailbox } from '../address.ts'
import { encodeText } from './text-encoding.ts'

const require = createRequire(import.meta.url)

export interface OutgoingMessage {
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  replyTo: string
  subject: string
  html: string
  text: string
  messageId: string
  inReplyTo: string | null
  references: string[]
  threadIndex?: string | null
  date: Date
  /** One with a Content-ID is shown by the HTML. */
  attachments: { name: string; type: string; cid?: string | undefined; open(): Promise<Readable> }[]
}

/** A longer text is encoded in slices between which requests are answered: a megabyte at once could take half a second. */
const MOST_AT_ONCE = 262_144

/** Whether a message can be written in one piece. Others have attachments or are long. */
export const isShort = ({ text, html, attachments }: OutgoingMessage): boolean =>
  text.length + html.length <= MOST_AT_ONCE && text !== '' && html !== '' && !attachments.length

/**
 * The message with its header, as a stream unless it is short.
 * @param isShown whether the header may name the address
 */
export function writeMessage(message: OutgoingMessage, isShown: (address: string) => boolean): Buffer | Readable {
  return isShort(message) ? writeShort(message, isShown) : streamed(visible(message, isShown))
}

/** Writes a short message as ASCII and UTF-8, in lines that all end with CRLF. */
export const writeShort = (message: OutgoingMessage, isShown: (address: string) => boolean): Buffer => written(visible(message, isShown))

const visible = (message: OutgoingMessage, isShown: (address: string) => boolean): OutgoingMessage => ({
  ...message,
  subject: foldable(message.subject),
  to: message.to.filter(({ email }) => isShown(email)),
  cc: message.cc.filter(({ email }) => isShown(email)),
})

/** nodemailer folds a header between words only, and a line may have 998 bytes (RFC 5322 §2.1.1). */
const LONGEST_WORD = 900
/** The length of each encoded word, as nodemailer makes them. */
const ENCODED_LENGTH = 52

/** The subject, encoded if it has a word that is too long for a line. */
const foldable = (subject: string): string =>
  subject.split(/\s/).every(({ length }) => length <= LONGEST_WORD)
    ? subject
    : nodemailer().functions.encodeWord(subject, 'Q', ENCODED_LENGTH)

function written(message: OutgoingMessage): Buffer {
  const boundary = `_${randomUUID()}`
  const parts = [part('text/plain', message.text), part('text/html', message.html)]
  const body = parts.map((one) => `--${boundary}\r\n${one}`).join('')
  const header = `${headerOf(message)}Content-Type: multipart/alternative;\r\n boundary="${boundary}"\r\n`
  // Header fields have letters outside of ASCII only if the server takes them.
  return Buffer.from(`${header}\r\n${body}--${boundary}--\r\n`)
}

/** The fields in nodemailer's order and form, in a fraction of its time: it would parse again what it has made. */
function headerOf({ from, to, cc, replyTo, inReplyTo, references, threadIndex, subject, messageId, date }: OutgoingMessage): string {
  return [
    encoded('From', mailbox(from)),
    encoded('To', to.map(mailbox)),
    encoded('Cc', cc.map(mailbox)),
    encoded('Reply-To', mailbox({ name: '', email: replyTo })),
    inReplyTo === null ? '' : encoded('In-Reply-To', inReplyTo),
    encoded('References', references),
    threadIndex ? `Thread-Index: ${threadIndex}\r\n` : '',
    encoded('Subject', subject),
    encoded('Message-ID', messageId),
    `Date: ${date.toUTCString().replace('GMT', '+0000')}\r\nMIME-Version: 1.0\r\n`,
  ].join('')
}

/** nodemailer folds a line of a header from this length on. */
const FOLDED_FROM = 76

/** A line of the header, or several; none without a value. */
function encoded(key: string, value: unknown): string {
  const { encoder, functions } = nodemailer()
  const text = encoder.encodeHeaderValue(key, value)
  if (!text.trim()) return ''
  const line = `${key}: ${text}`
  return `${line.length < FOLDED_FROM ? line : functions.foldLines(line, FOLDED_FROM)}\r\n`
}

interface Nodemailer {
  functions: typeof MimeFunctions
  /** Keeps nothing of what it encodes. Its type does not have the method, which its documentation names. */
  encoder: { encodeHeaderValue(key: string, value: unknown): string }
}

let loaded: Nodemailer | undefined

/** Loaded with the first mail, and kept, because `require` looks for the file of a loaded module, too. */
function nodemailer(): Nodemailer {
  if (loaded) return loaded
  const MimeNode = require('nodemailer/lib/mime-node') as typeof Node
  loaded = { functions: require('nodemailer/lib/mime-funcs'), encoder: new MimeNode('text/plain') as unknown as Nodemailer['encoder'] }
  return loaded
}

function part(type: string, content: string): string {
  const { encoding, text } = encodeText(content)
  return `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${text}\r\n`
}

/** nodemailer may not read files or URLs; attachments are passed as streams. */
function streamed({ from, to, cc, attachments, threadIndex, ...message }: OutgoingMessage): Readable {
  const MailComposer = require('nodemailer/lib/mail-composer') as typeof Composer
  const mail = new MailComposer({
    ...message,
    from: mailbox(from),
    to: to.map(mailbox),
    cc: cc.map(mailbox),
    inReplyTo: message.inReplyTo ?? undefined,
    ...(threadIndex && { headers: { 'Thread-Index': threadIndex } }),
    attachments: attachments.map(({ name, type, cid, open }) => ({
      filename: withoutUnseen(name),
      contentType: sentType(type),
      ...(cid === undefined ? { contentDisposition: 'attachment' as const } : { contentDisposition: 'inline' as const, cid }),
      content: Readable.from(lazyContent(open)),
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().createReadStream()
}

/**
 * The type that a part gets. nodemailer writes a file that is named multipart as a container without parts, in which its bytes are lost,
 * and one that is named a message without an encoding, which changes the ends of its lines.
 */
const sentType = (type: string): string => (/^(?:multipart|message)\//i.test(type) ? 'application/octet-stream' : type)

const mailbox = ({ name, email }: Mailbox) => ({ name, address: email })

/** Opens the file only when its content is read. */
async function* lazyContent(open: () => Promise<Readable>): AsyncGenerator<Buffer> {
  yield* await open()
}
