/** What the service said when a call failed. */
import { TRPCClientError } from '@trpc/client'
import type { AppRouter } from 'gridpost-client'
import { sessionTexts } from '../texts/session.ts'

type ErrorData = NonNullable<TRPCClientError<AppRouter>['data']>

/** The body of the error; undefined if the service has not answered. */
export function errorData(error: unknown): ErrorData | undefined {
  return error instanceof TRPCClientError ? ((error as TRPCClientError<AppRouter>).data ?? undefined) : undefined
}

/** What to tell the person: the words of the API as they are, or that it does not answer. */
export function messageOf(error: unknown): string {
  return errorData(error)?.message ?? sessionTexts.unreachable
}

export const isSignedOut = (error: unknown): boolean => errorData(error)?.code === 'UNAUTHORIZED'

/** Whether the cookie is somebody else's by now (docs/authentication.md). */
export const isOfSomebodyElse = (error: unknown): boolean =>
  isSignedOut(error) && errorData(error)?.issues?.some((issue) => 'path' in issue && issue.path[0] === 'X-Session-User') === true

/** Whether the thing does not exist, or belongs to others: the API does not tell these apart. */
export const isNotHere = (error: unknown): boolean => ['NOT_FOUND', 'FORBIDDEN', 'BAD_REQUEST'].includes(errorData(error)?.code ?? '')
