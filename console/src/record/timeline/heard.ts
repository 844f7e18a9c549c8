/** What an event of the stream means for the timeline of a record (docs/events.md). */
import type { LiveEvent } from '../../session/live/live-stream.ts'
import type { ListReader } from './list-reader.ts'
import type { TimelineLists } from './timeline-source.ts'

/** Reads what an event tells of the record. */
export function hear(lists: TimelineLists, event: LiveEvent, { tableId, recordId }: { tableId: number; recordId: number }): void {
  const { type, table_id, record_id, comment_id, task_id } = event
  const isHere = table_id === tableId && record_id === recordId
  const isOfComment = type.startsWith('comment.') || type === 'email.status'
  if (type === 'reset' || (isHere && type === 'record.restored')) readAll(lists)
  else if ((type === 'records.changed' && table_id === tableId) || (isHere && type.startsWith('record.'))) lists.changes.head()
  else if (isHere && type.startsWith('task.') && task_id !== undefined) hearOf(lists.tasks, type, task_id)
  else if (isHere && isOfComment && task_id === undefined && comment_id !== undefined) hearOf(lists.comments, type, comment_id)
}

function hearOf(reader: Pick<ListReader<never>, 'head' | 'again' | 'remove'>, type: string, id: number): void {
  if (type.endsWith('.created')) reader.head()
  else if (type.endsWith('.deleted')) reader.remove(id)
  else reader.again(id)
}

function readAll(lists: TimelineLists): void {
  for (const reader of Object.values(lists)) reader.all()
}
