/**
 * The slots of connections in a process. A connection that waits for its server for longer than a moment gives its slot to another one,
 * so that servers that hang hold back no mail for others. Files and memory limit how many connections there are together.
 */

/** How many connections a process uses at once besides those that wait for their server. */
const MAX_UNDERWAY = 60
/** How many of them are of one account. */
export const PER_ACCOUNT = 20
/** How many connections a process has in all. */
const MAX_OPEN = 600
/** After this time a server that has not completed a delivery counts as slow. */
const MOMENT_MS = 500

/**
 * The characters of all mails that a process is giving to servers at once. A mail is in memory as it is stored and as it is sent, so a
 * character takes about two bytes, or four if the mail has one outside of Latin-1.
 */
const MAX_CHARACTERS = 64 * 1_048_576

/** A connection of an account. */
export interface Slot {
  accountId: number
  /** True while the server is slow: the connection does not count among those in use. */
  isWaiting: boolean
  /** The characters of the mail that the server is being given; none before and after. */
  characters?: number
}

/** Measures how long servers take. */
export interface ServerWait {
  /** The dialogue with the server begins or goes on. @param characters of the text of the mail, in plain and in HTML */
  begin(characters: number): void
  /** The dialogue has ended, or it is the service itself that takes its time now. */
  end(): void
}

/** @param onFreed called when a connection has begun to wait, and its slot is free */
export function serverWait(slot: Slot, onFreed: () => void): ServerWait {
  let timer: NodeJS.Timeout | undefined
  const end = () => {
    clearTimeout(timer)
    slot.isWaiting = false
    slot.characters = 0
  }
  const begin = (characters: number) => {
    end()
    slot.characters = characters
    timer = setTimeout(() => {
      slot.isWaiting = true
      onFreed()
    }, MOMENT_MS)
  }
  return { begin, end }
}

/** How many connections the process can open now. */
export const freeSlots = (open: readonly Slot[]): number =>
  Math.min(MAX_UNDERWAY - open.filter(({ isWaiting }) => !isWaiting).length, MAX_OPEN - open.length)

/**
 * The accounts that have as many connections, or as many characters, as are still free in all: one account can have half of them, two a
 * third each, and so on. So there is always room for another account, however many servers hang.
 */
export function fullAccounts(open: readonly Slot[]): number[] {
  const byAccount = Map.groupBy(open, ({ accountId }) => accountId)
  const freeCharacters = MAX_CHARACTERS - charactersOf(open)
  return [...byAccount].flatMap(([accountId, own]) => {
    const characters = charactersOf(own)
    // The size of a mail is known only once it is read, so all of them together may have more for a moment.
    const isFull = own.length >= MAX_OPEN - open.length || (characters > 0 && characters >= freeCharacters)
    return isFull ? [accountId] : []
  })
}

const charactersOf = (slots: readonly Slot[]) => slots.reduce((sum, { characters = 0 }) => sum + characters, 0)

/** True if no other connection waits for one of this account to end. */
export const hasRoom = (open: readonly Slot[], accountId: number): boolean =>
  freeSlots(open) > 0 &&
  !fullAccounts(open).includes(accountId) &&
  open.filter((slot) => slot.accountId === accountId && !slot.isWaiting).length < PER_ACCOUNT
