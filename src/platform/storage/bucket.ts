/** A storage in an S3 bucket. */
import { Readable } from 'node:stream'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { isPath, type Storage } from './storage.ts'

/** The size of the parts of an upload of unknown length. S3 requires at least 5 MB. */
const PART_BYTES = 8 * 1_048_576

/** The configuration of a client for the bucket of a setting STORAGE. Credentials come from the usual AWS_* variables. */
export function bucketConfig({ searchParams }: URL): S3ClientConfig {
  const endpoint = searchParams.get('endpoint')
  return {
    region: searchParams.get('region') ?? process.env.AWS_REGION ?? 'us-east-1',
    forcePathStyle: searchParams.get('forcePathStyle') === 'true',
    // Most stores with an S3 API do not support checksums in trailers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...(endpoint !== null && { endpoint }),
  }
}

export function bucketStorage(url: URL): Storage {
  const Bucket = url.hostname
  const config = bucketConfig(url)
  let opened: Promise<{ s3: S3Client; sdk: typeof import('@aws-sdk/client-s3') }> | undefined
  // The package takes about 30 MB of memory, so it is loaded only for a bucket.
  const connection = () => {
    opened ??= import('@aws-sdk/client-s3').then((sdk) => ({ s3: new sdk.S3Client(config), sdk }))
    return opened
  }

  return {
    host: `s3://${Bucket}`,
    async write(path, bytes) {
      const { s3, sdk } = await connection()
      const object = { Bucket, Key: path }
      if (bytes instanceof Uint8Array) await s3.send(new sdk.PutObjectCommand({ ...object, Body: bytes }))
      else await writeParts(s3, sdk, object, bytes)
    },
    async read(path, range) {
      const { s3, sdk } = await connection()
      try {
        const { Body } = await s3.send(
          new sdk.GetObjectCommand({ Bucket, Key: path, ...(range && { Range: `bytes=${range.start}-${range.end}` }) }),
        )
        return Body instanceof Readable ? Body : null
      } catch (error) {
        if (error instanceof sdk.NoSuchKey || (error as { name?: string }).name === 'NotFound') return null
        throw error
      }
    },
    async move(from, to) {
      const { s3, sdk } = await connection()
      await s3.send(new sdk.CopyObjectCommand({ Bucket, Key: to, CopySource: `${Bucket}/${from}` }))
      await s3.send(new sdk.DeleteObjectCommand({ Bucket, Key: from }))
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
    // An unfinished upload is no object. A rule of the bucket removes it, because many stores with an S3 API cannot list uploads.
    removeUnfinished: async () => {},
  }
}

/** Uploads a stream in parts. A failed upload is aborted, because stored parts cost money. */
async function writeParts(
  s3: S3Client,
  sdk: typeof import('@aws-sdk/client-s3'),
  object: { Bucket: string; Key: string },
  bytes: Readable,
): Promise<void> {
  const parts = inParts(bytes)
  const first = await parts.next()
  const second = first.done ? first : await parts.next()
  if (second.done) {
    await s3.send(new sdk.PutObjectCommand({ ...object, Body: first.value ?? new Uint8Array() }))
    return
  }
  const { UploadId } = await s3.send(new sdk.CreateMultipartUploadCommand(object))
  try {
    const Parts: { ETag: string | undefined; PartNumber: number }[] = []
    const send = async (Body: Uint8Array) => {
      const PartNumber = Parts.length + 1
      const { ETag } = await s3.send(new sdk.UploadPartCommand({ ...object, UploadId, PartNumber, Body }))
      Parts.push({ ETag, PartNumber })
    }
    await send(first.value as Uint8Array)
    await send(second.value as Uint8Array)
    for await (const part of parts) await send(part)
    await s3.send(new sdk.CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts } }))
  } catch (error) {
    await s3.send(new sdk.AbortMultipartUploadCommand({ ...object, UploadId })).catch(() => {})
    throw error
  }
}

async function* inParts(bytes: Readable): AsyncGenerator<Uint8Array, undefined> {
  let held: Buffer[] = []
  let size = 0
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    held.push(chunk)
    size += chunk.length
    if (size < PART_BYTES) continue
    yield Buffer.concat(held)
    held = []
    size = 0
  }
  if (size) yield Buffer.concat(held)
  return undefined
}
