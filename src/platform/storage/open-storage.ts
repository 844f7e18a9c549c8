/** Opens the storage of the settings, and turns its failures into answers. */
import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { diskFull, isDiskFull, unavailable } from '../errors.ts'
import { bucketStorage } from './bucket.ts'
import { folderStorage } from './folder.ts'
import { isPath, type Storage } from './storage.ts'
import { twoStorages } from './two-storages.ts'

/** A storage that does not answer within this time counts as not available. Callers wait for it this long. */
const LIMIT_MS = 15_000
const RETRY_AFTER_SECONDS = 5

interface StorageOptions {
  /** Another storage that may still have files. */
  previous?: string | undefined
  log?: Pick<FastifyBaseLogger, 'error'> | undefined
  /** Replaces LIMIT_MS; tests wait for less. */
  limitMs?: number | undefined
}

/**
 * Opens the storage of the setting STORAGE: a folder, or `s3://bucket?endpoint=…&region=…&forcePathStyle=true` with credentials
 * from the usual AWS_* variables. It connects at the first use. If it fails or does not answer in time, its functions throw AppError 503,
 * and `write` 507 for a full disk. The reason is logged.
 */
export function openStorage(setting: string, options: StorageOptions = {}): Storage {
  const { previous, ...others } = options
  if (previous === undefined) return reachable(setting, 1, others)
  const folders = [setting, previous].filter((each) => !isBucket(each)).length
  return twoStorages(reachable(setting, folders, others), reachable(previous, folders, others))
}

const isBucket = (setting: string) => setting.startsWith('s3://')

function reachable(setting: string, folders: number, { log, limitMs = LIMIT_MS }: Omit<StorageOptions, 'previous'>): Storage {
  const storage = isBucket(setting) ? bucketStorage(new URL(setting), limitMs) : folderStorage(setting, limitMs, folders)
  const failed = (error: unknown) => {
    log?.error({ err: error }, 'file storage')
    return unavailable('The file storage is not available', RETRY_AFTER_SECONDS, error)
  }
  const reach = async <T>(paths: string[], use: () => Promise<T>): Promise<T> => {
    paths.forEach(requirePlain)
    try {
      // Bucket and folder limit the time of each of their commands and calls themselves.
      return await use()
    } catch (error) {
      throw failed(error)
    }
  }
  return {
    ...storage,
    async write(path, bytes, options) {
      requirePlain(path)
      // Without this listener, a source that fails before it is read would end the process.
      if (bytes instanceof Readable) bytes.on('error', () => {})
      try {
        await storage.write(path, bytes, options)
      } catch (error) {
        // The source of the bytes failed, such as a caller who hung up, and not the storage.
        if (bytes instanceof Readable && bytes.errored && !isClosedByReader(bytes.errored)) throw bytes.errored
        throw isFull(error) ? diskFull(error) : failed(error)
      }
    },
    async read(path, range) {
      const bytes = await reach([path], () => storage.read(path, range))
      // Without this listener, an error before the reader has one of its own would end the process.
      return bytes?.on('error', (error) => log?.error({ err: error }, 'file storage')) ?? null
    },
    keep: (path) => reach([path], () => storage.keep(path)),
    size: (path) => reach([path], () => storage.size(path)),
    move: (from, to) => reach([from, to], () => storage.move(from, to)),
    remove: (path) => reach([path], () => storage.remove(path)),
    check: () => reach([], () => storage.check()),
    link: (path, headers) => reach([path], () => storage.link(path, headers)),
  }
}

/** True if the reader closed the stream before its end (Node 24), in which case the stream itself has not failed. */
const isClosedByReader = (error: Error) => 'code' in error && error.code === 'ABORT_ERR'

/** True for a full disk, and for the status 507 of a bucket, with which stores report that their own disks are full. */
const isFull = (error: unknown): boolean =>
  isDiskFull(error) || (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode === 507

function requirePlain(path: string): void {
  if (!isPath(path)) throw new Error('A path in storage has letters, digits, dots, hyphens and underscores only')
}
