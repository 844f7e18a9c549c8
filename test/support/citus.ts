/** A coordinator and two workers with Citus, of the embedded PostgreSQL and the folder that CITUS_DIR names. */
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { queues } from '../../src/background.ts'
import { openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { deploy } from '../../src/platform/database/migrations/deploy.ts'
import { queueSchema } from '../../src/platform/jobs/queue-schema.ts'
import { type Server, startIn } from './replica.ts'

/**
 * A folder with `lib` and `share/extension` of Citus, made for the major version of the embedded PostgreSQL. Without it the tests of
 * Citus are skipped, because Citus is not part of this repository or of its packages.
 */
export const CITUS_DIR = process.env.CITUS_DIR || undefined

/** The name of a group of tests that needs Citus. */
export const withCitus = (name: string) => (CITUS_DIR ? name : `${name} (skipped: CITUS_DIR names no folder with Citus)`)

type Node = Pick<Server, 'connection'>

/** Nodes know each other by the folders of their sockets. */
export interface CitusCluster {
  coordinator: Server
  workers: [Server, Server]
  /** The name of a node, as an operator gives it to `space place`. */
  nameOf(node: Server): string
  /** Ends the second worker and starts a server with its data at another address, as a standby that takes over. Citus is not told. */
  takeOver(): Promise<Server>
  stop(): Promise<void>
}

/** Settings of every node. The path of a folder may not have a colon, which separates folders. */
const settingsOf = (folder: string, dir: string): Record<string, string> => ({
  shared_preload_libraries: 'citus',
  extension_control_path: `$system:${folder}/share`,
  dynamic_library_path: `$libdir:${folder}/lib`,
  wal_level: 'logical',
  max_connections: '300',
  max_prepared_transactions: '300',
  // Each database has a daemon of Citus on each node.
  max_worker_processes: '64',
  // A superuser's password or certificate is not needed on a socket.
  'citus.node_conninfo': 'sslmode=disable',
  'citus.local_hostname': dir,
  'citus.enable_statistics_collection': 'off',
  'citus.recover_2pc_interval': '1s',
  'citus.defer_shard_delete_interval': '1s',
})

/** Starts three empty servers with Citus loaded. `joinNodes` makes a cluster of one database. */
export async function startNodes(): Promise<CitusCluster> {
  if (!CITUS_DIR) throw new Error('CITUS_DIR is not set')
  const root = mkdtempSync(join(tmpdir(), 'gridpost-citus-'))
  const embedded = await openEmbeddedPostgres({ dataDir: join(root, 'c'), settings: { fsync: 'off' } })
  await embedded.leave()
  const folders = ['c', 'w1', 'w2'].map((name) => join(root, name, 'postgres'))
  for (const folder of folders.slice(1)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    cpSync(folders[0] as string, folder, { recursive: true })
  }
  const start = (folder: string) => startIn(folder, embedded.connection, settingsOf(CITUS_DIR as string, folder))
  const [coordinator, ...workers] = (await Promise.all(folders.map(start))) as [Server, Server, Server]
  return {
    coordinator,
    workers,
    nameOf: ({ connection: { host, port } }) => `${host}:${port}`,
    async takeOver() {
      await workers[1].kill()
      const folder = join(root, 'standby')
      renameSync(workers[1].connection.host, folder)
      workers[1] = await start(folder)
      return workers[1]
    },
    async stop() {
      for (const server of [coordinator, ...workers]) await server.kill()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Makes a cluster of the database, which exists on every node. The coordinator keeps no shards. */
export async function joinNodes({ coordinator, workers }: { coordinator: Node; workers: Node[] }, database: string): Promise<void> {
  for (const node of [coordinator, ...workers]) await inDatabase(node, database, ['create extension citus'])
  const { host, port } = coordinator.connection
  await inDatabase(coordinator, database, [
    `select citus_set_coordinator_host('${host}', ${port})`,
    ...workers.map(({ connection }) => `select citus_add_node('${connection.host}', ${connection.port})`),
  ])
}

export async function inDatabase({ connection }: Node, database: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ ...connection, database })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** A migrated cluster of its own, in the database of its servers' connections. */
export async function startCitus(): Promise<CitusCluster> {
  const cluster = await startNodes()
  try {
    await joinNodes(cluster, cluster.coordinator.connection.database)
    await deploy(cluster.coordinator.connection, { prepare: queueSchema(queues) })
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}
