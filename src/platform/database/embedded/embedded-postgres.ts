/** The embedded default: a real PostgreSQL that the processes of one DATA_DIR share. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { isAlive } from '../../processes/is-alive.ts'
import { chooseAccount, commandOf, EmbeddedPostgresError, findPostgresPrograms, giveTo } from './binaries.ts'
import { type Cluster, POLL_MS, PORT, readPidFile, type StartingServer, socketDirOf, startServer, stopServer } from './server.ts'

export { EmbeddedPostgresError }

const USER = 'gridpost'
const DATABASE = 'gridpost'
/** A start may include crash recovery. */
const START_TIMEOUT_MS = 120_000
/** An advisory lock in the database `postgres`: each process that uses the server holds it shared, the one that stops it exclusively. */
const PRESENCE_LOCK = 7_405_001
const CREATE_LOCK = 7_405_002
/** The pause after a restart of the server that has failed. */
const RESTART_MS = 500
const PRESENCE_NAME = 'gridpost presence '
/** How long Postgres may take to notice that a process was killed. */
const GHOST_TIMEOUT_MS = 2_000

export interface EmbeddedPostgresOptions {
  /** DATA_DIR, which contains the data of Postgres in `postgres`. */
  dataDir: string
  /** Settings of postgresql.conf that override the defaults, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>
  log?: (message: string) => void
  /** Called with each step that takes seconds. */
  progress?: (step: string) => void
}

/** The socket to connect to. There is no password, because only the account that runs Postgres and root can open the socket. */
export interface EmbeddedConnection {
  host: string
  port: number
  user: string
  database: string
  ssl: false
}

export interface EmbeddedPostgres {
  connection: EmbeddedConnection
  /** The connection as a URL, for libraries that need one. */
  url: string
  /** Ends the use of the server by this process; the last process stops it. Never rejects. */
  leave(): Promise<void>
}

/**
 * Opens the PostgreSQL server of DATA_DIR: creates it if it does not exist, starts it unless it runs, and registers this
 * process as a user. Several processes may do so at once.
 * @throws EmbeddedPostgresError with one line that says why the server cannot run
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = await prepareCluster(options)
  const presence = new Presence(cluster)
  const socketDir = await presence.join()
  try {
    await presence.createDatabase()
  } catch (error) {
    await presence.leave()
    throw error
  }
  return {
    connection: connectionTo(socketDir, DATABASE),
    url: `postgresql://${USER}@localhost:${PORT}/${DATABASE}?host=${encodeURIComponent(socketDir)}`,
    leave: () => presence.leave(),
  }
}

const ignore = () => {}

async function prepareCluster(options: EmbeddedPostgresOptions): Promise<Cluster> {
  const { dataDir: givenDataDir, settings = {}, log = ignore, progress = ignore } = options
  const programs = findPostgresPrograms()
  try {
    // Other accounts may traverse the folder but not list it: for root, Postgres runs under another account.
    mkdirSync(givenDataDir, { recursive: true, mode: 0o711 })
    const dataDir = realpathSync(givenDataDir)
    const dir = join(dataDir, 'postgres')
    const account = chooseAccount(programs, dir)
    const cluster = { dir, socketDir: socketDirOf(dir), logFile: join(dataDir, 'postgres.log'), programs, account, settings, log }
    if (!existsSync(dir) || readdirSync(dir).length === 0) await initialise(cluster, dataDir, progress)
    refuseOtherVersion(cluster, dataDir)
    return cluster
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error
    throw new EmbeddedPostgresError(`DATA_DIR cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

/** How many clusters this process has begun to create. */
let initialised = 0

/** Runs initdb in a temporary folder and renames it. Of two processes at once one succeeds, and an incomplete cluster is never used. */
async function initialise(cluster: Cluster, dataDir: string, progress: (step: string) => void): Promise<void> {
  for (const name of readdirSync(dataDir)) {
    const [, pid] = /^postgres\.new-(\d+)(?:-\d+)?$/.exec(name) ?? []
    if (pid && !isAlive(Number(pid))) rmSync(join(dataDir, name), { recursive: true, force: true })
  }
  const fresh = join(dataDir, `postgres.new-${process.pid}-${++initialised}`)
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { mode: 0o700 })
  giveTo(cluster.account, fresh)
  progress('Creating a new PostgreSQL database')
  const options = [
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--auth=trust',
    `--username=${USER}`,
  ]
  if (cluster.settings.fsync === 'off') options.push('--no-sync')
  const command = commandOf(cluster.account, cluster.programs.initdb, ['-D', fresh, ...options])
  const failure = await failureOf(command)
  if (failure !== undefined) {
    rmSync(fresh, { recursive: true, force: true })
    throw new EmbeddedPostgresError(`PostgreSQL could not create its database in ${dataDir}: ${failure}`)
  }
  try {
    renameSync(fresh, cluster.dir)
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    if (!existsSync(join(cluster.dir, 'PG_VERSION'))) throw error
  }
}

/** Runs initdb, while this process goes on. @returns why it has failed; undefined if it has not */
async function failureOf({ file, args, options }: ReturnType<typeof commandOf>): Promise<string | undefined> {
  const initdb = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    const [[status, signal], said] = await Promise.all([once(initdb, 'close'), text(initdb.stderr)])
    if (status === 0) return undefined
    return said.split('\n').find((line) => /error|fatal|could not/i.test(line)) ?? `initdb ended with ${signal ?? status}`
  } catch (error) {
    return (error as Error).message
  }
}

function refuseOtherVersion({ dir, programs }: Cluster, dataDir: string): void {
  const versionFile = join(dir, 'PG_VERSION')
  if (!existsSync(versionFile))
    throw new EmbeddedPostgresError(`${dir} is broken: PG_VERSION is missing; restore a backup, or set DATA_DIR to another folder`)
  const version = readFileSync(versionFile, 'utf8').trim()
  if (version !== String(programs.majorVersion))
    throw new EmbeddedPostgresError(
      `${dataDir} was made by PostgreSQL ${version}, this release brings PostgreSQL ${programs.majorVersion}: ` +
        'start it with the release that made it, or set DATA_DIR to another folder',
    )
}

/**
 * The connection of a process that holds the presence lock. Postgres closes it when the process ends in any way, so the number of users
 * is right even after a `kill -9`, without a file.
 */
class Presence {
  readonly #cluster: Cluster
  #client: Client | undefined
  #isLeaving = false
  #rejoining: Promise<void> | undefined

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Starts the server or uses the running one. @returns the folder of its socket, once it answers */
  async join(): Promise<string> {
    const deadline = performance.now() + START_TIMEOUT_MS
    let starting: StartingServer | undefined
    // A process that is told to leave still joins the server that it has just begun to start: nobody else would stop that one.
    while (performance.now() < deadline && !(this.#isLeaving && !isUnderWay(starting))) {
      const running = readPidFile(this.#cluster)
      if (running?.isReady && (await this.#connect(running.socketDir))) return running.socketDir
      if (!running && starting?.failure && !starting.mayRetry) break
      if (!running && (!starting || starting.failure)) starting = startServer(this.#cluster)
      await sleep(POLL_MS)
    }
    throw new EmbeddedPostgresError(
      starting?.failure ?? `PostgreSQL in ${this.#cluster.dir} did not answer within ${START_TIMEOUT_MS / 1000} s`,
    )
  }

  /** Returns false while the server does not answer, or is being stopped by its last user. */
  async #connect(socketDir: string): Promise<boolean> {
    const client = new Client({
      ...connectionTo(socketDir, 'postgres'),
      keepAlive: true,
      application_name: `${PRESENCE_NAME}${process.pid}`,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ ok: boolean }>('SELECT pg_try_advisory_lock_shared($1) AS ok', [PRESENCE_LOCK])
      if (rows[0]?.ok) {
        client.on('end', () => this.#lost(client))
        this.#client = client
        return true
      }
    } catch {
      // The server does not answer yet, or no longer: the caller retries.
    }
    await client.end().catch(() => {})
    return false
  }

  /** Restarts the server after a crash or a kill. The pools reconnect by themselves. */
  #lost(client: Client): void {
    if (this.#isLeaving || this.#client !== client) return
    this.#client = undefined
    this.#cluster.log('The connection to PostgreSQL was lost; starting it again')
    this.#rejoining = this.#rejoin()
  }

  /** Tries until the server runs: what keeps it from starting, such as a full disk, may pass. */
  async #rejoin(): Promise<void> {
    while (!this.#isLeaving) {
      try {
        return void (await this.join())
      } catch (error) {
        if (!this.#isLeaving) this.#cluster.log((error as Error).message)
        await sleep(RESTART_MS)
      }
    }
  }

  async createDatabase(): Promise<void> {
    const client = this.#client
    if (!client) throw new EmbeddedPostgresError('PostgreSQL stopped while it was being opened')
    await client.query('SELECT pg_advisory_lock($1)', [CREATE_LOCK])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (!rowCount) await client.query(`CREATE DATABASE ${DATABASE}`)
    await client.query('SELECT pg_advisory_unlock($1)', [CREATE_LOCK])
  }

  async leave(): Promise<void> {
    if (this.#isLeaving) return
    this.#isLeaving = true
    await this.#rejoining
    const client = this.#client
    if (!client) return
    try {
      await client.query('SELECT pg_advisory_unlock_shared($1)', [PRESENCE_LOCK])
      if (await this.#isLast(client)) await stopServer(this.#cluster)
    } catch (error) {
      this.#cluster.log(`PostgreSQL could not be stopped: ${(error as Error).message}`)
    }
    await client.end().catch(() => {})
  }

  /** A process that gets the lock exclusively was the last user. New users wait until the server has stopped. */
  async #isLast(client: Client): Promise<boolean> {
    const deadline = performance.now() + GHOST_TIMEOUT_MS
    while (performance.now() < deadline) {
      const { rows } = await client.query<{ ok: boolean }>('SELECT pg_try_advisory_lock($1) AS ok', [PRESENCE_LOCK])
      if (rows[0]?.ok) return true
      const others = await client.query<{ name: string }>(
        'SELECT application_name AS name FROM pg_stat_activity WHERE starts_with(application_name, $1) AND pid <> pg_backend_pid()',
        [PRESENCE_NAME],
      )
      if (others.rows.some(({ name }) => isAlive(Number(name.slice(PRESENCE_NAME.length))))) return false
      await sleep(POLL_MS)
    }
    return false
  }
}

function isUnderWay(starting: StartingServer | undefined): boolean {
  return starting !== undefined && !starting.failure
}

function connectionTo(socketDir: string, database: string): EmbeddedConnection {
  return { host: socketDir, port: PORT, user: USER, database, ssl: false }
}
