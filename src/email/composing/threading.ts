/** Continues the conversation of the mails before: References (RFC 5322 §3.6.4) and Outlook's Thread-Index (MS-OXOMSG §2.2.1.3). */
import { randomInt } from 'node:crypto'

/** The emails of a record that were exchanged with the recipients of a new one. */
export interface MailThread {
  /** Their Message-IDs, oldest first. The last one is answered. */
  messageIds: string[]
  /** The References of the last one that was received. */
  references: string[]
  /** The Thread-Index of the last one that has one. */
  threadIndex: string | null
}

export const NO_THREAD: MailThread = { messageIds: [], references: [], threadIndex: null }

/** A mail program finds the conversation by its beginning and its end. */
const MAX_REFERENCES = 50

export function fewReferences(ids: readonly string[]): string[] {
  const all = [...new Set(ids)]
  return all.length <= MAX_REFERENCES ? all : [all[0] as string, ...all.slice(1 - MAX_REFERENCES)]
}

/** The References of the next mail: those of the received one first, because it may answer mails that this service does not know. */
export function continuedReferences({ messageIds, references }: MailThread): string[] {
  const firstShared = messageIds.findIndex((id) => references.includes(id))
  const before = firstShared < 0 ? [] : messageIds.slice(0, firstShared)
  return fewReferences([...before, ...references, ...messageIds])
}

const HEADER_BYTES = 22
/** The time of the conversation's beginning, in units of 2^16 × 100 ns since 1601. */
const TIME_BYTES = 6
const UNITS_PER_MS = 10_000 / 65_536
const EPOCH_MS = Date.UTC(1601, 0, 1)
/** The time since then has 31 bits, of units of 2^18 × 100 ns or, if it is long, 2^23. */
const MAX_TIME = 0x7fffffff

/** The index with another answer: how long it is after the beginning, and a number by chance. */
export function continuedThreadIndex(threadIndex: string, now: Date): string {
  const bytes = Buffer.from(threadIndex, 'base64')
  if (bytes.byteLength < HEADER_BYTES) return threadIndex
  const startMs = bytes.readUIntBE(0, TIME_BYTES) / UNITS_PER_MS + EPOCH_MS
  const units = Math.max(0, (now.getTime() - startMs) * UNITS_PER_MS) / 4
  const isLong = units > MAX_TIME
  const answer = Buffer.alloc(5)
  answer.writeUInt32BE(Math.min(MAX_TIME, Math.floor(isLong ? units / 32 : units)))
  if (isLong) answer[0] = (answer[0] as number) | 0x80
  answer[4] = randomInt(256)
  return Buffer.concat([bytes, answer]).toString('base64')
}
