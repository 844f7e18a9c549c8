/** The typed client of the API, for the frontend and for scripts. */
import { createTRPCClient, httpBatchLink, httpLink, httpSubscriptionLink, splitLink, type TRPCClient } from '@trpc/client'
import { FetchEventSource } from './events/event-source.ts'
import type { AppRouter } from './router.ts'

export type { AppRouter }
export type Client = TRPCClient<AppRouter>

export interface ClientOptions {
  /** The address of the service, such as https://gridpost.example.com. */
  baseUrl: string
  /** An API key. Without one, a browser sends its session cookie. */
  apiKey?: string
  /** Sent with every request. */
  headers?: Record<string, string>
  fetch?: typeof globalThis.fetch
}

/** Headers of a single call: `client.tasks.create.mutate(input, { context: { idempotencyKey } })`. */
export interface CallContext {
  idempotencyKey?: string
  /** The ETag of the version that the call may change; for another version it fails with 409. */
  ifMatch?: string
}

/**
 * Creates a client. Calls made at the same time are sent as one request, except those with a context. Queries are sent by POST,
 * because a long filter does not fit into a URL. A subscription reconnects after a lost connection and resumes after its last event.
 * Errors are TRPCClientError, with the body of the REST error in `error.data`.
 */
export function createClient({ baseUrl, apiKey, headers = {}, fetch }: ClientOptions): Client {
  const url = `${baseUrl.replace(/\/+$/, '')}/trpc`
  const clientHeaders: Record<string, string> = { ...headers, ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
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
            fetch: (to, init) => send(to, { ...init, headers: { ...clientHeaders, ...(init.headers as Record<string, string>) } }),
          },
        }),
        false: splitLink({
          // A header applies to the whole request, so a call with headers of its own is not batched.
          condition: ({ context }) => Object.keys(headersOf(context)).length > 0,
          true: httpLink({
            url,
            methodOverride: 'POST',
            fetch: send,
            headers: ({ op }) => ({ ...clientHeaders, ...headersOf(op.context) }),
          }),
          false: httpBatchLink({ url, methodOverride: 'POST', maxItems: 50, fetch: send, headers: clientHeaders }),
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
