/**
 * The suite "events": a thousand users with an open stream each. It measures the memory of streams, their delay and their cost for writers.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type autocannonType from 'autocannon'
import { SESSION_COOKIE, startSession } from '../../../src/auth/sessions.ts'
import type { Database } from '../../../src/platform/database/database.ts'
import type { Bench, Suite } from '../case.ts'
import { asked, withChild } from '../child.ts'
import { cpuMs } from '../cpu.ts'
import { unhurried } from '../sql.ts'
import type { Order, Report } from './listeners.ts'

const autocannon = createRequire(import.meta.url)('autocannon') as typeof autocannonType

const PEOPLE = 1_000
// The statements on this number of tables are still all prepared: a process keeps 200 texts, two for each table.
const TEAMS = 80
const TEAM_SIZE = 10
/** Ratios of commits with all streams open to commits with none; megabytes above the idle process; milliseconds. */
const GOALS = { commits: 0.8, megabytes: 100, p99: 250 }
const ROUNDS = 5
const SECONDS = 4
const CONNECTIONS = 10

interface Prepared {
  userIds: number[]
  /** Tasks are created in a space with every user as a member, and in spaces with ten users each. */
  everybody: string
  teams: string[]
}

export const events: Suite<Prepared> = {
  defaults: { records: 0, seconds: 1 },
  async prepare({ db, key, account: { accountId } }) {
    const place = async (name: string) => {
      const { id: space } = (await key('POST', '/api/spaces/create', { name })) as { id: number }
      const fields = [{ name: 'Name', type: 'text' }]
      const { id: table } = (await key('POST', `/api/space/${space}/tables/create`, { name, fields })) as { id: number }
      const { id: record } = (await key('POST', `/api/table/${table}/records/create`, { data: { name } })) as { id: number }
      return { space, path: `/api/tasks/onRecord/${table}/${record}/create` }
    }
    const everybody = await place('Everybody')
    const teams: Awaited<ReturnType<typeof place>>[] = []
    for (let index = 0; index < TEAMS; index++) teams.push(await place(`Team ${index}`))
    const userIds = await unhurried(db, async (client) => {
      const { rows } = await client.query<{ id: number }>(
        `insert into users (account_id, email, name) select $1::int, 'listener' || i || '.' || $1::int || '@example.com', 'Listener ' || i
         from generate_series(1, $2::int) i returning id`,
        [accountId, PEOPLE],
      )
      const ids = rows.map(({ id }) => id)
      const join = `insert into space_members (space_id, user_id, account_id, role) select s, u, $3, 'member' from unnest($1::int[], $2::int[]) m(s, u)`
      await client.query(join, [ids.map(() => everybody.space), ids, accountId])
      const inTeams = ids.slice(0, TEAMS * TEAM_SIZE)
      await client.query(join, [inTeams.map((_, index) => teams[index % TEAMS]?.space), inTeams, accountId])
      return ids
    })
    return { userIds, everybody: everybody.path, teams: teams.map(({ path }) => path) }
  },
  cases: () => [],
  steps: {
    memory: { run: async (bench, prepared) => withListeners(bench, prepared, weigh) },
    delivery: { run: async (bench, prepared) => withListeners(bench, prepared, time) },
    commits: { run: async (bench, prepared) => withListeners(bench, prepared, compare) },
  },
}

interface Listeners {
  open(): Promise<void>
  close(): Promise<void>
  report(): Promise<Report>
}

type Measure = (bench: Bench, prepared: Prepared, listeners: Listeners) => Promise<void>

async function withListeners(bench: Bench, prepared: Prepared, measure: Measure): Promise<void> {
  const cookies = await sessions(bench.db, prepared.userIds)
  await withChild(join(import.meta.dirname, 'listeners.ts'), async (child) => {
    const ask = (order: Order) => asked(child, order)
    await measure(bench, prepared, {
      open: async () => void (await ask({ open: { url: bench.url, cookies } })),
      close: async () => void (await ask({ close: true })),
      report: async () => (await ask({ report: true })) as Report,
    })
  })
}

async function sessions(db: Database, userIds: number[]): Promise<string[]> {
  const settings = { keepSessionsDays: 1 }
  return Promise.all(userIds.map(async (id) => `${SESSION_COOKIE}=${await startSession({ db, settings }, id, new Date())}`))
}

const newTask = { title: 'Call back', due_date: '2030-05-17' }

/** Measures the memory of the process, idle and with all streams. */
async function weigh({ key, pids }: Bench, { everybody, teams }: Prepared, { open, close, report }: Listeners): Promise<void> {
  const busy = async () => {
    for (const path of [...teams, everybody]) await key('POST', path, newTask)
  }
  for (let round = 0; round < 5; round++) await busy()
  await sleep(5_000)
  const quiet = megabytes(pids.ours)
  await open()
  await sleep(5_000)
  const waiting = megabytes(pids.ours)
  for (let round = 0; round < 5; round++) await busy()
  await sleep(2_000)
  const used = megabytes(pids.ours)
  await report()
  await close()
  const over = Math.max(waiting, used) - quiet
  console.log(
    `memory: quiet ${quiet.toFixed(0)} MB; ${PEOPLE} streams open ${waiting.toFixed(0)} MB, and in use ${used.toFixed(0)} MB: ` +
      `${over.toFixed(0)} MB over the quiet process (goal: less than ${GOALS.megabytes})${over < GOALS.megabytes ? '' : ' MISSED'}`,
  )
}

/** Returns the time from the answer to a create until each stream has received the task's event. */
async function time({ key }: Bench, { everybody, teams }: Prepared, { open, close, report }: Listeners): Promise<void> {
  await open()
  const told = async (what: string, paths: string[], everyMs: number, receivers: number) => {
    const made = await pace(key, paths, everyMs)
    await sleep(1_000)
    print(what, latencies(made, await report(), receivers))
  }
  await told(`5 tasks a second, told to ${PEOPLE} each`, Array<string>(100).fill(everybody), 200, PEOPLE)
  await told(`50 tasks a second, told to ${TEAM_SIZE} each`, [...teams, ...teams, ...teams, ...teams, ...teams], 20, TEAM_SIZE)
  await close()
}

/** Creates a task at each place, one per interval of the given milliseconds. @returns the time of each answer */
async function pace(key: Bench['key'], paths: string[], everyMs: number): Promise<Map<number, number>> {
  const made = new Map<number, number>()
  const underway: Promise<void>[] = []
  for (const path of paths) {
    underway.push(key('POST', path, newTask).then((task) => void made.set((task as { id: number }).id, Date.now())))
    await sleep(everyMs)
  }
  await Promise.all(underway)
  return made
}

function latencies(made: Map<number, number>, heard: Report, receivers: number): number[] {
  const times = new Map(heard)
  return [...made].flatMap(([task, at]) => {
    const heardAt = times.get(task) ?? []
    if (heardAt.length !== receivers) throw new Error(`${heardAt.length} of ${receivers} streams heard of task ${task}`)
    return heardAt.map((time) => time - at)
  })
}

function print(what: string, ms: number[]): void {
  ms.sort((a, b) => a - b)
  const at = (share: number) => ms[Math.min(ms.length - 1, Math.floor(share * ms.length))] ?? Number.NaN
  const isMet = at(0.99) < GOALS.p99
  console.log(
    `delivery, ${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (goal: under ${GOALS.p99})${isMet ? '' : ' MISSED'}, the last ${ms.at(-1)} ms`,
  )
}

/** Creates tasks at full speed, in turn with all streams open and with none, and measures the delivery to the open streams. */
async function compare(bench: Bench, prepared: Prepared, listeners: Listeners): Promise<void> {
  const [open, closed]: [Rate[], Rate[]] = [[], []]
  const late: number[] = []
  const withStreams = async () => {
    const { rate, latencies } = await loadWithStreams(bench, prepared, listeners)
    open.push(rate)
    late.push(...latencies)
  }
  const withoutStreams = async () => {
    closed.push(await load(bench, prepared, SECONDS))
    await sleep(1_000)
  }
  await load(bench, prepared, SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    for (const run of round % 2 ? [withStreams, withoutStreams] : [withoutStreams, withStreams]) await run()
  }
  const [all, none] = [medians(open), medians(closed)]
  const ratio = all.perSecond / none.perSecond
  const text = ({ nodeMs, postgresMs }: Rate) => `${nodeMs.toFixed(2)} + ${postgresMs.toFixed(2)}`
  const cpuRatio = (none.nodeMs + none.postgresMs) / (all.nodeMs + all.postgresMs)
  console.log(
    `commits: ${Math.round(all.perSecond)} tasks/s with ${PEOPLE} streams open, ${Math.round(none.perSecond)} with none, ratio ` +
      `${ratio.toFixed(2)} (goal: ${GOALS.commits})${ratio < GOALS.commits ? ' MISSED' : ''}; CPU node + pg a task ` +
      `${text(all)} ms and ${text(none)} ms, ratio ${cpuRatio.toFixed(2)}`,
  )
  print(`at full load, told to ${TEAM_SIZE} each`, late)
}

/** Loads the service while all streams are open and tasks whose delivery is timed are created at a steady pace. */
async function loadWithStreams(bench: Bench, prepared: Prepared, { open, close, report }: Listeners) {
  await open()
  const loading = load(bench, prepared, SECONDS)
  const made = await pace(bench.key, prepared.teams.slice(0, (SECONDS - 1) * 10), 100)
  const rate = await loading
  await sleep(1_000)
  const measured = { rate, latencies: latencies(made, await report(), TEAM_SIZE) }
  await close()
  return measured
}

interface Rate {
  perSecond: number
  /** Milliseconds of CPU for each task: of the service, and of Postgres. */
  nodeMs: number
  postgresMs: number
}

async function load({ url, account, pids }: Bench, { teams }: Prepared, seconds: number): Promise<Rate> {
  let index = 0
  const used = () => ({ node: cpuMs(pids.ours), postgres: cpuMs(pids.postmaster, { withChildren: true }) })
  const before = used()
  const { requests, non2xx, errors } = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' },
        body: JSON.stringify(newTask),
        setupRequest: (request) => ({ ...request, path: teams[index++ % teams.length] ?? '' }),
      },
    ],
  })
  if (non2xx || errors) throw new Error(`${non2xx} answers were no success, ${errors} errors`)
  const after = used()
  return {
    perSecond: requests.average,
    nodeMs: (after.node - before.node) / requests.total,
    postgresMs: (after.postgres - before.postgres) / requests.total,
  }
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const medians = (rates: Rate[]): Rate => ({
  perSecond: median(rates.map(({ perSecond }) => perSecond)),
  nodeMs: median(rates.map(({ nodeMs }) => nodeMs)),
  postgresMs: median(rates.map(({ postgresMs }) => postgresMs)),
})

/** Returns the resident memory of the process. Linux only. */
function megabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}
