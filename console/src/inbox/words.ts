/** What a notification says beside the sentence of the API. */
import { inboxTexts } from '../texts/inbox.ts'
import type { IconName } from '../ui/icons/icon-paths.ts'
import { dateShown, instantShown } from '../ui/locale/date-format.ts'
import type { DatePlace } from '../ui/locale/date-text.ts'
import type { Notification } from './feed.ts'
import { type Titles, titleKey } from './record-titles.ts'

const ICONS: Readonly<Record<string, IconName>> = {
  TASK_ASSIGNED: 'square-check',
  TASK_COMMENT: 'message-square',
  TASK_DONE: 'check',
  TASK_UNDONE: 'refresh-cw',
  TASK_REMINDER: 'bell',
  'task.comment.mention': 'at-sign',
  COMMENT: 'message-square',
  'comment.mention': 'at-sign',
  SMTP_FAILING: 'triangle-alert',
  EMAIL_BOUNCED: 'circle-alert',
}

/** A type that a later release of the service has is shown as well. */
export const iconOf = ({ event_type }: Notification): IconName => ICONS[event_type] ?? 'bell'
export const kindOf = ({ event_type }: Notification): string => inboxTexts.kinds[event_type] ?? inboxTexts.other

/** When a task is due, as the API writes it at the end of a summary. */
const DUE = /is due on (\d{4}-\d{2}-\d{2})(?: at (\d{2}:\d{2}) UTC)?\.$/

/** What else is known: the record, when the task is due in the reader's zone, the beginning of the comment. */
export function detailsOf(row: Notification, titles: Titles, tables: ReadonlyMap<number, string>, place: DatePlace): string[] {
  return [recordOf(row, titles, tables), more(row, place)].filter((part) => part !== '')
}

function recordOf(row: Notification, titles: Titles, tables: ReadonlyMap<number, string>): string {
  if (row.table_id === null || row.record_id === null) return ''
  const table = tables.get(row.table_id) ?? ''
  const title = titles.get(titleKey(row))
  return title === undefined ? table : table ? inboxTexts.place(title, table) : title
}

function more({ event_type, summary }: Notification, place: DatePlace): string {
  if (!TASKS_WITH_DUE.has(event_type)) return NOTHING_MORE.has(event_type) ? '' : summary.trim()
  const [, day, time] = DUE.exec(summary) ?? []
  if (!day) return ''
  return inboxTexts.due(time ? instantShown(`${day} ${time}:00`, place) : dateShown(day, place.locale))
}

/** Their summary says when the task is due, with times in UTC. */
const TASKS_WITH_DUE: ReadonlySet<string> = new Set(['TASK_ASSIGNED', 'TASK_REMINDER'])
/** Their summary says the same as their message. */
const NOTHING_MORE: ReadonlySet<string> = new Set(['TASK_DONE', 'TASK_UNDONE'])
