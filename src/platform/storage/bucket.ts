/** A storage in an S3 bucket. Its packages take about 30 MB of memory, so they are loaded only for a bucket, at its first use. */
import { Readable } from 'node:stream'
import type { ListMultipartUploadsOutput, MultipartUpload, S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { steadyBytes } from './steady-bytes.ts'
import { isPath, LINK_SECONDS, type Storage } from './storage.ts'

/** The size of the parts of an upload: the least that S3 takes, because each upload keeps one or two of them in memory. */
const PART_BYTES = 5 * 1_048_576
/** The parts of one upload that are sent at once when all its bytes are in memory already. */
const PARTS_AT_ONCE = 4
/** A part of an upload may take this many times as long as a command without bytes. */
const PART_PATIENCE = 4
const CONNECT_WITHIN_MS = 3_000

/** The configuration of a client for the bucket of a setting STORAGE. Credentials come from the usual AWS_* variables. */
export function bucketConfig({ searchParams }: URL): S3ClientConfig {
  const endpoint = searchParams.get('endpoint')
  // A slow reader holds a connection. With the default of 50, fifty slow readers would block the storage for everybody else.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
  return {
    region: searchParams.get('region') ?? process.env.AWS_REGION ?? 'us-east-1',
    forcePathStyle: searchParams.get('forcePathStyle') === 'true',
    // Most stores with an S3 API do not support checksums in trailers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // With this header the SDK (3.1169.0) opens a new connection for each part.
    expectContinueHeader: false,
    requestHandler: { connectionTimeout: CONNECT_WITHIN_MS, httpAgent: agent, httpsAgent: agent },
    ...(endpoint !== null && { endpoint }),
  }
}

/** @param limitMs the most time for a command with all its attempts, and the longest silence of a download */
export function bucketStorage(url: URL, limitMs: number): Storage {
  const Bucket = url.hostname
  let opened: ReturnType<typeof connect> | undefined
  const connection = () => {
    opened ??= connect(url, limitMs)
    return opened
  }

  return {
    host: `s3://${Bucket}`,
    async write(path, bytes) {
      const { s3, Upload } = await connection()
      const queueSize = bytes instanceof Readable ? 1 : PARTS_AT_ONCE
      // `Upload` aborts the upload if it fails. Its stored parts would cost money.
      await new Upload({ client: s3, params: { Bucket, Key: path, Body: bytes }, queueSize, partSize: PART_BYTES }).done()
    },
    // A bucket has no temporary paths: whatever is complete is durable.
    keep: async () => {},
    async read(path, range) {
      const { s3, sdk } = await connection()
      const Range = range && `bytes=${range.start}-${range.end}`
      const found = await s3.send(new sdk.GetObjectCommand({ Bucket, Key: path, ...(Range && { Range }) })).catch(ifAbsent(null))
      if (!found) return null
      if (!(found.Body instanceof Readable)) throw new Error('The answer of the bucket has no body')
      if (range && found.ContentRange === undefined) {
        found.Body.destroy()
        throw new Error('The bucket does not answer with ranges')
      }
      return steadyBytes(found.Body, limitMs)
    },
    async size(path) {
      const { s3, sdk } = await connection()
      const found = await s3.send(new sdk.HeadObjectCommand({ Bucket, Key: path })).catch(ifAbsent(null))
      return found && (found.ContentLength ?? 0)
    },
    async move(from, to) {
      const { s3, sdk } = await connection()
      const copied = await s3
        .send(new sdk.CopyObjectCommand({ Bucket, Key: to, CopySource: `${Bucket}/${from}` }))
        .then(() => true, ifAbsent(false))
      if (copied) await s3.send(new sdk.DeleteObjectCommand({ Bucket, Key: from }))
      return copied
    },
    async remove(path) {
      const { s3, sdk } = await connection()
      await s3.send(new sdk.DeleteObjectCommand({ Bucket, Key: path }))
    },
    async *list(Prefix, before) {
      const { s3, sdk } = await connection()
      for await (const { Contents = [] } of sdk.paginateListObjectsV2({ client: s3 }, { Bucket, Prefix }))
        for (const { Key, LastModified } of Contents) if (Key && isPath(Key) && LastModified && LastModified < before) yield Key
    },
    async removeUnfinished(before, isOwn) {
      const { s3, sdk } = await connection()
      for await (const { Key, UploadId, Initiated } of unfinishedUploads(s3, sdk, Bucket)) {
        if (!Key || !isOwn(Key) || !Initiated || Initiated >= before) continue
        await s3.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
      }
    },
    async link(path, { type, disposition }) {
      const [{ s3, sdk }, { getSignedUrl }] = await Promise.all([connection(), import('@aws-sdk/s3-request-presigner')])
      const ResponseCacheControl = `private, max-age=${LINK_SECONDS}`
      const headers = { ResponseContentType: type, ResponseContentDisposition: disposition, ResponseCacheControl }
      return getSignedUrl(s3, new sdk.GetObjectCommand({ Bucket, Key: path, ...headers }), { expiresIn: LINK_SECONDS })
    },
    async check() {
      const { s3, sdk } = await connection()
      await s3.send(new sdk.HeadBucketCommand({ Bucket }))
    },
  }
}

type Sdk = typeof import('@aws-sdk/client-s3')

async function connect(url: URL, limitMs: number) {
  const [sdk, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')])
  const s3 = new sdk.S3Client(bucketConfig(url))
  limitTime(s3, limitMs)
  return { s3, sdk, Upload }
}

/** Limits the time of each command with all its attempts. The body of a download arrives later and is not part of the command. */
function limitTime(s3: S3Client, limitMs: number): void {
  const send = s3.send.bind(s3) as (command: { input: object }, options: object) => Promise<unknown>
  s3.send = ((command: { input: object }) => {
    const limit = new AbortController()
    const mayTakeMs = 'Body' in command.input ? limitMs * PART_PATIENCE : limitMs
    const timer = setTimeout(() => limit.abort(), mayTakeMs)
    return send(command, { abortSignal: limit.signal }).finally(() => clearTimeout(timer))
  }) as typeof s3.send
}

/** Handles the error of an object that does not exist. A bucket that does not exist is another error. */
const ifAbsent =
  <Value>(value: Value) =>
  (error: Error): Value => {
    if (error.name === 'NoSuchKey' || error.name === 'NotFound') return value
    throw error
  }

/** The uploads in parts that were neither completed nor aborted; none if the store cannot list them, or the service may not. */
async function* unfinishedUploads(s3: S3Client, sdk: Sdk, Bucket: string): AsyncGenerator<MultipartUpload> {
  let next: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {}
  while (next) {
    const page: ListMultipartUploadsOutput | undefined = await s3
      .send(new sdk.ListMultipartUploadsCommand({ Bucket, ...next }))
      .catch(ifNotOffered)
    yield* page?.Uploads ?? []
    next = page?.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined
  }
}

const NOT_OFFERED = new Set<unknown>([403, 405, 501])

function ifNotOffered(error: Error & { $metadata?: { httpStatusCode?: number } }): undefined {
  if (!NOT_OFFERED.has(error.$metadata?.httpStatusCode)) throw error
}
