/** What the service cannot know for sure: the encoding and the sheet are tried at once, a form of dates counts for the import. */
import { importTexts } from '../../texts/manage/import.ts'
import { SelectField } from '../../ui/form-fields.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { changedFields, type FieldChanges, hasDates } from './corrections.ts'
import type { Guess } from './guess.ts'
import type { Reading } from './use-import.ts'

/** The encodings in which programs still save text; the service finds most of them by itself. */
const ENCODINGS = 'UTF-8 UTF-16LE windows-1252 windows-1250 windows-1251 windows-1253 windows-1254 Shift_JIS GBK EUC-KR'.split(' ')
/** Forms of dates that most countries have. No file says which of two numbers is the day if both are 12 or less. */
const FORMS = ['dd.MM.yyyy', 'dd/MM/yyyy', 'MM/dd/yyyy', 'dd-MM-yyyy', 'yyyy/MM/dd']

interface Props {
  guess: Guess
  reading: Reading
  changes: FieldChanges
  set(changes: Partial<Reading>): void
  readAgain(reading: Reading): void
}

/** The forms of dates that the service has found, each with the names of its columns. */
function formsOf(guess: Guess): Map<string, string[]> {
  const forms = new Map<string, string[]>()
  for (const { field, form } of guess.formats) {
    const name = guess.fields.find(({ id }) => id === field)?.name ?? field
    forms.set(form, [...(forms.get(form) ?? []), name])
  }
  return forms
}

export function HowRead({ guess, reading, changes, set, readAgain }: Props) {
  const change = (changed: Partial<Reading>) => {
    set(changed)
    readAgain({ ...reading, ...changed })
  }
  const isWorkbook = guess.encoding === undefined
  return (
    <>
      {isWorkbook ? (
        <div className="import-sheet">
          <TextField label={importTexts.sheet} hint={importTexts.sheetHint} value={reading.sheet} change={(sheet) => set({ sheet })} />
          <button type="button" className="button" onClick={() => readAgain(reading)}>
            {importTexts.again}
          </button>
        </div>
      ) : (
        <SelectField
          label={importTexts.encoding}
          value={reading.encoding}
          change={(encoding) => change({ encoding })}
          options={[['', importTexts.automatic(guess.encoding)], ...ENCODINGS.map((name) => [name, name] as const)]}
        />
      )}
      <Dates {...{ guess, reading, changes, change }} />
    </>
  )
}

interface DatesProps extends Pick<Props, 'guess' | 'reading' | 'changes'> {
  change(changes: Partial<Reading>): void
}

/** One form counts for all columns, so the columns that it concerns are named. */
function Dates({ guess, reading: { date_format }, changes, change }: DatesProps) {
  const found = formsOf(guess)
  const dated = changedFields(guess, changes).filter(({ type, isLeftOut }) => hasDates(type) && !isLeftOut)
  const isAsked = dated.some(({ type, guessed }) => type !== guessed.type)
  if (found.size === 0 && !date_format && !isAsked) return null
  const forms = [...new Set([...found.keys(), ...(date_format ? [date_format] : []), ...FORMS])]
  const concerned = dated.map(({ name }) => name)
  return (
    <SelectField
      label={importTexts.dates}
      hint={date_format ? importTexts.datesConcern(concerned) : importTexts.datesPlain([...found.values()].flat())}
      value={date_format}
      change={(form) => change({ date_format: form })}
      options={[['', importTexts.noDates], ...forms.map((form) => [form, importTexts.datesAs(form, found.get(form) ?? [])] as const)]}
    />
  )
}
