import type { Header } from 'postal-mime'
import { storable } from '../platform/storable-text.ts'

/** The bytes of a header that are read. The webhook reads headers on the main thread, and no honest mail has longer ones. */
export const MAX_HEADER_BYTES = 131_072

/** The header fields of a raw message, unfolded, names in lower case, without parsing its body. */
export function readHeaders(raw: Uint8Array): Header[] {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MAX_HEADER_BYTES))
  const end = /\r?\n\r?\n/.exec(bytes.toString('latin1'))?.index ?? bytes.length
  const headers: Header[] = []
  for (const line of bytes.subarray(0, end).toString('utf8').split(/\r?\n/)) {
    const last = headers.at(-1)
    if (/^[ \t]/.test(line) && last) last.value += ` ${line.trim()}`
    else {
      const [, originalKey = '', value = ''] = /^([!-9;-~]+)[ \t]*:(.*)$/.exec(line) ?? []
      if (originalKey) headers.push({ key: originalKey.toLowerCase(), originalKey, value: value.trim() })
    }
  }
  return headers
}

/** The values of all headers with the name, in order. */
export const headerValues = (headers: Header[], key: string): string[] =>
  headers.flatMap((header) => (header.key === key ? [header.value] : []))

// contract.md §6, Inbound. Exim and Postfix use the two envelope headers for the same purpose.
const RECIPIENT_HEADERS = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to', 'cc', 'bcc']

/** A quoted display name. An unclosed quote extends to the end of the header, so that the expression does not retry from later quotes. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?$)/gs
const BETWEEN_ADDRESSES = /[\s<>()[\]:;,"]+/

/**
 * The tokens of the `reply-{token}@{catchDomain}` addresses among the recipients, each once. They are searched for in the text, not parsed
 * as addresses: anyone may post a message, and the time of the address parser grows with the square of a header's length.
 */
export function replyTokens(headers: Header[], catchDomain: string): string[] {
  const named = RECIPIENT_HEADERS.flatMap((key) => headerValues(headers, key)).flatMap((value) =>
    value.replaceAll(QUOTED, ' ').split(BETWEEN_ADDRESSES),
  )
  const received = headerValues(headers, 'received').map((value) => /\sfor\s+<?([^\s<>;,()]+@[^\s<>;,()]+)>?/i.exec(value)?.[1] ?? '')
  const tokens = [...named, ...received].flatMap((address) => tokenOf(address, catchDomain) ?? [])
  return [...new Set(tokens)]
}

/** The token of a reply address. Returns undefined for any other address. */
export function tokenOf(address: string, catchDomain: string): string | undefined {
  const [local = '', domain] = address.toLowerCase().split('@')
  return domain === catchDomain.toLowerCase() ? /^reply-([0-9a-f]{16})$/.exec(local)?.[1] : undefined
}

export const replyAddress = (token: string, catchDomain: string) => `reply-${token}@${catchDomain}`

/** The id of an email in its envelope: the part of its Message-ID that is not the domain. */
export const envelopeIdOf = (messageId: string): string => messageId.replace(/^<|@.*$/g, '')

/** The text in one line that can be stored and shown: without NUL, other control characters and lone surrogates. */
export const oneLine = (text: string): string =>
  storable(text)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()

/** A Message-ID in angle brackets, or null for any other text. It is used in headers of later emails, so control characters are refused. */
export function messageIdOf(value: string | undefined): string | null {
  return /<[^<>\s\p{Cc}]{1,250}>/u.exec(value ?? '')?.[0] ?? null
}
