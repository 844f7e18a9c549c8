/** The parts that other products share here: a process from a folder outside of the repository, on the same database. */
import { spawn } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../../src/platform/database/database.ts'
import type { EmbeddedConnection } from '../../../src/platform/database/embedded/embedded-postgres.ts'
import { until } from '../../../test/support/until.ts'
import { freePort } from '../../free-port.ts'
import { type Process, stopOf } from '../process.ts'

/** A product that answers some of the cases, measured beside the service and the bare server. */
export interface Peer {
  name: PeerName
  url: string
  headers: Record<string, string>
  pid: number
  stop(): Promise<void>
}

export type PeerName = 'directus' | 'nocodb'

/** The settings that a product is started with. */
export interface PeerOptions {
  /** The folder of its npm installation, with a Node of the version that it requires. */
  folder: string
  connection: EmbeddedConnection
  db: Database
  /** The measured table: `records` in this schema. */
  schema: string
}

/** A case in the form of another product's API. */
export interface Asked {
  method: 'GET' | 'POST'
  path: string
  body?: (index: number) => unknown
  /** Returns the part of the answer that must equal the bare server's, row by row; nothing for a create. */
  read?: (answer: Answer) => unknown
  /** Returns the same part of the bare server's answer. */
  readBare?: (answer: unknown) => unknown
}

/** The answers of Directus (`data`) and NocoDB (`list`, `count`). */
export interface Answer {
  data?: Record<string, unknown>[]
  list?: Record<string, unknown>[]
  count?: number
}

const START_TIMEOUT_MS = 120_000
const POLL_MS = 200

/** Runs the program with the folder's own Node; its output goes to `server.log` there. */
export async function startPeer(
  folder: string,
  args: string[],
  environment: Record<string, string>,
  aliveAt: string,
): Promise<{ url: string; process: Process }> {
  const port = await freePort()
  const found = `http://127.0.0.1:${port}`
  const child = run(folder, args, { ...environment, HOST: '127.0.0.1', PORT: String(port) })
  const process = { child, found, stop: stopOf(child) }
  try {
    const isUpOrOver = async () => child.exitCode !== null || (await isUp(found + aliveAt))
    await until(isUpOrOver, `for ${folder} to start: see server.log there`, { withinMs: START_TIMEOUT_MS, everyMs: POLL_MS })
    if (child.exitCode !== null) throw new Error(`${folder} ended while it started: see server.log there`)
  } catch (error) {
    await process.stop()
    throw error
  }
  return { url: found, process }
}

export function run(folder: string, args: string[], environment: Record<string, string>) {
  const node = join(folder, 'node_modules', '.bin', 'node')
  if (!existsSync(node)) throw new Error(`${folder} has no Node of its own: see scripts/bench/README.md`)
  const log = openSync(join(folder, 'server.log'), 'a')
  return spawn(node, args, { cwd: folder, env: { ...process.env, ...environment }, stdio: ['ignore', log, log] })
}

async function isUp(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
