/**
 * `npm run bench`: the service and a bare server with hand-written SQL, on the same database, driven in turn in one run.
 * Prints requests per second, p50 and p99 of both, and the ratio: medians of interleaved rounds. Ratios count; the load, both
 * servers and the database share one machine. Its options are in options.ts, and printed by `npm run bench -- --help`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../src/platform/database/database.ts'
import { openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { runScript, ScriptError } from '../runtime.ts'
import type { Account, Suite } from './case.ts'
import { cluster } from './cluster/suite.ts'
import { inConsole } from './console/suite.ts'
import { events } from './events/suite.ts'
import { files } from './files/suite.ts'
import { foundation } from './foundation/suite.ts'
import { groundOn, makeAccount } from './ground.ts'
import { mail } from './mail/suite.ts'
import { measure } from './measure.ts'
import { isWanted, type Options, readOptions, refuseUnknown, USAGE } from './options.ts'
import { startOthers } from './others/start.ts'
import { type Process, postmasterIn, SERVICE_LISTENS, startArguments, startProcess } from './process.ts'
import { processes } from './processes/suite.ts'
import { printProfile } from './profile.ts'
import { queries } from './queries/suite.ts'
import { measureGrowth, SIZES } from './records/growth.ts'
import { records } from './records/suite.ts'
import { replicas } from './replicas/suite.ts'
import { unhurried } from './sql.ts'
import { tables } from './tables/suite.ts'
import { tasks } from './tasks/suite.ts'

const SUITES: Record<string, Suite<unknown>> = {
  foundation,
  records,
  queries,
  tables,
  tasks,
  events,
  mail,
  files,
  processes,
  replicas,
  cluster,
  console: inConsole,
}

await runScript(async () => {
  const options = readOptions(process.argv.slice(2), SUITES)
  if (options === 'help') return console.log(USAGE)
  if (!options.chart || options.records !== undefined) return runOn(options)
  for (const records of SIZES)
    await runOn({ ...options, records, ...(options.dataDir && { dataDir: join(options.dataDir, String(records)) }) })
})

/** Runs the suite on one number of records. */
async function runOn(options: Options): Promise<void> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'gridpost-bench-')))
  const profileDir = await mkdtemp(join(tmpdir(), 'gridpost-profile-'))
  const started: Pick<Process, 'stop'>[] = []
  try {
    await run(SUITES[options.suite] as Suite<unknown>, options, { dataDir, profileDir, started })
    // The profile is written when the process ends.
    await stopAll(started)
    if (options.profile) printProfile(profileDir)
  } finally {
    await stopAll(started)
    await rm(profileDir, { recursive: true, force: true })
    if (!options.dataDir) await rm(dataDir, { recursive: true, force: true })
  }
}

async function stopAll(started: Pick<Process, 'stop'>[]): Promise<void> {
  for (let process = started.pop(); process; process = started.pop()) await process.stop()
}

interface RunResources {
  dataDir: string
  profileDir: string
  /** The processes to stop at the end, even after an error. */
  started: Pick<Process, 'stop'>[]
}

async function run(suite: Suite<unknown>, options: Options, { dataDir, profileDir, started }: RunResources): Promise<void> {
  const profiling = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const environment = {
    DATA_DIR: dataDir,
    PORT: '0',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '100000000',
    RATE_LIMIT_PER_HOUR: '1000000000',
  }
  const service = await startProcess([...profiling, ...startArguments()], SERVICE_LISTENS, environment)
  started.push(service)
  const postgres = await openEmbeddedPostgres({ dataDir })
  const db = openDatabase(postgres.connection)
  try {
    const { account, prepared, records } = await prepare(suite, options, { db, url: service.found, dataDir })
    if (options.prepare) return
    const all = await suite.cases(prepared, { url: service.found, account, records })
    refuseUnknown(options.only, [...all.map(({ name }) => name), ...Object.keys(suite.steps ?? {})])
    const cases = all.filter(({ name }) => isWanted(options.only, name))
    const postmaster = postmasterIn(join(dataDir, 'postgres'))
    const pids = { ours: service.child.pid ?? 0, bare: 0, postmaster }

    if (options.chart) {
      const [connections = 1] = options.connections
      const seconds = options.seconds ?? suite.defaults.seconds
      return await measureGrowth(cases, {
        records,
        url: service.found,
        secret: account.secret,
        pids,
        rounds: options.rounds,
        seconds,
        connections,
      })
    }

    /** Measures the cases beside the bare server and, on request, the other products. @returns the cases without figures */
    async function measureCases(): Promise<string[]> {
      const bare = await startBare(suite, { connection: postgres.connection, ...suite.tellBare?.(prepared, records) })
      if (bare) started.push(bare)
      pids.bare = bare?.child.pid ?? 0
      const tableId = suite.tableOf?.(prepared)
      const compared = { connection: postgres.connection, db, isCopied: options.ownCopy }
      const others = options.others && tableId ? await startOthers(options.others, { ...compared, tableId }, started) : []
      const secret = suite.secretOf?.(prepared) ?? account.secret
      const servers = { ours: service.found, bare: bare?.found ?? '', secret, pids, others, db }
      const failed = await measure(cases, servers, { ...options, seconds: options.seconds ?? suite.defaults.seconds })
      // The following steps measure the service alone.
      for (const peer of others) await peer.stop()
      return failed
    }

    const failed = cases.length ? await measureCases() : []
    const steps = Object.entries(suite.steps ?? {}).filter(([name]) => isWanted(options.only, name))
    for (const [, step] of steps) await step.run({ ...(await groundOn(db, service.found, account)), pids, records, environment }, prepared)
    if (failed.length) throw new ScriptError(`\nWithout figures:\n${failed.join('\n')}`)
  } finally {
    await db.close()
    await postgres.leave()
  }
}

/** Starts the suite's bare server, if it has one, with its settings in the environment. */
async function startBare(suite: Suite<unknown>, settings: object): Promise<Process | undefined> {
  if (!suite.bare) return undefined
  return startProcess([join(import.meta.dirname, suite.bare)], /(http\S+)/, { BENCH_BARE: JSON.stringify(settings) })
}

interface Made {
  account: Account
  prepared: unknown
  records: number
}

/** Creates the data, or reads the description of an earlier run's data. */
async function prepare(
  suite: Suite<unknown>,
  options: Options,
  { db, url, dataDir }: { db: Database; url: string; dataDir: string },
): Promise<Made> {
  const note = join(dataDir, `bench-${options.suite}.json`)
  if (existsSync(note)) {
    const made: Made = { records: suite.defaults.records, ...JSON.parse(readFileSync(note, 'utf8')) }
    if ((options.records ?? made.records) === made.records) return made
    throw new ScriptError(`--records ${options.records}: the data in ${dataDir} were made with ${made.records}`)
  }
  const from = performance.now()
  const records = options.records ?? suite.defaults.records
  const account = await makeAccount(db)
  const prepared = await suite.prepare(await groundOn(db, url, account), { records })
  // Analyzes again after the indexes exist, because statistics on an expression come from its index.
  await unhurried(db, (client) => client.query('analyze'))
  const made = { account, prepared, records }
  writeFileSync(note, JSON.stringify(made))
  console.log(`The data were made in ${Math.round((performance.now() - from) / 1000)} s.`)
  return made
}
