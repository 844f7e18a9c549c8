/**
 * One PostgreSQL for the whole run, with a template database that every test file clones (database.ts), and a copy of its folder for tests that
 * start a service with its own (prepared-data.ts).
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { queues } from '../../src/background.ts'
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { deploy } from '../../src/platform/database/migrations/deploy.ts'
import { queueSchema } from '../../src/platform/jobs/queue-schema.ts'
import { CITUS_DIR, type CitusCluster, startNodes } from './citus.ts'
import { NODE_ROLE } from './node-role.ts'
import type { Server } from './replica.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server's socket; its database `gridpost` is the template. */
    postgres: { host: string; port: number; user: string }
    /** The folder of a migrated database. Its server does not run. */
    preparedDatabase: string
    /** The workers of a cluster of which that server is the coordinator; undefined for a server alone. */
    nodes?: { host: string; port: number; user: string }[]
  }
}

const PREFIX = 'gridpost-test-'
/** Nothing here outlives the run, and most databases not even the minute after which a vacuum would visit them. */
const settings = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
  ...{ max_connections: '200', shared_buffers: '128MB' },
}

/** With `GRIDPOST_PLACE_ALL=1` and CITUS_DIR the tests run on a cluster, and every space is on one of its nodes (database.ts). */
const placesAll = process.env.GRIDPOST_PLACE_ALL === '1' && CITUS_DIR !== undefined

let cluster: CitusCluster | undefined
let dataDir: string | undefined
let postgres: EmbeddedPostgres | undefined

export async function setup(project: TestProject): Promise<void> {
  await sweep()
  dataDir = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  try {
    postgres = await openEmbeddedPostgres({ dataDir, settings })
    await deploy(postgres.connection, { prepare: queueSchema(queues) })
    // The files of a server are complete only while it does not run.
    await postgres.leave()
    postgres = undefined
    const prepared = join(dataDir, 'prepared')
    execFileSync('cp', ['-a', join(dataDir, 'postgres'), prepared])
    project.provide('preparedDatabase', prepared)
    if (placesAll) return await setUpCluster(project)
    postgres = await openEmbeddedPostgres({ dataDir, settings })
    await createNodeRole(postgres.connection)
    project.provide('postgres', connectionOf(postgres))
  } catch (error) {
    // vitest tears down only what was set up.
    await teardown()
    throw error
  }
}

const connectionOf = ({ connection: { host, port, user } }: Pick<Server, 'connection'>) => ({ host, port, user })

async function createNodeRole(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client.query(`create role ${NODE_ROLE} login`)
  await client.end()
}

async function setUpCluster(project: TestProject): Promise<void> {
  cluster = await startNodes()
  const { coordinator, workers } = cluster
  await deploy(coordinator.connection, { prepare: queueSchema(queues) })
  for (const { connection } of [coordinator, ...workers]) await createNodeRole(connection)
  project.provide('postgres', connectionOf(coordinator))
  project.provide('nodes', workers.map(connectionOf))
}

export async function teardown(): Promise<void> {
  await cluster?.stop()
  await postgres?.leave()
  if (dataDir) deleteInBackground(dataDir)
}

/** Deletes hundreds of databases, which takes longer than most files of tests, and for which nobody has to wait. The next run sweeps what is left. */
function deleteInBackground(folder: string): void {
  // Two at once, such as that of another run's sweep, do not disturb each other.
  spawn('rm', ['-rf', folder], { detached: true, stdio: 'ignore' }).unref()
}

/** Stops and deletes what a run that was killed has left. */
async function sweep(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? []
    if (!pid || isAlive(Number(pid))) continue
    const dataDir = join(tmpdir(), name)
    // Its server may still run.
    if (existsSync(join(dataDir, 'postgres', 'postmaster.pid')))
      await (await openEmbeddedPostgres({ dataDir, settings }).catch(() => undefined))?.leave()
    deleteInBackground(dataDir)
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
