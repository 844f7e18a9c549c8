/** A new field of a table, or changes of one that it has. */
import { type FormEvent, useState } from 'react'
import type { Field } from '../../cells/kind.ts'
import { fieldTexts } from '../../texts/manage/fields.ts'
import { useAskBeforeLeaving } from '../../ui/ask-before-leaving.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { CheckField, SelectField } from '../../ui/form-fields.tsx'
import { TextField } from '../../ui/text-field.tsx'
import '../manage.css'
import type { Refusal } from '../refusal.ts'
import { draftOf, type FieldDraft, type FieldType, hasOptions, isLink, problemsOf, TYPES } from './field-draft.ts'
import { typesAfter } from './type-changes.ts'
import { TypeSettings } from './type-settings.tsx'
import { Converting, TypeTrial } from './type-trial.tsx'
import { useSaving } from './use-saving.ts'
import { type Target, type Trial, useTrial } from './use-type-change.ts'

interface Props {
  table: { id: number; space_id: number }
  /** Null for a new one. */
  field: Field | null
  close(): void
  /** Called with the id of a new field that is not hidden. */
  created?: ((id: string) => void) | undefined
}

export function FieldDialog({ table, field: opened, close, created }: Props) {
  const { field, isBusy, refusal, converting, save, forgive } = useSaving({ tableId: table.id, opened, close, created })
  const [draft, setDraft] = useState(() => draftOf(opened))
  const [begun] = useState(draft)
  useAskBeforeLeaving(JSON.stringify(draft) !== JSON.stringify(begun))
  const [isTried, setTried] = useState(false)
  const target = field && targetOf(field, draft)
  const trial = useTrial({ tableId: table.id, fieldId: field?.id ?? '' }, target)
  const set = (changes: Partial<FieldDraft>) => setDraft({ ...draft, ...changes })
  const isOther = field !== null && draft.type !== field.type
  // The options of another type come from the values.
  const found = problemsOf(isOther ? { ...draft, options: [] } : draft)
  const problems = isTried ? found : {}
  const losing = trial?.step === 'counted' ? trial.counted.failing : 0

  function submit(force: boolean) {
    setTried(true)
    if (Object.keys(found).length === 0) void save(draft, { target, dropFailing: losing > 0, force })
  }
  return (
    <DialogBox title={field ? fieldTexts.editField(field.name) : fieldTexts.newField} close={close}>
      <form
        className="manage-form"
        noValidate
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          submit(false)
        }}
      >
        <TextField
          label={fieldTexts.name}
          value={draft.name}
          change={(name) => set({ name })}
          problem={problems.name}
          autoFocus
          dir="auto"
        />
        <TypeField
          field={field}
          type={draft.type}
          disabled={converting !== null}
          change={(type) => {
            forgive()
            set({ type })
          }}
        />
        <TypeSettings spaceId={table.space_id} {...{ field, draft, set, problems }} />
        {converting ? <Converting {...converting} /> : trial && <TypeTrial trial={trial} />}
        <CheckField
          label={fieldTexts.required}
          hint={fieldTexts.requiredHint}
          checked={draft.required}
          change={(required) => set({ required })}
        />
        <CheckField
          label={fieldTexts.hidden}
          hint={fieldTexts.hiddenHint}
          checked={draft.always_hidden}
          change={(always_hidden) => set({ always_hidden })}
        />
        <CheckField label={fieldTexts.adminOnly} checked={draft.admin_only} change={(admin_only) => set({ admin_only })} />
        {refusal && <Refused refusal={refusal} isOther={isOther} />}
        <div className="manage-actions">
          {refusal?.canForce && (
            <button type="button" className="button danger" disabled={isBusy} onClick={() => submit(true)}>
              {fieldTexts.anyway}
            </button>
          )}
          <button type="button" className="button" onClick={close}>
            {fieldTexts.cancel}
          </button>
          <SaveButton trial={isOther ? trial : undefined} isNew={!field} isBusy={isBusy} />
        </div>
      </form>
    </DialogBox>
  )
}

interface TypeFieldProps {
  field: Field | null
  type: FieldType
  change(type: FieldType): void
  disabled: boolean
}

function TypeField({ field, type, change, disabled }: TypeFieldProps) {
  const before = field?.type as FieldType | undefined
  const getsOptions = before !== undefined && hasOptions(type) && !hasOptions(before)
  return (
    <SelectField
      label={fieldTexts.type}
      value={type}
      change={(chosen) => change(chosen as FieldType)}
      options={(before ? typesAfter(before) : TYPES).map((each) => [each, fieldTexts.types[each] ?? each])}
      hint={getsOptions ? fieldTexts.optionsOfValues : undefined}
      disabled={disabled}
    />
  )
}

function Refused({ refusal: { message, canForce }, isOther }: { refusal: Refusal; isOther: boolean }) {
  return (
    <p className="problem" role="alert">
      {message}
      {canForce && isOther && ` ${fieldTexts.viewsGo}`}
    </p>
  )
}

/** @param trial what another type would do; undefined if the type stays */
function SaveButton({ trial, isNew, isBusy }: { trial: Trial | null | undefined; isNew: boolean; isBusy: boolean }) {
  const losing = trial?.step === 'counted' ? trial.counted.failing : 0
  const isReady = trial === undefined || trial?.step === 'counted'
  const changes = losing ? fieldTexts.changeTypeAndLose(losing) : fieldTexts.changeType
  const saves = isNew ? fieldTexts.create : fieldTexts.save
  return (
    <button type="submit" className={losing ? 'button danger' : 'button primary'} disabled={isBusy || !isReady}>
      {trial === undefined ? saves : changes}
    </button>
  )
}

/** The other type that was chosen, once all that it needs is said. */
function targetOf(field: Field, { type, decimals, table }: FieldDraft): Target | null {
  if (type === field.type) return null
  const isNewLink = isLink(type) && !isLink(field.type as FieldType)
  if (isNewLink && table === null) return null
  return { type, ...(type === 'number' && decimals !== null && { decimals }), ...(isNewLink && table !== null && { table }) }
}
