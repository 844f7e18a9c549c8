/** A storage in a folder on disk. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { access, constants, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ifMissing } from '../missing-file.ts'
import { isPath, type Storage } from './storage.ts'

export function folderStorage(folder: string): Storage {
  // Files are spread over 256 folders, because a folder with a million entries is slow to list and to back up.
  const placeOf = (path: string) => join(folder, createHash('sha256').update(path).digest('hex').slice(0, 2), path)
  return {
    host: 'local',
    async write(path, bytes) {
      const place = placeOf(path)
      await makeFolder(dirname(place))
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
    size: (path) => stat(placeOf(path)).then(({ size }) => size, ifMissing(null)),
    async move(from, to) {
      const [source, target] = [placeOf(from), placeOf(to)]
      await makeFolder(dirname(target))
      const isThere = await rename(source, target).then(() => true, ifMissing(false))
      // The new name is durable before the old one is gone.
      if (isThere) for (const place of new Set([target, source].map(dirname))) await syncFolder(place)
      return isThere
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
    link: async () => null,
    async check() {
      await makeFolder(folder)
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
      if ((await statfs(folder)).bavail === 0) throw new Error(`The disk of ${folder} is full`)
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

/** Makes a folder of a storage, and those above it, durably. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (first) await syncFolder(dirname(first))
}

/** Syncs the folder, without which a new file name may be lost in a power failure. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
