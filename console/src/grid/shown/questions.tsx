/** What the grid asks before it goes on. */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import type { Field, Place, Value } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { Conflict } from '../edits/edit.ts'
import type { Edits } from '../edits/edits.ts'
import { deleteRecords } from '../model/deleting.ts'
import type { Dialog } from '../model/dialogs.ts'
import { sendEdits } from '../model/editing.ts'
import { callFocus, type GridModel } from '../model/grid-model.ts'

type Asked<Kind extends Dialog['ask']> = Extract<Dialog, { ask: Kind }>

export function Questions({ grid }: { grid: GridModel }) {
  const { dialog } = grid.state
  const close = () => {
    grid.update({ dialog: null })
    callFocus(grid)
  }
  if (grid.table.edits.conflicts()) {
    return <ConflictQuestion edits={grid.table.edits} fields={grid.options.fields} place={grid.options.place} done={close} />
  }
  switch (dialog?.ask) {
    case 'paste':
      return <PasteQuestion grid={grid} asked={dialog} done={close} />
    case 'clear':
      return (
        <Question title={gridTexts.clearTitle(dialog.cells)} cancel={close}>
          <Action primary label={gridTexts.clearButton} run={() => sendEdits(grid, gridTexts.clear, dialog.records)} then={close} />
        </Question>
      )
    case 'delete':
      return (
        <Question title={gridTexts.deleteTitle(dialog.count)} text={gridTexts.deleteText} cancel={close}>
          <Action primary label={gridTexts.deleteButton} run={() => void deleteRecords(grid, dialog.ids, dialog.count)} then={close} />
        </Question>
      )
    default:
      return null
  }
}

function PasteQuestion({ grid, asked, done }: { grid: GridModel; asked: Asked<'paste'>; done(): void }) {
  const { records, creates, cells, misfits, moreMisfits, lost } = asked
  const isWhole = !misfits.length && !lost.length
  const text = [creates.length ? gridTexts.adds(creates.length) : '', lost.length ? gridTexts.lost(lost) : ''].filter(Boolean).join(' ')
  return (
    <Question title={gridTexts.pasteTitle(cells)} text={text} cancel={done}>
      {misfits.length > 0 && (
        <div className="grid-misfits">
          <p>{gridTexts.misfits(misfits.length + moreMisfits)}</p>
          <ul>
            {misfits.map(({ row, column, text, problem }) => (
              <li key={`${row} ${column}`}>{gridTexts.misfit(row, column, text.slice(0, 80), problem)}</li>
            ))}
            {moreMisfits > 0 && <li>{gridTexts.andMore(moreMisfits)}</li>}
          </ul>
        </div>
      )}
      <Action
        primary
        label={isWhole ? gridTexts.pasteButton : gridTexts.pasteFitting}
        run={() => sendEdits(grid, gridTexts.paste, records, creates)}
        then={done}
      />
    </Question>
  )
}

interface ConflictProps {
  edits: Edits
  fields: readonly Field[]
  place: Place
  done(): void
}

/** Asks whose value counts, if somebody else has changed a field while one edited it. */
export function ConflictQuestion({ edits, fields, place, done }: ConflictProps) {
  const asked = edits.conflicts()
  if (!asked) return null
  const { edit, conflicts } = asked
  return (
    <Question title={gridTexts.conflictTitle} cancel={null}>
      <ul className="grid-conflicts">
        {conflicts.slice(0, 10).map((conflict) => (
          <ConflictLine key={`${conflict.id} ${conflict.field}`} {...{ fields, place, conflict }} />
        ))}
        {conflicts.length > 10 && <li>{gridTexts.andMore(conflicts.length - 10)}</li>}
      </ul>
      <Action label={gridTexts.keepTheirs} run={() => edits.resolve(edit, 'theirs')} then={done} />
      <Action primary label={gridTexts.keepMine} run={() => edits.resolve(edit, 'mine')} then={done} />
    </Question>
  )
}

function ConflictLine({ fields, place, conflict }: Pick<ConflictProps, 'fields' | 'place'> & { conflict: Conflict }) {
  const { id, field: fieldId, mine, theirs } = conflict
  const field = fields.find((other) => other.id === fieldId)
  const textOf = (value: unknown) => (field && cellKind(field).toText(value as Value, field, place)) || gridTexts.nothing
  return (
    <li>
      <h3>{gridTexts.conflictRecord(id, field?.name ?? fieldId)}</h3>
      <dl>
        <dt>{gridTexts.yours}</dt>
        <dd>{textOf(mine)}</dd>
        <dt>{gridTexts.theirs}</dt>
        <dd>{textOf(theirs)}</dd>
      </dl>
    </li>
  )
}

/** @param cancel null: one of the answers has to be given */
function Question({ title, text, cancel, children }: { title: string; text?: string; cancel: (() => void) | null; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => void dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      className="grid-question"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        cancel?.()
      }}
    >
      <h2 id={titleId}>{title}</h2>
      {text && <p>{text}</p>}
      <div className="grid-answers">
        {children}
        {cancel && <Action label={gridTexts.cancel} run={cancel} then={() => undefined} />}
      </div>
    </dialog>
  )
}

function Action({ label, primary = false, run, then }: { label: string; primary?: boolean; run(): void; then(): void }) {
  return (
    <button
      type="button"
      className={primary ? 'grid-button primary' : 'grid-button'}
      onClick={() => {
        run()
        then()
      }}
    >
      {label}
    </button>
  )
}
