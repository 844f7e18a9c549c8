/** Addresses of callers, as limits and lists of sessions need them. */
import { isIP, isIPv6 } from 'node:net'

/** The address without a zone and a port; an IPv4 address that is written as IPv6 (RFC 4291, 2.5.5.2) in its own notation. */
export function plainAddress(ip: string): string {
  const [, inBrackets, beforePort] = WITH_PORT.exec(ip) ?? []
  const address = (inBrackets ?? beforePort ?? ip).replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
  if (!/^[0:]+:ffff:/i.test(address) || !isIPv6(address)) return address
  const [a, b, c, d, e, mark, high = 0, low = 0] = groupsOf(address)
  if (a || b || c || d || e || mark !== 0xffff) return address
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** As some proxies write X-Forwarded-For. With the port each connection would count as another caller. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/

/** The address as it is stored and shown; null for anything else, because a proxy that is trusted too far can pass on any text. */
export function storedAddress(ip: string | null | undefined): string | null {
  const address = plainAddress(ip ?? '')
  return isIP(address) ? address : null
}

/**
 * The network that counts as one caller for limits: an IPv4 address, or the /64 of an IPv6 address, because a single connection
 * usually has a whole /64 and could send each request from another address of it.
 */
export function networkOf(ip: string): string {
  const address = plainAddress(ip)
  return isIPv6(address) ? `${startOf(address, 4)}::/64` : address
}

/** The /48 of an IPv6 address, which is what many a customer of a provider has; null for any other address. */
export function siteOf(ip: string): string | null {
  const address = plainAddress(ip)
  return isIPv6(address) ? `${startOf(address, 3)}::/48` : null
}

const startOf = (address: string, groups: number) =>
  groupsOf(address)
    .slice(0, groups)
    .map((group) => group.toString(16))
    .join(':')

/** The eight numbers of an IPv6 address, the last two of which may be written as an IPv4 address. */
function groupsOf(address: string): number[] {
  const inGroups = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [a * 256 + Number(b), c * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  )
  const [head = [], tail = []] = inGroups
    .split('::')
    .map((part) => (part ? part.split(':').map((group) => Number.parseInt(group, 16)) : []))
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}
