/** The typed client of the API, for the frontend and for scripts. */
import { createTRPCClient, httpBatchLink, httpLink, httpSubscriptionLink, splitLink, type TRPCClient } from '@trpc/client'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import { FetchEventSource } from './events/event-source.ts'
import { type UploadedContent, type UploadName, type UploadOptions, upload } from './files/client/upload-request.ts'
import type { AppRouter } from './router.ts'

export type { AppRouter, UploadedContent, UploadName, UploadOptions }
export type Client = TRPCClient<AppRouter> & { upload: Upload }

/** The part of a tree at a path such as `tasks.comments.upload`. */
type At<Tree, Path extends string> = Path extends `${infer Head}.${infer Rest}`
  ? Head extends keyof Tree
    ? At<Tree[Head], Rest>
    : never
  : Path extends keyof Tree
    ? Tree[Path]
    : never

/**
 * Uploads a file of any size that the service takes, by the name of the procedure: `client.upload('tasks.upload', { task_id: 1 }, file)`.
 * @param file the `File` of a browser, or `{ name, content }` with a Blob, bytes or a stream
 * @returns what the procedure returns
 * @throws TRPCClientError as every call
 */
export type Upload = <Name extends UploadName>(
  name: Name,
  input: Omit<At<inferRouterInputs<AppRouter>, Name>, 'name' | 'type' | 'data'>,
  file: UploadedContent,
  options?: UploadOptions,
) => Promise<At<inferRouterOutputs<AppRouter>, Name>>

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
  const base = baseUrl.replace(/\/+$/, '')
  const url = `${base}/trpc`
  const clientHeaders: Record<string, string> = { ...headers, ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
  const send = (to: unknown, init: unknown) =>
    (fetch ?? globalThis.fetch)(to as string, { ...(init as RequestInit), credentials: 'include' })
  const calls = createTRPCClient<AppRouter>({
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
  const uploadFile: Upload = (name, input, file, options = {}) =>
    upload(
      { baseUrl: base, headers: clientHeaders, fetch },
      name,
      input as Record<string, string | number>,
      file,
      options,
    ) as Promise<never>
  // The client is a proxy that takes every key for a part of a procedure's name.
  return new Proxy(calls, { get: (target, key) => (key === 'upload' ? uploadFile : Reflect.get(target, key)) }) as Client
}

function headersOf({ idempotencyKey, ifMatch }: CallContext): Record<string, string> {
  return {
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
}
