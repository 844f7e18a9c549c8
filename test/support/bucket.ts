/** A bucket for the tests of one file: s3rver behind a proxy that can be in a bad mood. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as requestOf, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import S3rver from 's3rver'
import { afterAll, vi } from 'vitest'

/**
 * What the proxy does with a request. `resets` ends the connection in the middle of the body of an answer, `trickles` sends such a body
 * byte by byte, and a number is an error of the store.
 */
export type Mood = 'well' | 'down' | 'slow' | 'hangs' | 'trickles' | 'resets' | 403 | 500 | 503 | 507

const ERRORS = { 403: 'AccessDenied', 404: 'NoSuchKey', 500: 'InternalError', 503: 'SlowDown', 507: 'StorageFull' }
const SLOW_MS = 100

export interface SeenRequest {
  method: string
  /** With its query. */
  path: string
  /** True for a CopyObject. */
  isCopy: boolean
}

export interface Bucket {
  /** For the setting STORAGE. */
  setting: string
  /** The mood, or one for each request. */
  mood: Mood | ((request: SeenRequest) => Mood)
  /** The requests that came, in their order. */
  seen: SeenRequest[]
  /** Uploads in parts that were neither completed nor aborted, by id. s3rver does not abort them itself. */
  uploads: Map<string, { key: string; initiated: Date }>
  /** The objects that are being written. */
  writing: Set<string>
  /** Whether the store can list its unfinished uploads. s3rver cannot. */
  listsUploads: boolean
  /** The number of open connections. */
  connections: () => Promise<number>
}

export async function startBucket(): Promise<Bucket> {
  const directory = await mkdtemp(join(tmpdir(), 'gridpost-bucket-'))
  const configureBuckets = [{ name: 'attachments', configs: [] }]
  const store = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const { port } = await store.run()
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')

  const proxy = createServer((request, response) => {
    const { method = '', url: path = '' } = request
    const seen = { method, path, isCopy: 'x-amz-copy-source' in request.headers }
    bucket.seen.push(seen)
    const mood = typeof bucket.mood === 'function' ? bucket.mood(seen) : bucket.mood
    // The tests look at what the service makes of it.
    answer(bucket, port, mood, request, response).catch(() => response.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const bucket: Bucket = {
    setting: `s3://attachments?endpoint=${encodeURIComponent(endpoint)}&region=eu-central-1&forcePathStyle=true`,
    mood: 'well',
    seen: [],
    uploads: new Map(),
    writing: new Set(),
    listsUploads: false,
    connections: () => new Promise((resolve, reject) => proxy.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
  }
  afterAll(async () => {
    proxy.close()
    proxy.closeAllConnections()
    await store.close()
    await rm(directory, { recursive: true, force: true })
  })
  return bucket
}

async function answer(bucket: Bucket, port: number, mood: Mood, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (mood === 'down') request.socket.destroy()
  else if (mood === 'hangs') request.resume()
  else if (typeof mood === 'number') sendError(mood, request, response)
  else {
    if (mood === 'slow') await sleep(SLOW_MS)
    await pass(bucket, port, mood, request, response)
  }
}

function sendError(status: keyof typeof ERRORS, request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(request.method === 'HEAD' ? undefined : `<Error><Code>${ERRORS[status]}</Code><Message>Not now</Message></Error>`)
}

async function pass(bucket: Bucket, port: number, mood: Mood, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '' } = request
  const url = new URL(request.url ?? '', 'http://bucket')
  const upload = url.searchParams.get('uploadId')
  if (method === 'GET' && url.searchParams.has('uploads') && bucket.listsUploads) return sendUploads(bucket, response)
  if (method === 'DELETE' && upload !== null) {
    bucket.uploads.delete(upload)
    response.writeHead(204).end()
    return
  }
  // s3rver shows an object while it is being written, where S3 shows it when it is whole.
  if (['GET', 'HEAD'].includes(method) && bucket.writing.has(url.pathname)) return sendError(404, request, response)
  const found = await forward(bucket, port, request, response)
  response.writeHead(found.statusCode ?? 500, found.headers)
  if (method === 'POST') {
    const body = await text(found)
    const begun = /<UploadId>(.*?)<\/UploadId>/.exec(body)?.[1]
    if (begun && upload === null) bucket.uploads.set(begun, { key: keyOf(url), initiated: new Date() })
    if (upload !== null) bucket.uploads.delete(upload)
    response.end(body)
  } else await sendBody(mood, found, response)
}

async function forward({ writing }: Bucket, port: number, request: IncomingMessage, response: ServerResponse): Promise<IncomingMessage> {
  const { method, url: path = '', headers } = request
  const [object = ''] = path.split('?')
  if (method === 'PUT') writing.add(object)
  // s3rver answers HEAD of a missing object with a body, which would be taken for the answer to the next request on the connection.
  const forwarded = requestOf({ host: '127.0.0.1', port, method, path, headers: { ...headers, connection: 'close' }, agent: false })
  forwarded.on('error', () => response.destroy())
  request.pipe(forwarded)
  response.on('close', () => forwarded.destroy())
  try {
    return (await once(forwarded, 'response'))[0] as IncomingMessage
  } finally {
    writing.delete(object)
  }
}

const keyOf = ({ pathname }: URL) => decodeURIComponent(pathname.split('/').slice(2).join('/'))

async function sendBody(mood: Mood, from: IncomingMessage, to: ServerResponse): Promise<void> {
  if (mood === 'resets') {
    const [first] = (await once(from, 'data')) as [Buffer]
    to.write(first.subarray(0, Math.ceil(first.length / 2)), () => to.destroy())
    from.destroy()
  } else if (mood === 'trickles') {
    for await (const chunk of from) {
      for (const byte of chunk as Buffer) {
        if (to.destroyed) return
        to.write(Buffer.of(byte))
        await sleep(20)
      }
    }
    to.end()
  } else from.pipe(to)
}

function sendUploads(bucket: Bucket, response: ServerResponse): void {
  const uploads = [...bucket.uploads].map(
    ([id, { key, initiated }]) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
  )
  response.writeHead(200, { 'content-type': 'application/xml' })
  response.end(`<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`)
}
