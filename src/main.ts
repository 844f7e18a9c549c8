/** Starts and stops the service: settings, database, web application and worker. The only file that exits the process. */
import { type AddressInfo, createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { buildApp, buildOperatorApp } from './app.ts'
import { works } from './background.ts'
import { loginFile, readLogin } from './demo/login.ts'
import { createDemo } from './demo/service.ts'
import { type Opened, openDeps } from './deps.ts'
import { type Catcher, mountCatcher } from './email/catcher/catcher.ts'
import { catcherOfService, moveIntegrations, openCatcher } from './email/catcher/catcher-port.ts'
import { CertificateError } from './email/receiver/certificate.ts'
import { openReceiver, type Receiver } from './email/receiver/receiver.ts'
import type { Deps } from './platform/context.ts'
import { EmbeddedPostgresError } from './platform/database/embedded/embedded-postgres.ts'
import { MigrationError } from './platform/database/migrations.ts'
import { missingRight } from './platform/database/missing-right.ts'
import { startWork } from './platform/jobs/worker.ts'
import { readServiceFile, urlOf, writeServiceFile } from './platform/service-file.ts'
import { type Tracer, useTracer } from './platform/tracing.ts'
import { readTracing, TracingError } from './platform/tracing-settings.ts'
import { readSettings, type Settings, SettingsError } from './settings.ts'

/** A graceful stop that takes longer is cut short. */
const STOP_WITHIN_MS = 60_000
/** npm repeats the terminal's signal, so a second signal within this time does not mean that the user wants to stop at once. */
const SECOND_SIGNAL_AFTER_MS = 1_000

/** Says in one line why the service cannot start. */
class StartError extends Error {}

interface Service {
  stop(): Promise<void>
}

async function start(): Promise<Service> {
  const settings = readSettings()
  const log = pino({ level: settings.logLevel }) as unknown as Deps['log']
  const tracer = await startTracing(log)
  const isWeb = settings.role !== 'worker'
  const isWorker = settings.role !== 'web'
  if (isWeb) await probePort(settings)

  let url = urlOf(settings, settings.port)
  const publicUrl = () => settings.publicUrl ?? url
  const own = isWeb ? await openCatcher(settings) : undefined
  const catcher = own?.catcher
  let opened: Opened | undefined
  let app: FastifyInstance | undefined
  let receiver: Receiver | undefined
  let operatorApp: FastifyInstance | undefined
  const stop = async () => {
    await Promise.all([app?.close(), receiver?.close()])
    await opened?.close()
    // Last, so that a worker that waits for its jobs still counts as alive.
    await operatorApp?.close()
    await tracer?.close()
    await catcher?.close()
  }
  try {
    opened = await openDeps(settings, { log, publicUrl, isWorker, ...(await fallbackSmtp(settings, catcher)) })
    const moved = await moveIntegrations(opened.deps, own)
    const demo = catcher ? await describeDemo(opened.deps, catcher) : ''
    if (isWeb) {
      app = await buildApp(opened.deps)
      if (catcher) mountCatcher(app, catcher)
      await listen(app, settings)
      url = urlOf(settings, (app.server.address() as AddressInfo).port)
      receiver = await receiveMail(opened.deps)
      if (catcher) recordService(settings, catcher, publicUrl())
    }
    operatorApp = await listenForOperators(opened.deps)
    if (isWorker) await startWork(opened.deps, works)
    if (moved) print(moved)
    const address = catcher ? `listens on ${url}; mail is caught at ${url}/dev/mail` : `listens on ${url}`
    print(`Gridpost ${isWeb ? address : 'works on background jobs'}${operatorApp ? `; ${operatorAddress(operatorApp, settings)}` : ''}`)
    if (demo) print(demo)
    return { stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Loads OpenTelemetry only if the OTEL_* variables ask for traces. */
async function startTracing(log: Deps['log']): Promise<Tracer | undefined> {
  const settings = readTracing(process.env)
  if (!settings) return undefined
  const { openTracer } = await import('./platform/opentelemetry.ts')
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
 * Creates the demo account on the first start with the embedded PostgreSQL, and returns a text that says how to use it. The service
 * also runs without the account, so a failure is only logged.
 */
async function describeDemo(deps: Deps, catcher: Catcher): Promise<string> {
  const { dataDir } = deps.settings
  try {
    const created = await createDemo(deps, catcher)
    if (!created) return readLogin(dataDir) ? `The demo account's passwords and keys are in ${loginFile(dataDir)}` : ''
    const { owner, member, viewer, keys } = created
    return `
A demo account was created. Sign in with POST /api/auth/login, or send a key as a bearer token:
${[owner, member, viewer].map(({ name, email, password }) => `  ${name.padEnd(14)} ${email.padEnd(20)} password ${password}`).join('\n')}
  account key    ${keys.account}
  personal key   ${keys.personal} (${member.name})
The passwords and keys are kept in ${loginFile(dataDir)}. In another terminal, npm run demo walks through it.`
  } catch (error) {
    deps.log.error({ err: error }, 'the demo account was not created')
    return ''
  }
}

/** Fails if the port is in use, before anything else is started. */
async function probePort({ host, port }: Settings): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, resolve)
  }).catch((error) => {
    throw listenError(error, { host, port })
  })
  await new Promise((resolve) => server.close(resolve))
}

async function listen(app: FastifyInstance, { host, port }: Settings): Promise<void> {
  await app.listen({ host, port }).catch((error) => {
    throw listenError(error, { host, port })
  })
}

/** Listens on METRICS_PORT, if there is one. */
async function listenForOperators(deps: Deps): Promise<FastifyInstance | undefined> {
  const { host, metricsPort: port } = deps.settings
  if (port === undefined) return undefined
  const app = buildOperatorApp(deps)
  await app.listen({ host, port }).catch((error) => {
    throw listenError(error, { host, port, setting: 'METRICS_PORT' })
  })
  return app
}

/** Listens at INBOUND_SMTP, if it is set. */
async function receiveMail(deps: Deps): Promise<Receiver | undefined> {
  const { inboundSmtp, catchDomain } = deps.settings
  if (!inboundSmtp) return undefined
  const receiver = await openReceiver(deps).catch((error) => {
    if (error instanceof CertificateError) throw new StartError(error.message)
    throw listenError(error, { ...inboundSmtp, setting: 'INBOUND_SMTP' })
  })
  const { address, port } = receiver.address
  print(`Mail for ${catchDomain} is received at ${inboundSmtp.protocol}://${address.includes(':') ? `[${address}]` : address}:${port}`)
  return receiver
}

function operatorAddress({ server }: FastifyInstance, settings: Settings): string {
  return `health and metrics are at ${urlOf(settings, (server.address() as AddressInfo).port)}`
}

function listenError(
  error: NodeJS.ErrnoException,
  { host, port, setting = 'PORT' }: Pick<Settings, 'host' | 'port'> & { setting?: string },
): Error {
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `${setting}: ${port} is in use on ${host}; stop the program that listens there, or set ${setting} (0 takes any free port)`,
    )
  if (error.code === 'EACCES') return new StartError(`${setting}: ${port} is not allowed for this account`)
  if (error.syscall === 'listen' || error.syscall === 'getaddrinfo')
    return new StartError(`${setting === 'INBOUND_SMTP' ? setting : 'HOST'}: cannot listen on ${host}: ${error.message}`)
  return error
}

/** Records the running service in DATA_DIR. Of several services the first is recorded, because mail integrations name its catcher. */
function recordService({ dataDir, catchDomain }: Settings, catcher: Catcher, url: string): void {
  const recorded = readServiceFile(dataDir)
  // A recorded pid may belong to another process by now, so the catcher's port decides.
  const isOtherRunning = recorded?.isAlive && recorded.catcher.port !== catcher.port
  if (!isOtherRunning)
    writeServiceFile(dataDir, { pid: process.pid, url, catchDomain, catcher: { host: catcher.host, port: catcher.port } })
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function printError(error: unknown): void {
  const isExpected = [StartError, SettingsError, TracingError, EmbeddedPostgresError, MigrationError].some((kind) => error instanceof kind)
  const line = isExpected ? (error as Error).message : missingRight(error)
  process.stderr.write(line ? `Gridpost cannot start. ${line}\n` : `${(error as Error).stack ?? error}\n`)
}

/** Stops requests, jobs and the database, in this order. A start in progress is completed first, so that everything that it opens is closed. */
function stop(exitCode: number): void {
  if (isStopping) return
  isStopping = true
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref()
  starting
    .then((service) => service.stop())
    .then(
      () => process.exit(exitCode),
      (error) => {
        printError(error)
        process.exit(1)
      },
    )
}

let isStopping = false
let firstSignalAt = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    firstSignalAt ||= performance.now()
    if (performance.now() - firstSignalAt > SECOND_SIGNAL_AFTER_MS) process.exit(1)
    stop(0)
  })
}
process.on('uncaughtException', (error) => {
  printError(error)
  stop(1)
})

const starting = start()
starting.catch((error) => {
  if (isStopping) return
  printError(error)
  process.exit(1)
})
