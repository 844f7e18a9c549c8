/**
 * The event log: rows that are written in the transaction of the change that they describe, and read in the order of the transactions
 * (docs/decisions/0010-events.md).
 */
import type { FastifyBaseLogger } from 'fastify'
import { type Database, join, raw, type Sql, sql } from '../platform/database/database.ts'
import { type Given, timestamp } from '../platform/database/prepare.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Settings } from '../settings.ts'

export const EVENT_TYPES = [
  'task.created',
  'task.updated',
  'task.deleted',
  'task.done',
  'task.undone',
  'comment.created',
  'comment.updated',
  'comment.deleted',
  'email.status',
  'notification',
] as const

/** The types of live tables, which only streams that name the table hear (contract.md §10, Live tables). */
export const TABLE_EVENT_TYPES = [
  'record.created',
  'record.updated',
  'record.deleted',
  'record.restored',
  'records.changed',
  'table.updated',
  'table.deleted',
  'view.created',
  'view.updated',
  'view.deleted',
  'members.changed',
] as const
export type TableEventType = (typeof TABLE_EVENT_TYPES)[number]
export type EventType = (typeof EVENT_TYPES)[number] | TableEventType

/** The text by which `db.watch` recognises statements that write events. */
const WRITES = 'insert into events'

/**
 * The statement that writes events, for a CTE of the change itself, so that both are committed together.
 * @param rows each selects type, account_id, space_id, table_id, record_id, task_id, comment_id, audience, in this order. The audience is
 * null if the place or the task decides who may see the event
 */
export const emitting = (rows: readonly Sql[], now: Given<Date>): Sql => sql`
  insert into events (type, account_id, space_id, table_id, record_id, task_id, comment_id, audience, at)
  select e.*, ${timestamp(now)} from (${join([...rows], ' union all ')}) e`

/** The channel on which processes notify each other of new events. */
export const CHANNEL = 'gridpost_events'

/** The statement that tells the processes of new events, for a transaction on a connection outside of the pool. */
export const announcing: Sql = raw(`notify ${CHANNEL}`)

/** Commits within this time share one NOTIFY, because each takes a lock that all databases of the server share. */
const COALESCE_MS = 5
/** The minimum time between two notifications under load. */
const REST_MS = 100
const RETRY_MS = 1_000

export interface Announcer {
  /** Sends the pending notification, and stops. */
  close(): Promise<void>
}

/**
 * Notifies listening processes after each commit of events through this database. The NOTIFY is sent outside of the transaction,
 * because transactions with a NOTIFY commit one after the other.
 */
export function announceEvents(db: Database, log: FastifyBaseLogger): Announcer {
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let announcedAt = 0
  const schedule = (delayMs: number) => {
    if (!isClosed) timer ??= setTimeout(announce, delayMs).unref()
  }
  async function announce(): Promise<void> {
    timer = undefined
    announcedAt = performance.now()
    try {
      await db.write(announcing)
    } catch (error) {
      log.warn({ err: error }, 'events not announced, retrying')
      schedule(RETRY_MS)
    }
  }
  db.watch(WRITES, () => schedule(Math.max(COALESCE_MS, announcedAt + REST_MS - performance.now())))
  return {
    async close() {
      isClosed = true
      if (!timer) return
      clearTimeout(timer)
      await announce()
    },
  }
}

const FORGET_BATCH = 10_000

/** Deletes events that are older than the retention time, in batches. The newest event stays, because streams continue from its id. */
export async function deleteOldEvents(db: Database, now: Date, { keepEventsHours }: Pick<Settings, 'keepEventsHours'>): Promise<void> {
  const oldest = formatInstant(new Date(now.getTime() - keepEventsHours * 3_600_000))
  // Each batch begins behind the one before, because the index keeps the entries of deleted rows until a vacuum.
  for (let after = 0, isLeft = true; isLeft; ) {
    const [last] = await db.write<{ id: number | null }>(sql`
      with removed as (
        delete from events using (select id from events where id > ${after} order by id limit ${FORGET_BATCH}) first
        where events.id = first.id and events.at < ${oldest}::timestamp
          and events.id <> (select id from events order by xact_id desc, id desc limit 1)
        returning events.id
      ) select max(id) as id from removed`)
    isLeft = last?.id != null
    after = last?.id ?? after
  }
}
