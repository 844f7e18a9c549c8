/** The machines of a trial: processes of the service, a database, a mail server and, if it is installed, nginx. */
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { openDatabase } from '../../src/platform/database/database.ts'
import { socketDirOf } from '../../src/platform/database/embedded/server.ts'
import { type MailSink, startSink } from './mail-sink.ts'
import { controlOf, type OwnPostgres, ownPostgres } from './own-postgres.ts'
import { type Front, inTurn, startNginx } from './proxy.ts'
import { type ServiceProcess, serviceProcess } from './service-process.ts'
import { prepareStage, type Stage } from './stage.ts'

export type Kind = 'cluster' | 'embedded'

export interface World {
  kind: Kind
  postgres: OwnPostgres
  processes: readonly ServiceProcess[]
  webs: readonly ServiceProcess[]
  workers: readonly ServiceProcess[]
  front: Front
  sink: MailSink
  stage: Stage
  /** The folder with the uploaded files. */
  storage: string
  /** The mounted tmpfs that holds the database and the files; undefined if none could be mounted. */
  disk: string | undefined
  /** Runs a statement on a connection of its own. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

interface WorldOptions {
  dir: string
  /** How many web processes and how many workers a cluster has. */
  processes: number
  isProxied: boolean
  disk: string | undefined
}

const COMMON = {
  SECRET_KEY: 'a key for chaos, long enough to be one',
  SMTP_ALLOW_PRIVATE: 'true',
  RATE_LIMIT_PER_MINUTE: '0',
  RATE_LIMIT_PER_HOUR: '0',
}
/** What was committed survives SIGKILL without it; only the loss of power would show. */
const SETTINGS = { fsync: 'off', max_connections: '120', shared_buffers: '64MB', max_wal_size: '128MB' }

type Parts = Omit<World, 'stage' | 'query' | 'close'>

type Close = () => Promise<unknown>

/** Opens a world. If that fails half-way, closes what was opened. */
export async function openWorld(kind: Kind, options: WorldOptions): Promise<World> {
  const opened: Close[] = []
  const close = async () => {
    for (const closeOne of opened.splice(0).reverse()) await closeOne()
  }
  try {
    const parts = await (kind === 'embedded' ? openEmbedded : openCluster)(options, opened)
    return { ...(await complete(parts)), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Web processes and workers on a PostgreSQL of their own. */
async function openCluster({ dir, processes: count, isProxied, disk }: WorldOptions, opened: Close[]): Promise<Parts> {
  const sink = await startSink()
  opened.push(() => sink.close())
  const postgres = await ownPostgres(join(disk ?? dir, 'database'), SETTINGS)
  opened.push(() => postgres.stop())
  const storage = join(disk ?? dir, 'files')
  const environment = {
    ...COMMON,
    DATABASE_URL: postgres.url,
    DATA_DIR: join(dir, 'data'),
    STORAGE: storage,
    SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    TRUST_PROXY: 'loopback',
  }
  const make = (role: 'web' | 'worker') =>
    Promise.all(
      Array.from({ length: count }, (_, index) => serviceProcess({ name: `${role}-${index + 1}`, role, logDir: dir, environment })),
    )
  const [webs, workers] = await Promise.all([make('web'), make('worker')])
  const processes = [...webs, ...workers]
  opened.push(() => Promise.all(processes.map((each) => each.stop())))
  for (const each of processes) await each.start()
  const urls = webs.map(({ url }) => url ?? '')
  const front = isProxied ? await startNginx(urls, join(dir, 'nginx')) : inTurn(urls)
  opened.push(() => front.stop())
  return { kind: 'cluster', postgres, processes, webs, workers, storage, disk, sink, front }
}

/** One process with the embedded PostgreSQL, as `npm start` runs it. */
async function openEmbedded({ dir }: WorldOptions, opened: Close[]): Promise<Parts> {
  const sink = await startSink()
  opened.push(() => sink.close())
  const dataDir = join(dir, 'embedded')
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const environment = { ...COMMON, DATA_DIR: dataDir, SMTP_URL: `smtp://127.0.0.1:${sink.port}` }
  const all = await serviceProcess({ name: 'all', role: 'all', logDir: dir, environment })
  // The last process of the embedded PostgreSQL stops it.
  opened.push(() => all.stop())
  await all.start()
  const host = socketDirOf(join(realpathSync(dataDir), 'postgres'))
  const connection = { host, port: 5432, user: 'gridpost', database: 'gridpost', ssl: false } as const
  const postgres = controlOf(dataDir, { connection, url: '' })
  const parts = { postgres, processes: [all], webs: [all], workers: [all], storage: join(dataDir, 'files'), disk: undefined }
  return { kind: 'embedded', ...parts, sink, front: inTurn([all.url ?? '']) }
}

async function complete(parts: Parts): Promise<Omit<World, 'close'>> {
  const { postgres, front, sink, storage } = parts
  mkdirSync(storage, { recursive: true })
  const db = openDatabase(postgres.connection)
  const stage = await prepareStage(db, front.url(), { smtpPort: sink.port }).finally(() => db.close())
  return { ...parts, stage, query: (text, values) => onOwnConnection(postgres.connection, text, values) }
}

async function onOwnConnection<Row extends pg.QueryResultRow>(
  connection: pg.ClientConfig,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000, application_name: 'chaos' })
  client.on('error', () => {})
  await client.connect()
  try {
    // The database may be read-only by default at the moment.
    await client.query('set default_transaction_read_only = off')
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end().catch(() => {})
  }
}
