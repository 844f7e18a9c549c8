/** A PostgreSQL of our own, from the npm package, that is started, stopped and killed at will. */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { chooseAccount, findPostgresPrograms } from '../../src/platform/database/embedded/binaries.ts'
import { type EmbeddedConnection, openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import {
  type Cluster,
  POLL_MS,
  readPidFile,
  type StartingServer,
  socketDirOf,
  startServer,
  stopServer,
} from '../../src/platform/database/embedded/server.ts'
import { until } from '../../test/support/until.ts'

const START_WITHIN_MS = 60_000

export interface OwnPostgres {
  connection: EmbeddedConnection
  /** The form of DATABASE_URL. */
  url: string
  /** The process id of the server; undefined while it does not run. */
  pid(): number | undefined
  /** Starts the server unless it runs, and resolves when it answers. */
  start(): Promise<void>
  /** Stops the server as an operator does: open transactions are rolled back. */
  stop(): Promise<void>
  /** Kills the server with SIGKILL. Its backends end by themselves. */
  kill(): void
}

/** Creates the database and starts the server. @param settings settings of postgresql.conf */
export async function ownPostgres(dataDir: string, settings: Record<string, string> = {}): Promise<OwnPostgres> {
  const embedded = await openEmbeddedPostgres({ dataDir, settings })
  await embedded.leave()
  const postgres = controlOf(dataDir, embedded, settings)
  await postgres.start()
  return postgres
}

/** Controls the server of a DATA_DIR, which another process may have started. */
export function controlOf(
  dataDir: string,
  { connection, url }: Pick<OwnPostgres, 'connection' | 'url'>,
  settings: Record<string, string> = {},
): OwnPostgres {
  const dir = join(realpathSync(dataDir), 'postgres')
  const programs = findPostgresPrograms()
  const cluster: Cluster = {
    dir,
    socketDir: socketDirOf(dir),
    logFile: join(dataDir, 'postgres.log'),
    programs,
    account: chooseAccount(programs, dir),
    settings,
    log: () => {},
  }
  return {
    connection,
    url,
    pid: () => readPidFile(cluster)?.pid,
    async start() {
      let starting: StartingServer | undefined
      const isStarted = async () => {
        const running = readPidFile(cluster)
        if (running?.isReady && (await answers(connection))) return true
        // The backends of a killed server may hold its memory for a moment.
        if (starting?.failure && !starting.mayRetry) throw new Error(starting.failure)
        if (!running && (!starting || starting.failure)) starting = startServer(cluster)
        return false
      }
      await until(isStarted, 'for PostgreSQL to start', { withinMs: START_WITHIN_MS, everyMs: POLL_MS })
    },
    stop: () => stopServer(cluster),
    kill() {
      const running = readPidFile(cluster)
      if (running) process.kill(running.pid, 'SIGKILL')
    },
  }
}

/** Whether the database takes a new connection. */
export async function answers(connection: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 1_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
