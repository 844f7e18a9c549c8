/** Whether the person of this page is still signed in. What is asked after the session ended waits until they are again. */

/** `other`: in this browser somebody else has signed in meanwhile, so that nothing of this page may be sent any more. */
export type SessionState = 'closed' | 'open' | 'ended' | 'other'

type Message = { userId: number | null }

let state: SessionState = 'closed'
let userId: number | null = null
let again: PromiseWithResolvers<void> | undefined
/** Counts the sessions of this page. */
let sessions = 0
const listeners = new Set<() => void>()
/** Tells the other tabs of this browser, which share the cookie. */
const tabs = new BroadcastChannel('gridpost-session')

function change(next: SessionState): void {
  if (state === next) return
  state = next
  for (const listener of listeners) listener()
}

/** Notes that the person is signed in, and lets go on what waits. */
export function openSession(id: number, { isNew = false } = {}): void {
  userId = id
  sessions += 1
  change('open')
  again?.resolve()
  again = undefined
  if (isNew) tabs.postMessage({ userId: id } satisfies Message)
}

/** Tells the other tabs that the person has signed out. */
export const tellSignedOut = (): void => tabs.postMessage({ userId: null } satisfies Message)

/** The id of the person who is signed in, or was until their session ended; null if nobody is. */
export const signedInUser = (): number | null => userId

/** Says with each request whose session it is meant for: the service refuses it if the cookie is somebody else's by now. */
export const sessionHeaders = (): Record<string, string> => (userId === null ? {} : { 'x-session-user': String(userId) })

/** Whether the cookie of the browser is somebody else's by now. */
export const isSomebodyElse = (): boolean => state === 'other'

/** Notes that the service has refused the cookie as somebody else's, before their tab has said so. */
export function noteSomebodyElse(): void {
  if (state !== 'closed') change('other')
}

export const isSessionOpen = (): boolean => state !== 'closed'

/** The session that a request is sent with, for `signedInAgain`. */
export const presentSession = (): number => sessions

/**
 * Waits until the person has signed in again: the page asks them to.
 * @param session the one that has ended. The end of one that another has followed says nothing of that.
 */
export function signedInAgain(session = sessions): Promise<void> {
  if (session !== sessions) return Promise.resolve()
  again ??= Promise.withResolvers()
  if (state === 'open') change('ended')
  return again.promise
}

tabs.onmessage = ({ data }: { data: Message }) => {
  if (state === 'closed') return
  if (data.userId === null) change('ended')
  else if (data.userId === userId) openSession(data.userId)
  else change('other')
}

export const sessionState = (): SessionState => state

/** Calls the listener with each change, until the answer is called. */
export function listenToSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
