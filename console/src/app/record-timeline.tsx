/** The timeline of a record with all kinds of entries. It is loaded with the first record. */
import { receivedMailKind } from '../mail/thread/received-entry.tsx'
import { sentMailKind } from '../mail/thread/sent-entry.tsx'
import type { RecordPlace } from '../record/record-parts.ts'
import type { EntryKind } from '../record/timeline/entry.ts'
import { Timeline } from '../record/timeline/timeline.tsx'
import { taskKind } from '../tasks/on-record/task-entry.tsx'

/** How tasks and mails are shown; comments and changes are the timeline's own. */
const kinds: readonly EntryKind[] = [sentMailKind, receivedMailKind, taskKind]

export const RecordTimeline = (record: RecordPlace) => <Timeline {...record} kinds={kinds} />
