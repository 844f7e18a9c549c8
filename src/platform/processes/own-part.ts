/**
 * With PROCESSES, several processes share one port. What each keeps in its own memory, such as places, counts and connections, is divided among them,
 * so that the limits hold for all of them together.
 */
import cluster from 'node:cluster'

/** Which of the processes this is: 1 to `count`. */
export interface Membership {
  number: number
  count: number
}

/** The variable that tells a process its place, such as `2/4`. */
export const PROCESS_VARIABLE = 'GRIDPOST_PROCESS'

/** Undefined for a process that has no supervisor. */
export const membership: Membership | undefined = cluster.isWorker ? readMembership(process.env[PROCESS_VARIABLE]) : undefined

function readMembership(text = ''): Membership | undefined {
  const [, number, count] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  return number && count ? { number: Number(number), count: Number(count) } : undefined
}

/**
 * The part of this process in a limit that holds for all. The parts add up to the whole, unless `least` makes them larger.
 * @param least what a process needs in any case
 */
export const ownPart = (whole: number, least = 1): number => (membership ? partOf(whole, membership, least) : whole)

/** The part of one process: the first ones get one more each of what cannot be divided. */
export function partOf(whole: number, { number, count }: Membership, least = 1): number {
  const part = Math.floor(whole / count) + (number <= whole % count ? 1 : 0)
  return Math.max(least, part)
}
