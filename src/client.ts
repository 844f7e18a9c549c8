/** The typed client of the API, for the frontend and for scripts. */
import { createTRPCClient, httpBatchLink, type TRPCClient } from '@trpc/client'
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
 * Makes a client. Calls of the same moment travel as one request; queries go by POST, because a long filter fits no URL.
 * Errors are TRPCClientError, with the body of the REST error in `error.data`.
 */
export function createClient({ baseUrl, apiKey, headers = {}, fetch }: ClientOptions): Client {
  return createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${baseUrl.replace(/\/+$/, '')}/trpc`,
        methodOverride: 'POST',
        maxItems: 50,
        fetch: (url, options) => (fetch ?? globalThis.fetch)(url as string, { ...(options as RequestInit), credentials: 'include' }),
        headers: ({ opList }) => {
          const contexts = opList.map(({ context }) => context as CallContext)
          const keys = contexts.map(({ idempotencyKey = '' }) => idempotencyKey)
          const ifMatch = contexts.length === 1 ? contexts[0]?.ifMatch : undefined
          return {
            ...headers,
            ...(apiKey && { authorization: `Bearer ${apiKey}` }),
            ...(keys.some(Boolean) && { 'idempotency-key': keys.join(',') }),
            ...(ifMatch && { 'if-match': ifMatch }),
          }
        },
      }),
    ],
  })
}
