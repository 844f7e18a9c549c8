/** Makes a new table of a CSV file or a workbook. What the service makes of the file is shown first, and can be corrected. */
import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { importTexts } from '../../texts/manage/import.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import '../manage.css'
import { correctionsOf, type FieldChange, type FieldChanges, nameProblems } from './corrections.ts'
import { GuessedFields } from './guessed-fields.tsx'
import { HowRead } from './how-read.tsx'
import './import.css'
import { type Problem, type Reading, useImport } from './use-import.ts'

const ACCEPTED = '.csv,.tsv,.txt,.xlsx,text/csv,application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const UNREAD: Reading = { title: '', sheet: '', encoding: '', date_format: '' }

export function ImportDialog({ space, close }: { space: { id: number; name: string }; close(): void }) {
  const navigate = useNavigate()
  const [reading, setReading] = useState(UNREAD)
  const [changes, setChanges] = useState<FieldChanges>({})
  const [isTried, setTried] = useState(false)
  const { state, problem, open, readAgain, start, reset, forgive } = useImport({
    spaceId: space.id,
    done: (tableId, name, created) => {
      close()
      toast(importTexts.imported(name, created))
      void navigate({ to: '/table/$tableId', params: { tableId: String(tableId) }, search: {} })
    },
  })
  const set = (changed: Partial<Reading>) => setReading({ ...reading, ...changed })
  const change = (id: string, changed: FieldChange) => {
    forgive()
    setChanges({ ...changes, [id]: { ...changes[id], ...changed } })
  }
  const take = async (file: File) => {
    const named = { ...UNREAD, title: nameOf(file) }
    setReading(named)
    setChanges({})
    setTried(false)
    const read = await open(file, named)
    if (read) setReading(read)
  }
  const problems = state.step === 'guessed' && isTried ? nameProblems(state.guess, changes) : {}
  return (
    <DialogBox title={importTexts.title(space.name)} close={close} isWide={state.step === 'guessed'}>
      {state.step === 'choose' && <Chooser take={(file) => void take(file)} />}
      {state.step === 'reading' && <output>{importTexts.reading(state.file.name)}</output>}
      {state.step === 'importing' && (
        <output className="import-progress">
          <progress max={state.total || undefined} value={state.total ? state.done : undefined} aria-label={importTexts.start} />
          <span>{importTexts.importing(state.done, state.total)}</span>
          {state.isReceived && <span className="hint">{importTexts.goesOn}</span>}
        </output>
      )}
      {problem && <Refusal problem={problem} />}
      {state.step === 'guessed' && (
        <form
          className="manage-form"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            setTried(true)
            if (Object.keys(nameProblems(state.guess, changes)).length) return
            // What another sheet has is shown before it is imported.
            if (reading.sheet !== state.sheet) void readAgain(state, reading)
            else void start(state, reading, correctionsOf(state.guess, changes))
          }}
        >
          <TextField label={importTexts.name} value={reading.title} change={(title) => set({ title })} dir="auto" autoFocus />
          <HowRead {...{ guess: state.guess, reading, changes, set }} readAgain={(changed) => void readAgain(state, changed)} />
          <GuessedFields {...{ guess: state.guess, changes, change, problems }} />
          <div className="manage-actions">
            <button type="button" className="button" onClick={reset}>
              {importTexts.other}
            </button>
            <button type="submit" className="button primary" disabled={state.isBusy}>
              {importTexts.start}
            </button>
          </div>
        </form>
      )}
    </DialogBox>
  )
}

/** The name of the file without its ending. */
const nameOf = ({ name }: File): string => name.replace(/\.[^.]*$/, '').slice(0, 100)

function Chooser({ take }: { take(file: File): void }) {
  const id = useId()
  const [isOver, setOver] = useState(false)
  const takeFirst = (files: FileList | null) => {
    const file = files?.[0]
    if (file) take(file)
  }
  return (
    <section
      className={isOver ? 'file-drop over' : 'file-drop'}
      aria-label={importTexts.choose}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        takeFirst(event.dataTransfer.files)
      }}
    >
      <label className="button primary" htmlFor={id}>
        {importTexts.choose}
        <input
          id={id}
          type="file"
          className="visually-hidden"
          accept={ACCEPTED}
          aria-describedby={`${id}-hint`}
          onChange={({ target }) => takeFirst(target.files)}
        />
      </label>
      <p id={`${id}-hint`}>{importTexts.chooseHint}</p>
    </section>
  )
}

const MOST_SHOWN = 5

/** Cells that do not fit are named one by one, in place of the message that has the first of them. */
function Refusal({ problem: { message, issues } }: { problem: Problem }) {
  return (
    <div className="problem" role="alert">
      <p>{issues.length ? importTexts.cellsDoNotFit : message}</p>
      {issues.length > 0 && (
        <ul>
          {issues.slice(0, MOST_SHOWN).map((issue) => (
            <li key={issue}>{issue}</li>
          ))}
          {issues.length > MOST_SHOWN && <li>{importTexts.moreCells(issues.length - MOST_SHOWN)}</li>}
        </ul>
      )}
    </div>
  )
}
