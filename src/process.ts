/**
 * The process: the service itself, or the supervisor of its processes (PROCESSES). Starts it, and stops it at a signal. The only file that
 * exits the process.
 */
import cluster from 'node:cluster'
import { isatty } from 'node:tty'
import { onStop, sayReady } from './platform/processes/member.ts'
import { CANNOT_START, StartError } from './platform/processes/start-error.ts'
import { hasUnendedCalls } from './platform/storage/folder-calls.ts'
import type { BegunStart, Service } from './service.ts'
import { readSettings, type Settings, SettingsError } from './settings.ts'

/** A graceful stop that takes longer is cut short. A supervisor waits for its processes to do so. */
const STOP_WITHIN_MS = cluster.isWorker ? 60_000 : 62_000
/** npm repeats the terminal's signal, so a second signal within this time does not mean that the user wants to stop at once. */
const SECOND_SIGNAL_AFTER_MS = 1_000

/** What was started: from then on it can be stopped. */
interface Running {
  readonly started: Promise<void>
  stop(how: { isReplaced: boolean }): Promise<void>
}

async function run(): Promise<Running> {
  const settings = readSettings()
  return cluster.isPrimary && settings.processes > 1 ? runSupervisor(settings) : runService(settings)
}

// Both are loaded when they are needed: the parts of the service take most of the time of a start, and a supervisor needs none of them.

async function runService(settings: Settings): Promise<Running> {
  const begun = await begin(settings)
  // A mistake in the work for one caller must not end that for all others.
  process.on('unhandledRejection', (err) => begun.log.error({ err }, 'unhandled rejection'))
  const starting = import('./service.ts').then(({ startService }) => startService(settings, begun))
  let service: Service | undefined
  return {
    started: starting.then(async (started) => {
      service = started
      if (!cluster.isWorker) return sayStarted(started.lines)
      // Ends a line that shows progress: the supervisor goes on below it.
      await say([])
      sayReady(started.lines, started.port)
    }),
    stop: async (how) => (service ? service.stop(how) : leave(begun)),
  }
}

/** Gives up a start, which may wait for the database for minutes. What it opened ends with the process, but for PostgreSQL. */
async function leave({ postgres }: BegunStart): Promise<void> {
  await postgres?.then(
    (opened) => opened.leave(),
    () => {},
  )
}

/** Begins to start the embedded PostgreSQL, which takes about as long as loading the parts of the service, on another core. */
async function begin(settings: Settings): Promise<BegunStart> {
  const { probePort } = await import('./platform/http/listening.ts')
  // A supervisor has probed it, and has it since the first process listens.
  if (!cluster.isWorker && settings.role !== 'worker') await probePort(settings)
  const { logProgress, openLog } = await import('./platform/processes/log.ts')
  const log = openLog(settings)
  if (settings.databaseUrl) return { log, postgres: undefined }
  const { openEmbeddedPostgres } = await import('./platform/database/embedded/embedded-postgres.ts')
  const postgres = openEmbeddedPostgres({
    dataDir: settings.dataDir,
    log: (message) => log.info(message),
    progress: (step) => logProgress(log, step),
  })
  // The service reports it when it needs the database.
  postgres.catch(() => {})
  return { log, postgres }
}

async function runSupervisor(settings: Settings): Promise<Running> {
  const { probePort } = await import('./platform/http/listening.ts')
  await probePort(settings)
  const { default: pino } = await import('pino')
  const { standardOutput } = await import('./platform/processes/log.ts')
  const { supervise } = await import('./platform/processes/supervisor.ts')
  const { started, failed, stop } = supervise({
    ...{ count: settings.processes, port: settings.port },
    log: pino({ level: settings.logLevel }, standardOutput()),
  })
  failed.catch(fail)
  return { started: started.then(sayStarted), stop }
}

let hasStarted = false

/** The last lines of a start. None if it was stopped. */
async function sayStarted(lines: readonly string[]): Promise<void> {
  if (!lines.length) return
  hasStarted = true
  await say(lines)
}

/** Loaded when something is said, because a supervisor begins without it. */
async function say(lines: readonly string[]): Promise<void> {
  const { print } = await import('./platform/processes/log.ts')
  print(lines)
}

const isExpected = (error: unknown) => error instanceof StartError || error instanceof SettingsError

function printError(error: unknown): void {
  const { message, stack = error } = error as Error
  if (message !== '') process.stderr.write(isExpected(error) ? `Gridpost cannot start. ${message}\n` : `${stack}\n`)
}

/** Ends after an error: the supervisor stops the processes that are left. */
function fail(error: unknown): void {
  if (isStopping) return
  reported = error
  printError(error)
  stop(cluster.isWorker && isExpected(error) ? CANNOT_START : 1)
}

function stop(exitCode: number, how = { isReplaced: false }): void {
  if (isStopping) return
  isStopping = true
  setTimeout(() => exit(1), STOP_WITHIN_MS).unref()
  running
    .then((service) => service.stop(how))
    .then(sayStopped)
    .then(
      () => exit(exitCode),
      (error) => {
        if (error !== reported) printError(error)
        exit(exitCode || 1)
      },
    )
}

/** Says that a signal has done what its sender wanted. Of several processes the supervisor says so. */
async function sayStopped(): Promise<void> {
  if (firstSignalAt && !cluster.isWorker && (hasStarted || isatty(1))) await say(['Gridpost has stopped.'])
}

function exit(code: number): void {
  if (hasUnendedCalls()) {
    process.removeAllListeners('SIGTERM')
    process.kill(process.pid, 'SIGTERM')
  }
  process.exit(code)
}

let isStopping = false
/** The error that was printed before the stop. */
let reported: unknown
let firstSignalAt = 0

const sayStopping = () => say(['Stopping: what is under way may end. Ctrl-C again ends it at once.'])

function onSignal(how = { isReplaced: false }): void {
  if (!firstSignalAt && isatty(1) && !cluster.isWorker) setTimeout(sayStopping, SECOND_SIGNAL_AFTER_MS).unref()
  firstSignalAt ||= performance.now()
  if (performance.now() - firstSignalAt > SECOND_SIGNAL_AFTER_MS) exit(1)
  stop(0, how)
}

if (cluster.isWorker) {
  // A terminal sends these to all processes. The supervisor decides what they mean.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('SIGTERM', () => onSignal({ isReplaced: true }))
  onStop(() => stop(0))
} else {
  // Ends the line on which a terminal shows ^C.
  process.once('SIGINT', () => isatty(1) && say(['']))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => onSignal())
}
// A line that cannot be written, as on a full disk, must not end the service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
process.on('uncaughtException', (error) => {
  printError(error)
  stop(1)
})

const running = run()
running.then(({ started }) => started).catch(fail)
