/** Reads a raw message: its header, its text, its files and its parts. */
import type { Email } from 'postal-mime'
import { hasWords } from '../quoting/words.ts'
import { MessageParser } from './message-parser.ts'
import { senderOf } from './senders.ts'
import { leavesOf, type MimeNode, typeOf } from './tree.ts'

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

/** @throws Error for a message with excessive nesting or headers */
export async function readMessage(raw: Uint8Array): Promise<MimeMessage> {
  const reader = new MessageParser()
  const email = await reader.parse(raw)
  const parts = leavesOf(reader.root).map(partOf)
  const isEmpty = !hasWords(email.text) && !email.html && !email.attachments.length
  const text = isEmpty && parts.every(({ content }) => isBlank(content)) ? textAround(raw) || email.text : email.text
  const subject = (email.subject ?? '').slice(0, MAX_SUBJECT)
  return { ...email, subject, from: senderOf(email.headers), ...(text !== undefined && { text }), type: typeOf(reader.root), parts }
}

/** Phrases are searched for in subjects. */
const MAX_SUBJECT = 1_000

const isBlank = (content: Uint8Array) => content.every((byte) => byte <= 0x20)

/** The bytes of a message that are searched for lines outside of its parts. */
const MAX_AROUND = 1_000_000

/** The lines below the header that belong to no part, such as those that follow a boundary at once and were taken for header fields. */
function textAround(raw: Uint8Array): string {
  const whole = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MAX_AROUND)).toString('utf8')
  const start = whole.search(/\r?\n\r?\n/)
  const lines = start < 0 ? [] : whole.slice(start).split(/\r?\n/)
  return lines
    .filter((line) => !/^(--|content-[\w-]+:|mime-version:)/i.test(line))
    .join('\n')
    .trim()
}

const partOf = ({ contentType, content }: MimeNode): MessagePart => ({
  type: contentType.parsed.value,
  charset: contentType.parsed.params.charset ?? null,
  content: new Uint8Array(content ?? new ArrayBuffer(0)),
})
