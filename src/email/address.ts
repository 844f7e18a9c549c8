import { domainToASCII } from 'node:url'
import { addressParser } from 'postal-mime'

export interface Mailbox {
  name: string
  email: string
}

/**
 * Reads `ann@example.org` or `Ann <ann@example.org>`; undefined for what is no single mail address. The domain comes in lower case
 * and in its ASCII form, as servers compare it; the local part stays as it is, because only its owner knows what its case means.
 */
export function parseMailbox(text: string): Mailbox | undefined {
  if (/[\r\n\0]/.test(text)) return undefined
  const [parsed, ...others] = addressParser(text.trim())
  if (!parsed?.address || others.length) return undefined
  const email = normalAddress(parsed.address)
  // What stands around an address without angle brackets is a typing error, not a name.
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

/** A host name as servers compare it: ASCII, lower case, no dot at its end; undefined for what is none. */
export function normalDomain(domain: string): string | undefined {
  const ascii = domainToASCII(domain.trim().replace(/\.$/, '')).toLowerCase()
  return DOMAIN.test(ascii) ? ascii : undefined
}

export const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1)
