/** Writes messages: their header with nodemailer, and their text here, because that takes a fraction of the time of nodemailer's streams. */
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type Composer from 'nodemailer/lib/mail-composer'
import type * as MimeFunctions from 'nodemailer/lib/mime-funcs'
import type Node from 'nodemailer/lib/mime-node'
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
  date: Date
  /** One with a Content-ID is shown by the HTML. */
  attachments: { name: string; type: string; cid?: string | undefined; open(): Promise<Readable> }[]
}

/** A longer text is encoded in slices between which requests are answered: a megabyte at once could take half a second. */
const MOST_AT_ONCE = 262_144

/**
 * The message with its header, as a stream if it has attachments or is long.
 * @param isShown whether the header may name the address
 */
export function writeMessage(message: OutgoingMessage, isShown: (address: string) => boolean): Buffer | Readable {
  const { from, to, cc, subject, ...others } = message
  const shown = {
    ...others,
    subject: foldable(subject),
    from,
    to: to.filter(({ email }) => isShown(email)),
    cc: cc.filter(({ email }) => isShown(email)),
  }
  const isShort = message.text.length + message.html.length <= MOST_AT_ONCE
  return isShort && message.text && message.html && !message.attachments.length ? written(shown) : streamed(shown)
}

/** nodemailer folds a header between words only, and a line may have 998 bytes (RFC 5322 §2.1.1). */
const LONGEST_WORD = 900
/** The length of each encoded word, as nodemailer makes them. */
const ENCODED_LENGTH = 52

/** The subject, encoded if it has a word that is too long for a line. */
function foldable(subject: string): string {
  if (subject.split(/\s/).every(({ length }) => length <= LONGEST_WORD)) return subject
  const { encodeWord } = require('nodemailer/lib/mime-funcs') as typeof MimeFunctions
  return encodeWord(subject, 'Q', ENCODED_LENGTH)
}

function written({ from, to, cc, replyTo, inReplyTo, references, subject, messageId, date, text, html }: OutgoingMessage): Buffer {
  const boundary = `_${randomUUID()}`
  const MimeNode = require('nodemailer/lib/mime-node') as typeof Node
  const node = new MimeNode(`multipart/alternative; boundary="${boundary}"`)
  const fields = {
    ...{ from: mailbox(from), to: to.map(mailbox), cc: cc.map(mailbox), 'reply-to': replyTo, 'in-reply-to': inReplyTo },
    ...{ references, subject, 'message-id': messageId, date },
  }
  // `setHeader` takes mailboxes and lists as well, but its type allows only text.
  for (const [key, value] of Object.entries(fields)) if (value) node.setHeader(key, value as string)
  const parts = [part('text/plain', text), part('text/html', html)]
  // Header fields have letters outside of ASCII only if the server takes them.
  return Buffer.from(`${node.buildHeaders()}\r\n\r\n${parts.map((one) => `--${boundary}\r\n${one}`).join('')}--${boundary}--\r\n`)
}

function part(type: string, content: string): string {
  const { encoding, text } = encodeText(content)
  return `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${text}\r\n`
}

/** nodemailer may not read files or URLs; attachments are passed as streams. */
function streamed({ from, to, cc, attachments, ...message }: OutgoingMessage): Readable {
  const MailComposer = require('nodemailer/lib/mail-composer') as typeof Composer
  const mail = new MailComposer({
    ...message,
    from: mailbox(from),
    to: to.map(mailbox),
    cc: cc.map(mailbox),
    inReplyTo: message.inReplyTo ?? undefined,
    attachments: attachments.map(({ name, type, cid, open }) => ({
      filename: name,
      contentType: type,
      ...(cid === undefined ? { contentDisposition: 'attachment' as const } : { contentDisposition: 'inline' as const, cid }),
      content: Readable.from(lazyContent(open)),
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().createReadStream()
}

const mailbox = ({ name, email }: Mailbox) => ({ name, address: email })

/** Opens the file only when its content is read. */
async function* lazyContent(open: () => Promise<Readable>): AsyncGenerator<Buffer> {
  yield* await open()
}
