/** All of a few things, or those that are chosen one by one. */
import { CheckField, ChoiceField } from '../ui/form-fields.tsx'

interface Props {
  label: string
  texts: { all: string; some: string }
  things: readonly { id: number; name: string }[]
  isAll: boolean
  ids: readonly number[]
  setAll: (isAll: boolean) => void
  setIds: (ids: readonly number[]) => void
  problem?: string | undefined
}

export function AllOrSome({ label, texts, things, isAll, ids, setAll, setIds, problem }: Props) {
  return (
    <>
      <ChoiceField
        label={label}
        choices={[
          ['all', texts.all],
          ['some', texts.some],
        ]}
        value={isAll ? 'all' : 'some'}
        change={(choice) => setAll(choice === 'all')}
        problem={problem}
      />
      {!isAll && (
        <fieldset className="chosen" aria-label={texts.some}>
          {things.map(({ id, name }) => (
            <CheckField
              key={id}
              label={name}
              checked={ids.includes(id)}
              change={(isChosen) => setIds(isChosen ? [...ids, id] : ids.filter((one) => one !== id))}
            />
          ))}
        </fieldset>
      )}
    </>
  )
}
