/**
 * With PROCESSES, several processes share one port. What each keeps in its own memory, such as slots, counts and connections, is divided
 * among them, so that the limits hold for all of them together.
 */
import cluster from 'node:cluster'

/** Which of the processes this is: 1 to `count`. */
interface Membership {
  number: number
  count: number
}

/** The variable that tells a process which one it is, such as `2/4`. */
export const PROCESS_VARIABLE = 'GRIDPOST_PROCESS'

/** Undefined for a process that has no supervisor. */
export const membership: Membership | undefined = cluster.isWorker ? readMembership(process.env[PROCESS_VARIABLE]) : undefined

function readMembership(text = ''): Membership | undefined {
  const [, number, count] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  return number && count ? { number: Number(number), count: Number(count) } : undefined
}

/**
 * The part of this process in a limit that holds for all. The parts add up to the whole, unless `least` makes them larger. The first
 * processes get one more each of what cannot be divided.
 * @param least what a process needs in any case
 */
export function perProcess(whole: number, least = 1, of: Membership | undefined = membership): number {
  if (!of) return whole
  const { number, count } = of
  return Math.max(least, Math.floor(whole / count) + (number <= whole % count ? 1 : 0))
}
