import { domainToASCII } from 'node:url'
import { addressParser } from 'postal-mime'
import { z } from 'zod'

/** More than any mailbox has. The time of the parser grows with the square of some texts, such as 4 MB of `a:`. */
const MAX_LENGTH = 1_000

export interface Mailbox {
  name: string
  email: string
}

/**
 * Parses `ann@example.org` or `Ann <ann@example.org>`. Returns undefined for any other text. The domain is returned in lower case and in
 * its ASCII form, as servers compare it; the local part is unchanged, because it may be case-sensitive.
 */
export function parseMailbox(text: string): Mailbox | undefined {
  if (text.length > MAX_LENGTH || /[\r\n\0]/.test(text)) return undefined
  const [parsed, ...others] = addressParser(text.trim())
  if (!parsed?.address || others.length) return undefined
  const email = normalAddress(parsed.address)
  // Text around an address without angle brackets is a typing error, not a name.
  if (!email || (parsed.name && !/<[^<>]+>\s*$/.test(text))) return undefined
  return { name: parsed.name, email }
}

const LOCAL_PART = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

function normalAddress(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const domain = normalDomain(address.slice(at + 1))
  return at > 0 && local.length <= 64 && LOCAL_PART.test(local) && domain ? `${local}@${domain}` : undefined
}

/** A host name as servers compare it: ASCII, lower case, without a dot at its end. Returns undefined for any other text. */
export function normalDomain(domain: string): string | undefined {
  const ascii = domainToASCII(domain.trim().replace(/\.$/, '')).toLowerCase()
  return DOMAIN.test(ascii) ? ascii : undefined
}

export const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1)

/** The shape of a domain in the API. */
export const Domain = z
  .string()
  .max(253, 'must have at most 253 characters')
  .refine((text) => normalDomain(text) !== undefined, 'must be a domain, such as example.com')
  .overwrite((text) => normalDomain(text) ?? text)
