/** Counts requests of unknown callers by address: those refused with 401, and those for paths that do not exist. */
import { networkOf } from '../../access/network.ts'
import { BoundedMap } from '../../collections/bounded-map.ts'

/** The most addresses that a process remembers, in memory, because a write to the database for each would help an attacker. */
const ADDRESSES = 20_000
const WINDOW_MS = 60_000

export interface AddressWindow {
  remaining: number
  endsAt: number
  isExceeded: boolean
}

/** @param limit requests of one address in a minute, in this process */
export function openAddressWindows(limit: number): (ip: string, now: number) => AddressWindow {
  const counts = new BoundedMap<string, { startsAt: number; used: number }>(ADDRESSES)
  return (ip, now) => {
    const startsAt = now - (now % WINDOW_MS)
    const network = networkOf(ip)
    const known = counts.get(network)
    const count = known?.startsAt === startsAt ? known : { startsAt, used: 0 }
    const isExceeded = count.used >= limit
    if (!isExceeded) count.used++
    counts.set(network, count)
    return { remaining: limit - count.used, endsAt: startsAt + WINDOW_MS, isExceeded }
  }
}
