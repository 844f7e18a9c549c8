/** A change of the record: each field with its values before and after, and the way to take it back. */
import { useState } from 'react'
import type { Field, Value } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { Avatar } from '../../cells/shown.tsx'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { timelineTexts } from '../../texts/record/timeline.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { When } from '../../ui/locale/when.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { authorOf, deedOf, mayUndo, undoneWords } from './change-words.ts'
import type { EntryPlace, ShownKind, ShownProps } from './entry.ts'
import type { ChangeRow } from './rows.ts'

const ConfirmDialog = lazyPart(async () => ({ default: (await import('../../ui/confirm-dialog.tsx')).ConfirmDialog }))

export const changeKind: ShownKind<'change'> = {
  kind: 'change',
  label: ({ row }) => timelineTexts.change(authorOf(row).name, deedOf(row)),
  Shown: ChangeEntry,
}

function ChangeEntry({ entry, place }: ShownProps<'change'>) {
  const { row } = entry
  const { name, isKey } = authorOf(row)
  return (
    <div className="change">
      <Avatar id={row.user_id ?? 0} name={name} />
      <div className="change-main">
        <p className="entry-head">
          <span>
            <bdi className="entry-who">{name}</bdi> {isKey && <span className="comment-badge">{timelineTexts.key} </span>}
            {deedOf(row)}
          </span>
          <When instant={row.at} place={place.reader} />
          {mayUndo(row, place.definition.me.id, place.role) && <Undo row={row} place={place} changed={() => place.changed(entry)} />}
        </p>
        <Changes row={row} place={place} />
      </div>
    </div>
  )
}

/** The fields of a change of many records are shown on request, so that it is one line. */
function Changes({ row: { changes = [], records }, place }: { row: ChangeRow; place: EntryPlace }) {
  if (!changes.length) return null
  const list = (
    <dl className="changes">
      {changes.map(({ field, name, from, to }) => (
        <div key={field} className="change-field">
          <dt>{name}</dt>
          <dd>
            <Cell value={from} field={place.fieldOf(field)} name={name} place={place} label={timelineTexts.before} />
            <Icon name="chevron-right" />
            <Cell value={to} field={place.fieldOf(field)} name={name} place={place} label={timelineTexts.after} />
          </dd>
        </div>
      ))}
    </dl>
  )
  if (records === 1) return list
  return (
    <details className="change-many">
      <summary>{timelineTexts.showFields(changes.length)}</summary>
      {list}
    </details>
  )
}

interface CellProps {
  value: unknown
  field: Field | undefined
  name: string
  place: EntryPlace
  label: string
}

/** A value as cells show it. Of a field that is gone, or has another type by now, it is the text that it has. */
function Cell({ value, field, name, place, label }: CellProps) {
  const of = field ?? ({ id: name, name, type: 'text' } as Field)
  const kind = cellKind(of)
  const isFilled = value !== undefined && kind.filled(value as Value)
  return (
    <span className="change-value" data-is={label}>
      <span className="visually-hidden">{label}: </span>
      {isFilled ? kind.Shown({ value: value as Value, field: of, place: place.reader }) : <i>{timelineTexts.nothing}</i>}
    </span>
  )
}

function Undo({ row, place, changed }: { row: ChangeRow; place: EntryPlace; changed(): void }) {
  const client = useClient()
  const [isAsking, setIsAsking] = useState(false)
  const undo = async () => {
    const done = await client.records.undo.mutate({ table_id: place.tableId, change_id: row.change_id })
    changed()
    toast(undoneWords(done, place.recordId, (field) => place.fieldOf(field)?.name ?? field))
  }
  const run = () => {
    if (row.records > 1) setIsAsking(true)
    else undo().catch((error: unknown) => toast(messageOf(error)))
  }
  return (
    <span className="entry-actions">
      <button type="button" className="button quiet small" onClick={run}>
        {timelineTexts.undo}
      </button>
      {isAsking && (
        <ConfirmDialog
          title={timelineTexts.undoTitle(row.records)}
          action={timelineTexts.undoButton}
          run={undo}
          wordsOf={messageOf}
          close={() => setIsAsking(false)}
        >
          <p>{timelineTexts.undoText}</p>
        </ConfirmDialog>
      )}
    </span>
  )
}
