/** The service: settings → database → app and/or worker → listen → close gracefully. The only file that exits. */
import { type AddressInfo, createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { buildApp } from './app.ts'
import { works } from './background.ts'
import { loginFile, readLogin } from './demo/login.ts'
import { createDemo } from './demo/service.ts'
import { type Opened, openDeps } from './deps.ts'
import { type Catcher, mountCatcher, startCatcher } from './email/catcher.ts'
import type { Deps } from './platform/context.ts'
import { EmbeddedPostgresError } from './platform/database/embedded/embedded-postgres.ts'
import { MigrationError } from './platform/database/migrations.ts'
import { startWork } from './platform/jobs/worker.ts'
import { noteRunning, readRunning, urlOf } from './platform/service-file.ts'
import { readSettings, type Settings, SettingsError } from './settings.ts'

const STOP_WITHIN_MS = 60_000
/** npm passes on the signal that the terminal has sent to all: only a later one means "now!". */
const SECOND_SIGNAL_AFTER_MS = 1_000

/** Why the service cannot start, in one line. */
class StartError extends Error {}

interface Service {
  stop(): Promise<void>
}

async function start(): Promise<Service> {
  const settings = readSettings()
  const log = pino({ level: settings.logLevel }) as unknown as Deps['log']
  const isWeb = settings.role !== 'worker'
  const isWorker = settings.role !== 'web'
  if (isWeb) await listenBriefly(settings)

  let url = urlOf(settings, settings.port)
  const publicUrl = () => settings.publicUrl ?? url
  const catcher = settings.databaseUrl || !isWeb ? undefined : await openCatcher(settings.dataDir)
  // A worker beside a service shares its catcher.
  const mailHost = catcher ?? (settings.databaseUrl ? undefined : readRunning(settings.dataDir)?.catcher)
  let opened: Opened | undefined
  let app: FastifyInstance | undefined
  const stop = async () => {
    await app?.close()
    await opened?.close()
    await catcher?.close()
  }
  try {
    opened = await openDeps(settings, {
      log,
      publicUrl,
      isWorker,
      ...(mailHost && { fallbackSmtpUrl: `smtp://${mailHost.host}:${mailHost.port}` }),
    })
    const demo = catcher ? await describeDemo(opened.deps, catcher) : ''
    if (isWeb) {
      app = await buildApp(opened.deps)
      if (catcher) mountCatcher(app, catcher)
      await listen(app, settings)
      url = urlOf(settings, (app.server.address() as AddressInfo).port)
      if (catcher && isFirst(settings.dataDir, catcher))
        noteRunning(settings.dataDir, { pid: process.pid, url: publicUrl(), catchDomain: settings.catchDomain, catcher })
    }
    if (isWorker) await startWork(opened.deps, works)
    say(`Gridpost ${isWeb ? `listens on ${url}` : 'works on background jobs'}${catcher ? `; mail is caught at ${url}/dev/mail` : ''}`)
    if (demo) say(demo)
    return { stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Makes the demo account on the first start of the embedded default, and says how to use it. Without it the service is whole, too. */
async function describeDemo(deps: Deps, catcher: Catcher): Promise<string> {
  const { dataDir } = deps.settings
  try {
    const made = await createDemo(deps, catcher)
    if (!made) return readLogin(dataDir) ? `The demo account's passwords and keys are in ${loginFile(dataDir)}` : ''
    const { owner, member, viewer, keys } = made
    return `
A demo account was made. Sign in by POST /api/auth/login, or send a key as a bearer token:
${[owner, member, viewer].map(({ name, email, password }) => `  ${name.padEnd(14)} ${email.padEnd(20)} password ${password}`).join('\n')}
  account key    ${keys.account}
  personal key   ${keys.personal} (${member.name})
All of this is kept in ${loginFile(dataDir)}. In another terminal, npm run demo walks through it.`
  } catch (error) {
    deps.log.error({ err: error }, 'the demo account was not made')
    return ''
  }
}

/** Says that the port is taken before anything else is started. */
async function listenBriefly({ host, port }: Settings): Promise<void> {
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

function listenError(error: NodeJS.ErrnoException, { host, port }: Pick<Settings, 'host' | 'port'>): Error {
  if (error.code === 'EADDRINUSE')
    return new StartError(`PORT: ${port} is in use on ${host}; stop what listens there, or set PORT (0 takes any free one)`)
  if (error.code === 'EACCES') return new StartError(`PORT: ${port} is not allowed for this account`)
  if (error.syscall === 'listen' || error.syscall === 'getaddrinfo')
    return new StartError(`HOST: cannot listen on ${host}: ${error.message}`)
  return error
}

/** On the port of the last time, which mail integrations in the data name; on another one when that is taken. */
async function openCatcher(dataDir: string): Promise<Catcher> {
  const port = readRunning(dataDir)?.catcher.port ?? 0
  return startCatcher({ port }).catch(() => startCatcher())
}

/** Of several services of one DATA_DIR the first is the one to tell of: mail integrations in the data name its catcher. */
function isFirst(dataDir: string, { port }: Catcher): boolean {
  const noted = readRunning(dataDir)
  // Who has the port of the note is not beside the one who noted it: an id of a process is given again.
  return !noted?.isAlive || noted.catcher.port === port
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function complain(error: unknown): void {
  const isExpected = [StartError, SettingsError, EmbeddedPostgresError, MigrationError].some((kind) => error instanceof kind)
  process.stderr.write(isExpected ? `Gridpost cannot start. ${(error as Error).message}\n` : `${(error as Error).stack ?? error}\n`)
}

/** Ends requests, jobs, the database, in this order; once. A start under way is finished first, so that all it has begun ends, too. */
function stop(exitCode: number): void {
  if (isStopping) return
  isStopping = true
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref()
  starting
    .then((service) => service.stop())
    .then(
      () => process.exit(exitCode),
      (error) => {
        complain(error)
        process.exit(1)
      },
    )
}

let isStopping = false
let firstSignalAt = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    firstSignalAt ||= Date.now()
    if (Date.now() - firstSignalAt > SECOND_SIGNAL_AFTER_MS) process.exit(1)
    stop(0)
  })
}
process.on('uncaughtException', (error) => {
  complain(error)
  stop(1)
})

const starting = start()
starting.catch((error) => {
  if (isStopping) return
  complain(error)
  process.exit(1)
})
