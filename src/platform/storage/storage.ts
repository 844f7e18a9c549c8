/** Stores bytes under a path: in a folder on disk, or in an S3 bucket. `files/` keeps the rows that refer to them. */
import type { Readable } from 'node:stream'

export interface Storage {
  /** The `host` of an attachment. */
  readonly host: string
  /** Stores the bytes under a new path. They are complete and durable when the promise resolves. */
  write(path: string, bytes: Uint8Array | Readable): Promise<void>
  /** Streams the bytes, or a range with both ends included; null if the path does not exist. */
  read(path: string, range?: { start: number; end: number }): Promise<Readable | null>
  /** Gives the bytes another path. They exist under one of the two at any moment, and a move that was interrupted can be repeated. */
  move(from: string, to: string): Promise<void>
  /** Deletes the path. It is no error if it does not exist. */
  remove(path: string): Promise<void>
  /** The paths that begin with the prefix and were written before the instant, in any order. */
  list(prefix: string, before: Date): AsyncIterable<string>
  /** Deletes what a killed process has left of writes that it began before the instant. */
  removeUnfinished(before: Date): Promise<void>
}

/** One segment of plain characters, so that a path cannot leave its folder or bucket. */
const PATH = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/

/** Whether the path has the form of paths in storage. */
export const isPath = (path: string) => PATH.test(path)
