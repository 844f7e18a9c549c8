/**
 * The suite "mail": how fast mails go to servers that answer at once or slowly, beside a bare nodemailer pool, how fast answers come in,
 * and what large and hostile messages cost. `--records` is the number of mails of each measurement.
 */
import type { ChildProcess } from 'node:child_process'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../src/platform/database/database.ts'
import { sql } from '../../../src/platform/database/database.ts'
import type { Api } from '../api.ts'
import type { Field, Suite } from '../case.ts'
import { asked, withChild } from '../child.ts'
import { rssMb } from '../cpu.ts'
import { median } from '../measure.ts'
import { HOSTILE, large, ordinary } from './messages.ts'
import type { PoolOrder } from './pool.ts'
import type { SinkReport } from './sink.ts'

interface Prepared {
  spaceId: number
  tableId: number
  recordIds: number[]
}

const HTML = `<p>${'We have an offer for you, and hope to hear from you soon. '.repeat(180)}</p>`
const CALLERS = 8
const CONTACTS = 100
/** The connections of an integration by default. */
const FEW = 3
const MANY = 20

export const mail: Suite<Prepared> = {
  defaults: { records: 1_000, seconds: 1 },
  async prepare({ key }) {
    const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Sales' })) as { id: number }
    const fields = [{ name: 'Name', type: 'text' }]
    const { id: tableId } = (await key('POST', `/api/space/${spaceId}/tables/create`, { name: 'Contacts', fields })) as { id: number }
    const recordIds: number[] = []
    for (let index = 0; index < CONTACTS; index++) {
      const { id } = (await key('POST', `/api/table/${tableId}/records/create`, { data: { name: `Contact ${index}` } })) as { id: number }
      recordIds.push(id)
    }
    return { spaceId, tableId, recordIds }
  },
  cases: () => [],
  steps: {
    sending: { run: compareSending },
    answers: { run: timeAnswers },
    inbound: { run: receiveMany },
    large: { run: receiveLarge },
    hostile: { run: receiveHostile },
    memory: { run: weighSending },
  },
}

// ── sending ─────────────────────────────────────────────────────────────────

interface Goal {
  latencyMs: number
  connections: number
  /** The least mails per second, and the least ratio of them to those of the bare pool. */
  perSecond: number
  ratio: number
}

const SENDING: Goal[] = [
  { latencyMs: 0, connections: FEW, perSecond: 100, ratio: 0.5 },
  { latencyMs: 0, connections: MANY, perSecond: 100, ratio: 0.5 },
  { latencyMs: 50, connections: FEW, perSecond: 15, ratio: 0 },
  { latencyMs: 50, connections: MANY, perSecond: 60, ratio: 0 },
]
/** A slow server gets as many mails as take this many seconds. */
const SLOW_SECONDS = 10

async function compareSending(field: Field, prepared: Prepared): Promise<void> {
  console.log(
    '| latency of a command | connections | ours mails/s | goal | bare pool mails/s | ratio | goal |\n|---|---|---|---|---|---|---|',
  )
  for (const goal of SENDING) {
    const { latencyMs, connections } = goal
    const mails = latencyMs ? Math.min(field.records, goal.perSecond * SLOW_SECONDS) : field.records
    const ours = await throughSink(latencyMs, mails, (port) => queueMails(field, prepared, { port, connections, mails }))
    const bare = await throughSink(latencyMs, mails, (port) => queueInPool({ port, maxConnections: connections, mails, html: HTML }))
    const [rate, bareRate] = [ours, bare].map(({ ms }) => (mails / ms) * 1_000) as [number, number]
    const ratio = rate / bareRate
    const cells = [
      `${latencyMs} ms`,
      connections,
      rate.toFixed(1),
      `${goal.perSecond}${rate < goal.perSecond ? ', missed' : ''}`,
      bareRate.toFixed(1),
      ratio.toFixed(2),
      goal.ratio ? `${goal.ratio}${ratio < goal.ratio ? ', missed' : ''}` : '–',
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

/** Queues mails for a server that does not greet yet, and measures from its greeting to the last mail. */
function throughSink(latencyMs: number, mails: number, queue: (port: number) => Promise<() => Promise<void>>): Promise<SinkReport> {
  return withChild(join(import.meta.dirname, 'sink.ts'), async (sink) => {
    const port = (await asked(sink, { listen: { latencyMs } })) as number
    const end = await queue(port)
    const report = (await asked(sink, { release: { mails } })) as SinkReport
    await end()
    return report
  })
}

interface Many {
  port: number
  connections: number
  mails: number
}

async function queueMails(field: Field, prepared: Prepared, { port, connections, mails }: Many): Promise<() => Promise<void>> {
  const integration = await integrate(field.browser, prepared, { port, max_connections: connections })
  await inTurn(mails, CALLERS, (index) => send(field.key, prepared, integration, index))
  return () => untilSettled(field.db, integration)
}

/** The pool runs in a process of its own, as the service does. */
async function queueInPool(order: PoolOrder): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<ChildProcess>()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const running = withChild(join(import.meta.dirname, 'pool.ts'), async (pool) => {
    await asked(pool, order)
    resolve(pool)
    await ended
  })
  await promise
  return async () => {
    end()
    await running
  }
}

async function integrate(browser: Api, { spaceId }: Prepared, settings: object): Promise<number> {
  const { id } = (await browser('POST', `/api/space/${spaceId}/smtp/create`, {
    label: 'Desk',
    host: '127.0.0.1',
    tls: 'none',
    from_domains: ['example.com'],
    ...settings,
  })) as { id: number }
  return id
}

const send = (key: Api, { tableId, recordIds }: Prepared, smtpIntegrationId: number, index: number) =>
  key('POST', '/api/email/send', {
    ...{ tableId, recordId: recordIds[index % recordIds.length], smtpIntegrationId },
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
    subject: `Offer ${index}`,
    body: HTML,
  })

/** Waits until the outcome of all mails of the integration is recorded. */
async function untilSettled(db: Database, integration: number): Promise<void> {
  for (;;) {
    const [{ waiting } = { waiting: 0 }] = await db.query<{ waiting: number }>(
      sql`select count(*)::int as waiting from outbound_emails where smtp_integration_id = ${integration} and due_at is not null`,
    )
    if (!waiting) return
    await sleep(100)
  }
}

/** Calls the function with the numbers below the count, and with several of them at once. */
async function inTurn(count: number, callers: number, fn: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const caller = async () => {
    while (next < count) await fn(next++)
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

// ── the caller of send ──────────────────────────────────────────────────────

const ANSWER_GOAL_MS = 15
const ANSWERS = 300

/** Times `email/send` while the mails of other integrations wait for servers that never answer. */
async function timeAnswers({ key, browser, db }: Field, prepared: Prepared): Promise<void> {
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
  await db.execute(sql`update outbound_emails set due_at = null`)
  silent.close()
  for (const socket of sockets) socket.destroy()
}

const missed = (isMet: boolean) => (isMet ? '' : ' MISSED')

// ── inbound ─────────────────────────────────────────────────────────────────

const INBOUND_GOAL = 200

async function receiveMany(field: Field, prepared: Prepared): Promise<void> {
  const addresses = await replyAddresses(field, prepared, Math.min(field.records, 100))
  const messages = Array.from({ length: field.records }, (_, index) => ordinary(addresses[index % addresses.length] as string))
  // The code is compiled while these are read.
  for (const address of addresses) await post(field.url, ordinary(address))
  await untilRead(field.db)
  const from = performance.now()
  await inTurn(messages.length, CALLERS, (index) => post(field.url, messages[index] as string))
  const stored = performance.now() - from
  await untilRead(field.db)
  const read = performance.now() - from
  const perSecond = (ms: number) => (messages.length / ms) * 1_000
  console.log(
    `inbound: ${perSecond(read).toFixed(0)} ordinary messages/s (goal: ${INBOUND_GOAL})${missed(perSecond(read) >= INBOUND_GOAL)}, ` +
      `acknowledged ${perSecond(stored).toFixed(0)}/s`,
  )
}

/** Sends mails. @returns the addresses for answers to them */
async function replyAddresses(field: Field, prepared: Prepared, mails: number): Promise<string[]> {
  const { replyTo } = await throughSink(0, mails, (port) => queueMails(field, prepared, { port, connections: MANY, mails }))
  return replyTo
}

async function post(url: string, message: string): Promise<void> {
  const answer = await fetch(`${url}/webhooks/email_receive`, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822' },
    body: message,
  })
  if (!answer.ok) throw new Error(`The webhook answered with ${answer.status}`)
}

async function untilRead(db: Database): Promise<void> {
  for (;;) {
    const [{ waiting } = { waiting: 0 }] = await db.query<{ waiting: number }>(
      sql`select count(*)::int as waiting from inbound_emails where processed_at is null`,
    )
    if (!waiting) return
    await sleep(10)
  }
}

// ── large and hostile messages ──────────────────────────────────────────────

const LARGE = { bytes: 25 * 1_048_576 - 1_024, ms: 2_000, megabytes: 200 }
const HOSTILE_GOALS = { ms: 3_000, blockedMs: 100 }
const SAMPLE_MS = 20

async function receiveLarge(field: Field, prepared: Prepared): Promise<void> {
  const [address = ''] = await replyAddresses(field, prepared, 1)
  const { ms, megabytes } = await watched(field, () => post(field.url, large(address, LARGE.bytes)))
  const isMet = ms < LARGE.ms && megabytes < LARGE.megabytes
  console.log(
    `large: 25 MB read after ${ms.toFixed(0)} ms, +${megabytes.toFixed(0)} MB (goals: under ${LARGE.ms} and ${LARGE.megabytes})${missed(isMet)}`,
  )
}

async function receiveHostile(field: Field, prepared: Prepared): Promise<void> {
  const [address = ''] = await replyAddresses(field, prepared, 1)
  const before = rssMb(field.pids.ours)
  for (const [name, message] of Object.entries(HOSTILE)) {
    const text = message(address)
    const { ms, blockedMs, megabytes } = await watched(field, () => post(field.url, text))
    const isMet = ms < HOSTILE_GOALS.ms && blockedMs < HOSTILE_GOALS.blockedMs
    console.log(
      `hostile, ${name}: read after ${ms.toFixed(0)} ms, health waited ${blockedMs.toFixed(0)} ms at most, +${megabytes.toFixed(0)} MB ` +
        `(goals: under ${HOSTILE_GOALS.ms} and ${HOSTILE_GOALS.blockedMs} ms)${missed(isMet)}`,
    )
  }
  await sleep(10_000)
  console.log(`hostile: ${before.toFixed(0)} MB before all, ${rssMb(field.pids.ours).toFixed(0)} MB ten seconds after them`)
}

interface Watched {
  /** Milliseconds until everything that arrived was read. */
  ms: number
  /** The longest wait for an answer of the health check. */
  blockedMs: number
  /** The largest growth of the process. */
  megabytes: number
}

async function watched({ url, db, pids }: Field, fn: () => Promise<void>): Promise<Watched> {
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

// ── memory ──────────────────────────────────────────────────────────────────

const PARTS = 5
const MEMORY_GROWTH = 1.2

/** Sends five times the mails, and compares the memory after the second and the last part. */
async function weighSending(field: Field, prepared: Prepared): Promise<void> {
  const megabytes: number[] = []
  for (let part = 0; part < PARTS; part++) {
    const { records: mails } = field
    await throughSink(0, mails, (port) => queueMails(field, prepared, { port, connections: MANY, mails }))
    megabytes.push(rssMb(field.pids.ours))
  }
  const [, before = 0] = megabytes
  const after = megabytes.at(-1) ?? 0
  console.log(
    `memory: ${megabytes.map((mb) => mb.toFixed(0)).join(', ')} MB after each ${field.records} mails ` +
      `(goal: the last at most ${MEMORY_GROWTH} times the second)${missed(after <= before * MEMORY_GROWTH)}`,
  )
}
