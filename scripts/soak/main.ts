/**
 * `npm run soak`: drives a service with its own embedded PostgreSQL in rounds at 25 and 200 % of its capacity and with one account that floods
 * beside another, then for minutes at 80 %, also while the database and the service are stopped for a moment, then by many new connections at
 * once. Prints the figures, and fails on a violated bound. Loopback only.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/platform/database/database.ts'
import { openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { rssMb } from '../bench/cpu.ts'
import { type Process, postmasterIn, startArguments, startProcess } from '../bench/process.ts'
import { argumentProblem, runScript, ScriptError } from '../runtime.ts'
import { type Caller, makeCaller } from './caller.ts'
import { watchHealth } from './health.ts'
import { type Outcome, pooled } from './load.ts'
import { CALLERS, longPhase, type Phase, pausesPhase, type Senders, shortPhases } from './phases.ts'
import { Report } from './report.ts'
import { Sender } from './sender.ts'

const USAGE = `npm run soak -- [options]
  --minutes 15      minutes at 80 % of the capacity; a tenth of it, at least 3 and at most 60 seconds, for every other phase
  --unmeasured      prints latencies and memory without judging them, for a machine that does other things`

/** Connections that are opened at once, as after a deployment or by a page that many open at the same time. */
const RUSH = 600
const SAMPLE_MS = 2_000
/** An orchestrator would restart a service that does not answer in this time. */
const HEALTH_MS = 1_000

await runScript(async () => {
  const options = readOptions(process.argv.slice(2))
  if (options === 'help') return console.log(USAGE)
  const dataDir = await mkdtemp(join(tmpdir(), 'gridpost-soak-'))
  let service: Process | undefined
  try {
    service = await startProcess(startArguments(), /listens on (http[^;\s]+)/, {
      ...{ DATA_DIR: dataDir, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'warn' },
      ...{ RATE_LIMIT_PER_MINUTE: '0', RATE_LIMIT_PER_HOUR: '0' },
    })
    await soak(service, dataDir, options)
  } finally {
    await service?.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})

interface Options {
  minutes: number
  isJudged: boolean
}

function readOptions(args: string[]): Options | 'help' {
  try {
    const { values } = parseArgs({
      args,
      options: {
        minutes: { type: 'string', default: '15' },
        unmeasured: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return 'help'
    const minutes = Number(values.minutes)
    if (!(minutes > 0 && minutes <= 600)) throw new ScriptError(`--minutes ${values.minutes}: must be a number above 0, 600 or less`)
    return { minutes, isJudged: !values.unmeasured }
  } catch (error) {
    if (error instanceof ScriptError) throw error
    throw new ScriptError(`${argumentProblem(error)}; npm run soak -- --help`)
  }
}

async function soak({ found: url, child }: Process, dataDir: string, { minutes, isJudged }: Options): Promise<void> {
  const { pid: servicePid } = child
  if (servicePid === undefined) throw new ScriptError('The service has no process')
  const [one, other] = await withDatabase(
    dataDir,
    async (db) => [await makeCaller(db, url, 'one'), await makeCaller(db, url, 'other')] as const,
  )
  const senders: Senders = { one: new Sender(one), watched: new Sender(one), other: new Sender(other) }
  const seconds = Math.min(60, Math.max(3, minutes * 6))
  const report = new Report(isJudged)
  const memory: number[] = []
  const health = watchHealth(url, isJudged ? HEALTH_MS : 10 * HEALTH_MS)
  const sampling = setInterval(() => memory.push(rssMb(servicePid)), SAMPLE_MS)
  try {
    await senders.one.fullSpeed(CALLERS, seconds)
    const { capacities, quiet, flood, floodCpu, otherQuiet, flooder, beside } = await shortPhases(senders, seconds, servicePid)
    const paused = await pausesPhase(senders, { servicePid, postmasterPid: postmasterIn(join(dataDir, 'postgres')) }, seconds)
    memory.length = 0
    const { steady, ...long } = await longPhase(senders, minutes)
    report.requireFlatMemory(memory)

    capacities.push(...long.capacities)
    report.phase(`capacity: ${CALLERS} callers`, pooled(capacities))
    report.capacities(capacities)
    report.requireAllServed('capacity', pooled(capacities))
    report.watchedPhase('quiet: 25 %', quiet)
    report.phase('other account alone: 5 %', otherQuiet)
    report.watchedPhase('steady: 80 %', steady)
    report.judgeServed('steady', allOf(steady), 0.001)
    report.watchedPhase('pauses: 80 %', paused)
    report.judgeServed('pauses', allOf(paused), 0)
    report.watchedPhase('overload: 200 %', flood)
    report.cpu('overload', floodCpu)
    report.requireQuickRefusals('overload', allOf(flood))
    report.requireServedInTime('overload', flood.watched)
    report.watchedPhase('one account: 200 %', flooder)
    report.phase('other account beside it: 5 %', beside)
    report.requireQuickRefusals('one account', allOf(flooder))
    report.requireAllServed('other account', beside)
    report.requireP99('other account', beside, otherQuiet, 3)

    // Without bounds: a process accepts one connection in each turn of its event loop.
    report.phase(`rush: ${RUSH} new connections`, await senders.one.rush(RUSH))
  } finally {
    clearInterval(sampling)
    for (const sender of Object.values(senders)) await sender.close()
    report.health(await health.stop())
  }
  report.print()
}

function allOf({ most, watched }: Phase): Outcome {
  return pooled([most, watched])
}

/** Creates data directly in the database of the running service. */
async function withDatabase(
  dataDir: string,
  fn: (db: ReturnType<typeof openDatabase>) => Promise<readonly [Caller, Caller]>,
): Promise<readonly [Caller, Caller]> {
  const postgres = await openEmbeddedPostgres({ dataDir })
  const db = openDatabase(postgres.connection)
  try {
    return await fn(db)
  } finally {
    await db.close()
    await postgres.leave()
  }
}
