/** Starts, finds and stops the PostgreSQL server process. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
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
import { isAlive } from '../../processes/is-alive.ts'
import { commandOf, EmbeddedPostgresError, giveTo, type PostgresPrograms, type ServerAccount } from './binaries.ts'

export const PORT = 5432
/** The maximum length of a socket path: sun_path has 108 bytes on Linux and 104 on macOS, including the NUL. */
const SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103
const STOP_TIMEOUT_MS = 60_000
export const POLL_MS = 25

/** A data directory, and the parameters with which its server is started. */
export interface Cluster {
  dir: string
  socketDir: string
  logFile: string
  programs: PostgresPrograms
  account: ServerAccount
  settings: Record<string, string>
  log: (message: string) => void
}

export interface StartingServer {
  /** The reason in one line, once the server has failed to start. */
  failure: string | undefined
  /** Another process is starting or stopping the server, so the caller should look again. */
  mayRetry: boolean
}

/** Starts Postgres in its own session, so that a Ctrl-C in the terminal reaches only the service, which ends requests first. */
export function startServer(cluster: Cluster): StartingServer {
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
    const said = Buffer.from(readOrEmpty(logFile)).subarray(logOffset).toString()
    const [, fatal] = /(?:FATAL|PANIC):\s+(.*)/.exec(said) ?? []
    const reason =
      fatal ??
      said
        .replace(/^.* LOG: .*$/gm, '')
        .replace(/\s+/g, ' ')
        .trim()
    starting.failure = `PostgreSQL in ${dir} does not start: ${reason || fallback} (see ${logFile})`
    starting.mayRetry = /lock file|pre-existing shared memory/.test(said)
  }
  server.on('error', (error) => fail(error.message))
  server.on('exit', (code, signal) => fail(`it ended with ${signal ?? code}`))
  return starting
}

/** The settings are passed on the command line, not written to postgresql.conf, so that a new release can change them. */
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
    // The service logs failed statements. Their texts contain user data.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  }
}

/** Stops the server with a fast shutdown: open transactions are rolled back, and the next start needs no recovery. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const running = readPidFile(cluster)
  if (!running) return
  process.kill(running.pid, 'SIGINT')
  const deadline = performance.now() + STOP_TIMEOUT_MS
  while (isServer(cluster, running.pid)) {
    if (performance.now() > deadline) throw new EmbeddedPostgresError(`it did not end within ${STOP_TIMEOUT_MS / 1000} s`)
    await sleep(POLL_MS)
  }
  try {
    if (running.socketDir !== cluster.dir) rmdirSync(running.socketDir)
  } catch {
    // A new server uses the folder already, or it was deleted.
  }
}

/** The server in postmaster.pid, if it is a running server of this cluster. Deletes a stale file. */
export function readPidFile(cluster: Cluster): { pid: number; socketDir: string; isReady: boolean } | undefined {
  const file = join(cluster.dir, 'postmaster.pid')
  const lines = readOrEmpty(file).split('\n')
  const pid = Number.parseInt(lines[0] ?? '', 10)
  if (!(pid > 0)) return undefined
  if (isServer(cluster, pid)) return { pid, socketDir: lines[4] ?? '', isReady: lines[7]?.trim() === 'ready' }
  // Postgres replaces the file of a dead process itself, but not if another process has its pid by now.
  if (isAlive(pid) && readOrEmpty(file).split('\n')[0] === lines[0]) rmSync(file, { force: true })
  return undefined
}

/** Whether the process is a postmaster of this cluster, whose working directory is the data directory. A zombie has none. */
function isServer({ dir }: Cluster, pid: number): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes(dir)
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === dir
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

/** The cluster's folder, or, if its path is too long for a socket, a folder in /tmp whose name is derived from the path. */
export function socketDirOf(dir: string): string {
  const fits = Buffer.byteLength(join(dir, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_BYTES
  // Commas and quotes have a meaning in the setting unix_socket_directories.
  if (fits && !/[",]/.test(dir)) return dir
  return join(realpathSync('/tmp'), `gridpost-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`)
}

/** Creates the folder. Any account can create it in /tmp, so a folder of another account is refused. */
function claimSocketDir(socketDir: string, account: ServerAccount): void {
  mkdirSync(socketDir, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(socketDir)
  if (uid === process.getuid?.() && uid !== account.uid) chownSync(socketDir, account.uid, account.gid)
  else if (uid !== account.uid || (mode & 0o777) !== 0o700)
    throw new EmbeddedPostgresError(`${socketDir} belongs to somebody else: remove it, or set DATA_DIR to a shorter path`)
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
