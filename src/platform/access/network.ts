/** Addresses of callers, as limits and lists of sessions need them. */
import { isIP, isIPv6 } from 'node:net'

/** The address without the IPv6 notation of an IPv4 address, and without a zone. */
export const plainAddress = (ip: string): string => ip.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')

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
  if (!isIPv6(address)) return address
  // The last two groups may be written as an IPv4 address. They do not belong to the /64.
  const [left = '', right] = address.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0').split('::')
  const [head, tail] = [groupsOf(left), groupsOf(right ?? '')]
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail]
  const prefix = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${prefix.join(':')}::/64`
}

const groupsOf = (text: string) => (text ? text.split(':') : [])
