import { z } from 'zod'
import { Id, Instant } from '../platform/http/procedures/schemas.ts'
import { EVENT_TYPES } from './log.ts'
import type { StoredEvent } from './order.ts'

const place = { space_id: Id, table_id: Id, record_id: Id, task_id: Id, comment_id: Id }

const Event = z
  .strictObject({
    id: z.int().meta({ description: 'Go on after it with Last-Event-ID. Ids do not come in order.' }),
    type: z.enum(EVENT_TYPES),
    at: Instant,
    ...z.strictObject(place).partial().shape,
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

export const StreamStart = z.strictObject({
  lastEventId: z
    .string()
    .max(40)
    .nullish()
    .meta({ description: 'The id of the last event that was received. tRPC sends it by itself when it connects anew.' }),
})
export type StreamStart = z.infer<typeof StreamStart>

/** The event on the wire, without the ids that do not apply. */
export function wire({ id, type, at, space_id, table_id, record_id, task_id, comment_id }: StoredEvent): StreamItem {
  const ids = Object.entries({ space_id, table_id, record_id, task_id, comment_id }).filter(([, value]) => value !== null)
  return { id, type, at, ...Object.fromEntries(ids) } as StreamItem
}
