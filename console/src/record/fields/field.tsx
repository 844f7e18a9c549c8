/** A field of a record: its value, and its editor once it is opened, which is that of a cell. */
import { type KeyboardEvent, type ReactNode, type RefObject, Suspense, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { whyNotEditable } from '../../cells/cell-text.ts'
import type { Field, Move, Value } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { anyText } from '../../cells/values.ts'
import type { Refusal } from '../../grid/edits/edit.ts'
import {
  cancelOpenEdit,
  editOfOpen,
  leaveOpenEdit,
  noteTyping,
  type OpenEdit,
  openEdit,
  refusalText,
  refuseOpenEdit,
  shownValue,
  typedInto,
} from '../../grid/edits/open-edit.ts'
import { gridTexts } from '../../texts/grid.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { FieldProps } from './field-props.ts'
import { FilesField } from './files-field.tsx'
import { Links } from './links.tsx'

export function RecordField(props: FieldProps) {
  const { field, record, table, isWhole, role } = props
  const isKnown = isWhole || Object.hasOwn(record.values, field.id)
  const value = shownValue(table.edits, record.values, field.id)
  const whyNot = whyNotEditable(field, role)
  const isEditable = isKnown && whyNot === null
  if (isKnown && cellKind(field).takesFiles) return <FilesField {...props} {...{ value, isEditable }} />
  return <ValueField {...props} {...{ value, isKnown, isEditable, whyNot }} />
}

interface ValueProps extends FieldProps {
  value: Value
  isKnown: boolean
  isEditable: boolean
  whyNot: string | null
}

function ValueField(props: ValueProps) {
  const { field, record, table, value, whyNot, isEditable } = props
  const [labelId, valueId, problemId] = [useId(), useId(), useId()]
  const isPending = field.id in (table.edits.pending(record.id) ?? {})
  const refusal = table.edits.refusals(record.id)?.[field.id]
  const { editing, begin, button, ends } = useEditing(props)
  const toggled = cellKind(field).toggled?.(value)
  return (
    <div className="record-field" data-type={field.type} data-field={field.id}>
      <span className="record-label" id={labelId} dir="auto">
        {field.name}
        {field.admin_only && whyNot && <Lock why={whyNot} />}
      </span>
      <div
        className="record-value"
        data-editable={isEditable ? '' : undefined}
        data-pending={isPending ? '' : undefined}
        data-refused={refusal ? '' : undefined}
      >
        {editing ? (
          <FieldEditor {...props} {...{ editing, ends }} />
        ) : (
          <>
            {isEditable && (
              <EditButton
                {...{ button, labelId, toggled }}
                checked={value === true}
                describedBy={refusal ? `${valueId} ${problemId}` : valueId}
                isRefused={refusal !== undefined}
                open={() => (toggled === undefined ? begin() : sendToggled(props, toggled))}
              />
            )}
            <div id={valueId} className="record-shown">
              <ShownValue {...props} />
            </div>
          </>
        )}
      </div>
      {refusal && <Refused {...props} id={problemId} refusal={refusal} />}
    </div>
  )
}

const Lock = ({ why }: { why: string }) => (
  <span className="record-lock" title={why}>
    <Icon name="lock" />
    <span className="visually-hidden">{why}</span>
  </span>
)

function FieldEditor({ field, table, surroundings, editing, ends }: FieldProps & { editing: OpenEdit; ends: Ends }) {
  const { Editor } = cellKind(field)
  const [begun] = useState(field.type)
  // What was typed goes on in the editor of another type, which cannot begin with the value of the former one.
  const { value, typed } = field.type === begun ? editing : { value: null, typed: typedInto(table, editing) }
  return (
    <Suspense fallback={<span>{typed}</span>}>
      <Editor key={field.type} {...{ field, surroundings, value, typed }} label={field.name} hasRoom {...ends} />
    </Suspense>
  )
}

function Refused({ id, refusal, field, surroundings }: FieldProps & { id: string; refusal: Refusal }) {
  return (
    <p id={id} className="record-problem" role="alert">
      {refusalText(refusal, field, surroundings)}
    </p>
  )
}

function sendToggled({ table, record, field }: FieldProps, toggled: Value): void {
  const edit = editOfOpen(openEdit(table.edits, record.values, field.id), toggled)
  if (edit) table.send(gridTexts.edit, [edit])
}

interface EditButtonProps {
  button: RefObject<HTMLButtonElement | null>
  labelId: string
  describedBy: string
  toggled: Value | undefined
  checked: boolean
  isRefused: boolean
  open(): void
}

/** Covers the value, so that a click anywhere opens the editor, but for links in the value. */
function EditButton({ button, labelId, describedBy, toggled, checked, isRefused, open }: EditButtonProps) {
  const isToggle = toggled !== undefined
  return (
    <button
      ref={button}
      type="button"
      className={isToggle ? 'record-edit cell-check-button' : 'record-edit'}
      aria-labelledby={labelId}
      aria-describedby={describedBy}
      aria-invalid={isRefused || undefined}
      {...(isToggle && { role: 'checkbox', 'aria-checked': checked })}
      onClick={open}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key !== 'F2') return
        event.preventDefault()
        open()
      }}
    />
  )
}

/** A value with room: long texts as a whole, links that can be opened. */
function ShownValue({ value, field, surroundings, openLinked, isKnown, isEditable }: ValueProps): ReactNode {
  const kind = cellKind(field)
  if (!isKnown) return <span className="record-unknown">…</span>
  if (!kind.filled(value) && !kind.toggled) return <span className="record-empty">{isEditable ? '' : '–'}</span>
  if (field.table !== undefined && !field.linked) return <Links {...{ value, field, openLinked }} />
  // The button around it is the checkbox.
  if (kind.toggled && isEditable)
    return (
      <span className="cell-check" data-checked={value === true ? '' : undefined}>
        {value === true && <Icon name="check" />}
      </span>
    )
  if (TEXTS.has(field.type)) {
    return (
      <span className="record-text" dir="auto">
        {anyText(value)}
      </span>
    )
  }
  return kind.Shown({ value, field, place: surroundings })
}

const TEXTS = new Set<Field['type']>(['text', 'long_text', 'email', 'phone'])

type Ends = ReturnType<typeof useEditing>['ends']

/** The editor of a field while it is open, and how it ends. */
function useEditing({ field, record, table }: FieldProps) {
  const [editing, setEditing] = useState<OpenEdit | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  /** Where the focus goes once the editor is gone; undefined if one has gone elsewhere with it. */
  const wanted = useRef<Move | undefined>(undefined)
  useLayoutEffect(() => {
    if (editing || wanted.current === undefined) return
    focusFrom(button.current, wanted.current)
    wanted.current = undefined
  }, [editing])

  const open = useRef<OpenEdit | null>(null)
  // A field that goes with its record, or because it was deleted, leaves what was typed.
  useEffect(() => () => void (open.current && leaveOpenEdit(table, open.current)), [table])

  const begin = () => {
    open.current = openEdit(table.edits, record.values, field.id)
    setEditing(open.current)
  }
  const end = (move: Move | undefined) => {
    open.current = null
    wanted.current = move
    setEditing(null)
  }
  /** An editor that ends because the focus has left it leaves the focus where it is. */
  const stays = () => (document.activeElement === document.body || isInBox(document.activeElement) ? 'stay' : undefined)
  return {
    editing,
    button,
    begin,
    ends: {
      commit(value: Value, move: Move = 'stay') {
        const edit = editing && editOfOpen(editing, value)
        if (edit) table.send(gridTexts.edit, [edit])
        else if (editing) cancelOpenEdit(table, editing)
        end(move === 'stay' ? stays() : move)
      },
      cancel() {
        if (editing) cancelOpenEdit(table, editing)
        end('stay')
      },
      refused(text: string, problem: string) {
        if (editing) refuseOpenEdit(table, editing, text, problem)
        end(undefined)
      },
      typing(text: string) {
        if (editing) noteTyping(table, editing, text)
      },
      saved: () => undefined,
    },
  }
}

const isInBox = (element: Element | null) => element?.closest('.anchored-box') !== null

/** Tab goes on to the next field; Enter stays, because what is below a field may be anything. */
function focusFrom(button: HTMLElement | null, move: Move): void {
  const all = [...(button?.closest('.record-fields')?.querySelectorAll<HTMLElement>('.record-edit, .record-choose') ?? [])]
  const at = button ? all.indexOf(button) : -1
  const to = move === 'right' ? all[at + 1] : move === 'left' ? all[at - 1] : undefined
  ;(to ?? button)?.focus()
}
