/**
 * Uploads of the typed client. The bytes are the body of a PUT, because an RPC call has at most 4 MB. The file runs in browsers and in
 * Node, so it imports nothing of the server.
 */
import { TRPCClientError } from '@trpc/client'
import { type Answer, addressOf, type Input, resultOf, type Transport } from './rest-call.ts'

/** The bytes of a file. A stream is read once: Node's (`createReadStream`), the web's (`response.body`), or any iterable of bytes. */
export type FileContent = Blob | ArrayBuffer | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** Bytes with what is known of them. */
export interface Content {
  content: FileContent
  type?: string | undefined
  size?: number | undefined
}

/** A file with its name, such as the `File` of a browser's file input. */
export type UploadedContent = File | (Content & { name: string })

export interface TransferOptions {
  /** Called while the bytes are sent, and a last time when all of them have been. `total` is null for a stream of unknown size. */
  onProgress?: (progress: { sent: number; total: number | null }) => void
  /** Ends the upload. Nothing of it is kept. */
  signal?: AbortSignal
}

export interface UploadOptions extends TransferOptions {
  /** The same upload with the same key within a day is stored once. */
  idempotencyKey?: string
}

/** The uploads by the name of their procedure, with the path of the operation. Input that is not in the path goes into the query. */
export const UPLOAD_PATHS = {
  'files.create': '/api/table/{table_id}/record/{record_id}/files/create',
  'comments.upload': '/api/table/{table_id}/record/{record_id}/comments/upload',
  'tasks.upload': '/api/task/{task_id}/upload',
  'tasks.comments.upload': '/api/task/{task_id}/comments/upload',
  'tasks.stage': '/api/tasks/upload',
  'tasks.stageOnRecord': '/api/tasks/onRecord/{table_id}/{record_id}/upload',
} as const
export type UploadName = keyof typeof UPLOAD_PATHS

/**
 * Uploads a file.
 * @returns the answer of the procedure: a list as `rows`
 * @throws TRPCClientError with the body of the error in `data`; without `data` if the upload was aborted or the service did not answer
 */
export function upload(
  transport: Transport,
  name: UploadName,
  input: Input,
  file: UploadedContent,
  { idempotencyKey, ...options }: UploadOptions,
): Promise<unknown> {
  return sendBytes(transport, { method: 'PUT', path: UPLOAD_PATHS[name], input }, file, options, () => ({
    'content-type': typeOf(file) || 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encodeName(file.name)}`,
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }))
}

/** The media type of a file, or '' if it has none. */
export function typeOf(file: FileContent | Content): string {
  const content = contentOf(file)
  return ('content' in file && file.type) || (content instanceof Blob && content.type) || ''
}

const contentOf = (file: FileContent | Content): FileContent => ('content' in file ? file.content : file)

/**
 * Sends bytes as the body of a request.
 * @param headersOf the headers of the request; a name that cannot be sent fails as the request does
 * @throws as `upload`
 */
export async function sendBytes(
  { baseUrl, headers, fetch }: Transport,
  { method, path, input }: { method: 'PUT' | 'POST'; path: string; input: Input },
  file: FileContent | Content,
  { onProgress, signal }: TransferOptions,
  headersOf: () => Record<string, string>,
): Promise<unknown> {
  try {
    signal?.throwIfAborted()
    const content = contentOf(file)
    const sending: Sending = {
      method,
      url: baseUrl + addressOf(path, input),
      headers: { ...headers(), ...headersOf() },
      content,
      total: isWhole(content) ? sizeOf(content) : (('content' in file ? file.size : undefined) ?? null),
      onProgress,
      signal,
    }
    const isWatched = onProgress && !fetch && XMLHttpRequest
    const answer = isWatched ? await byXhr(new XMLHttpRequest(), sending) : await byFetch(sending, fetch ?? globalThis.fetch)
    return resultOf(answer)
  } catch (error) {
    throw TRPCClientError.from(error as Error)
  }
}

interface Sending {
  method: 'PUT' | 'POST'
  url: string
  headers: Record<string, string>
  content: FileContent
  total: number | null
  onProgress: UploadOptions['onProgress'] | undefined
  signal: AbortSignal | undefined
}

/** The value of `filename*` (RFC 8187). @throws URIError for half a surrogate pair */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

// ── fetch ───────────────────────────────────────────────────────────────────

/** True in Node. Browsers can send a stream only over HTTP/2, which they use only with TLS. */
const sendsStreams = 'process' in globalThis && !('document' in globalThis)

async function byFetch(sending: Sending, fetch: typeof globalThis.fetch): Promise<Answer> {
  const { method, url, headers, content, total, onProgress, signal } = sending
  const chunks = sendsStreams && (onProgress || !isWhole(content)) ? chunksOf(content) : undefined
  try {
    const response = await fetch(url, {
      method,
      credentials: 'include',
      headers: { ...headers, ...(chunks && total !== null && { 'content-length': String(total) }) },
      body: chunks ? streamOf(chunks, sending) : await asBody(content),
      ...(chunks && { duplex: 'half' }),
      ...(signal && { signal }),
    } as RequestInit)
    const answer = { status: response.status, text: await response.text() }
    if (!chunks && total !== null) onProgress?.({ sent: total, total })
    return answer
  } finally {
    // Node's fetch leaves the body open after an abort or an early answer. `return` would wait for a pending read, so it is not awaited.
    chunks?.return(undefined).catch(() => {})
  }
}

/** Collects content that cannot be sent as a stream. A browser keeps a large Blob on disk. */
async function asBody(content: FileContent): Promise<Blob | ArrayBuffer | Uint8Array> {
  if (isWhole(content)) return content
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of chunksOf(content)) chunks.push(new Uint8Array(chunk))
  return new Blob(chunks)
}

const isWhole = (content: FileContent): content is Blob | ArrayBuffer | Uint8Array =>
  content instanceof Blob || content instanceof ArrayBuffer || content instanceof Uint8Array

const sizeOf = (content: Blob | ArrayBuffer | Uint8Array): number => (content instanceof Blob ? content.size : content.byteLength)

const CHUNK_BYTES = 256 * 1024

/** The bytes in small pieces, so that they report progress. */
async function* chunksOf(content: FileContent): AsyncGenerator<Uint8Array, undefined> {
  for await (const bytes of partsOf(content))
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES)
}

async function* partsOf(content: FileContent): AsyncGenerator<Uint8Array, undefined> {
  if (content instanceof Uint8Array) yield content
  else if (content instanceof ArrayBuffer) yield new Uint8Array(content)
  else if (content instanceof Blob || content instanceof ReadableStream) {
    // Not every browser can iterate over a stream.
    const reader = (content instanceof Blob ? content.stream() : content).getReader()
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
    } finally {
      await reader.cancel()
    }
  } else yield* content
}

/** Makes a stream of the chunks, and reports progress as they are taken. */
function streamOf(chunks: AsyncGenerator<Uint8Array, undefined>, { total, onProgress }: Sending): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) return controller.close()
      controller.enqueue(value)
      sent += value.byteLength
      onProgress?.({ sent, total })
    },
  })
}

// ── XMLHttpRequest ──────────────────────────────────────────────────────────

/** The part of a browser's XMLHttpRequest that is used here. */
interface BrowserRequest {
  status: number
  responseText: string
  withCredentials: boolean
  upload: { onprogress: (event: { loaded: number; total: number }) => void }
  onload: () => void
  onerror: () => void
  onloadend: () => void
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  send(body: Blob | ArrayBuffer | Uint8Array): void
  abort(): void
}

/** Browsers report the progress of an upload only through this class, which Node and service workers do not have. */
const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => BrowserRequest }

async function byXhr(request: BrowserRequest, { method, url, headers, content, onProgress, signal }: Sending): Promise<Answer> {
  const body = await asBody(content)
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const abort = () => {
      request.abort()
      reject(signal?.reason)
    }
    request.open(method, url)
    request.withCredentials = true
    for (const [key, value] of Object.entries(headers)) request.setRequestHeader(key, value)
    request.upload.onprogress = ({ loaded, total }) => onProgress?.({ sent: loaded, total })
    request.onload = () => resolve({ status: request.status, text: request.responseText })
    request.onerror = () => reject(new TypeError('The upload failed before the service answered'))
    request.onloadend = () => signal?.removeEventListener('abort', abort)
    signal?.addEventListener('abort', abort, { once: true })
    request.send(body)
  })
}
