/** A storage in a folder, on a disk of this machine or on a server. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, constants, type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ifMissing } from '../bytes/missing-file.ts'
import { bytesTo, FolderBytes, piecesOf } from './folder-bytes.ts'
import { FolderCalls, NoAnswer } from './folder-calls.ts'
import { isPath, type Storage } from './storage.ts'

/** A sync writes up to 50 MB to the disk, so it may take this many times as long as other calls. */
const SYNC_PATIENCE = 4

/**
 * @param limitMs the longest time for each call of the file system
 * @param folders how many folders the service uses as storages
 */
export function folderStorage(folder: string, limitMs: number, folders: number): Storage {
  const calls = new FolderCalls(limitMs, folders)
  // Files are spread over 256 folders, because a folder with a million entries is slow to list and to back up.
  const fullPathOf = (path: string) => join(folder, createHash('sha256').update(path).digest('hex').slice(0, 2), path)
  const remove = (fullPath: string) => calls.run(() => rm(fullPath, { force: true }))
  /**
   * True once this process has found or made the folder. If it is gone later, its disk probably is: a new folder would be on another disk,
   * where the files are hidden as soon as the disk is back.
   */
  let isKnown = false
  const known = <Result>(result: Result): Result => {
    isKnown = true
    return result
  }
  const makeRoot = async () => {
    if (!isKnown) known(await makeFolder(calls, folder))
  }
  /** Makes one of the 256 folders. */
  const makePart = async (part: string) => {
    await makeRoot()
    if (await calls.run(() => mkdir(part, { mode: 0o700 }).then(() => true, ifThere))) await syncFolder(calls, folder)
  }
  /** @returns null. @throws Error if the folder itself is gone, and not only a file in it */
  const absent = async (): Promise<null> => {
    if (isKnown) await calls.run(() => access(folder))
    return null
  }
  return {
    host: 'local',
    async write(path, bytes, { isTemporary = false } = {}) {
      const fullPath = fullPathOf(path)
      const unfinished = `${fullPath}.${randomBytes(6).toString('hex')}~`
      try {
        await writeFile(calls, unfinished, bytes, makePart)
        await calls.run(() => rename(unfinished, fullPath).then(known))
      } catch (error) {
        // A folder that does not answer now would not delete the file either: the clean-up does.
        if (!(error instanceof NoAnswer)) await remove(unfinished)
        throw error
      }
      if (!isTemporary) await syncFolder(calls, dirname(fullPath))
    },
    keep: (path) => syncFolder(calls, dirname(fullPathOf(path))),
    async read(path, range) {
      const file = await calls.run(() => open(fullPathOf(path)).catch(ifAbsent), { onLate: (late) => late?.close().catch(() => {}) })
      if (!file) return absent()
      known(file)
      const bytes = new FolderBytes(file, calls, range)
      // A failure until here can still be answered.
      await once(bytes, 'readable')
      return bytes
    },
    async size(path) {
      const found = await calls.run(() => stat(fullPathOf(path)).catch(ifMissing(null)))
      return found ? known(found).size : absent()
    },
    async move(from, to) {
      const [source, target] = [fullPathOf(from), fullPathOf(to)]
      const isMoved = () => calls.run(() => rename(source, target).then(() => true, ifMissing(false)))
      // Either the source or the folder of the target may be missing.
      const isThere = (await isMoved()) || (await makePart(dirname(target)).then(isMoved))
      // The old name may come back after a power failure. The clean-up deletes it, because no row names it.
      if (isThere) await syncFolder(calls, dirname(target))
      return isThere
    },
    remove: (path) => remove(fullPathOf(path)),
    async *list(prefix, before) {
      for await (const fullPath of filesOf(calls, folder, before)) {
        const path = basename(fullPath)
        if (path.startsWith(prefix) && isPath(path)) yield path
      }
    },
    async removeUnfinished(before) {
      for await (const fullPath of filesOf(calls, folder, before)) if (fullPath.endsWith('~')) await remove(fullPath)
    },
    link: async () => null,
    async check() {
      await makeRoot()
      await calls.run(() => access(folder, constants.R_OK | constants.W_OK | constants.X_OK))
      if ((await calls.run(() => statfs(folder))).bavail === 0) throw new Error(`The disk of ${folder} is full`)
    },
  }
}

/** False if another call has made the folder. */
function ifThere(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'EEXIST') return false
  throw error
}

/** Turns the error about a file that does not exist into null. */
function ifAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Writes a new file durably. */
async function writeFile(
  calls: FolderCalls,
  fullPath: string,
  bytes: Uint8Array | Readable,
  makePart: (part: string) => Promise<void>,
): Promise<void> {
  const file = await openNew(calls, fullPath, makePart)
  try {
    await pipeline(piecesOf(bytes), bytesTo(file, calls, bytes instanceof Readable))
    await calls.run(() => file.sync(), { patience: SYNC_PATIENCE })
  } catch (error) {
    // `close` waits for a call that uses the file, and must not take another thread for that.
    if (error instanceof NoAnswer && error.isStarted) file.close().catch(() => {})
    else calls.later(() => file.close())
    throw error
  }
  await calls.run(() => file.close())
}

/** Opens a new file, and makes its folder if it is the first in it. */
async function openNew(calls: FolderCalls, fullPath: string, makePart: (part: string) => Promise<void>): Promise<FileHandle> {
  const opened = () => calls.run(() => open(fullPath, 'wx', 0o600), { onLate: (late) => late?.close().catch(() => {}) })
  try {
    return await opened()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await makePart(dirname(fullPath))
    return opened()
  }
}

/** The files of a folder storage that were written before the instant. */
async function* filesOf(calls: FolderCalls, folder: string, before: Date): AsyncGenerator<string> {
  const namesIn = (path: string) => calls.run(() => readdir(path).catch(ifMissing<string[]>([])))
  for (const part of await namesIn(folder)) {
    for (const name of await namesIn(join(folder, part))) {
      const fullPath = join(folder, part, name)
      const writtenAt = await calls.run(() => stat(fullPath).then(({ mtime }) => mtime, ifMissing(undefined)))
      if (writtenAt && writtenAt < before) yield fullPath
    }
  }
}

/** Makes a folder of a storage, and those above it, durably. */
async function makeFolder(calls: FolderCalls, folder: string): Promise<void> {
  const first = await calls.run(() => mkdir(folder, { recursive: true, mode: 0o700 }))
  if (first) await syncFolder(calls, dirname(first))
}

/** Syncs the folder, without which a new file name may be lost in a power failure. */
async function syncFolder(calls: FolderCalls, path: string): Promise<void> {
  await calls.run(
    async () => {
      const folder = await open(path, 'r')
      try {
        await folder.sync()
      } finally {
        await folder.close()
      }
    },
    { patience: SYNC_PATIENCE },
  )
}
