/** `npm run admin -- doctor`: looks for weak settings, unreachable parts, damage and leftovers, and says what to do. It changes nothing. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { EmbeddedPostgresError, openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { connect } from '../../src/platform/database/migrations/deploy.ts'
import { MigrationError } from '../../src/platform/database/migrations/migrations.ts'
import { missingRight } from '../../src/platform/database/migrations/missing-right.ts'
import { readSettings, type Settings, SettingsError } from '../../src/settings.ts'
import { catalogueAfter } from '../catalogue.ts'
import { appliedMigrations, checkMigrations, checkPreviousKeys, checkQueue, checkServer } from './database-checks.ts'
import { counted, type Examined, type ExaminedDatabase, type Finding } from './finding.ts'
import { checkNodes, describeNodes } from './node-checks.ts'
import { checkOwners, checkSecrets } from './orphan-checks.ts'
import { checkCatchDomain, checkPublicUrl, checkSmtp } from './reach-checks.ts'
import { checkReceiverCertificate, checkReceiverReach } from './receiver-checks.ts'
import { checkReplicas } from './replica-checks.ts'
import { checkIndexes, checkRecords, checkSystemTables, checkTriggers } from './schema-checks.ts'
import { checkSettings, describeCaughtMail } from './settings-checks.ts'
import { checkSpellings } from './spelling-checks.ts'
import { checkDisks, checkLeftovers, checkStorage } from './storage-checks.ts'

export interface Report {
  findings: Finding[]
  /** The checks that could not be made, and why. */
  skipped: { check: string; reason: string }[]
  /** Remarks that need no action. */
  notes: string[]
}

type Check = (examined: Examined) => Promise<Finding[] | null>

/** The checks of a database that the service has prepared, by what they look at. */
const DATABASE_CHECKS: Record<string, Check> = {
  server: checkServer,
  migrations: checkMigrations,
  replicas: checkReplicas,
  nodes: checkNodes,
  'system tables': checkSystemTables,
  records: checkRecords,
  indexes: checkIndexes,
  triggers: checkTriggers,
  queue: checkQueue,
  'previous keys': checkPreviousKeys,
  owners: checkOwners,
  secrets: checkSecrets,
  spellings: checkSpellings,
  storage: checkStorage,
}

interface Options {
  environment?: Record<string, string | undefined>
  /** Tries the migrations; by default on a temporary server. */
  tryOut?: Examined['tryOut']
  /** How long the database may be silent; a statement of the doctor may take five minutes. */
  databaseSilentMs?: number
}

/** Examines the installation that the environment names. */
export async function examine({
  environment = process.env,
  tryOut = tryOnTemporaryServer,
  databaseSilentMs = STATEMENT_MS + 10_000,
}: Options = {}): Promise<Report> {
  const report: Report = { findings: [], skipped: [], notes: [] }
  const settings = settingsOf(environment, report)
  if (!settings) return report
  report.notes.push(...describeCaughtMail(settings))
  report.findings.push(...checkSettings({ settings, environment }), ...checkLeftovers({ settings }), ...(await checkDisks({ settings })))
  for (const check of [checkSmtp, checkPublicUrl, checkCatchDomain, checkReceiverCertificate, checkReceiverReach])
    report.findings.push(...(await check({ settings })))
  await onDatabase(settings, report, databaseSilentMs, async (database) => {
    const examined = { settings, environment, database, tryOut }
    if (!(await appliedMigrations(database)).length) {
      report.findings.push(...(await checkServer(examined)), UNPREPARED)
      return
    }
    for (const [name, check] of Object.entries(DATABASE_CHECKS)) await make(name, check, examined, report)
    const describe: Check = async () => {
      report.notes.push(...(await describeNodes(examined)))
      return []
    }
    await make('what is on each node', describe, examined, report)
  })
  return report
}

const UNPREPARED: Finding = {
  check: 'migrations.missing',
  severity: 'error',
  problem: 'The database has no tables of this service',
  advice: 'Start the service, or run npm run migrate -- deploy; if there should be data, look at DATABASE_URL and DATA_DIR.',
}

/** Reads the settings without creating DATA_DIR or its key. */
function settingsOf(environment: Record<string, string | undefined>, { findings }: Report): Settings | undefined {
  const dataDir = resolve(environment.DATA_DIR || '.data')
  const needsKey = !environment.DATABASE_URL && !environment.SECRET_KEY
  if (needsKey && !existsSync(join(dataDir, 'secret-key'))) {
    findings.push({
      check: 'settings.data_dir',
      severity: 'error',
      problem: `There is no installation in ${dataDir}: it has no secret key`,
      advice: 'Start the service once, set DATA_DIR to the folder of the installation, or restore a backup.',
    })
    return undefined
  }
  try {
    return readSettings(environment)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const advice = 'Correct it; docs/operations.md (Settings) has all settings. Until then the service does not start.'
    findings.push({ check: 'settings.invalid', severity: 'error', problem: error.message, advice })
    return undefined
  }
}

/** Opens the database for reading only, or reports why it cannot be. */
async function onDatabase(
  settings: Settings,
  report: Report,
  silentMs: number,
  use: (database: ExaminedDatabase) => Promise<void>,
): Promise<void> {
  try {
    if (settings.databaseUrl) await reading({ connectionString: settings.databaseUrl, query_timeout: silentMs }, use)
    else if (existsSync(join(settings.dataDir, 'postgres'))) await readingEmbedded(settings, use)
    else report.findings.push(UNPREPARED)
  } catch (error) {
    if (![MigrationError, EmbeddedPostgresError, DatabaseLost].some((kind) => error instanceof kind)) throw error
    report.findings.push({
      check: 'database.unreachable',
      severity: 'error',
      problem: (error as Error).message,
      advice: settings.databaseUrl
        ? 'Look at DATABASE_URL, the server and the network between.'
        : `Look at ${join(settings.dataDir, 'postgres.log')}; if the data are broken, restore a backup.`,
    })
  }
}

async function readingEmbedded({ dataDir }: Settings, use: (database: ExaminedDatabase) => Promise<void>): Promise<void> {
  const postgres = await openEmbeddedPostgres({ dataDir })
  try {
    await reading(postgres.connection, use)
  } finally {
    await postgres.leave()
  }
}

async function reading(connection: pg.ClientConfig, use: (database: ExaminedDatabase) => Promise<void>): Promise<void> {
  const options = `-c default_transaction_read_only=on -c TimeZone=UTC -c statement_timeout=${STATEMENT_MS} -c lock_timeout=10000`
  const client = new pg.Client({ ...connection, options, connectionTimeoutMillis: 10_000, application_name: 'gridpost doctor' })
  client.on('error', () => {})
  try {
    await connect(client)
    await use({ rows: async (text, values) => (await client.query(text, values).catch(lost)).rows as never })
  } finally {
    await client.end().catch(() => {})
  }
}

const STATEMENT_MS = 300_000

/** The connection has ended or stays silent, so that no other check can be made either. */
class DatabaseLost extends Error {}

function lost(error: Error): never {
  if (error instanceof pg.DatabaseError) throw error
  throw new DatabaseLost(`The database stopped answering during the checks: ${error.message}`)
}

/** Makes one check. The others go on if a table is missing or closed to the role. */
async function make(name: string, check: Check, examined: Examined, report: Report): Promise<void> {
  try {
    const found = await check(examined)
    if (found) report.findings.push(...found)
    else report.skipped.push({ check: name, reason: 'the embedded PostgreSQL is not installed, in which the migrations could be tried' })
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    report.findings.push({
      check: 'doctor.failed',
      severity: 'error',
      problem: `The check of ${name} cannot be made: ${missingRight(error) ?? error.message}`,
      advice: 'Run the doctor with the database role of the service, and correct what else it reports first.',
    })
  }
}

/** Starts a server, which is deleted afterwards; null without the programs of PostgreSQL. */
async function tryOnTemporaryServer(scripts: string[]): Promise<string[] | null> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gridpost-doctor-'))
  try {
    const postgres = await openEmbeddedPostgres({ dataDir, settings: { fsync: 'off' } })
    return await catalogueAfter(postgres.connection, 'gridpost_doctor', scripts).finally(() => postgres.leave())
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) return null
    throw error
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The report for people. */
export function printed({ findings, skipped, notes }: Report): string[] {
  const of = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity)
  const [errors, warnings] = [of('error'), of('warning')]
  return [
    ...notes,
    ...[...errors, ...warnings].flatMap(({ severity, check, problem, advice, examples }) => [
      `${severity}  ${check}: ${problem}`,
      ...(examples ?? []).map((example) => `         - ${example}`),
      `         ${advice}`,
    ]),
    ...skipped.map(({ check, reason }) => `skipped  ${check}: ${reason}`),
    findings.length ? `${counted(errors.length, 'error')}, ${counted(warnings.length, 'warning')}` : 'Nothing to report.',
  ]
}
