/** A caller carries its position in PostgreSQL's log as a signed text, so that any process of the service can read it. */
import type { SecretKeys } from '../../../settings.ts'
import type { WalPosition } from '../../database/replicas/wal-position.ts'
import { isSigned, sign } from '../../secrets/secrets.ts'

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
