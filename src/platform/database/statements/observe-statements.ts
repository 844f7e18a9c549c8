/** Observes the statements of a connection: those of Prisma, and those written by hand. */
import type pg from 'pg'

/** Called when a statement is sent; the function that it returns is called with the answer. */
export type ObserveStatement = (text: string) => (error?: unknown) => void

/** Observes all statements that are sent from now on. */
export function observeStatements(client: pg.ClientBase, observe: ObserveStatement): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const observed = (...args: unknown[]) => {
    const [statement] = args
    const answered = observe(typeof statement === 'string' ? statement : ((statement as { text?: string } | null)?.text ?? ''))
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      args[args.length - 1] = (...results: unknown[]) => {
        answered(results[0] ?? undefined)
        callback(...results)
      }
      return query(...args)
    }
    const result = query(...args)
    // Without a callback pg returns a promise, or the custom query object that it was given.
    if (result instanceof Promise) result.then(() => answered(), answered)
    return result
  }
  client.query = observed as typeof client.query
}
