/** What the service of the embedded default tells the other processes of its DATA_DIR: where it listens, and where its mail catcher is. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Settings } from '../settings.ts'
import { isAlive } from './database/embedded/server.ts'

const Running = z.object({
  /** Null when no service has run yet, and a script has set the catcher's port aside for the first one. */
  pid: z.int().nullable(),
  url: z.string(),
  catchDomain: z.string(),
  catcher: z.object({ host: z.string(), port: z.int() }),
})
export type Running = z.infer<typeof Running>

const fileIn = (dataDir: string) => join(dataDir, 'service.json')

/** The file stays after the end, so that the catcher keeps its port: integrations name it. */
export function noteRunning(dataDir: string, running: Running): void {
  renameSync(writeBeside(dataDir, running), fileIn(dataDir))
}

/** Sets a port aside for the catcher of the first service; of several scripts at once, one does, and the others find its note. */
export function reserveCatcher(dataDir: string, reserved: Omit<Running, 'pid'>): void {
  const partial = writeBeside(dataDir, { ...reserved, pid: null })
  try {
    linkSync(partial, fileIn(dataDir))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(partial)
  }
}

/** Written whole first, so that nobody reads half of it. */
function writeBeside(dataDir: string, running: Running): string {
  const partial = `${fileIn(dataDir)}.${process.pid}`
  writeFileSync(partial, `${JSON.stringify(running)}\n`, { mode: 0o600 })
  return partial
}

/** What the service that runs, or the last one that ran, has noted; null when none has. */
export function readRunning(dataDir: string): (Running & { isAlive: boolean }) | null {
  try {
    const running = Running.parse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')))
    return { ...running, isAlive: running.pid !== null && isAlive(running.pid) }
  } catch {
    return null
  }
}

/** Where a service with these settings is reached on this machine: one that listens everywhere, as localhost. */
export function urlOf({ host }: Pick<Settings, 'host'>, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
