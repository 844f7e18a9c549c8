/** Stores bytes under a path: in a folder on disk, or in an S3 bucket. `files/` keeps the rows that refer to them. */
import type { Readable } from 'node:stream'

export interface Storage {
  /** The `host` of an attachment. */
  readonly host: string
  /**
   * Stores the bytes under a path. They are complete and durable when the promise resolves; until then nothing is there. The chunks of a
   * stream belong to the storage, which may free their memory.
   * @param options.isTemporary true for a path that nothing refers to before `move` or `keep`: until then a power failure may lose it
   */
  write(path: string, bytes: Uint8Array | Readable, options?: { isTemporary?: boolean }): Promise<void>
  /** Makes a temporary path durable. */
  keep(path: string): Promise<void>
  /** Streams the bytes, or a range with both ends included; null if the path does not exist. */
  read(path: string, range?: { start: number; end: number }): Promise<StoredBytes | null>
  /** The number of stored bytes; null if the path does not exist. */
  size(path: string): Promise<number | null>
  /**
   * Gives the bytes another path, without reading them. At any moment they exist under at least one of the paths, and an interrupted move
   * can be repeated. @returns false if `from` does not exist
   */
  move(from: string, to: string): Promise<boolean>
  /** Deletes the path. It is no error if it does not exist. */
  remove(path: string): Promise<void>
  /** The paths that begin with the prefix and were written before the instant, in any order. */
  list(prefix: string, before: Date): AsyncIterable<string>
  /** Deletes what a killed process has left of writes that it began before the instant, to paths for which `isOwn` is true. */
  removeUnfinished(before: Date, isOwn: (path: string) => boolean): Promise<void>
  /** A URL that gives anybody the bytes for LINK_SECONDS, with these headers; null if only the service can read the storage. */
  link(path: string, headers: LinkHeaders): Promise<string | null>
  /** Fails if files can be neither stored nor read at the moment. */
  check(): Promise<void>
}

declare module '../context.ts' {
  interface Shared {
    storage: Storage
  }
}

/** A stream of stored bytes. It fails if the storage does, and never ends the process. Streams of tests do not count their bytes. */
export type StoredBytes = Readable & { readonly bytesRead?: number }

/** The headers with which a link answers. */
export interface LinkHeaders {
  type: string
  disposition: string
}

export const LINK_SECONDS = 300

/** One segment of plain characters, so that a path cannot leave its folder or bucket. */
const PATH = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/

/** Whether the path has the form of paths in storage. */
export const isPath = (path: string) => PATH.test(path)

/** Whether a text is the `host` of some storage. After a move, clients still hold entries of files with the host from before. */
export const isStorageHost = (host: unknown): boolean => typeof host === 'string' && (host === 'local' || host.startsWith('s3://'))
