/**
 * Positions in PostgreSQL's log: what a caller has written is before its position, and a replica that has replayed up to there shows it.
 * A caller carries its position as a signed text, so that any process of the service can read it.
 */
import type { SecretKeys } from '../../../settings.ts'
import { isSigned, sign } from '../../secrets/secrets.ts'

export interface WalPosition {
  /** Grows with each failover. Positions of different timelines cannot be compared. */
  timeline: number
  /** The byte in the log. */
  lsn: number
}

/** A page of the log, and the longest of the headers that pages begin with. */
const [PAGE_BYTES, HEADER_BYTES] = [8_192, 40]

/** The number of an LSN such as `16/B374D848`. It has 64 bits, of which a log of nine petabytes uses 53. */
export function lsnOf(text: string): number {
  const [high = '', low = ''] = text.split('/')
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16)
}

/**
 * The end of what has been written, from the place of the next record. If that is the first of its page, it lies behind the header of the
 * page, which a replica reports as replayed only with the record.
 */
export function endOfLog(nextRecord: string): number {
  const lsn = lsnOf(nextRecord)
  const inPage = lsn % PAGE_BYTES
  return inPage <= HEADER_BYTES ? lsn - inPage : lsn
}

/** The timeline in the name of a file of the log. `pg_control_checkpoint` names the old one until some time after a promotion. */
export const timelineOf = (walFile: string): number => Number.parseInt(walFile.slice(0, 8), 16)

const PURPOSE = 'gridpost positions'
const MAC_BYTES = 16
const FORM = /^([0-9]{1,20}\.([0-9a-f]{1,8})\.([0-9a-f]{1,13}))\.([\w-]{22})$/

/** What a text is bound to: it counts for no other database, key or session. */
export interface Holder {
  systemId: string
  /** The hash of the key or session. */
  tokenHash: Uint8Array
}

/** The position as a text that a caller sends back. */
export function encodePosition({ timeline, lsn }: WalPosition, holder: Holder, secretKeys: SecretKeys): string {
  const text = `${holder.systemId}.${timeline.toString(16)}.${lsn.toString(16)}`
  const mac = sign(secretKeys, PURPOSE, signedBytes(text, holder)).subarray(0, MAC_BYTES)
  return `${text}.${mac.toString('base64url')}`
}

/** The position of a text that `encodePosition` made for the same holder; undefined for any other text. */
export function decodePosition(sent: string, holder: Holder, secretKeys: SecretKeys): WalPosition | undefined {
  const [, text = '', timeline = '', lsn = '', mac = ''] = FORM.exec(sent) ?? []
  if (!text.startsWith(`${holder.systemId}.`)) return undefined
  const isOurs = isSigned(secretKeys, PURPOSE, signedBytes(text, holder), Buffer.from(mac, 'base64url'), MAC_BYTES)
  return isOurs ? { timeline: Number.parseInt(timeline, 16), lsn: Number.parseInt(lsn, 16) } : undefined
}

const signedBytes = (text: string, { tokenHash }: Holder) => Buffer.concat([Buffer.from(text), tokenHash])
