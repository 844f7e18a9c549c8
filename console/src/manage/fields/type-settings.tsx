/** The settings that only fields of some types have. */
import type { Field } from '../../cells/kind.ts'
import { usePlaces } from '../../session/places.ts'
import { fieldTexts } from '../../texts/manage/fields.ts'
import { SelectField } from '../../ui/form-fields.tsx'
import { type FieldDraft, type FieldType, hasOptions, isLink, type Problems } from './field-draft.ts'
import { OptionsEditor } from './options-editor.tsx'

const DECIMALS = [0, 1, 2, 3, 4, 5, 6, 7, 8]
const decimalsChoices = [['', fieldTexts.anyDecimals] as const, ...DECIMALS.map((digits) => [String(digits), String(digits)] as const)]

interface Props {
  spaceId: number
  /** Null for a new one. */
  field: Field | null
  draft: FieldDraft
  set(changes: Partial<FieldDraft>): void
  problems: Problems
}

export function TypeSettings({ spaceId, field, draft, set, problems }: Props) {
  const { type } = draft
  // Another type takes its options from the values, and a link stays one to its table.
  const isOther = field !== null && type !== field.type
  const isNewLink = isLink(type) && (!field || !isLink(field.type as FieldType))
  return (
    <>
      {hasOptions(type) && !isOther && (
        <OptionsEditor options={draft.options} change={(options) => set({ options })} problem={problems.options} />
      )}
      {type === 'number' && (
        <SelectField
          label={fieldTexts.decimals}
          value={String(draft.decimals ?? '')}
          change={(digits) => set({ decimals: digits === '' ? null : Number(digits) })}
          options={decimalsChoices}
        />
      )}
      {isNewLink && (
        <LinkedTable spaceId={spaceId} value={draft.table} change={(linked) => set({ table: linked })} problem={problems.table} />
      )}
    </>
  )
}

interface LinkedTableProps {
  spaceId: number
  value: number | null
  change(table: number | null): void
  problem: string | undefined
}

function LinkedTable({ spaceId, value, change, problem }: LinkedTableProps) {
  const { places } = usePlaces()
  const tables = places.find(({ id }) => id === spaceId)?.tables ?? []
  return (
    <SelectField
      label={fieldTexts.linksTo}
      value={String(value ?? '')}
      change={(chosen) => change(chosen === '' ? null : Number(chosen))}
      options={[['', ''], ...tables.map(({ id, name }) => [String(id), name] as const)]}
      problem={problem}
    />
  )
}
