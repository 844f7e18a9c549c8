/** Shared by the scripts: opens the database of the settings, finds the running service, and ends a script. */
import type { Deps } from '../src/platform/context.ts'
import { readServiceFile, reserveCatcher, urlOf } from '../src/platform/processes/service-file.ts'
import type { Settings } from '../src/settings.ts'
import { freePort } from './free-port.ts'

/** Why a script cannot run, in one line. */
export class ScriptError extends Error {}

/**
 * Runs a script to its end. An expected error is printed in one line, with exit code 1.
 * Standard output belongs to the script alone: logs go to standard error.
 */
export async function runScript(script: () => Promise<void>): Promise<void> {
  try {
    await script()
  } catch (error) {
    const line = error instanceof ScriptError ? error.message : await expectedLine(error)
    process.stderr.write(`${line ?? (error as Error).stack ?? error}\n`)
    process.exitCode = 1
  }
}

/** The line of an error that the service expects. Its parts are loaded here, because help and a typing error need none of them. */
async function expectedLine(error: unknown): Promise<string | undefined> {
  const [{ EmbeddedPostgresError }, { MigrationError }, { missingRight }, { AppError }, { SettingsError }] = await Promise.all([
    import('../src/platform/database/embedded/embedded-postgres.ts'),
    import('../src/platform/database/migrations/migrations.ts'),
    import('../src/platform/database/migrations/missing-right.ts'),
    import('../src/platform/errors.ts'),
    import('../src/settings.ts'),
  ])
  const isExpected = [AppError, EmbeddedPostgresError, MigrationError, SettingsError].some((kind) => error instanceof kind)
  return isExpected ? (error as Error).message : missingRight(error)
}

/** True if the arguments ask for help. */
export const asksForHelp = (args: readonly string[]) => args[0] === 'help' || args.some((arg) => arg === '--help' || arg === '-h')

/** @throws ScriptError if no command has the name */
export function commandOf<Command>(script: string, commands: Record<string, Command>, name: string | undefined): Command {
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command) return command
  throw new ScriptError(`${name ? `There is no command ${name}` : 'A command is needed'}: npm run ${script} -- --help lists them`)
}

/** The message of Node's argument parser, without its advice. */
export const argumentProblem = (error: unknown): string => (error as Error).message.split(/\.\s/)[0] ?? ''

/** Opens the parts of a service without listening, beside a running service or without one. */
export async function withDeps<T>(settings: Settings, use: (deps: Deps) => Promise<T>): Promise<T> {
  const [{ openDeps }, { default: pino }] = await Promise.all([import('../src/deps.ts'), import('pino')])
  const log = pino({ level: 'warn' }, pino.destination({ fd: 2, sync: true })) as unknown as Deps['log']
  const { baseUrl } = findService(settings)
  const opened = await openDeps(settings, { log, publicUrl: () => baseUrl, isWorker: false })
  try {
    return await use(opened.deps)
  } finally {
    await opened.close()
  }
}

export interface ServiceAddress {
  /** Without a trailing slash. */
  baseUrl: string
  catchDomain: string
  /** The address of the mail catcher, if there is one. */
  catcher: { host: string; port: number } | undefined
  isRunning: boolean
}

/** Finds the service that runs on this DATA_DIR. If none runs, or with DATABASE_URL, returns the address from the settings. */
export function findService(settings: Settings): ServiceAddress {
  const running = settings.databaseUrl ? null : readServiceFile(settings.dataDir)
  if (running?.isAlive) return { baseUrl: running.url, catchDomain: running.catchDomain, catcher: running.catcher, isRunning: true }
  return {
    baseUrl: settings.publicUrl ?? urlOf(settings, settings.port),
    catchDomain: settings.catchDomain,
    catcher: running?.catcher,
    isRunning: false,
  }
}

/** The mail catcher of the embedded default. Before the first start, reserves a free port that the service then uses. */
export async function catcherOf(settings: Settings): Promise<{ host: string; port: number }> {
  const { catcher, baseUrl, catchDomain } = findService(settings)
  if (catcher) return catcher
  const free = { host: '127.0.0.1', port: await freePort() }
  reserveCatcher(settings.dataDir, { url: baseUrl, catchDomain, catcher: free })
  return readServiceFile(settings.dataDir)?.catcher ?? free
}
