/** Opens the parts of a process in order, and closes them in reverse. The service and the scripts both start here. */
import type pg from 'pg'
import { auditMetrics } from './audit/metrics.ts'
import { queues } from './background.ts'
import { commentCascade } from './comments/service.ts'
import { conversionCascade } from './conversions/field-guard.ts'
import { emailMetrics } from './email/metrics.ts'
import { mailCascade } from './email/outbound/deleted-records.ts'
import { openFeed } from './events/feed.ts'
import { announceEvents } from './events/log.ts'
import { eventMetrics } from './events/metrics.ts'
import { fileCascade } from './files/dropped/cascade.ts'
import { fileMetrics } from './files/metrics.ts'
import { indexMetrics } from './indexes/metrics.ts'
import { notificationCascade } from './notifications/service.ts'
import { RememberedAccess } from './platform/access/remembered-access.ts'
import { keepSweepingTemporaryFiles } from './platform/bytes/temporary-files.ts'
import type { Deps } from './platform/context.ts'
import { openDatabase } from './platform/database/database.ts'
import { type EmbeddedPostgres, openEmbeddedPostgres } from './platform/database/embedded/embedded-postgres.ts'
import { databaseMetrics, statementTimer } from './platform/database/metrics.ts'
import { deploy } from './platform/database/migrations/deploy.ts'
import { nodeMetrics } from './platform/database/nodes/metrics.ts'
import { openNodes } from './platform/database/nodes/nodes.ts'
import type { Placement } from './platform/database/records-plane.ts'
import { replicaMetrics } from './platform/database/replicas/metrics.ts'
import { openReplicas } from './platform/database/replicas/replicas.ts'
import type { ObserveStatement } from './platform/database/statements/observe-statements.ts'
import { traceStatement } from './platform/database/statements/traces.ts'
import { overloadMetrics } from './platform/http/load/overload-metrics.ts'
import { createLimits } from './platform/http/load/rate-limits.ts'
import { httpMetrics } from './platform/http/metrics.ts'
import { jobMetrics } from './platform/jobs/metrics.ts'
import { openJobs } from './platform/jobs/queue.ts'
import { queueSchema } from './platform/jobs/queue-schema.ts'
import { openMailer } from './platform/mail/mailer.ts'
import { type Metric, type Metrics, openMetrics } from './platform/metrics/metrics.ts'
import { logProgress } from './platform/processes/log.ts'
import { perProcess } from './platform/processes/per-process.ts'
import { recordSecretKey } from './platform/secrets/secret-key-uses.ts'
import { openStorage } from './platform/storage/open-storage.ts'
import { isTracing } from './platform/tracing/tracing.ts'
import { recordCascade } from './records/deleted/purge.ts'
import type { Settings } from './settings.ts'
import type { Cascade } from './tables/cascade.ts'
import { taskCascade } from './tasks/deletion.ts'
import { viewCascade } from './views/field-use.ts'

/** The effects of deleted and restored records and of changed fields on each feature. */
const cascades: readonly Cascade[] = [
  conversionCascade,
  viewCascade,
  recordCascade,
  notificationCascade,
  commentCascade,
  fileCascade,
  taskCascade,
  mailCascade,
]

/** Everything that /metrics shows. */
const allMetrics: readonly Metric[] = [
  ...httpMetrics,
  ...overloadMetrics,
  ...databaseMetrics,
  ...replicaMetrics,
  ...nodeMetrics,
  ...jobMetrics,
  ...eventMetrics,
  ...indexMetrics,
  ...fileMetrics,
  ...emailMetrics,
  ...auditMetrics,
]

/** With one connection, a statement that waits for a lock would stop everything else in its process. */
const LEAST_CONNECTIONS = 2

export interface OpenOptions {
  log: Deps['log']
  publicUrl: () => string
  /** True if this process also maintains the job queue. */
  isWorker: boolean
  /** The SMTP server to use without SMTP_URL: the mail catcher of the embedded default. */
  fallbackSmtpUrl?: string
  /** The embedded PostgreSQL, if it has begun to start before. */
  postgres?: Promise<EmbeddedPostgres> | undefined
  /** Replacements for parts that this function would open. The caller closes them. */
  overrides?: Partial<Pick<Deps, 'clock' | 'mailer'>> & {
    databaseSilentMs?: number
    replicaSteadyMs?: number
    storageLimitMs?: number
    placement?: Placement
  }
}

export interface Opened {
  deps: Deps
  /** Waits for running jobs, then closes everything. The embedded PostgreSQL stops if no other process uses it. */
  close(): Promise<void>
}

/**
 * Connects to DATABASE_URL, or starts or adopts the embedded PostgreSQL, and applies migrations.
 * @throws EmbeddedPostgresError or MigrationError, each with a message of one line
 */
export async function openDeps(
  settings: Settings,
  { log, publicUrl, isWorker, fallbackSmtpUrl, postgres, overrides = {} }: OpenOptions,
): Promise<Opened> {
  const closers: (() => Promise<void> | void)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await Promise.resolve(closer()).catch((error) => log.error({ err: error }, 'closing'))
  }
  try {
    const connection = await connectionOf(settings, () => postgres ?? openPostgres(settings, log), closers)
    const onError = (error: unknown) => log.error({ err: error }, 'temporary files not removed')
    closers.push(await keepSweepingTemporaryFiles(settings.dataDir, { onError }))
    await deploy(connection, { prepare: queueSchema(queues), progress: (step) => logProgress(log, step) })
    const metrics = openMetrics(allMetrics)
    const [size, observe] = [perProcess(settings.databasePool, LEAST_CONNECTIONS), observeStatement(metrics)]
    const silentMs = overrides.databaseSilentMs
    const nodes = openNodes(connection, { size, observe, silentMs, log })
    closers.push(() => nodes.close())
    const primary = openDatabase(connection, { size, observe, silentMs, placement: overrides.placement ?? nodes })
    closers.push(() => primary.close())
    await nodes.follow(primary)
    const { replicaUrls: urls, replicaMaxLagMs: maxLagMs } = settings
    const replicas = urls.length
      ? openReplicas(primary, { urls, maxLagMs, steadyMs: overrides.replicaSteadyMs, size, observe, metrics, log })
      : undefined
    closers.push(() => replicas?.close())
    const db = replicas?.db ?? primary
    const recorder = await recordSecretKey(db, settings.secretKeys, log)
    closers.push(() => recorder.stop())
    const announcer = announceEvents(db, log)
    closers.push(() => announcer.close())
    const mailer = overrides.mailer ?? openMailer(settings, fallbackSmtpUrl)
    if (!overrides.mailer) closers.push(() => mailer.close())
    const jobs = await openJobs(connection, db, isWorker, log)
    closers.push(() => jobs.stop())
    const limits = createLimits(db, { perMinute: settings.rateLimitPerMinute, perHour: settings.rateLimitPerHour })
    const clock = overrides.clock ?? (() => new Date())
    const { remembersAccess } = settings
    const maxStreams = perProcess(settings.streamsPerCaller)
    const feed = openFeed(db, { log, clock, maxStreams, settled: replicas?.settled, remembersAccess })
    closers.push(() => feed.close())
    const deps: Deps = {
      db,
      replicas,
      nodes,
      settings,
      jobs,
      storage: openStorage(settings.storage, { log, previous: settings.storagePrevious, limitMs: overrides.storageLimitMs }),
      mailer,
      metrics,
      cascades,
      limits,
      rememberedAccess: remembersAccess ? new RememberedAccess() : undefined,
      feed,
      log,
      clock,
      publicUrl,
    }
    return { deps, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Measures each statement, and traces it if this process does. */
function observeStatement(metrics: Metrics): ObserveStatement {
  const time = statementTimer(metrics)
  if (!isTracing()) return time
  return (text) => {
    const [timed, traced] = [time(text), traceStatement(text)]
    return (error) => {
      timed()
      traced(error)
    }
  }
}

async function connectionOf(
  { databaseUrl }: Settings,
  open: () => Promise<EmbeddedPostgres>,
  closers: (() => Promise<void> | void)[],
): Promise<pg.PoolConfig> {
  if (databaseUrl) return { connectionString: databaseUrl }
  const postgres = await open()
  closers.push(() => postgres.leave())
  return postgres.connection
}

const openPostgres = ({ dataDir }: Settings, log: Deps['log']) =>
  openEmbeddedPostgres({ dataDir, log: (message) => log.info(message), progress: (step) => logProgress(log, step) })
