/** The folder of DATA_DIR in which a backup is put together. It holds a copy of the database, so it must not outlive the backup. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../src/platform/processes/is-alive.ts'
import { ScriptError } from './runtime.ts'

export interface Staging {
  /** What becomes the archive. */
  folder: string
  /** The archive until it is complete. */
  partial: string
  /** Aborts at a signal to end. */
  signal: AbortSignal
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The name of the archive, so that a later backup finds what a killed one has left of it. */
const TARGET = 'target'
const partialOf = (file: string) => `${file}.partial`

/**
 * Runs `work` with an empty folder, and removes it afterwards, also at a signal: `work` then ends at the next step that looks at `signal`.
 * @param file the archive
 * @throws ScriptError at a signal, or if a disk is full
 */
export async function withStaging<T>(dataDir: string, file: string, work: (staging: Staging) => Promise<T>): Promise<T> {
  for (const folder of abandonedIn(dataDir, 'backup')) removeStaging(folder)
  const broken = new AbortController()
  const breakOff = (name: string) => broken.abort(new ScriptError(`The backup was broken off by ${name}; nothing is left of it`))
  // npm repeats the terminal's signal, so that one more must not end the process while it removes the copy.
  for (const name of SIGNALS) process.on(name, breakOff)
  const root = mkdtempSync(join(dataDir, `backup-${process.pid}-`))
  try {
    writeFileSync(join(root, TARGET), file)
    const folder = join(root, 'data')
    mkdirSync(folder)
    return await work({ folder, partial: partialOf(file), signal: broken.signal })
  } catch (error) {
    // What is broken off fails in its own words.
    broken.signal.throwIfAborted()
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    throw new ScriptError(`There is no room for the backup: the disk of ${dataDir} must have as much free as the database takes`)
  } finally {
    removeStaging(root)
    for (const name of SIGNALS) process.off(name, breakOff)
  }
}

function removeStaging(root: string): void {
  const target = join(root, TARGET)
  if (existsSync(target)) rmSync(partialOf(readFileSync(target, 'utf8')), { force: true })
  rmSync(root, { recursive: true, force: true })
}

/** The folders of backups or restores whose process was killed. Another process may have its id by now; then they are found later. */
export function abandonedIn(dataDir: string, kind: 'backup' | 'restore'): string[] {
  if (!existsSync(dataDir)) return []
  return readdirSync(dataDir).flatMap((name) => {
    const [, found, pid] = /^(backup|restore)-(\d+)-\w{6}$/.exec(name) ?? []
    // In a container the ids of processes begin anew, so that a folder of this very id is another process's.
    const isOver = Number(pid) === process.pid || !isAlive(Number(pid))
    return found === kind && isOver ? [join(dataDir, name)] : []
  })
}
