/**
 * Calls of REST for what has no procedure: bytes that come or go. The file runs in browsers and in Node, so it imports nothing of the
 * server.
 */
import { TRPCClientError } from '@trpc/client'

export interface Transport {
  baseUrl: string
  /** Asked for each request. */
  headers: () => Record<string, string>
  /** By default the `fetch` of the environment. */
  fetch: typeof globalThis.fetch | undefined
}

/** Values for the places of a path and for the query. Those that are null or undefined are left out. */
export type Input = object

/** The path with its places filled from the input, the rest of which becomes the query. */
export function addressOf(path: string, input: Input): string {
  const query = new URLSearchParams()
  let filled = path
  for (const [key, value] of Object.entries(input)) {
    if (value === undefined || value === null) continue
    const place = `{${key}}`
    if (path.includes(place)) filled = filled.replace(place, () => encodeURIComponent(String(value)))
    else query.set(key, String(value))
  }
  return query.size ? `${filled}?${query}` : filled
}

export interface DownloadOptions {
  /** Ends the download. */
  signal?: AbortSignal
  /** The bytes from `start` to `end`, both included; without `end` to the last one. */
  range?: { start: number; end?: number }
}

/**
 * Asks for bytes.
 * @returns the answer once its headers are there. Its body is read as a stream, or by `text()`, `blob()` and the like
 * @throws TRPCClientError with the body of the error in `data`; without `data` if the service did not answer
 */
export async function download(
  { baseUrl, headers, fetch = globalThis.fetch }: Transport,
  path: string,
  input: Input,
  { signal, range }: DownloadOptions = {},
): Promise<Response> {
  try {
    const response = await fetch(baseUrl + addressOf(path, input), {
      credentials: 'include',
      headers: { ...headers(), ...(range && { range: `bytes=${range.start}-${range.end ?? ''}` }) },
      ...(signal && { signal }),
    } as RequestInit)
    if (!response.ok) throw refusal('download', response.status, parsed(await response.text()))
    return response
  } catch (error) {
    throw TRPCClientError.from(error as Error)
  }
}

export interface Answer {
  status: number
  text: string
}

/** Returns the answer of a successful upload, a list as `rows`. @throws TRPCClientError with the REST error in the form of an RPC error */
export function resultOf({ status, text }: Answer): unknown {
  const body = parsed(text)
  if (status >= 300 || body === undefined) throw refusal('upload', status, body)
  return Array.isArray(body) ? { rows: body } : body
}

function refusal(what: 'upload' | 'download', status: number, body: object | undefined): Error {
  if (!body || !('code' in body)) return new Error(`The ${what} was answered with status ${status}`)
  const { message, ...rest } = body as unknown as { message: string }
  return TRPCClientError.from({ error: { message, code: rpcCode(status), data: { message, httpStatus: status, ...rest } } })
}

function parsed(text: string): object | undefined {
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' && body !== null ? body : undefined
  } catch {
    return undefined
  }
}

/** The code of JSON-RPC that tRPC has for a status. */
const rpcCode = (status: number): number => (status === 400 ? -32_600 : status < 500 ? -31_600 - status : -32_603)
