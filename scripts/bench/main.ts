/**
 * `npm run bench`: the service and a bare server with hand-written SQL (bare.ts), on the same database, driven in turn in one run.
 * Prints requests per second, p50 and p99 of both, and the ratio: medians of interleaved rounds. Ratios count; the load, both
 * servers and the database share one machine.
 * Options: --rounds 5 --seconds 3 --connections 10,50 --only query,task --records 1000
 * --profile (prints where the service's CPU time went; its figures are slower by that)
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import type autocannonType from 'autocannon'
import { createAccount } from '../../src/accounts/service.ts'
import { SESSION_COOKIE, startSession } from '../../src/auth/sessions.ts'
import { openDatabase } from '../../src/db.ts'
import { openEmbeddedPostgres } from '../../src/embedded-postgres.ts'
import { insertKey } from '../../src/keys/service.ts'
import { cpuMs } from './cpu.ts'
import { api, type Filled, fill } from './data.ts'
import { type Process, startProcess } from './process.ts'
import { printProfile } from './profile.ts'

const autocannon = createRequire(import.meta.url)('autocannon') as typeof autocannonType

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '10,50' },
    only: { type: 'string', default: '' },
    records: { type: 'string', default: '1000' },
    profile: { type: 'boolean', default: false },
  },
})

/** Until the code of both has been compiled: ours is more. */
const WARM_UP_SECONDS = 4

interface Case {
  name: string
  method: 'GET' | 'POST'
  ours: (index: number) => string
  bare: (index: number) => string
  body?: (index: number) => unknown
  /** Ratio to reach, as the issue states it. */
  goal: number
  /** What differs between two answers to the same create. */
  ignore?: string[]
}

interface Figures {
  perSecond: number
  /** Milliseconds of CPU a request: of the server, and of Postgres. */
  nodeMs: number
  postgresMs: number
  p50: number
  p99: number
}

const dataDir = await mkdtemp(join(tmpdir(), 'gridpost-bench-'))
const started: Process[] = []
let failed = false
try {
  await main()
} catch (error) {
  failed = true
  console.error(error)
} finally {
  for (const process of started.reverse()) await process.stop()
  if (options.profile && !failed) printProfile(join(dataDir, 'profile'))
  await rm(dataDir, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

async function main(): Promise<void> {
  const profiling = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${join(dataDir, 'profile')}`] : []
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
    const now = new Date()
    const { accountId, ownerId } = await createAccount(db, 'Bench', { email: `bench.${Date.now()}@example.com`, name: 'Ben Bench' }, now)
    const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name: 'Bench' }, now)
    // Views are made by people, in a browser.
    const browser = api(service.found, { cookie: `${SESSION_COOKIE}=${await startSession(db, ownerId, now)}` })
    const filled = await fill(api(service.found, { authorization: `Bearer ${secret}` }), browser, Number(options.records))
    await db.execute({ text: 'analyze', values: [] } as never)
    const bare = await startProcess([join(import.meta.dirname, 'bare.ts')], /(http\S+)/, {
      BENCH_BARE: JSON.stringify({ connection: postgres.connection, tableId: filled.tableId, userId: ownerId }),
    })
    started.push(bare)
    const postmaster = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
    const pids = { ours: service.child.pid ?? 0, bare: bare.child.pid ?? 0, postmaster }
    await measure(cases(filled), { ours: service.found, bare: bare.found, secret, pids })
  } finally {
    await db.close()
    await postgres.leave()
  }
}

function cases({ tableId, viewId, recordIds, taskIds, newRecord, newTask }: Filled): Case[] {
  const record = (index: number) => recordIds[index % recordIds.length]
  const task = (index: number) => taskIds[index % taskIds.length]
  const stamps = ['id', 'created_at', 'updated_at']
  const all: Case[] = [
    {
      name: 'query 100 records through a view',
      method: 'POST',
      ours: () => `/api/table/${tableId}/records/query`,
      bare: () => '/query',
      body: () => ({ view_id: viewId, limit: 100 }),
      goal: 0.7,
    },
    { name: 'get a task', method: 'GET', ours: (i) => `/api/task/${task(i)}/get`, bare: (i) => `/task/${task(i)}`, goal: 0.4 },
    {
      name: 'get a record',
      method: 'GET',
      ours: (i) => `/api/table/${tableId}/record/${record(i)}/get`,
      bare: (i) => `/record/${record(i)}`,
      goal: 0.4,
    },
    {
      name: 'create a task',
      method: 'POST',
      ours: () => `/api/tasks/onRecord/${tableId}/${recordIds[0]}/create`,
      bare: () => '/task',
      body: newTask,
      goal: 0.5,
      ignore: stamps,
    },
    {
      name: 'create a record',
      method: 'POST',
      ours: () => `/api/table/${tableId}/records/create`,
      bare: () => '/record',
      body: newRecord,
      goal: 0.5,
      ignore: stamps,
    },
  ]
  const wanted = options.only.split(',').filter(Boolean)
  return all.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)))
}

interface Servers {
  ours: string
  bare: string
  secret: string
  pids: { ours: number; bare: number; postmaster: number }
}

async function measure(list: Case[], servers: Servers): Promise<void> {
  for (const one of list) await compareAnswers(one, servers)
  console.log('Answers of both servers are equal. Measuring.\n')
  console.log(
    '| case | connections | ours req/s | bare req/s | ratio | goal | ours p50/p99 ms | bare p50/p99 ms | ours CPU node+pg ms | bare CPU node+pg ms | CPU ratio |\n|---|---|---|---|---|---|---|---|---|---|---|',
  )
  for (const one of list) {
    for (const connections of options.connections.split(',').map(Number)) {
      const figures: Record<'ours' | 'bare', Figures[]> = { ours: [], bare: [] }
      for (const side of ['ours', 'bare'] as const) await drive(one, side, servers, connections, WARM_UP_SECONDS)
      for (let round = 0; round < Number(options.rounds); round++) {
        // Who goes first changes each round.
        for (const side of round % 2 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const))
          figures[side].push(await drive(one, side, servers, connections, Number(options.seconds)))
      }
      const [ours, bare] = [medians(figures.ours), medians(figures.bare)]
      const ratio = ours.perSecond / bare.perSecond
      console.log(
        `| ${one.name} | ${connections} | ${Math.round(ours.perSecond)} | ${Math.round(bare.perSecond)} | ${ratio.toFixed(2)} | ${one.goal}${ratio < one.goal ? ' MISSED' : ''} ` +
          `| ${ours.p50.toFixed(1)} / ${ours.p99.toFixed(1)} | ${bare.p50.toFixed(1)} / ${bare.p99.toFixed(1)} ` +
          `| ${cpuText(ours)} | ${cpuText(bare)} | ${((bare.nodeMs + bare.postgresMs) / (ours.nodeMs + ours.postgresMs)).toFixed(2)} |`,
      )
    }
  }
}

async function drive(one: Case, side: 'ours' | 'bare', servers: Servers, connections: number, seconds: number): Promise<Figures> {
  let index = 0
  const used = () => ({ node: cpuMs(servers.pids[side]), postgres: cpuMs(servers.pids.postmaster, { withChildren: true }) })
  const before = used()
  const result = await autocannon({
    url: servers[side],
    connections,
    duration: seconds,
    requests: [
      {
        method: one.method,
        headers: headersOf(one, side, servers),
        setupRequest: (request) => {
          index++
          return { ...request, path: one[side](index), ...(one.body && { body: JSON.stringify(one.body(index)) }) }
        },
      },
    ],
  })
  if (result.non2xx || result.errors)
    throw new Error(`${one.name} (${side}): ${result.non2xx} answers were no success, ${result.errors} errors`)
  const after = used()
  const count = result.requests.total
  return {
    nodeMs: (after.node - before.node) / count,
    postgresMs: (after.postgres - before.postgres) / count,
    perSecond: result.requests.average,
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
}

function cpuText({ nodeMs, postgresMs }: Figures): string {
  return `${nodeMs.toFixed(2)} + ${postgresMs.toFixed(2)}`
}

function headersOf({ body }: Case, side: string, { secret }: Servers): Record<string, string> {
  return { ...(body && { 'content-type': 'application/json' }), ...(side === 'ours' && { authorization: `Bearer ${secret}` }) }
}

/** Both do the same work only if they give the same answer. */
async function compareAnswers(one: Case, servers: Servers): Promise<void> {
  const [ours, bare] = await Promise.all(
    (['ours', 'bare'] as const).map(async (side) => {
      const init = { method: one.method, headers: headersOf(one, side, servers), ...(one.body && { body: JSON.stringify(one.body(1)) }) }
      const answer = await fetch(servers[side] + one[side](1), init)
      const body = (await answer.json()) as Record<string, unknown>
      if (answer.status !== 200) throw new Error(`${one.name} (${side}) answers ${answer.status}: ${JSON.stringify(body)}`)
      for (const key of one.ignore ?? []) delete body[key]
      return body
    }),
  )
  if (!isDeepStrictEqual(ours, bare))
    throw new Error(
      `${one.name}: the answers differ\nours ${JSON.stringify(ours).slice(0, 3000)}\nbare ${JSON.stringify(bare).slice(0, 3000)}`,
    )
}

function medians(figures: Figures[]): Figures {
  const median = (key: keyof Figures) => figures.map((figure) => figure[key]).sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0
  return {
    perSecond: median('perSecond'),
    p50: median('p50'),
    p99: median('p99'),
    nodeMs: median('nodeMs'),
    postgresMs: median('postgresMs'),
  }
}
