/** Measures how fast and at what cost mails go to quick and slow servers, beside a bare nodemailer pool. */
import type { ChildProcess } from 'node:child_process'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { sql } from '../../../src/platform/database/database.ts'
import type { Bench, Step } from '../case.ts'
import { asked, withChild } from '../child.ts'
import { cpuMs, rssMb } from '../cpu.ts'
import { median } from '../measure.ts'
import type { PoolOrder } from './pool.ts'
import { HTML, integrate, MANY, missed, nothing, type Prepared, type Queued, queueMails, send, throughSink } from './queueing.ts'
import type { SinkManner } from './sink.ts'

/** The connections of an integration by default. */
const FEW = 3

interface Goal extends SinkManner {
  connections: number
  /** The least mails per second, and the least ratio of them to those of the bare pool. */
  perSecond: number
  ratio?: number
}

const GOALS: Goal[] = [
  { latencyMs: 0, connections: FEW, perSecond: 100, ratio: 0.5 },
  { latencyMs: 0, connections: MANY, perSecond: 100, ratio: 0.5 },
  { latencyMs: 50, connections: FEW, perSecond: 15 },
  { latencyMs: 50, connections: MANY, perSecond: 60 },
  { latencyMs: 50, acceptsLate: true, connections: FEW, perSecond: 15 },
  { latencyMs: 50, acceptsLate: true, pipelining: true, connections: FEW, perSecond: 15 },
]
/** A slow server gets as many mails as it takes in this many seconds. */
const SLOW_SECONDS = 10

/** A step for each goal, by its name. */
export const sendingSteps: Record<string, Step<Prepared>> = Object.fromEntries(
  GOALS.map((goal) => [nameOf(goal), { run: (bench, prepared) => compareSending(goal, bench, prepared) }]),
)

function nameOf({ latencyMs, acceptsLate, pipelining, connections }: Goal): string {
  return `sending, ${latencyMs} ms a command${acceptsLate ? ' and the content' : ''}${pipelining ? ' with PIPELINING' : ''}, ${connections} connections`
}

async function compareSending(goal: Goal, bench: Bench, prepared: Prepared): Promise<void> {
  const { connections, perSecond, ratio: least = 0, ...manner } = goal
  const mails = manner.latencyMs ? Math.min(bench.records, perSecond * SLOW_SECONDS) : bench.records
  const totals = async (pid: number) => ({
    nodeMs: cpuMs(pid),
    postgresMs: pid === bench.pids.ours ? cpuMs(bench.pids.postmaster, { withChildren: true }) : 0,
    commits: await commitsOf(bench),
  })
  const ours = await throughSink(manner, mails, totals, (port) => queueMails(bench, prepared, { port, connections, mails }))
  const bare = await throughSink(manner, mails, totals, (port) => queueInPool({ port, maxConnections: connections, mails, html: HTML }))
  const [rate, bareRate] = [ours, bare].map(({ ms }) => (mails / ms) * 1_000) as [number, number]
  const ratio = rate / bareRate
  const cpuRatio = bare.nodeMs / (ours.nodeMs + ours.postgresMs)
  const aMail = (sum: number, digits = 2) => (sum / mails).toFixed(digits)
  console.log(
    `${nameOf(goal)}: ${rate.toFixed(1)} mails/s (goal: ${perSecond})${missed(rate >= perSecond)}, bare pool ${bareRate.toFixed(1)}, ` +
      `ratio ${ratio.toFixed(2)}${least ? ` (goal: ${least})${missed(ratio >= least)}` : ''}; ` +
      `CPU a mail: node ${aMail(ours.nodeMs)} + pg ${aMail(ours.postgresMs)} ms, bare ${aMail(bare.nodeMs)} ms, ratio ${cpuRatio.toFixed(2)}; ` +
      `${aMail(ours.commits, 1)} commits a mail`,
  )
}

/** The commits of the database so far. A connection reports its own when it is idle, a second late at most. */
async function commitsOf({ db }: Bench): Promise<number> {
  const [row] = await db.read<{ commits: number }>(
    sql`select xact_commit as commits from pg_stat_database where datname = current_database()`,
  )
  return row?.commits ?? 0
}

/** The pool runs in a process of its own, as the service does. */
async function queueInPool(order: PoolOrder): Promise<Queued> {
  const { promise, resolve } = Promise.withResolvers<ChildProcess>()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const running = withChild(join(import.meta.dirname, 'pool.ts'), async (pool) => {
    await asked(pool, order)
    resolve(pool)
    await ended
  })
  const { pid = 0 } = await promise
  return {
    pid,
    settled: async () => {},
    end: async () => {
      end()
      await running
    },
  }
}

// ── the caller of send ──────────────────────────────────────────────────────

const ANSWER_GOAL_MS = 15
const ANSWERS = 300

/** Times `email/send` while the mails of other integrations wait for servers that never answer. */
export async function timeAnswers({ key, browser, db }: Bench, prepared: Prepared): Promise<void> {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    // The service hangs up in its own time.
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const integrations = await Promise.all(Array.from({ length: 10 }, () => integrate(browser, prepared, { port })))
  const times: number[] = []
  for (let index = 0; index < ANSWERS; index++) {
    const from = performance.now()
    await send(key, prepared, integrations[index % integrations.length] as number, index)
    times.push(performance.now() - from)
  }
  const p50 = median(times)
  console.log(
    `answers: email/send beside hanging servers p50 ${p50.toFixed(1)} ms (goal: under ${ANSWER_GOAL_MS})${missed(p50 < ANSWER_GOAL_MS)}`,
  )
  await db.write(sql`update outbound_emails set due_at = null`)
  silent.close()
  for (const socket of sockets) socket.destroy()
}

// ── memory ──────────────────────────────────────────────────────────────────

const PARTS = 5
const MAILS_PER_SAMPLE = 1_000
const MEMORY_GROWTH = 1.2

/** Sends five times the mails, samples the memory after each thousand, and compares the most of the second and of the last fifth. */
export async function weighSending(bench: Bench, prepared: Prepared): Promise<void> {
  const { records } = bench
  const most: number[] = []
  for (let part = 0; part < PARTS; part++) {
    const megabytes: number[] = []
    for (let sent = 0; sent < records; sent += MAILS_PER_SAMPLE) {
      const mails = Math.min(MAILS_PER_SAMPLE, records - sent)
      await throughSink({ latencyMs: 0 }, mails, nothing, (port) => queueMails(bench, prepared, { port, connections: MANY, mails }))
      megabytes.push(rssMb(bench.pids.ours))
    }
    console.log(`memory: ${megabytes.map((mb) => mb.toFixed(0)).join(', ')} MB`)
    most.push(Math.max(...megabytes))
  }
  const [, before = 0] = most
  const after = most.at(-1) ?? 0
  console.log(
    `memory: at most ${most.map((mb) => mb.toFixed(0)).join(', ')} MB in each ${records} mails ` +
      `(goal: the last at most ${MEMORY_GROWTH} times the second)${missed(after <= before * MEMORY_GROWTH)}`,
  )
}
