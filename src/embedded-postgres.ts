import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import {
  chooseAccount,
  commandOf,
  EmbeddedPostgresError,
  findPostgresPrograms,
  giveTo,
  type PostgresPrograms,
  type ServerAccount,
} from './postgres-program.ts'

export { EmbeddedPostgresError }

const USER = 'gridpost'
const DATABASE = 'gridpost'
const PORT = 5432
/** sun_path is 108 bytes on Linux and 104 on macOS, with the NUL. */
const SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103
/** Starting includes replaying the log after a crash. */
const START_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 60_000
const POLL_MS = 25
/** Advisory locks in the database `postgres`: held shared by everybody who uses the server, exclusively by who stops it. */
const PRESENCE_LOCK = 7_405_001
const CREATE_LOCK = 7_405_002

export interface EmbeddedPostgresOptions {
  /** DATA_DIR; Postgres lives in `postgres` below it. */
  dataDir: string
  /** Settings of postgresql.conf that win over ours, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>
  log?: (message: string) => void
}

/** The socket to connect to. Nobody needs a password: only the account that runs Postgres, and root, can reach the socket. */
export interface EmbeddedConnection {
  host: string
  port: number
  user: string
  database: string
  ssl: false
}

export interface EmbeddedPostgres {
  connection: EmbeddedConnection
  /** The same as a URL, for libraries that want one. */
  url: string
  /** Says that this process needs the server no longer; the last process to say so stops it. Never rejects. */
  leave(): Promise<void>
}

interface Cluster {
  dir: string
  socketDir: string
  logFile: string
  programs: PostgresPrograms
  account: ServerAccount
  settings: Record<string, string>
  log: (message: string) => void
}

/**
 * Opens the PostgreSQL server of DATA_DIR (design.md §4): makes it if there is none, starts it unless it runs, and counts
 * this process among its users. Several processes may do so at once.
 * @throws EmbeddedPostgresError with one line that says why it cannot run
 */
export async function openEmbeddedPostgres({ dataDir, settings = {}, log = () => {} }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = prepareCluster(dataDir, settings, log)
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

function prepareCluster(givenDataDir: string, settings: Record<string, string>, log: (message: string) => void): Cluster {
  const programs = findPostgresPrograms()
  try {
    // Others may pass through, but see nothing: as root, Postgres is another account.
    mkdirSync(givenDataDir, { recursive: true, mode: 0o711 })
    const dataDir = realpathSync(givenDataDir)
    const dir = join(dataDir, 'postgres')
    const account = chooseAccount(programs, dir)
    const cluster = { dir, socketDir: socketDirOf(dir), logFile: join(dataDir, 'postgres.log'), programs, account, settings, log }
    if (!existsSync(dir) || readdirSync(dir).length === 0) initialise(cluster, dataDir)
    refuseOtherVersion(cluster, dataDir)
    return cluster
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error
    throw new EmbeddedPostgresError(`DATA_DIR cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

/** Runs initdb beside the final place and moves the result there: of two processes at once one wins, and a half-made cluster is never seen. */
function initialise(cluster: Cluster, dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const [, pid] = /^postgres\.new-(\d+)$/.exec(name) ?? []
    if (pid && !isAlive(Number(pid))) rmSync(join(dataDir, name), { recursive: true, force: true })
  }
  const fresh = join(dataDir, `postgres.new-${process.pid}`)
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { mode: 0o700 })
  giveTo(cluster.account, fresh)
  cluster.log('Making a new PostgreSQL database')
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
  const { status, stderr, error } = spawnSync(command.file, command.args, {
    ...command.options,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    const reason = error?.message ?? stderr.split('\n').find((line) => /error|fatal|could not/i.test(line)) ?? `initdb ended with ${status}`
    throw new EmbeddedPostgresError(`PostgreSQL could not make its database in ${dataDir}: ${reason}`)
  }
  try {
    renameSync(fresh, cluster.dir)
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    if (!existsSync(join(cluster.dir, 'PG_VERSION'))) throw error
  }
}

function refuseOtherVersion({ dir, programs }: Cluster, dataDir: string): void {
  const versionFile = join(dir, 'PG_VERSION')
  if (!existsSync(versionFile))
    throw new EmbeddedPostgresError(`${dir} is broken: PG_VERSION is missing; restore a backup, or set DATA_DIR to another folder`)
  const version = readFileSync(versionFile, 'utf8').trim()
  if (version !== String(programs.majorVersion))
    throw new EmbeddedPostgresError(
      `${dataDir} was made by PostgreSQL ${version}, this release brings PostgreSQL ${programs.majorVersion}: start it with the release that made it, or set DATA_DIR to another folder`,
    )
}

/**
 * One connection per process that holds the presence lock. Postgres drops it with the process, however that ends, so the
 * count of users is right even after a `kill -9`, and needs no file.
 */
class Presence {
  readonly #cluster: Cluster
  #client: Client | undefined
  #isLeaving = false
  #rejoining: Promise<void> | undefined

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Starts or adopts the server, and returns the folder of its socket once it answers. */
  async join(): Promise<string> {
    const deadline = Date.now() + START_TIMEOUT_MS
    let starting: StartingServer | undefined
    while (Date.now() < deadline) {
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

  /** False while the server does not answer, or is being stopped by the last one that left. */
  async #connect(socketDir: string): Promise<boolean> {
    const client = new Client({ ...connectionTo(socketDir, 'postgres'), keepAlive: true, application_name: 'gridpost presence' })
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
      // Not answering yet, or not any more: the caller looks again.
    }
    await client.end().catch(() => {})
    return false
  }

  /** The server went away under us (out of memory, a stray kill): bring it back, for the pools reconnect by themselves. */
  #lost(client: Client): void {
    if (this.#isLeaving || this.#client !== client) return
    this.#client = undefined
    this.#cluster.log('The connection to PostgreSQL was lost; starting it again')
    this.#rejoining = this.join().then(
      () => {},
      (error: Error) => this.#cluster.log(error.message),
    )
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
      // Whoever gets it exclusively was the last, and newcomers wait until the server is gone.
      const { rows } = await client.query<{ ok: boolean }>('SELECT pg_try_advisory_lock($1) AS ok', [PRESENCE_LOCK])
      if (rows[0]?.ok) await stopServer(this.#cluster)
    } catch (error) {
      this.#cluster.log(`PostgreSQL could not be stopped: ${(error as Error).message}`)
    }
    await client.end().catch(() => {})
  }
}

interface StartingServer {
  /** One line, once the server has given up. */
  failure: string | undefined
  /** Another process was starting or still ending one: look again. */
  mayRetry: boolean
}

/** Starts Postgres in a session of its own: a Ctrl-C in the terminal is for us, who end requests before the database. */
function startServer(cluster: Cluster): StartingServer {
  const { account, programs, dir, socketDir, logFile } = cluster
  giveTo(account, dir)
  if (socketDir !== dir) claimSocketDir(socketDir, account)
  if (existsSync(logFile) && statSync(logFile).size > 1_000_000) renameSync(logFile, `${logFile}.1`)
  const logOffset = existsSync(logFile) ? statSync(logFile).size : 0
  const output = openSync(logFile, 'a', 0o600)
  const settings = Object.entries({ ...settingsFor(socketDir), ...cluster.settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = commandOf(account, programs.postgres, ['-D', dir, ...settings])
  const server: ChildProcess = spawn(command.file, command.args, { ...command.options, detached: true, stdio: ['ignore', output, output] })
  server.unref()
  closeSync(output)

  const starting: StartingServer = { failure: undefined, mayRetry: false }
  const fail = (fallback: string) => {
    const said = readFileSync(logFile).subarray(logOffset).toString()
    const [, reason] = /^.*(?:FATAL|PANIC|could not).*?:\s+(.*)$/m.exec(said) ?? []
    starting.failure = `PostgreSQL in ${dir} does not start: ${reason ?? fallback} (see ${logFile})`
    starting.mayRetry = /lock file|pre-existing shared memory/.test(said)
  }
  server.on('error', (error) => fail(error.message))
  server.on('exit', (code, signal) => fail(`it ended with ${signal ?? code}`))
  return starting
}

/** On the command line and not in postgresql.conf, so that they follow the release and not the first start. */
function settingsFor(socketDir: string): Record<string, string> {
  const limit = process.constrainedMemory()
  const memoryMb = Math.floor(Math.min(totalmem(), limit > 0 ? limit : Infinity) / 2 ** 20)
  return {
    listen_addresses: '',
    port: String(PORT),
    unix_socket_directories: socketDir,
    unix_socket_permissions: '0700',
    shared_buffers: `${Math.min(512, Math.max(64, Math.floor(memoryMb / 8)))}MB`,
    effective_cache_size: `${Math.max(128, Math.floor(memoryMb / 2))}MB`,
    jit: 'off',
    random_page_cost: '1.1',
    TimeZone: 'UTC',
    log_timezone: 'UTC',
    // Failed statements are the service's to log; their texts hold contents.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  }
}

/** A fast shutdown: open transactions are rolled back, and the next start has nothing to repair. */
async function stopServer(cluster: Cluster): Promise<void> {
  const running = readPidFile(cluster)
  if (!running) return
  process.kill(running.pid, 'SIGINT')
  const deadline = Date.now() + STOP_TIMEOUT_MS
  while (isServer(cluster, running.pid)) {
    if (Date.now() > deadline) throw new EmbeddedPostgresError(`it did not end within ${STOP_TIMEOUT_MS / 1000} s`)
    await sleep(POLL_MS)
  }
  try {
    if (running.socketDir !== cluster.dir) rmdirSync(running.socketDir)
  } catch {
    // Taken by a successor meanwhile, or swept away.
  }
}

/** The server that postmaster.pid names, if that is a live server of this cluster. A file left behind by another one is put out of the way. */
function readPidFile(cluster: Cluster): { pid: number; socketDir: string; isReady: boolean } | undefined {
  const file = join(cluster.dir, 'postmaster.pid')
  const lines = readOrEmpty(file).split('\n')
  const pid = Number.parseInt(lines[0] ?? '', 10)
  if (!(pid > 0)) return undefined
  if (isServer(cluster, pid)) return { pid, socketDir: lines[4] ?? '', isReady: lines[7]?.trim() === 'ready' }
  // Postgres replaces a file of a dead process by itself, but not one whose number another process has got since.
  if (isAlive(pid) && readOrEmpty(file).split('\n')[0] === lines[0]) rmSync(file, { force: true })
  return undefined
}

/** Whether the process is a postmaster of this cluster: its working directory is the data directory. A zombie has none. */
function isServer({ dir }: Cluster, pid: number): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes(dir)
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === dir
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The cluster's own folder, or, when the path is too long for a socket, one below /tmp that the path always leads to. */
function socketDirOf(dir: string): string {
  const fits = Buffer.byteLength(join(dir, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_BYTES
  // In the setting, a comma separates folders and a quote quotes them.
  if (fits && !/[",]/.test(dir)) return dir
  return join(realpathSync('/tmp'), `gridpost-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`)
}

/** Anybody can make folders in /tmp: one that somebody else made first is refused. */
function claimSocketDir(socketDir: string, account: ServerAccount): void {
  mkdirSync(socketDir, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(socketDir)
  if (uid === process.getuid?.() && uid !== account.uid) chownSync(socketDir, account.uid, account.gid)
  else if (uid !== account.uid || (mode & 0o777) !== 0o700)
    throw new EmbeddedPostgresError(`${socketDir} belongs to somebody else: remove it, or set DATA_DIR to a shorter path`)
}

function connectionTo(socketDir: string, database: string): EmbeddedConnection {
  return { host: socketDir, port: PORT, user: USER, database, ssl: false }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
