/** The file in DATA_DIR by which the service of the embedded default tells other processes its address and that of its mail catcher. */
import { hash } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Settings } from '../../settings.ts'
import { isAlive } from './is-alive.ts'

const Running = z.object({
  /** Null if no service has run yet and a script has reserved the port of the catcher. */
  pid: z.int().nullable(),
  /** The installation of the folder that the file was written for; absent in files of release 0.1. */
  installation: z.string().optional(),
  url: z.string(),
  catchDomain: z.string(),
  catcher: z.object({ host: z.string(), port: z.int() }),
})
export type Running = z.infer<typeof Running>

const fileIn = (dataDir: string) => join(dataDir, 'service.json')

/**
 * Identifies the folder itself, not its path: a copy of DATA_DIR, or the same path in another container, is another installation. Only
 * processes that run at the same time compare it.
 */
export function installationOf(dataDir: string): string {
  const { dev, ino } = statSync(dataDir, { bigint: true })
  return hash('sha256', `${dev}:${ino}`, 'hex').slice(0, 16)
}

/** Writes the file. It stays after the service has stopped, because integrations refer to the port of the catcher. */
export function writeServiceFile(dataDir: string, running: Omit<Running, 'installation'>): void {
  renameSync(writeBeside(dataDir, running), fileIn(dataDir))
}

/** Reserves a port for the catcher of the first service. If several scripts do so at once, one succeeds and the others read its file. */
export function reserveCatcher(dataDir: string, reserved: Omit<Running, 'pid' | 'installation'>): void {
  const partial = writeBeside(dataDir, { ...reserved, pid: null })
  try {
    linkSync(partial, fileIn(dataDir))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(partial)
  }
}

/** Writes a temporary file, so that nobody reads an incomplete one. */
function writeBeside(dataDir: string, running: Omit<Running, 'installation'>): string {
  const partial = `${fileIn(dataDir)}.${process.pid}`
  writeFileSync(partial, `${JSON.stringify({ ...running, installation: installationOf(dataDir) })}\n`, { mode: 0o600 })
  return partial
}

/** Reads the file of the running service, or of the last one; null if there is none. The service of a copied file is not alive here. */
export function readServiceFile(dataDir: string): (Running & { isAlive: boolean }) | null {
  try {
    const running = Running.parse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')))
    const isOurs = running.installation === undefined || running.installation === installationOf(dataDir)
    return { ...running, isAlive: isOurs && running.pid !== null && isAlive(running.pid) }
  } catch {
    return null
  }
}

/** The URL of a service with these settings on this machine; localhost for one that listens on all addresses. */
export function urlOf({ host }: Pick<Settings, 'host'>, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
