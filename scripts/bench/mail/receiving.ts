/** Measures how fast answers are received, and what large and hostile messages cost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, sql } from '../../../src/platform/database/database.ts'
import { until } from '../../../test/support/until.ts'
import type { Bench, Step } from '../case.ts'
import { cpuMs, rssMb } from '../cpu.ts'
import { HOSTILE, large, ordinary } from './messages.ts'
import { CALLERS, inTurn, missed, type Prepared, replyAddresses } from './queueing.ts'

const INBOUND_GOAL = 200

export async function receiveMany(bench: Bench, prepared: Prepared): Promise<void> {
  const addresses = await replyAddresses(bench, prepared, Math.min(bench.records, 100))
  const messages = Array.from({ length: bench.records }, (_, index) => ordinary(addresses[index % addresses.length] as string))
  // These messages warm the process up.
  for (const address of addresses) await post(bench.url, ordinary(address))
  await untilRead(bench.db)
  // The process that parses messages is a child of the service.
  const cpu = () => [bench.pids.ours, bench.pids.postmaster].map((pid) => cpuMs(pid, { withChildren: true })) as [number, number]
  const before = cpu()
  const from = performance.now()
  await inTurn(messages.length, CALLERS, (index) => post(bench.url, messages[index] as string))
  const stored = performance.now() - from
  await untilRead(bench.db)
  const read = performance.now() - from
  const [node, postgres] = cpu().map((ms, index) => ((ms - (before[index] ?? 0)) / messages.length).toFixed(2))
  const perSecond = (ms: number) => (messages.length / ms) * 1_000
  console.log(
    `inbound: ${perSecond(read).toFixed(0)} ordinary messages/s (goal: ${INBOUND_GOAL})${missed(perSecond(read) >= INBOUND_GOAL)}, ` +
      `acknowledged ${perSecond(stored).toFixed(0)}/s; CPU a message: node ${node} + pg ${postgres} ms`,
  )
}

async function post(url: string, message: string): Promise<void> {
  const answer = await fetch(`${url}/webhooks/email_receive`, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822' },
    body: message,
  })
  if (!answer.ok) throw new Error(`The webhook answered with ${answer.status}`)
}

const READ_WITHIN_MS = 600_000

export async function untilRead(db: Database): Promise<void> {
  const waiting = () => db.read(sql`select from inbound_emails where processed_at is null limit 1`)
  await until(async () => !(await waiting()).length, 'for the messages to be read', { withinMs: READ_WITHIN_MS, everyMs: 20 })
}

// ── large and hostile messages ──────────────────────────────────────────────

export const LARGE_MAIL_BYTES = 25 * 1_048_576 - 1_024
const LARGE = { bytes: LARGE_MAIL_BYTES, ms: 2_000, megabytes: 200 }
const HOSTILE_GOALS = { ms: 3_000, blockedMs: 100 }
const SAMPLE_MS = 20

export async function receiveLarge(bench: Bench, prepared: Prepared): Promise<void> {
  const [address = ''] = await replyAddresses(bench, prepared, 1)
  const { ms, megabytes } = await watched(bench, () => post(bench.url, large(address, LARGE.bytes)))
  const isMet = ms < LARGE.ms && megabytes < LARGE.megabytes
  console.log(
    `large: 25 MB read after ${ms.toFixed(0)} ms, +${megabytes.toFixed(0)} MB (goals: under ${LARGE.ms} and ${LARGE.megabytes})${missed(isMet)}`,
  )
}

/** A step for each hostile message, by its name, and one for the memory after them. */
export const hostileSteps: Record<string, Step<Prepared>> = {
  ...Object.fromEntries(
    Object.entries(HOSTILE).map(([name, message]) => [
      `hostile, ${name}`,
      { run: (bench, prepared) => receiveHostile(bench, prepared, name, message) },
    ]),
  ),
  'hostile, memory after them': { run: weighAfterHostile },
}

/** The memory before the first hostile message of the run. */
let megabytesBefore: number | undefined

async function receiveHostile(bench: Bench, prepared: Prepared, name: string, message: (to: string) => string): Promise<void> {
  const [address = ''] = await replyAddresses(bench, prepared, 1)
  megabytesBefore ??= rssMb(bench.pids.ours)
  const text = message(address)
  const { ms, blockedMs, megabytes } = await watched(bench, () => post(bench.url, text))
  const isMet = ms < HOSTILE_GOALS.ms && blockedMs < HOSTILE_GOALS.blockedMs
  console.log(
    `hostile, ${name}: read after ${ms.toFixed(0)} ms, health waited ${blockedMs.toFixed(0)} ms at most, +${megabytes.toFixed(0)} MB ` +
      `(goals: under ${HOSTILE_GOALS.ms} and ${HOSTILE_GOALS.blockedMs} ms)${missed(isMet)}`,
  )
}

async function weighAfterHostile(bench: Bench): Promise<void> {
  await sleep(10_000)
  const before = megabytesBefore === undefined ? 'unknown' : megabytesBefore.toFixed(0)
  console.log(`hostile: ${before} MB before all, ${rssMb(bench.pids.ours).toFixed(0)} MB ten seconds after them`)
}

interface Watched {
  /** Milliseconds until everything that arrived was read. */
  ms: number
  /** The longest wait for an answer of the health check. */
  blockedMs: number
  /** The largest growth of the process. */
  megabytes: number
}

async function watched({ url, db, pids }: Bench, fn: () => Promise<void>): Promise<Watched> {
  const quiet = rssMb(pids.ours)
  let [blockedMs, most, isOver] = [0, 0, false]
  const watching = (async () => {
    while (!isOver) {
      const from = performance.now()
      await fetch(`${url}/healthz`).then((answer) => answer.arrayBuffer())
      blockedMs = Math.max(blockedMs, performance.now() - from)
      most = Math.max(most, rssMb(pids.ours))
      await sleep(SAMPLE_MS)
    }
  })()
  const from = performance.now()
  await fn()
  await untilRead(db)
  const ms = performance.now() - from
  isOver = true
  await watching
  return { ms, blockedMs, megabytes: Math.max(0, most - quiet) }
}
