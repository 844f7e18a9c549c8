/** Background jobs on pg-boss. A job is enqueued in the transaction that makes it necessary. */

import type { FastifyBaseLogger } from 'fastify'
import pg from 'pg'
import { type Clock, type Db, type JobResult, PgBoss, type QueueOptions } from 'pg-boss'
import type { z } from 'zod'
import type { Database, Sql } from '../database/database.ts'
import { openListener } from '../database/listener.ts'
import { closeIfSilent } from '../database/statements/silent-connections.ts'
import { labelled } from '../database/statements/statement.ts'
import { inSpan, type OpenSpan } from '../tracing/tracing.ts'
import { openSchedules } from './schedules.ts'
import { WakeUps } from './wake-ups.ts'

/** A kind of job. Its data are ids: the job reads the rows again, and may run twice. */
export interface Queue<Data extends object = object> {
  name: string
  schema: z.ZodType<Data>
  options?: Pick<QueueOptions, 'retryLimit' | 'retryDelay' | 'retryBackoff' | 'retryDelayMax' | 'expireInSeconds' | 'heartbeatSeconds'>
}

export const defineQueue = <Data extends object>(queue: Queue<Data>): Queue<Data> => queue

/** The queue that keeps jobs after their last failed attempt, for an operator to inspect. */
export const DEAD_LETTERS = 'dead-letters'

/** The options with which `deploy` creates a queue: back-off, a dead-letter queue, and a NOTIFY that wakes the workers. */
export const queueOptions = ({ options }: Queue): QueueOptions & { notify: true; deadLetter: string } => ({
  retryLimit: 5,
  retryDelay: 2,
  retryBackoff: true,
  retryDelayMax: 600,
  expireInSeconds: 300,
  // A worker that is killed stops its heartbeat, and the job runs elsewhere within half a minute, not after its expiry of minutes or hours.
  heartbeatSeconds: 15,
  deleteAfterSeconds: 86_400,
  ...options,
  deadLetter: DEAD_LETTERS,
  notify: true,
})

/** How often a worker looks for jobs that have lost theirs. */
const SUPERVISE_SECONDS = 5

/** How many jobs of a queue run at once in a process. */
export interface WorkSlots {
  concurrency: number
  /** How many jobs of these must have priority 0 or above: low priorities never take the reserved slots. */
  reserved?: number
  /**
   * How many jobs one statement fetches for slots that are not reserved, which makes many short jobs cheaper. The next batch is fetched
   * when all jobs of this one have ended.
   */
  batchSize?: number
}

export interface Jobs {
  /**
   * Enqueues a job in the open transaction, so that it is committed together with the change. Waiting jobs of a higher priority
   * run first; 0 is the default.
   */
  send<Data extends object>(queue: Queue<Data>, data: Data, options?: { startAfter?: Date; priority?: number }): Promise<void>
  /** Enqueues several jobs in one statement, in the open transaction. @param options the priority of all of them, or of each */
  sendMany<Data extends object>(
    queue: Queue<Data>,
    data: readonly Data[],
    options?: { priority?: number | readonly number[] },
  ): Promise<void>
  /** Whether the queue can be used. */
  isReady(): Promise<boolean>
  /** Starts workers. */
  work<Data extends object>(queue: Queue<Data>, slots: WorkSlots, work: (data: Data) => Promise<void>): Promise<void>
  /** Enqueues a job on a schedule, from the moment when the database has taken it. @param cron five fields, in UTC */
  schedule(queue: Queue, cron: string): void
  /** Registers what is to be stopped before the workers are. */
  beforeStop(stop: () => Promise<void>): void
  /** Waits for running jobs, and starts no others. */
  stop(): Promise<void>
}

declare module '../context.ts' {
  interface Shared {
    jobs: Jobs
  }
}

/** The time after which a worker that could not fetch a job tries again. With LISTEN, pg-boss would let it wait for ten seconds. */
const RETRY_MS = 1_000

/** How often pg-boss compares the server's clock with this one: after the machine was suspended, they differ by as much as that. */
const CLOCK_CHECK_SECONDS = 60

/** Longer than pg-boss's own maintenance takes in a large queue. Nothing else runs on its connections. */
const SILENT_MS = 60_000

/**
 * Connects to pg-boss, whose schema and queues `deploy` has created.
 * @param isWorker whether this process also runs pg-boss's maintenance: retries, schedules, clean-up
 */
export async function openJobs(connection: pg.PoolConfig, db: Database, isWorker: boolean, log: FastifyBaseLogger): Promise<Jobs> {
  const pool = new pg.Pool({ ...connection, max: 3, connectionTimeoutMillis: 10_000, application_name: 'gridpost jobs' })
  // The pool replaces an idle connection that the server has closed.
  pool.on('error', () => {})
  pool.on('connect', (client) => closeIfSilent(client, SILENT_MS))
  const wakeUps = new Map<string, WakeUps>()
  const boss = new PgBoss({
    db: jobDatabase(pool, db, wakeUps, log),
    clock: steadyClock,
    clockMonitorIntervalSeconds: CLOCK_CHECK_SECONDS,
    migrate: false,
    supervise: isWorker,
    // By default pg-boss checks once a minute for jobs whose worker has died.
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    schedule: isWorker,
    // By default a schedule runs up to 35 s late, but a reminder must be sent within the minute.
    cronMonitorIntervalSeconds: 5,
    cronWorkerIntervalSeconds: 1,
    useListenNotify: isWorker,
  })
  boss.on('error', (error: Error & { worker?: string }) => {
    log.error({ err: error }, 'job queue')
    const { worker } = error
    if (worker) setTimeout(() => boss.notifyWorker(worker), RETRY_MS).unref()
  })
  await boss.start()
  const schedules = openSchedules((name, cron) => boss.schedule(name, cron, {}, { tz: 'UTC' }), log)
  const here = {
    executeSql: async (text: string, values?: unknown[]) => ({
      rows: await db.write<never>(labelled('send-job', { text, values: values ?? [] } as unknown as Sql)),
    }),
  }

  const stops: (() => Promise<void>)[] = []

  return {
    async send(queue, data, options = {}) {
      await inSpan(`send ${queue.name}`, sending(queue), (span) => boss.send(queue.name, traced(data, span), { db: here, ...options }))
    },
    async sendMany(queue, data, { priority = 0 } = {}) {
      await inSpan(`send ${queue.name}`, sending(queue), (span) =>
        boss.insert(
          queue.name,
          data.map((one, index) => ({
            data: traced(one, span),
            priority: typeof priority === 'number' ? priority : (priority[index] ?? 0),
          })),
          { db: here },
        ),
      )
    },
    async isReady() {
      return boss.isInstalled()
    },
    async work(queue, { concurrency, reserved = 0, batchSize = 1 }, work) {
      const workers = new WakeUps()
      wakeUps.set(queue.name, workers)
      for (let slot = 0; slot < concurrency; slot += slot < reserved ? 1 : batchSize) {
        let worker = ''
        const ownWakeUps = workers.add(() => boss.notifyWorker(worker), { isReserved: slot < reserved })
        const polling = { pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 10, perJobResults: true } as const
        const taking = slot < reserved ? { batchSize: 1, minPriority: 0 } : { batchSize }
        worker = await boss.work(queue.name, { ...polling, ...taking }, async (jobs) => {
          const run = async ({ id, data }: { id: string; data: unknown }): Promise<JobResult> => {
            try {
              await runTraced(queue, data, work)
              return { id, status: 'completed' }
            } catch (error) {
              return { id, status: 'failed', output: error }
            }
          }
          // After each fetch pg-boss 12.35 sleeps until the next poll or NOTIFY, even if more jobs wait. If the fetch has left none, the
          // NOTIFY of a later job wakes a worker.
          const isFull = jobs.length === taking.batchSize
          ownWakeUps.began(isFull)
          try {
            return await Promise.all(jobs.map(run))
          } finally {
            ownWakeUps.ended(isFull)
          }
        })
      }
    },
    schedule: (queue, cron) => schedules.add(queue.name, cron),
    beforeStop: (stop) => void stops.push(stop),
    async stop() {
      schedules.stop()
      await Promise.all(stops.map((stop) => stop()))
      await boss.stop({ graceful: true, timeout: 30_000 })
      await pool.end()
    },
  }
}

/** The connections of pg-boss. Its own listener pauses for up to 30 s before it reconnects, and until then jobs wait for the next poll. */
const jobDatabase = (pool: pg.Pool, db: Database, wakeUps: ReadonlyMap<string, WakeUps>, log: FastifyBaseLogger): Db => ({
  // Not prepared: a plan that was made while the queue was empty reads all its jobs at each fetch.
  executeSql: (text, values) => pool.query(text, values),
  async listen(channel, onNotification, onReconnect) {
    const notify = (queue: string) => (wakeUps.has(queue) ? wakeUps.get(queue)?.lookForJobs() : onNotification(queue))
    const listener = openListener(db, { channel, log, onNotification: notify, onConnect: onReconnect })
    await listener.start()
    return listener
  },
})

/**
 * A clock that never jumps. pg-boss subtracts its readings, so when the machine's clock was set back by an hour, workers and schedules
 * would pause for an hour. The time of schedules comes from the server.
 */
const steadyClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setInterval: (fn, ms) => setInterval(fn, ms),
  clearInterval: (timer) => clearInterval(timer as NodeJS.Timeout),
}

const ofQueue = ({ name }: Pick<Queue, 'name'>) => ({ 'messaging.system': 'pg-boss', 'messaging.destination.name': name })
const sending = (queue: Pick<Queue, 'name'>) => ({ kind: 'producer', attributes: ofQueue(queue), onlyInside: true }) as const

/** The data of a job beside its own: the span in which the job was enqueued. */
const traced = <Data extends object>(data: Data, span: OpenSpan | undefined): Data & { traceparent?: string } =>
  span ? { ...data, traceparent: span.traceparent() } : data

/** Runs a job as a part of the trace in which it was enqueued. */
function runTraced<Data extends object>(queue: Queue<Data>, stored: unknown, work: (data: Data) => Promise<void>): Promise<void> {
  const { traceparent, ...data } = (stored ?? {}) as { traceparent?: unknown }
  const parent = typeof traceparent === 'string' ? traceparent : undefined
  return inSpan(`process ${queue.name}`, { kind: 'consumer', attributes: ofQueue(queue), parent }, () => work(queue.schema.parse(data)))
}
