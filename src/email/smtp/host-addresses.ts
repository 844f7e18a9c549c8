/** The addresses of a host, and which of them the service may connect to (contract.md §6, SMTP integrations). */
import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { DeliveryError } from './failure.ts'

/**
 * The addresses of a host that the service may connect to.
 * @throws DeliveryError when it has none
 */
export async function allowedAddresses(host: string, allowPrivate: boolean): Promise<string[]> {
  const found = await lookup(withoutBrackets(host), { all: true }).catch(() => {
    throw new DeliveryError({ kind: 'temporary', code: 'DNS', enhanced: null, message: `The host ${host} was not found` })
  })
  const allowed = found.map(({ address }) => address).filter((address) => allowPrivate || isPublic(address))
  if (!allowed.length)
    throw new DeliveryError(
      { kind: 'permanent', code: 'PRIVATE_ADDRESS', enhanced: null, message: `The host ${host} is at a private address` },
      { isFault: true },
    )
  return allowed
}

/** `[::1]`, the form of URLs, becomes `::1`. */
export const withoutBrackets = (host: string) => host.replace(/^\[(.*)\]$/, '$1')

/** All public IPv6 addresses are in this block (RFC 4291); the rest, such as ::7f00:1, is loopback in disguise or unallocated. */
const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3')

/** True for public unicast addresses: not private, loopback, link-local, shared or reserved, and none of these wrapped in IPv6. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(PUBLIC_IPV6)
}
