/** Tells programs on this machine from everybody else, for what the embedded default shows without credentials. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Settings } from '../../../settings.ts'
import { plainAddress } from '../../access/network.ts'

type Reach = Pick<Settings, 'databaseUrl' | 'host' | 'publicUrl' | 'trustProxy'>

/** Whether the settings show no caller but programs on this machine: the embedded default, without a sign of a proxy. */
export const isForThisMachine = ({ databaseUrl, host, publicUrl, trustProxy }: Reach): boolean =>
  databaseUrl === undefined && isLoopback(host) && publicUrl === undefined && trustProxy === false

/**
 * Whether the sender of the request is taken for a program on this machine. It decides where `/dev/mail` answers without a token, and what
 * contract.md §11 makes depend on that. The peer alone proves nothing, because it may be a proxy, and a page of another site may give its
 * own name the address of this service (DNS rebinding). A proxy that adds no header, and keeps the name, cannot be told from a program.
 */
export function isLocalCaller(settings: Reach, { socket, headers, url = '' }: IncomingMessage): boolean {
  if (!isForThisMachine(settings) || Object.keys(headers).some((name) => OF_PROXIES.test(name))) return false
  // A target in absolute form is what clients send to a proxy, and names a host that counts in place of the header (RFC 9112, 3.2.2).
  if (!url.startsWith('/')) return false
  const [, literal, name] = HOST.exec(headers.host ?? '') ?? []
  return isLoopback(literal ?? name ?? '') && isLoopback(socket.remoteAddress ?? '')
}

/** The headers in which proxies name themselves or their caller. */
const OF_PROXIES = /^(forwarded|via|x-forwarded(-.*)?|(x-)?(real|client|cluster-client|true-client)-ip|cf-connecting-ip)$/

/** A name or an address, with a port or without. */
const HOST = /^(?:\[([\da-f:.]+)\]|([a-z\d.-]+))(?::\d{1,5})?$/i

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** True for the addresses of this machine itself, and for the names that mean them everywhere (RFC 6761, 6.3). */
function isLoopback(host: string): boolean {
  const address = plainAddress(host)
  const family = isIP(address)
  if (family) return LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')
  return /^([^.]+\.)*localhost$/i.test(host)
}
