/** Opens the storage of the settings, and turns its failures into answers. */
import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { isDiskFull, unavailable } from '../http/errors.ts'
import { bucketStorage } from './bucket.ts'
import { folderStorage } from './folder.ts'
import { isPath, type Storage } from './storage.ts'

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
    move: (from, to) => reach(from, () => storage.move(from, to)),
    remove: (path) => reach(path, () => storage.remove(path)),
  }
}

function requirePlain(path: string): void {
  if (!isPath(path)) throw new Error('A path in storage has letters, digits, dots, hyphens and underscores only')
}
