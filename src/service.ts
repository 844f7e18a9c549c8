/** Starts one process of the service: settings, database, web application and worker. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildApp, buildOperatorApp } from './app.ts'
import { works } from './background.ts'
import { readLogin } from './demo/login.ts'
import { createDemo } from './demo/service.ts'
import { demoLines, knownDemoLine, mailAddress, openMailLines } from './demo/welcome.ts'
import { type Opened, openDeps } from './deps.ts'
import { type Catcher, mountCatcher, openCaughtMails } from './email/catcher/catcher.ts'
import { catcherOfService, caughtMailIn, moveIntegrations, type OwnCatcher, openCatcher } from './email/catcher/catcher-port.ts'
import { CertificateError } from './email/receiver/certificate.ts'
import type { Receiver } from './email/receiver/receiver.ts'
import { setupLines } from './people/first-owner.ts'
import type { Deps } from './platform/context.ts'
import { type EmbeddedPostgres, EmbeddedPostgresError } from './platform/database/embedded/embedded-postgres.ts'
import { MigrationError } from './platform/database/migrations/migrations.ts'
import { missingRight } from './platform/database/migrations/missing-right.ts'
import { releaseClients } from './platform/http/graceful-shutdown.ts'
import { listen, listenError } from './platform/http/listening.ts'
import { startWork } from './platform/jobs/worker.ts'
import { collectWhenIdle } from './platform/processes/idle-memory.ts'
import { logProgress } from './platform/processes/log.ts'
import { onCollect } from './platform/processes/member.ts'
import { membership } from './platform/processes/per-process.ts'
import { readServiceFile, urlOf, writeServiceFile } from './platform/processes/service-file.ts'
import { StartError } from './platform/processes/start-error.ts'
import { readTracing, TracingError } from './platform/tracing/settings.ts'
import { type Tracer, useTracer } from './platform/tracing/tracing.ts'
import type { Settings } from './settings.ts'

export interface Service {
  /** What the operator should know: the addresses, and how to use the demo account that was created. */
  readonly lines: readonly string[]
  /** The port of requests; undefined for a worker. */
  readonly port: number | undefined
  /**
   * Stops requests, jobs and the database, in this order.
   * @param how `isReplaced` if other processes go on listening on the port: clients are let go over to them first
   */
  stop(how?: { isReplaced: boolean }): Promise<void>
}

/** The parts that began to start while the modules of the service were still loading. */
export interface BegunStart {
  log: Deps['log']
  /** Undefined with DATABASE_URL. `startService` leaves it if the start fails. */
  postgres: Promise<EmbeddedPostgres> | undefined
}

/** @throws StartError for what the operator has to change */
export async function startService(settings: Settings, begun: BegunStart): Promise<Service> {
  try {
    return await start(settings, begun)
  } catch (error) {
    await begun.postgres?.then(
      (postgres) => postgres.leave(),
      () => {},
    )
    const isExpected = [TracingError, EmbeddedPostgresError, MigrationError].some((kind) => error instanceof kind)
    const line = isExpected ? (error as Error).message : missingRight(error)
    throw line ? new StartError(line, { cause: error }) : error
  }
}

async function start(settings: Settings, { log, postgres }: BegunStart): Promise<Service> {
  const tracer = await startTracing(log)
  const { isWeb, isWorker, isFirst } = dutiesOf(settings)
  let url = urlOf(settings, settings.port)
  const publicUrl = () => settings.publicUrl ?? url
  const own = await openOwnCatcher(settings)
  const catcher = own?.catcher
  const lines: string[] = []
  let opened: Opened | undefined
  let app: FastifyInstance | undefined
  let receiver: Receiver | undefined
  let operatorApp: FastifyInstance | undefined
  let stopCollecting = () => {}
  const stop = async ({ isReplaced = false } = {}) => {
    stopCollecting()
    if (app && isReplaced) await releaseClients(app)
    await Promise.all([app?.close(), receiver?.close()])
    await opened?.close()
    // Last, so that a worker that waits for its jobs still counts as alive.
    await operatorApp?.close()
    await tracer?.close()
    await catcher?.close()
  }
  try {
    opened = await openDeps(settings, { log, publicUrl, isWorker, postgres, ...(await fallbackSmtp(settings, catcher)) })
    const moved = await moveIntegrations(opened.deps, own)
    const demoLinesAt = catcher ? await openDemo(opened.deps, catcher) : () => []
    const ownerLinesAt = await openSetup(opened.deps)
    if (isWeb) {
      app = await buildApp(opened.deps)
      await mountMailPages(app, catcher, settings)
      await listen(app, settings)
      url = urlOf(settings, portOf(app))
      if (isFirst) receiver = await receiveMail(opened.deps)
      if (receiver) lines.push(receiverLine(receiver, settings))
      if (catcher) recordService(settings, catcher, publicUrl())
    }
    operatorApp = await listenForOperators(opened.deps)
    if (isWorker) await startWork(opened.deps, works)
    const { deps } = opened
    onCollect((isFirstOfAll) => deps.metrics.series(deps, isFirstOfAll))
    const mail = catcher ? `; mail is caught at ${mailAddress(settings, url)}` : ''
    const does = isWeb ? `listens on ${url}${mail}` : 'works on background jobs'
    stopCollecting = collectWhenIdle()
    lines.push(moved ?? '', `Gridpost ${does}${operatorAddress(operatorApp, settings)}`, ...demoLinesAt(url))
    lines.push(...ownerLinesAt(publicUrl()))
    return { lines: lines.filter(Boolean), port: app && portOf(app), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What this process does. Of several, all answer requests, and the first also does everything else, just as a single one does. */
function dutiesOf({ role }: Settings) {
  const isFirst = !membership || membership.number === 1
  return { isWeb: role !== 'worker', isWorker: role !== 'web' && isFirst, isFirst }
}

async function openOwnCatcher(settings: Settings): Promise<OwnCatcher | undefined> {
  const { isWeb, isFirst } = dutiesOf(settings)
  return isWeb && isFirst ? openCatcher(settings) : undefined
}

/** Mounts /dev/mail, unless the service runs on a database of the operator's own. */
async function mountMailPages(app: FastifyInstance, catcher: Catcher | undefined, settings: Settings): Promise<void> {
  const { databaseUrl, dataDir } = settings
  if (catcher) mountCatcher(app, catcher, settings)
  else if (!databaseUrl) mountCatcher(app, await openCaughtMails(caughtMailIn(dataDir)), settings)
}

const portOf = (app: FastifyInstance) => (app.server.address() as AddressInfo).port

/** Loads OpenTelemetry only if the OTEL_* variables ask for traces. */
async function startTracing(log: Deps['log']): Promise<Tracer | undefined> {
  const settings = readTracing(process.env)
  if (!settings) return undefined
  const { openTracer } = await import('./platform/tracing/opentelemetry.ts')
  const tracer = openTracer(settings, log)
  useTracer(tracer)
  return tracer
}

/** Without SMTP_URL, mail goes to the catcher of this process, or a worker's to that of the service with the same DATA_DIR. */
async function fallbackSmtp({ databaseUrl, dataDir }: Settings, catcher: Catcher | undefined): Promise<{ fallbackSmtpUrl?: string }> {
  const target = catcher ?? (databaseUrl ? undefined : await catcherOfService(dataDir))
  return target ? { fallbackSmtpUrl: `smtp://${target.host}:${target.port}` } : {}
}

/**
 * Creates the demo account on the first start with the embedded PostgreSQL. The service also runs without the account, so a failure is only
 * logged.
 * @returns what the operator should know of it, and of the caught mails, once the service has an address
 */
async function openDemo(deps: Deps, catcher: Catcher): Promise<(url: string) => string[]> {
  const { log, settings } = deps
  const mail = openMailLines(settings)
  if (readLogin(settings.dataDir)) return () => [...mail, knownDemoLine(settings)]
  try {
    logProgress(log, 'Creating the demo account')
    const login = await createDemo(deps, catcher)
    logProgress(log, 'The database is ready')
    return (url) => (login ? [...mail, ...demoLines(settings, login, url)] : mail)
  } catch (error) {
    log.error({ err: error }, 'the demo account was not created')
    return () => mail
  }
}

/**
 * What the first process of requests says while nobody can sign in. It is read before the process listens, because from then on the start
 * goes on without the database.
 */
async function openSetup(deps: Deps): Promise<(url: string) => string[]> {
  const { isWeb, isFirst } = dutiesOf(deps.settings)
  return isWeb && isFirst ? setupLines(deps) : () => []
}

/** Listens on METRICS_PORT, if there is one. */
async function listenForOperators(deps: Deps): Promise<FastifyInstance | undefined> {
  const { host, metricsPort: port } = deps.settings
  if (port === undefined) return undefined
  const app = buildOperatorApp(deps)
  await listen(app, { host, port, setting: 'METRICS_PORT' })
  return app
}

/** Listens at INBOUND_SMTP, if it is set. */
async function receiveMail(deps: Deps): Promise<Receiver | undefined> {
  const { inboundSmtp } = deps.settings
  if (!inboundSmtp) return undefined
  const { openReceiver } = await import('./email/receiver/receiver.ts')
  return openReceiver(deps).catch((error) => {
    if (error instanceof CertificateError) throw new StartError(error.message)
    throw listenError(error, { ...inboundSmtp, setting: 'INBOUND_SMTP' })
  })
}

function receiverLine({ address: { address, port } }: Receiver, { inboundSmtp, catchDomain }: Settings): string {
  const host = address.includes(':') ? `[${address}]` : address
  return `Mail for ${catchDomain} is received at ${inboundSmtp?.protocol}://${host}:${port}`
}

function operatorAddress(app: FastifyInstance | undefined, settings: Settings): string {
  return app ? `; health and metrics are at ${urlOf(settings, portOf(app))}` : ''
}

/** Records the running service in DATA_DIR. Of several services the first is recorded, because mail integrations name its catcher. */
function recordService({ dataDir, catchDomain }: Settings, catcher: Catcher, url: string): void {
  const recorded = readServiceFile(dataDir)
  // A recorded pid may belong to another process by now, so the catcher's port decides.
  const isOtherRunning = recorded?.isAlive && recorded.catcher.port !== catcher.port
  if (!isOtherRunning)
    writeServiceFile(dataDir, { pid: process.pid, url, catchDomain, catcher: { host: catcher.host, port: catcher.port } })
}
