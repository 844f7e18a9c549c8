/** Stores bytes under a path: in a folder on disk, or in an S3 bucket. `files/` keeps the rows that refer to them. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import type { FastifyBaseLogger } from 'fastify'
import { isDiskFull, unavailable } from './http/errors.ts'
import { ifMissing } from './missing-file.ts'

export interface Storage {
  /** The `host` of an attachment. */
  readonly host: string
  /** Stores the bytes under a new path. They are complete and durable when the promise resolves. */
  write(path: string, bytes: Uint8Array | Readable): Promise<void>
  /** Streams the bytes, or a range with both ends included; null if the path does not exist. */
  read(path: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** Deletes the path. It is no error if it does not exist. */
  remove(path: string): Promise<void>
  /** The paths that begin with the prefix and were written before the instant, in any order. */
  list(prefix: string, before: Date): AsyncIterable<string>
  /** Deletes what a killed process has left of writes that it began before the instant. */
  removeUnfinished(before: Date): Promise<void>
}

/**
 * Opens the storage of the setting STORAGE: a folder, or `s3://bucket?endpoint=…&region=…&forcePathStyle=true` with credentials
 * from the usual AWS_* variables. It connects at the first use. If it fails, its functions throw AppError 503, or
 * the error of a full disk, which is answered with 507. The reason is logged.
 */
export function openStorage(setting: string, log?: Pick<FastifyBaseLogger, 'error'>): Storage {
  const storage = setting.startsWith('s3://') ? bucketStorage(new URL(setting)) : folderStorage(setting)
  const reach = async <T>(path: string, use: () => Promise<T>, source?: Uint8Array | Readable): Promise<T> => {
    requirePlain(path)
    try {
      return await use()
    } catch (error) {
      // The caller who was sending the bytes has failed, not the storage.
      if (source instanceof Readable && source.errored) throw error
      log?.error({ err: error }, 'file storage')
      if (isDiskFull(error)) throw error
      throw unavailable('The file storage is not available', 5, error)
    }
  }
  return {
    ...storage,
    write: (path, bytes) => reach(path, () => storage.write(path, bytes), bytes),
    read: (path, range) => reach(path, () => storage.read(path, range)),
    remove: (path) => reach(path, () => storage.remove(path)),
  }
}

/** One segment of plain characters, so that a path cannot leave its folder or bucket. */
const PATH = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/

/** Whether the path has the form of paths in storage. */
export const isPath = (path: string) => PATH.test(path)

function requirePlain(path: string): void {
  if (!isPath(path)) throw new Error('A path in storage has letters, digits, dots, hyphens and underscores only')
}

// ── a folder ────────────────────────────────────────────────────────────────

function folderStorage(folder: string): Storage {
  // Files are spread over 256 folders, because a folder with a million entries is slow to list and to back up.
  const placeOf = (path: string) => join(folder, createHash('sha256').update(path).digest('hex').slice(0, 2), path)
  return {
    host: 'local',
    async write(path, bytes) {
      const place = placeOf(path)
      await mkdir(dirname(place), { recursive: true, mode: 0o700 })
      const unfinished = `${place}.${randomBytes(6).toString('hex')}~`
      try {
        const file = await open(unfinished, 'wx', 0o600)
        try {
          await file.writeFile(bytes)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(unfinished, place)
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
      await syncFolder(dirname(place))
    },
    async read(path, range) {
      try {
        // A stream of a FileHandle leaves the handle open if it is destroyed before it was read (Node 24).
        const stream = createReadStream(placeOf(path), range)
        await once(stream, 'open')
        return stream
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw error
      }
    },
    async remove(path) {
      await rm(placeOf(path), { force: true })
    },
    async *list(prefix, before) {
      for await (const place of filesOf(folder, before)) {
        const path = basename(place)
        if (path.startsWith(prefix) && isPath(path)) yield path
      }
    },
    async removeUnfinished(before) {
      for await (const place of filesOf(folder, before)) if (place.endsWith('~')) await rm(place, { force: true })
    },
  }
}

/** The files of a folder storage that were written before the instant. */
async function* filesOf(folder: string, before: Date): AsyncGenerator<string> {
  for (const part of await namesIn(folder)) {
    for (const name of await namesIn(join(folder, part))) {
      const place = join(folder, part, name)
      const writtenAt = await stat(place).then(({ mtime }) => mtime, ifMissing(undefined))
      if (writtenAt && writtenAt < before) yield place
    }
  }
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(ifMissing<string[]>([]))

/** Syncs the folder, without which a new file name may be lost in a power failure. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

// ── a bucket ────────────────────────────────────────────────────────────────

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

function bucketStorage(url: URL): Storage {
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
