/** Files that exist only while they are open, in a folder of DATA_DIR. */
import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ifMissing } from './missing-file.ts'

const folderIn = (dataDir: string) => join(dataDir, 'tmp')

/** The folder, for a library that opens and removes files of its own. */
export async function temporaryFolder(dataDir: string): Promise<string> {
  const folder = folderIn(dataDir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}

/**
 * Opens an empty file. Its name is removed at once, so the space is free again when the file is closed, also by a process that is killed.
 * The caller closes it.
 */
export async function openTemporaryFile(dataDir: string): Promise<FileHandle> {
  const folder = await temporaryFolder(dataDir)
  const path = join(folder, randomBytes(12).toString('hex'))
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

/** An open file that another process opens by its path. */
export interface NamedFile {
  path: string
  file: FileHandle
}

/** Opens an empty file that keeps its name until `closeNamed`. */
export async function openNamedFile(dataDir: string): Promise<NamedFile> {
  const path = join(await temporaryFolder(dataDir), randomBytes(12).toString('hex'))
  return { path, file: await open(path, 'wx+', 0o600) }
}

/** Closes the file and removes its name. */
export async function closeNamed({ path, file }: NamedFile): Promise<void> {
  await file.close()
  await rm(path, { force: true })
}

/** Writes all bytes; a single call of `write` may write only some of them. @returns their number */
export async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<number> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
  return bytes.length
}

const CHUNK_BYTES = 256 * 1024

/** The bytes of the file from its beginning. The file is closed at the end, and when the stream is destroyed. */
export function readToEnd(file: FileHandle): Readable {
  let position = 0
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position).then(
        ({ bytesRead, buffer }) => {
          position += bytesRead
          this.push(bytesRead ? buffer.subarray(0, bytesRead) : null)
        },
        (error) => this.destroy(error as Error),
      )
    },
    // `close` waits for a read that has not ended.
    destroy(error, callback) {
      file.close().then(() => callback(error), callback)
    },
  })
}

/** Longer than any file keeps its name: a library writes one, and opens it again by its name to read it. */
const LEFT_AFTER_MS = 3_600_000

interface Sweeping {
  everyMs?: number
  onError: (error: unknown) => void
}

/**
 * Removes the names that processes left behind when they were killed before they could remove them: now, and every hour, because the
 * process that replaces a killed one starts before its names are old enough. @returns the function that ends this
 */
export async function keepSweepingTemporaryFiles(dataDir: string, { everyMs = LEFT_AFTER_MS, onError }: Sweeping): Promise<() => void> {
  await sweepTemporaryFiles(dataDir)
  const timer = setInterval(() => void sweepTemporaryFiles(dataDir).catch(onError), everyMs).unref()
  return () => clearInterval(timer)
}

async function sweepTemporaryFiles(dataDir: string): Promise<void> {
  const folder = folderIn(dataDir)
  const names = await readdir(folder).catch(ifMissing<string[]>([]))
  await Promise.all(names.map((name) => removeIfLeft(join(folder, name))))
}

/** Another process that uses the folder may be writing the file. */
async function removeIfLeft(path: string): Promise<void> {
  const writtenAt = await stat(path).then(({ mtimeMs }) => mtimeMs, ifMissing(Number.POSITIVE_INFINITY))
  if (writtenAt < Date.now() - LEFT_AFTER_MS) await rm(path, { force: true, recursive: true })
}
