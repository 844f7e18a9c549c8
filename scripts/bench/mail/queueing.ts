/** Queues mails for the sink through the service, for several measurements of the suite. */
import { join } from 'node:path'
import { type Database, sql } from '../../../src/platform/database/database.ts'
import { until } from '../../../test/support/until.ts'
import type { Api } from '../api.ts'
import type { Bench } from '../case.ts'
import { asked, withChild } from '../child.ts'
import type { SinkManner, SinkReport } from './sink.ts'

/** The data of the suite. */
export interface Prepared {
  spaceId: number
  tableId: number
  recordIds: number[]
}

export const HTML = `<p>${'We have an offer for you, and hope to hear from you soon. '.repeat(180)}</p>`
export const CALLERS = 8
/** The most connections that an integration may have. */
export const MANY = 20

/** Mails that wait for the sink to greet. */
export interface Queued {
  /** The process that sends them. */
  pid: number
  /** Waits until the sender has nothing left to do for them, and ends it if it was started for them. */
  settled(): Promise<void>
  end?(): Promise<void>
}

export interface Sent extends SinkReport {
  /** The CPU time in milliseconds from the greeting until the sender had nothing left to do: its own, and that of the database. */
  nodeMs: number
  postgresMs: number
  /** Commits of the database in this time. */
  commits: number
}

/** Totals that are read before and after a measurement. Their difference is its cost. */
type Totals = (pid: number) => Promise<Pick<Sent, 'nodeMs' | 'postgresMs' | 'commits'>>

/** Queues mails for a server that does not greet yet, and measures from its greeting to the last mail. */
export function throughSink(manner: SinkManner, mails: number, totals: Totals, queue: (port: number) => Promise<Queued>): Promise<Sent> {
  return withChild(join(import.meta.dirname, 'sink.ts'), async (sink) => {
    const port = (await asked(sink, { listen: manner })) as number
    const { pid, settled, end } = await queue(port)
    const before = await totals(pid)
    const report = (await asked(sink, { release: { mails } })) as SinkReport
    await settled()
    const after = await totals(pid)
    await end?.()
    return {
      ...report,
      nodeMs: after.nodeMs - before.nodeMs,
      postgresMs: after.postgresMs - before.postgresMs,
      commits: after.commits - before.commits,
    }
  })
}

interface Many {
  port: number
  connections: number
  mails: number
}

/** Queues mails through a new integration of the service. */
export async function queueMails(bench: Bench, prepared: Prepared, { port, connections, mails }: Many): Promise<Queued> {
  const integration = await integrate(bench.browser, prepared, { port, max_connections: connections })
  await inTurn(mails, CALLERS, (index) => send(bench.key, prepared, integration, index))
  return { pid: bench.pids.ours, settled: () => untilSettled(bench.db, integration) }
}

export async function integrate(browser: Api, { spaceId }: Prepared, settings: object): Promise<number> {
  const { id } = (await browser('POST', `/api/space/${spaceId}/smtp/create`, {
    label: 'Desk',
    host: '127.0.0.1',
    tls: 'none',
    from_domains: ['example.com'],
    ...settings,
  })) as { id: number }
  return id
}

export const send = (key: Api, { tableId, recordIds }: Prepared, smtpIntegrationId: number, index: number) =>
  key('POST', '/api/email/send', {
    ...{ tableId, recordId: recordIds[index % recordIds.length], smtpIntegrationId },
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
    subject: `Offer ${index}`,
    body: HTML,
  })

const SETTLED_WITHIN_MS = 3_600_000

/** Waits until the outcome of all mails of the integration is recorded. */
async function untilSettled(db: Database, integration: number): Promise<void> {
  const waiting = () => db.read(sql`select from outbound_emails where smtp_integration_id = ${integration} and due_at is not null limit 1`)
  await until(async () => !(await waiting()).length, 'for the outcome of all mails', { withinMs: SETTLED_WITHIN_MS, everyMs: 100 })
}

/** Sends mails. @returns the addresses for answers to them */
export async function replyAddresses(bench: Bench, prepared: Prepared, mails: number): Promise<string[]> {
  const queue = (port: number) => queueMails(bench, prepared, { port, connections: MANY, mails })
  const { replyTo } = await throughSink({ latencyMs: 0 }, mails, nothing, queue)
  return replyTo
}

/** Measures only the time. */
export const nothing: Totals = async () => ({ nodeMs: 0, postgresMs: 0, commits: 0 })

/** Calls the function with each number below the count, several calls at once. */
export async function inTurn(count: number, callers: number, fn: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const caller = async () => {
    while (next < count) await fn(next++)
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

export const missed = (isMet: boolean) => (isMet ? '' : ' MISSED')
