/** A PostgreSQL server of a test's own, and streaming replicas of it: base copies that are made while the server runs. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { queues } from '../../src/background.ts'
import { chooseAccount, commandOf, findPostgresPrograms, giveTo } from '../../src/platform/database/embedded/binaries.ts'
import { openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { deploy } from '../../src/platform/database/migrations/deploy.ts'
import { queueSchema } from '../../src/platform/jobs/queue-schema.ts'
import { prepareData } from './prepared-data.ts'
import { until } from './until.ts'

const FAST = { fsync: 'off', full_page_writes: 'off', shared_buffers: '32MB' }

export interface Server {
  /** Of its socket. */
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  url: string
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  /** Ends the server at once, as `kill -9` does with all of its processes. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Lets no process of the server run, or lets them go on. */
  suspend(): void
  resume(): void
}

export interface Cluster {
  primary: Server
  /** Copies the running primary, and starts the copy as a replica. */
  replicate(name: string): Promise<Server>
  stop(): Promise<void>
}

/**
 * Starts a migrated server.
 * @param options.isOwnSystem whether it differs from the server of the run as a database system; true outside of a test run, which has none
 */
export async function startCluster({ isOwnSystem = false } = {}): Promise<Cluster> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gridpost-replicas-'))
  const folder = join(dataDir, 'postgres')
  const connection = isOwnSystem ? await createSystem(dataDir) : copyOfSystem(dataDir)
  const primary = await startIn(folder, connection)
  const servers = [primary]
  return {
    primary,
    async replicate(name) {
      await copy(primary, folder, join(dataDir, name))
      const replica = await startIn(join(dataDir, name), connection)
      servers.push(replica)
      return replica
    },
    async stop() {
      for (const server of servers) await server.kill()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

type Connection = Pick<Server['connection'], 'port' | 'user' | 'database'>

function copyOfSystem(dataDir: string): Connection {
  prepareData(dataDir, { withDemo: false })
  return { ...inject('postgres'), database: 'gridpost' }
}

/** Runs initdb and all migrations. */
async function createSystem(dataDir: string): Promise<Connection> {
  const embedded = await openEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } })
  await deploy(embedded.connection, { prepare: queueSchema(queues) })
  await embedded.leave()
  return embedded.connection
}

/** What belongs to the running server, and not to its data. */
const NOT_COPIED =
  /^(postmaster\.(pid|opts)|\.s\.PGSQL\..*|pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)$/

/** A base copy, which begins as a replica when it is started. */
async function copy(primary: Server, from: string, to: string): Promise<void> {
  const client = new pg.Client(primary.connection)
  await client.connect()
  await client.query("select pg_backup_start('replica', true)")
  mkdirSync(to, { mode: 0o700 })
  for (const name of readdirSync(from)) if (!NOT_COPIED.test(name)) copyTree(join(from, name), join(to, name))
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
  await client.end()
  for (const name of ['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp', 'pg_subtrans'])
    mkdirSync(join(to, name), { recursive: true, mode: 0o700 })
  writeFileSync(join(to, 'backup_label'), rows[0]?.labelfile ?? '')
  writeFileSync(join(to, 'standby.signal'), '')
  const { host, port, user } = primary.connection
  writeFileSync(
    join(to, 'postgresql.auto.conf'),
    [`primary_conninfo = 'host=${host} port=${port} user=${user}'`, 'hot_standby_feedback = on', 'wal_retrieve_retry_interval = 100'].join(
      '\n',
    ),
  )
}

/** A running server creates and deletes files meanwhile; what it deletes is not missed. */
function copyTree(from: string, to: string): void {
  try {
    cpSync(from, to, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (existsSync(from)) copyTree(from, to)
  }
}

/** Starts the server of a folder that `openEmbeddedPostgres` made, or of a copy of one. @param more settings beside those of every server here */
export async function startIn(dir: string, { port, user, database }: Connection, more: Record<string, string> = {}): Promise<Server> {
  const programs = findPostgresPrograms()
  const account = chooseAccount(programs, dir)
  const connection = { host: dir, port, user, database, ssl: false as const }
  let server: ChildProcess | undefined

  const query: Server['query'] = async (text, values) => {
    const client = new pg.Client(connection)
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }
  const answers = () =>
    query('select 1').then(
      () => true,
      () => false,
    )
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pidsOf(server?.pid ?? 0)) send(name, pid)
  }

  async function start(): Promise<void> {
    giveTo(account, dir)
    rmSync(join(dir, 'postmaster.pid'), { force: true })
    const settings = { ...FAST, listen_addresses: '', unix_socket_directories: dir, port: String(port), jit: 'off', ...more }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const { file, args, options: how } = commandOf(account, programs.postgres, ['-D', dir, ...options])
    server = spawn(file, args, { ...how, stdio: ['ignore', 'ignore', process.env.TEST_LOG ? 'inherit' : 'ignore'] })
    await until(answers, `for the server in ${dir} to start`)
  }

  await start()
  return {
    connection,
    url: `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(dir)}`,
    query,
    start,
    suspend: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async kill() {
      if (server?.exitCode !== null || server.signalCode !== null) return
      const exited = once(server, 'exit')
      signal('SIGKILL')
      await exited
    },
  }
}

/** A child may have ended since it was found. */
function send(name: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The postmaster and its children. */
function pidsOf(postmaster: number): number[] {
  const children = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const [, , parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      return Number(parent) === postmaster ? [Number(name)] : []
    } catch {
      return []
    }
  })
  return [postmaster, ...children]
}
