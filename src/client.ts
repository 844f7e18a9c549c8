/** The typed client of the API, for the frontend and for scripts. */
import { createTRPCClient, httpBatchLink, httpLink, httpSubscriptionLink, splitLink, type TRPCClient } from '@trpc/client'
import { FetchEventSource } from './events/event-source.ts'
import type { AppRouter } from './router.ts'

export type { AppRouter }
export type Client = TRPCClient<AppRouter>

export interface ClientOptions {
  /** Where the service is, such as https://gridpost.example.com. */
  baseUrl: string
  /** An API key. Without one, a browser sends the cookie of its session. */
  apiKey?: string
  /** Sent with every request. */
  headers?: Record<string, string>
  fetch?: typeof globalThis.fetch
}

/** What a call may carry: `client.tasks.create.mutate(input, { context: { idempotencyKey } })`. */
export interface CallContext {
  idempotencyKey?: string
  /** The ETag of the row that is meant to be changed. */
  ifMatch?: string
}

/**
 * Makes a client. Calls of the same moment travel as one request, those with a context each by itself; queries go by POST, because a
 * long filter fits no URL. Subscriptions travel by themselves, and go on by themselves after the last event when the connection drops.
 * Errors are TRPCClientError, with the body of the REST error in `error.data`.
 */
export function createClient({ baseUrl, apiKey, headers = {}, fetch }: ClientOptions): Client {
  const url = `${baseUrl.replace(/\/+$/, '')}/trpc`
  const own: Record<string, string> = { ...headers, ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
  const send = (to: unknown, init: unknown) =>
    (fetch ?? globalThis.fetch)(to as string, { ...(init as RequestInit), credentials: 'include' })
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({
          url,
          EventSource: FetchEventSource,
          eventSourceOptions: {
            fetch: (to, init) => send(to, { ...init, headers: { ...own, ...(init.headers as Record<string, string>) } }),
          },
        }),
        false: splitLink({
          // A header is about the whole request: what it says of one call must not reach the others.
          condition: ({ context }) => Object.keys(headersOf(context)).length > 0,
          true: httpLink({
            url,
            methodOverride: 'POST',
            fetch: send,
            headers: ({ op }) => ({ ...own, ...headersOf(op.context) }),
          }),
          false: httpBatchLink({ url, methodOverride: 'POST', maxItems: 50, fetch: send, headers: own }),
        }),
      }),
    ],
  })
}

function headersOf({ idempotencyKey, ifMatch }: CallContext): Record<string, string> {
  return {
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
}
