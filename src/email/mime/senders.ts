/** Who a message is from, as far as its header says so. */
import { type Address, addressParser, decodeWords, type Header } from 'postal-mime'
import { headerValues } from '../headers.ts'

export interface Sender {
  name: string
  /** '' if no field has an address. */
  address: string
}

/** Where the address is if From has none (RFC 5322 §3.6.2, RFC 5321 §4.4). */
const FIELDS = ['from', 'reply-to', 'sender', 'return-path']

/** The sender by the first field with an address. The name in From counts also if its address is elsewhere. */
export function senderOf(headers: Header[]): Sender {
  const senders = FIELDS.flatMap((key) => headerValues(headers, key).map(senderIn))
  const sender = senders.find(({ address }) => address.includes('@')) ?? senders.find(({ address }) => address) ?? senders[0]
  return { name: senders[0]?.name || (sender?.name ?? ''), address: sender?.address ?? '' }
}

/** The mailboxes of a field, those of groups included. */
export const mailboxesIn = (field: string): Sender[] =>
  addressParser(withoutScheme(field))
    .flatMap((entry: Address) => entry.group ?? [entry])
    .map(({ name, address = '' }) => ({ name, address }))

/** The field with an address in place of a link to write to it, which forms put there: `<mailto:ann@example.org>`. */
const withoutScheme = (field: string): string =>
  field.replace(/<(?:mailto|smtp):[^<>]*>(?=>)|\b(?:mailto|smtp):([^\s<>?]*)(\?[^\s<>]*)?/gi, '$1')

/** The characters of a field that are searched for an address, and those of a name. */
const MAX_SEARCHED = 1_000

/** The first mailbox with an address. Words before it that a comma separates are parts of its name: `Lee, Ann <ann@example.org>`. */
function senderIn(field: string): Sender {
  const mailboxes = mailboxesIn(field)
  const found = mailboxes.findIndex(({ address }) => address.includes('@'))
  const mailbox = mailboxes[found]
  const address = mailbox ? cleanAddress(mailbox.address) : addressAmong(field)
  if (!address)
    return { name: mailboxes.map(({ name }) => name).join(', '), address: mailboxes.find((other) => other.address)?.address ?? '' }
  const isFirst = found === 0 && !/^[^"].*[\s<>]/s.test(mailbox?.address ?? '')
  return { name: cleanName(isFirst ? (mailbox?.name ?? '') : wordsBefore(withoutScheme(field), address)), address }
}

/** The address without a route (RFC 5322 §4.4), and without what else stands in quotes or brackets beside it. */
function cleanAddress(given: string): string {
  const address = given
    .slice(0, MAX_SEARCHED)
    .replace(/^@[^:]*:/, '')
    .replace(/^'+|'+$/g, '')
  return /^[^"].*[\s<>]/s.test(address) ? addressAmong(address) || address : address
}

/** The address in a text that the parser takes for a name, or for an address as a whole: `"Ann Lee <ann@example.org>"`. */
const addressAmong = (text: string): string =>
  text
    .slice(0, MAX_SEARCHED)
    .split(/[\s<>,;()[\]"]+/)
    .find((word) => /^[^@]+@[^@]+$/.test(word)) ?? ''

/** The name without brackets that belonged to the address. */
const cleanName = (name: string): string =>
  name
    .slice(0, MAX_SEARCHED)
    .replace(/[[(<＜]\s*[\])>＞]/g, ' ')
    .replace(/[\s<>＜＞]+$/, '')

function wordsBefore(field: string, address: string): string {
  const [words = ''] = field.split(address, 1)
  const unquoted = words
    .slice(0, MAX_SEARCHED)
    .replace(/[\s<]+$/, '')
    .replace(/"((?:[^"\\]|\\.)*)"?/gs, (_, quoted: string) => quoted.replace(/\\(.)/gs, '$1'))
  return decodeWords(unquoted)
    .replace(/[\s<,;'[(]+$/, '')
    .trim()
}
