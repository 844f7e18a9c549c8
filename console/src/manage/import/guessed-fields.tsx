/** The columns of a file with examples of their values: what each is to be called, what type it has, and whether it is imported. */
import { useId } from 'react'
import { fieldTexts } from '../../texts/manage/fields.ts'
import { importTexts } from '../../texts/manage/import.ts'
import { TYPES } from '../fields/field-draft.ts'
import { changedFields, type FieldChange, type FieldChanges } from './corrections.ts'
import type { Guess } from './guess.ts'

/** Links need another table, and files are uploaded one by one. */
const TYPES_OF_COLUMNS = TYPES.filter((type) => !['lookup', 'multi_lookup', 'file'].includes(type))

interface Props {
  guess: Guess
  changes: FieldChanges
  change(id: string, change: FieldChange): void
  problems: Readonly<Record<string, string>>
}

export function GuessedFields({ guess, changes, change, problems }: Props) {
  const samples = new Map(guess.samples?.map(({ field, values }) => [field, values]))
  return (
    <section className="guessed" aria-label={importTexts.fields}>
      <p>{importTexts.guess(guess.rows)}</p>
      <ul>
        {changedFields(guess, changes).map((field) => (
          <GuessedField
            key={field.id}
            field={field}
            samples={samples.get(field.id) ?? []}
            change={(next) => change(field.id, next)}
            problem={problems[field.id]}
          />
        ))}
      </ul>
      {guess.filled.rows > 0 && <p>{importTexts.filled(guess.filled)}</p>}
      {guess.cut.rows > 0 && <p>{importTexts.cut(guess.cut)}</p>}
    </section>
  )
}

interface FieldProps {
  field: ReturnType<typeof changedFields>[number]
  samples: readonly string[]
  change(change: FieldChange): void
  problem: string | undefined
}

function GuessedField({ field: { guessed, name, type, isLeftOut, options }, samples, change, problem }: FieldProps) {
  const id = useId()
  const isOther = type !== guessed.type
  return (
    <li className={isLeftOut ? 'left-out' : undefined}>
      <input
        type="checkbox"
        aria-label={importTexts.importField(guessed.name)}
        checked={!isLeftOut}
        onChange={({ target }) => change({ isLeftOut: !target.checked })}
      />
      <input
        aria-label={importTexts.nameOf(guessed.name)}
        value={name}
        dir="auto"
        disabled={isLeftOut}
        onChange={({ target }) => change({ name: target.value })}
        aria-invalid={problem ? true : undefined}
        aria-describedby={`${id}-examples ${id}-problem`}
      />
      <select
        aria-label={importTexts.typeOf(guessed.name)}
        value={type}
        disabled={isLeftOut}
        onChange={({ target }) => change({ type: target.value })}
        aria-describedby={`${id}-examples`}
      >
        {TYPES_OF_COLUMNS.map((each) => (
          <option key={each} value={each}>
            {fieldTexts.types[each] ?? each}
          </option>
        ))}
      </select>
      <p id={`${id}-examples`} className="examples" dir="auto">
        {samples.length ? importTexts.examples(samples) : importTexts.noExamples}
        {!isOther && options?.length ? ` ${importTexts.options(options)}` : ''}
        {isOther && (type === 'select' || type === 'multi_select') ? ` ${importTexts.optionsOfValues}` : ''}
      </p>
      <p id={`${id}-problem`} className="problem">
        {problem}
      </p>
    </li>
  )
}
