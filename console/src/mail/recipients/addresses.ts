/** Addresses of recipients, as people type and paste them and as the service takes them. */

export interface Mailbox {
  /** Empty without one. */
  name: string
  email: string
}

/** The recipients of a mail in one of its lists: those that were put there, and what is being typed. */
export interface Recipients {
  chosen: readonly string[]
  typed: string
}

export type Kind = 'to' | 'cc' | 'bcc'
export const KINDS = ['to', 'cc', 'bcc'] as const

/** The most recipients of a mail, in all its lists (docs/email.md). */
export const MOST_RECIPIENTS = 50
const LONGEST = 600

const LOCAL = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const LABEL = '(?!-)[\\p{L}\\p{N}-]{1,63}(?<!-)'
const DOMAIN = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`, 'u')

/** Reads `ann@example.org` or `Ann <ann@example.org>`. Null: it is no address, or has a line break, which could begin another header. */
export function readMailbox(text: string): Mailbox | null {
  const given = text.trim()
  if (given.length > LONGEST || /[\r\n\0]/.test(given)) return null
  const [, name = '', inside] = /^(?:"((?:[^"\\]|\\.)*)"|([^<>"]*))\s*<([^<>]*)>$/.exec(given)?.filter((part) => part !== undefined) ?? []
  const email = (inside ?? given).trim()
  const at = email.lastIndexOf('@')
  const local = email.slice(0, at)
  if (at < 1 || local.length > 64 || !LOCAL.test(local) || !DOMAIN.test(email.slice(at + 1))) return null
  return { name: name.replace(/\\(.)/g, '$1').trim(), email }
}

/** The text that the service takes for a mailbox. A name with characters of the address syntax is quoted. */
export function mailboxText({ name, email }: Mailbox): string {
  const plain = name.replace(/[\r\n\0]+/g, ' ').trim()
  if (!plain) return email
  return /[()<>[\]:;@\\,."]/.test(plain) ? `"${plain.replace(/["\\]/g, '\\$&')}" <${email}>` : `${plain} <${email}>`
}

/** How two addresses are compared: servers do not mind the case. */
export const addressKey = (text: string): string => (readMailbox(text)?.email ?? text.trim()).toLowerCase()

/** The addresses of a text with several, such as a pasted list: separated by commas, semicolons and lines, but not inside of a name. */
export function splitAddresses(text: string): string[] {
  return (text.match(/(?:"(?:[^"\\]|\\.)*"|[^",;\r\n])+|"/g) ?? []).map((part) => part.trim()).filter(Boolean)
}

/** All that is put in or typed, as the service is to get it. */
export const listed = ({ chosen, typed }: Recipients): string[] => [...chosen, ...splitAddresses(typed)]

/** Adds addresses to a list; one that is in it already stays once. */
export function withAddresses(chosen: readonly string[], added: readonly string[]): string[] {
  const known = new Set(chosen.map(addressKey))
  const result = [...chosen]
  for (const text of added) {
    if (known.has(addressKey(text))) continue
    known.add(addressKey(text))
    result.push(text)
  }
  return result
}

export interface AddressFindings {
  /** Texts that are no addresses. */
  wrong: string[]
  /** Addresses that are in two lists. Each gets one mail. */
  doubled: string[]
  /** How many get a mail. */
  count: number
}

/** What is to be said of the recipients before the mail is sent. */
export function checkRecipients(lists: readonly Recipients[]): AddressFindings {
  const all = lists.flatMap(listed)
  const keys = all.map(addressKey)
  return {
    wrong: all.filter((text) => !readMailbox(text)),
    doubled: [...new Set(keys.filter((key, at) => keys.indexOf(key) !== at))],
    count: new Set(keys).size,
  }
}
