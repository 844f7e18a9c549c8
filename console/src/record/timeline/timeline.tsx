/** The timeline of a record: comments, mails, changes and tasks, the newest first. */
import { useMemo, useState } from 'react'
import { usePreference } from '../../session/preferences.ts'
import { timelineTexts } from '../../texts/record/timeline.ts'
import { useNow } from '../../ui/now.ts'
import { commentKind } from '../comments/comment-entry.tsx'
import { CommentField } from '../comments/comment-field.tsx'
import { useLeftEdits, useRecordSubject } from '../comments/record-comments.ts'
import type { RecordPlace } from '../record-parts.ts'
import { changeKind } from './change-entry.tsx'
import type { Entry, EntryKind, EntryPlace, Kind } from './entry.ts'
import { Feed } from './feed.tsx'
import './timeline.css'
import type { TimelineLists } from './timeline-source.ts'
import { useTimelineSource } from './use-timeline.ts'

/** What can be left out, as a person names it. */
const GROUPS = { comments: ['comment'], mails: ['email_out', 'email_in'], changes: ['change'], tasks: ['task'] } as const satisfies Record<
  string,
  readonly Kind[]
>
type Group = keyof typeof GROUPS
const ALL = Object.keys(GROUPS) as Group[]

interface Props extends RecordPlace {
  /** How tasks and mails are shown. */
  kinds: readonly EntryKind[]
}

export function Timeline({ kinds: given, ...record }: Props) {
  const { left, leaveOut } = useLeftOut(record.entry)
  const kinds = useMemo(() => new Set(ALL.filter((group) => !left.has(group)).flatMap((group): readonly Kind[] => GROUPS[group])), [left])
  const source = useTimelineSource(record, kinds)
  const shown = useMemo(() => [commentKind, changeKind, ...given], [given])
  const place = useEntryPlace(record, source?.lists)
  const subject = useRecordSubject(record.tableId, record.recordId, record.spaceId)
  const Heading = record.headings
  return (
    <section className="timeline" aria-label={timelineTexts.title}>
      <header className="timeline-head">
        <Heading>{timelineTexts.title}</Heading>
        <fieldset className="timeline-kinds" aria-label={timelineTexts.show}>
          {ALL.map((group) => (
            <button
              key={group}
              type="button"
              className="button quiet small"
              aria-pressed={!left.has(group)}
              onClick={() => leaveOut(group, !left.has(group))}
            >
              {timelineTexts[group]}
            </button>
          ))}
        </fieldset>
      </header>
      {record.role !== 'viewer' && (
        <CommentField subject={subject} locale={place.reader.locale} sent={() => source?.lists.comments.head()} />
      )}
      {source && <Feed source={source} kinds={shown} place={place} empty={left.size ? timelineTexts.emptyOfKinds : timelineTexts.empty} />}
    </section>
  )
}

/** The kinds that one does not want to see, on every record. An entry that the address names is shown all the same. */
function useLeftOut(entry: number | undefined) {
  const { value, set } = usePreference('console.timeline', readLeftOut)
  const [shownFor, setShownFor] = useState(entry)
  const left = useMemo(
    () => new Set(entry !== undefined && entry === shownFor ? [] : value.split(' ').filter(Boolean)),
    [value, entry, shownFor],
  )
  return {
    left: left as ReadonlySet<string>,
    leaveOut(group: Group, isLeftOut: boolean) {
      setShownFor(undefined)
      set(ALL.filter((one) => (one === group ? isLeftOut : left.has(one))).join(' '))
    },
  }
}

const readLeftOut = (stored: unknown): string =>
  typeof stored === 'string' ? ALL.filter((group) => stored.split(' ').includes(group)).join(' ') : ''

function useEntryPlace(record: RecordPlace, lists: TimelineLists | undefined): Omit<EntryPlace, 'isMarked' | 'keep'> {
  const leftEdits = useLeftEdits(record.tableId, record.recordId)
  const now = useNow()
  const { tableId, spaceId, recordId, definition, role, entry, headings, openComposer } = record
  return useMemo(() => {
    const fields = new Map(definition.table.fields.map((field) => [field.id, field]))
    return {
      ...{ tableId, spaceId, recordId, record: record.record, definition, role, entry, headings, openComposer },
      reader: { zone: definition.me.timezone, locale: navigator.language, now },
      leftEdits,
      fieldOf: (id: string) => fields.get(id),
      rowOf: (id: number) => lists?.comments.list().rows.find((row) => row.id === id),
      changed: (of: Entry) => (of.kind === 'change' ? lists?.changes.head() : listOf(lists, of)?.again(of.row.id)),
      removed: (of: Entry) => (of.kind === 'change' ? lists?.changes.head() : listOf(lists, of)?.remove(of.row.id)),
    }
  }, [tableId, spaceId, recordId, record.record, definition, role, entry, headings, openComposer, now, lists, leftEdits])
}

const listOf = (lists: TimelineLists | undefined, { kind }: Entry) => (kind === 'task' ? lists?.tasks : lists?.comments)
