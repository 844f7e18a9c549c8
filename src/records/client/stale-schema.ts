/** Explains errors that a program gets whose Schema was made before a table changed. */
import { TRPCClientError, type TRPCLink } from '@trpc/client'
import type { AnyRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'

/** The parts of an error's data that tell why the service refused a call. */
interface Refusal {
  message?: string
  issues?: { message: string }[]
}

/** What the service says of a view and a field that are not there, a compare that a type does not have, and an unknown option. */
const NOT_THERE = [
  /^View not found$/,
  / is not a field of (this table|the table of '.+')$/,
  /^the table of '.+' is deleted$/,
  / does not have .+; it has /,
  /^unknown option "/,
]

/**
 * A link that adds to such an error which command makes the Schema anew. `error.data` stays as the service answered it. Types are gone when
 * a program runs, so the error says it to programs without a Schema, too.
 */
export const explainingStaleSchema =
  <Router extends AnyRouter>(baseUrl: string): TRPCLink<Router> =>
  () =>
  ({ op, next }) => {
    if (!/^(records|views)\./.test(op.path)) return next(op)
    return observable((observer) =>
      next(op).subscribe({
        next: (result) => observer.next(result),
        error: (error) => observer.error(namesWhatIsGone(error.data) ? explained(error, baseUrl) : error),
        complete: () => observer.complete(),
      }),
    )
  }

function namesWhatIsGone(data: unknown): boolean {
  const { message = '', issues = [] } = (data ?? {}) as Refusal
  return [message, ...issues.map((issue) => issue.message)].some((text) => NOT_THERE.some((pattern) => pattern.test(text)))
}

function explained<Router extends AnyRouter>(error: TRPCClientError<Router>, baseUrl: string): TRPCClientError<Router> {
  const command = `npx gridpost-client types --url ${baseUrl} --key … > gridpost.d.ts`
  const { shape, cause, meta } = error
  return new TRPCClientError(`${error.message}. If a Schema has it, the table has changed since: ${command}`, {
    ...(shape && { result: { error: shape } }),
    ...(cause && { cause }),
    ...(meta && { meta }),
  })
}
