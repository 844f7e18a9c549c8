import { z } from 'zod'
import { Id, Instant } from '../platform/http/procedures/schemas.ts'
import { isOfTable } from './coalescing.ts'
import { EVENT_TYPES, TABLE_EVENT_TYPES } from './log.ts'
import type { StoredEvent } from './order.ts'

const place = { space_id: Id, table_id: Id, record_id: Id, task_id: Id, comment_id: Id }

/** What the events of live tables have beside the place (contract.md §10, Live tables). */
const change = {
  change_id: z.int().nullable().meta({ description: 'The change, as the answer of the write named it; null for several changes.' }),
  user_id: Id.nullable().meta({ description: 'Who made the change; null for several changes, and for the service itself.' }),
  fields: z.array(z.string()).meta({ description: 'The ids of the fields that became different.' }),
  count: z.int().meta({ description: 'How many records were written, each time that they were.' }),
  view_id: Id,
}

const Event = z
  .strictObject({
    id: z.int().meta({ description: 'Go on after it with Last-Event-ID. Ids do not come in order.' }),
    type: z.enum([...EVENT_TYPES, ...TABLE_EVENT_TYPES]),
    at: Instant,
    ...z.strictObject({ ...place, ...change }).partial().shape,
  })
  .meta({ id: 'Event', description: 'That something happened, and where. What it is now is read with the ids.' })
export type Event = z.infer<typeof Event>

/** A message of the stream about itself. */
const StreamNotice = z.strictObject({ id: z.int(), type: z.enum(['ready', 'reset']), at: Instant }).meta({
  id: 'StreamNotice',
  description: '`ready`: the stream has begun. `reset`: events before this one may be missing, read anew what is shown.',
})
export type StreamNotice = z.infer<typeof StreamNotice>

export const StreamItem = z.union([Event, StreamNotice])
export type StreamItem = z.infer<typeof StreamItem>

/** How many tables a stream may name (contract.md §10, Live tables). */
export const MOST_TABLES = 50

export const StreamTables = z.strictObject({
  table_ids: z.array(Id).max(MOST_TABLES, `must have at most ${MOST_TABLES} tables`).nullish().meta({
    description: 'The tables of which records, definitions, views and members are told, too.',
  }),
})

export const StreamStart = StreamTables.extend({
  lastEventId: z
    .string()
    .max(40)
    .nullish()
    .meta({ description: 'The id of the last event that was received. tRPC sends it by itself when it connects anew.' }),
})

/** The event on the wire, without the ids that do not apply. */
export function wire(event: StoredEvent): StreamItem {
  const { id, type, at, space_id, table_id, record_id, task_id, comment_id } = event
  const ids = Object.entries({ space_id, table_id, record_id, task_id, comment_id }).filter(([, value]) => value !== null)
  return { id, type, at, ...Object.fromEntries(ids), ...(isOfTable(event) && changeOf(event)) } as StreamItem
}

/** Of records the change and its author are named even if they are null, because several changes may have become one event. */
function changeOf({ type, change_id, user_id, fields, count, view_id }: StoredEvent): object {
  return {
    ...(type.startsWith('record') ? { change_id, user_id } : user_id !== null && { user_id }),
    ...(type === 'record.updated' && { fields: fields ?? [] }),
    ...(type === 'records.changed' && { count }),
    ...(view_id !== null && { view_id }),
  }
}
