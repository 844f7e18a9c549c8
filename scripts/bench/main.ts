/**
 * `npm run bench`: the service and a bare server with hand-written SQL, on the same database, driven in turn in one run.
 * Prints requests per second, p50 and p99 of both, and the ratio: medians of interleaved rounds. Ratios count; the load, both
 * servers and the database share one machine.
 * Options: --suite foundation|records|tables|tasks|events --rounds 5 --seconds 3 --connections 10,50 --only query,task --records 1000
 * --data-dir <folder> (is kept, with the data, for the next run) --prepare (makes the data and ends)
 * --others <folder> (where Directus and NocoDB were installed: they are started and measured beside; docs/benchmarks.md, Others)
 * --profile (prints where the service's CPU time went; its figures are slower by that)
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createAccount } from '../../src/accounts/service.ts'
import { SESSION_COOKIE, startSession } from '../../src/auth/sessions.ts'
import { type Database, openDatabase } from '../../src/db.ts'
import { openEmbeddedPostgres } from '../../src/embedded-postgres.ts'
import { insertKey } from '../../src/keys/service.ts'
import { api } from './api.ts'
import type { Account, Ground, Suite } from './case.ts'
import { events } from './events/suite.ts'
import { foundation } from './foundation/suite.ts'
import { measure } from './measure.ts'
import { startOthers } from './others/start.ts'
import { type Process, startProcess } from './process.ts'
import { printProfile } from './profile.ts'
import { records } from './records/suite.ts'
import { unhurried } from './sql.ts'
import { tables } from './tables/suite.ts'
import { tasks } from './tasks/suite.ts'

const SUITES: Record<string, Suite<unknown>> = { foundation, records, tables, tasks, events }

const { values: options } = parseArgs({
  options: {
    suite: { type: 'string', default: 'foundation' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '10,50' },
    only: { type: 'string', default: '' },
    records: { type: 'string' },
    'data-dir': { type: 'string' },
    prepare: { type: 'boolean', default: false },
    others: { type: 'string' },
    profile: { type: 'boolean', default: false },
  },
})

const suite = SUITES[options.suite]
if (!suite) throw new Error(`--suite: ${options.suite} is none of ${Object.keys(SUITES).join(', ')}`)

const dataDir = options['data-dir'] ?? (await mkdtemp(join(tmpdir(), 'gridpost-bench-')))
const profileDir = await mkdtemp(join(tmpdir(), 'gridpost-profile-'))
const started: Pick<Process, 'stop'>[] = []
let failed = false
try {
  await main(suite)
} catch (error) {
  failed = true
  console.error(error)
} finally {
  for (const process of started.reverse()) await process.stop()
  if (options.profile && !failed) printProfile(profileDir)
  await rm(profileDir, { recursive: true, force: true })
  if (!options['data-dir']) await rm(dataDir, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

async function main(suite: Suite<unknown>): Promise<void> {
  const profiling = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const service = await startProcess([...profiling, join(import.meta.dirname, '../../src/main.ts')], /listens on (http[^;\s]+)/, {
    DATA_DIR: dataDir,
    PORT: '0',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '100000000',
    RATE_LIMIT_PER_HOUR: '1000000000',
  })
  started.push(service)
  const postgres = await openEmbeddedPostgres({ dataDir })
  const db = openDatabase(postgres.connection)
  try {
    const { account, prepared } = await prepare(suite, db, service.found)
    if (options.prepare) return
    const bare = suite.bare
      ? await startProcess([join(import.meta.dirname, suite.bare)], /(http\S+)/, {
          BENCH_BARE: JSON.stringify({ connection: postgres.connection, ...suite.tellBare?.(prepared) }),
        })
      : undefined
    if (bare) started.push(bare)
    const postmaster = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
    const pids = { ours: service.child.pid ?? 0, bare: bare?.child.pid ?? 0, postmaster }
    const secret = suite.secretOf?.(prepared) ?? account.secret
    const cases = (await suite.cases(prepared, { url: service.found, account })).filter(({ name }) => isWanted(name))
    const rounds = {
      rounds: Number(options.rounds),
      seconds: Number(options.seconds ?? suite.defaults.seconds),
      connections: options.connections.split(',').map(Number),
    }
    const tableId = suite.tableOf?.(prepared)
    if (options.others && !tableId) throw new Error(`--others: the suite ${options.suite} has nothing to ask them`)
    const others =
      options.others && tableId ? await startOthers(options.others, { connection: postgres.connection, db, tableId }, started) : []
    if (bare && cases.length) await measure(cases, { ours: service.found, bare: bare.found, secret, pids, others, db }, rounds)
    // What is measured of the service alone is measured alone.
    for (const peer of others) await peer.stop()
    for (const [name, step] of Object.entries(suite.steps ?? {})) {
      if (isWanted(name)) await step.run({ ...(await groundOn(db, service.found, account)), pids, url: service.found }, prepared)
    }
  } finally {
    await db.close()
    await postgres.leave()
  }
}

function isWanted(name: string): boolean {
  const words = options.only.split(',').filter(Boolean)
  return words.length === 0 || words.some((word) => name.includes(word))
}

/** Makes the data, or reads what an earlier run has noted of them. */
async function prepare(suite: Suite<unknown>, db: Database, url: string): Promise<{ account: Account; prepared: unknown }> {
  const note = join(dataDir, `bench-${options.suite}.json`)
  if (existsSync(note)) return JSON.parse(readFileSync(note, 'utf8'))
  const from = performance.now()
  const account = await makeAccount(db)
  const prepared = await suite.prepare(await groundOn(db, url, account), { records: Number(options.records ?? suite.defaults.records) })
  // Again, with the indexes: what is known of an expression is known from its index.
  await unhurried(db, (client) => client.query('analyze'))
  const made = { account, prepared }
  writeFileSync(note, JSON.stringify(made))
  console.log(`The data were made in ${Math.round((performance.now() - from) / 1000)} s.`)
  return made
}

async function makeAccount(db: Database): Promise<Account> {
  const now = new Date()
  const { accountId, ownerId } = await createAccount(db, 'Bench', { email: `bench.${Date.now()}@example.com`, name: 'Ben Bench' }, now)
  const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name: 'Bench' }, now)
  return { accountId, ownerId, secret }
}

async function groundOn(db: Database, url: string, account: Account): Promise<Ground> {
  return {
    db,
    account,
    key: api(url, { authorization: `Bearer ${account.secret}` }),
    browser: api(url, {
      cookie: `${SESSION_COOKIE}=${await startSession({ db, settings: { keepSessionsDays: 1 } }, account.ownerId, new Date())}`,
    }),
  }
}
