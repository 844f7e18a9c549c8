/**
 * The places of connections in a process. A connection that waits for its server for longer than a moment gives its place to another one, so that
 * servers that hang hold back no mail for others. Files and memory limit how many connections there are together.
 */

/** How many connections a process uses at once besides those that wait for their server. */
const MAX_UNDERWAY = 60
/** How many of them are of one account. */
export const PER_ACCOUNT = 20
/** How many connections a process has in all. */
const MAX_OPEN = 600
/** After this time a server that has not completed a delivery counts as slow. */
const MOMENT_MS = 500

/** A connection of an account. */
export interface Place {
  accountId: number
  /** True while the server is slow: the connection does not count among those in use. */
  isWaiting: boolean
}

/** Measures how long servers take. */
export interface ServerWait {
  /** The dialogue with the server begins or goes on. */
  begin(): void
  /** The dialogue has ended, or it is the service itself that takes its time now. */
  end(): void
}

/** @param onFreed called when a connection has begun to wait, and its place is free */
export function serverWait(place: Place, onFreed: () => void): ServerWait {
  let timer: NodeJS.Timeout | undefined
  const end = () => {
    clearTimeout(timer)
    place.isWaiting = false
  }
  const begin = () => {
    end()
    timer = setTimeout(() => {
      place.isWaiting = true
      onFreed()
    }, MOMENT_MS)
  }
  return { begin, end }
}

/** How many connections the process can open now. */
export const freePlaces = (open: readonly Place[]): number =>
  Math.min(MAX_UNDERWAY - open.filter(({ isWaiting }) => !isWaiting).length, MAX_OPEN - open.length)

/**
 * The accounts that have as many connections as are still free in all: one account can have half of them, two a third each, and so on. So
 * there is always room for another account, however many servers hang.
 */
export function fullAccounts(open: readonly Place[]): number[] {
  const byAccount = Map.groupBy(open, ({ accountId }) => accountId)
  return [...byAccount].flatMap(([accountId, { length }]) => (length >= MAX_OPEN - open.length ? [accountId] : []))
}

/** True if no other connection waits for one of this account to end. */
export const hasRoom = (open: readonly Place[], accountId: number): boolean =>
  freePlaces(open) > 0 &&
  !fullAccounts(open).includes(accountId) &&
  open.filter((place) => place.accountId === accountId && !place.isWaiting).length < PER_ACCOUNT
