/** Two storages as one, while the files are moved from one to the other. */
import type { Storage } from './storage.ts'

/**
 * Writes to `current`, and looks for bytes in `current` first and then in `previous`. A file that is being moved is removed from `previous`
 * only after `current` has it, so one of the two always has it.
 */
export function twoStorages(current: Storage, previous: Storage): Storage {
  /** The answer of the first storage that has the path. The third look finds bytes that were moved between the first two. */
  const find = async <Found>(look: (storage: Storage) => Promise<Found | null>): Promise<Found | null> =>
    (await look(current)) ?? (await look(previous)) ?? look(current)
  return {
    host: current.host,
    write: current.write,
    keep: current.keep,
    read: (path, range) => find((storage) => storage.read(path, range)),
    size: (path) => find((storage) => storage.size(path)),
    move: async (from, to) => (await find(async (storage) => (await storage.move(from, to)) || null)) ?? false,
    async remove(path) {
      await previous.remove(path)
      await current.remove(path)
    },
    async *list(prefix, before) {
      yield* current.list(prefix, before)
      yield* previous.list(prefix, before)
    },
    async removeUnfinished(before, isOwn) {
      await current.removeUnfinished(before, isOwn)
      await previous.removeUnfinished(before, isOwn)
    },
    // A link names one storage, and the file may be moved before the link is followed.
    link: async () => null,
    async check() {
      await Promise.all([current.check(), previous.check()])
    },
  }
}
