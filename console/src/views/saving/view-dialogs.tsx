/** The dialogs about a view: its name, its end, and what somebody else has saved meanwhile. They are loaded when one is opened. */
import { type FormEvent, type ReactNode, useState } from 'react'
import type { View } from '../../grid/table-data.ts'
import { messageOf } from '../../session/errors.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { isolated, sortWords, treeWords, type Wording } from '../condition-words.ts'
import { isSortKey, orderOfView, partsOfList, partsOfView } from '../parts.ts'
import type { ViewChanges } from './view-actions.ts'

const MOST_CHARACTERS = 100

interface NameProps {
  title: string
  button: string
  name: string
  note?: string | undefined
  save(name: string): Promise<void>
  close(): void
}

export function NameDialog({ title, button, name: before, note, save, close }: NameProps) {
  const [name, setName] = useState(before)
  const { problem, isBusy, run, mend } = useRun()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run(
      async () => {
        await save(name.trim())
        close()
      },
      name.trim() === '' && viewTexts.nameMissing,
    )
  }
  return (
    <DialogBox title={title} close={close}>
      <form className="view-form" onSubmit={submit} noValidate>
        <TextField
          label={viewTexts.name}
          value={name}
          change={(text) => {
            setName(text)
            mend()
          }}
          maxLength={MOST_CHARACTERS}
          autoComplete="off"
          dir="auto"
          autoFocus
          problem={problem}
          {...(note && { hint: note })}
        />
        <Buttons close={close}>
          <button type="submit" className="button primary" disabled={isBusy}>
            {button}
          </button>
        </Buttons>
      </form>
    </DialogBox>
  )
}

export function DeleteDialog({ view, remove, close }: { view: View; remove(): Promise<void>; close(): void }) {
  const { problem, isBusy, run } = useRun()
  return (
    <DialogBox title={viewTexts.deleteTitle} close={close} isAlert>
      <p className="view-text">{viewTexts.deleteText(isolated(view.name))}</p>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Buttons close={close}>
        <button
          type="button"
          className="button danger"
          disabled={isBusy}
          onClick={() =>
            run(async () => {
              await remove()
              close()
            })
          }
        >
          {viewTexts.deleteButton}
        </button>
      </Buttons>
    </DialogBox>
  )
}

interface ConflictProps {
  now: View
  changes: ViewChanges
  wording: Wording
  saveMine(): Promise<void>
  keepTheirs(): void
  close(): void
}

/** Somebody else has saved the view meanwhile: both are shown, and nothing is decided by itself. */
export function ConflictDialog({ now, changes, wording, saveMine, keepTheirs, close }: ConflictProps) {
  const { problem, isBusy, run } = useRun()
  return (
    <DialogBox title={viewTexts.conflictTitle} close={close} isAlert>
      <Version title={viewTexts.theirs} texts={wordsOf(now, changes, wording)} />
      <Version title={viewTexts.mine} texts={wordsOf({ ...now, ...changed(changes) }, changes, wording)} />
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <div className="view-form-buttons">
        <button type="button" className="button" onClick={keepTheirs}>
          {viewTexts.keepTheirs}
        </button>
        <button type="button" className="button primary" disabled={isBusy} onClick={() => run(saveMine)}>
          {viewTexts.saveMine}
        </button>
      </div>
    </DialogBox>
  )
}

function Version({ title, texts }: { title: string; texts: readonly string[] }) {
  return (
    <section className="view-version">
      <h3>{title}</h3>
      <ul>
        {texts.map((text) => (
          <li key={text} dir="auto">
            {text}
          </li>
        ))}
      </ul>
    </section>
  )
}

type Facts = Pick<View, 'name' | 'filters' | 'filter' | 'order' | 'order_by' | 'order_dir'>

/** A form that is sent replaces the other one. */
function changed({ name, filters, filter, order }: ViewChanges): Partial<Facts> {
  return {
    ...(name != null && { name }),
    ...(filters && { filters: filters as View['filters'], filter: undefined }),
    ...(filter && { filter: filter as View['filter'], filters: [] }),
    ...(order !== undefined && { order: (order ?? []) as View['order'] }),
  } as Partial<Facts>
}

function wordsOf(view: Facts, changes: ViewChanges, wording: Wording): string[] {
  const parts = view.filter ? partsOfView(view) : partsOfList(view.filters)
  const words = [
    ...(changes.name != null ? [view.name] : []),
    ...('filters' in changes || 'filter' in changes ? parts.map((part) => treeWords(part, wording)) : []),
    ...('order' in changes
      ? orderOfView(view)
          .filter(isSortKey)
          .map((key) => sortWords(key, wording))
      : []),
  ]
  return words.length ? words : [viewTexts.every]
}

function Buttons({ close, children }: { close(): void; children: ReactNode }) {
  return (
    <div className="view-form-buttons">
      <button type="button" className="button" onClick={close}>
        {viewTexts.cancel}
      </button>
      {children}
    </div>
  )
}

/** Runs what a form asks for, once at a time, and keeps what the service said about it. */
function useRun() {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  return {
    problem,
    isBusy,
    mend: () => setProblem(undefined),
    run(work: () => Promise<void>, refused: string | false = false) {
      if (refused) return setProblem(refused)
      if (isBusy) return
      setBusy(true)
      work()
        .catch((error: unknown) => setProblem(messageOf(error)))
        .finally(() => setBusy(false))
    },
  }
}
