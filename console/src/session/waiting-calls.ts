/** Calls of a page whose session may end, or become that of somebody else. */
import type { Client } from 'gridpost-client'
import { isOfSomebodyElse, isSignedOut } from './errors.ts'
import { isSessionOpen, isSomebodyElse, noteSomebodyElse, presentSession, signedInAgain } from './session.ts'

/** How procedures are called that answer with a promise. The subscription reconnects by itself. */
const CALLS = new Set(['query', 'mutate'])
/** Calls of the client itself. */
const TRANSFERS = new Set(['upload', 'importCsv', 'importTable', 'exportCsv', 'downloadFile', 'downloadMail', 'downloadRaw'])
/** Whoever signs in has no session yet, and a refused password is no ended one. */
const WITHOUT_SESSION = new Set(['login', 'demo', 'setup', 'methods', 'logout'])

type Callable = (...input: unknown[]) => unknown

/**
 * A call that fails because the session has ended is made again once the person has signed in again. Nothing has happened by then. Nor is
 * any made with the cookie of somebody else, who would be its author, or an answer shown under their eyes.
 */
export function waitingForSession(client: Client): Client {
  const wrap = (target: object, path: readonly string[]): unknown =>
    new Proxy(target, {
      get: (of, key) => {
        const found: unknown = Reflect.get(of, key)
        if (typeof key !== 'string' || (typeof found !== 'function' && typeof found !== 'object') || found === null) return found
        const isACall = isCall(path, key)
        if (isACall && !path.some((part) => WITHOUT_SESSION.has(part))) return repeating(found as Callable)
        return isACall || key === 'subscribe' ? found : wrap(found, [...path, key])
      },
    })
  return wrap(client, []) as Client
}

/** A procedure has the names of its routers before its own, which may be `query`, too. */
const isCall = (path: readonly string[], key: string): boolean =>
  path.length === 0 ? TRANSFERS.has(key) : path.length > 1 && CALLS.has(key)

function repeating(call: Callable): Callable {
  return async (...input) => {
    for (;;) {
      await whileSomebodyElse()
      const session = presentSession()
      try {
        return await call(...input)
      } catch (error) {
        if (isOfSomebodyElse(error)) noteSomebodyElse()
        if (!isSignedOut(error) || !isSessionOpen()) throw error
        await signedInAgain(session)
      } finally {
        await whileSomebodyElse()
      }
    }
  }
}

const whileSomebodyElse = async (): Promise<void> => {
  if (isSomebodyElse()) await signedInAgain()
}
