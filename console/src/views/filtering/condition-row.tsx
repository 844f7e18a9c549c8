/** One condition in the form: a field, a compare, a value. */
import { useState } from 'react'
import type { Field } from '../../cells/kind.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { AreaField, SelectField, SuggestedField } from '../../ui/form-fields.tsx'
import { Icon } from '../../ui/icons/icon.tsx'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { isDay } from '../../ui/locale/days.ts'
import { clockNow } from '../../ui/locale/zones.ts'
import { TextField } from '../../ui/text-field.tsx'
import { kindOf } from '../condition-words.ts'
import { ChosenValues } from './chosen-values.tsx'
import { newRow, type RowDraft } from './filter-draft.ts'
import { comparesOf, filterText, readFilterValue, type ValueForm, valueFormOf } from './filter-values.ts'
import type { FormPlace } from './form-place.ts'

const DayCalendar = lazyPart(async () => ({ default: (await import('../../ui/calendar/day-calendar.tsx')).DayCalendar }))

interface Props {
  form: FormPlace
  row: RowDraft
}

export function ConditionRow({ form, row }: Props) {
  const { own, linked, fieldOf } = form
  const field = fieldOf(row.column)
  const change = (changes: Partial<RowDraft>) => form.change(row.key, (before) => ({ ...(before as RowDraft), ...changes }))
  const compares = field ? comparesOf(field) : []
  const choices = (fields: readonly Field[]) => fields.map(({ id, name }): [string, string] => [id, name])
  const isKnown = [...own, ...linked].some(({ id }) => id === row.column)
  return (
    <>
      <SelectField
        label={viewTexts.field}
        value={row.column}
        change={(column) => {
          // The first compare is what one asks of such a field most often.
          change({ ...newRow(fieldOf(column)), key: row.key })
        }}
        options={choices(isKnown || !field ? own : [field, ...own])}
        groups={groupsOf(own, linked).map(({ name, fields }) => ({ name, options: choices(fields) }))}
      />
      <SelectField
        label={viewTexts.compare}
        value={row.compare}
        change={(compare) => change({ compare })}
        options={field ? compares.map((one) => [one, compareWords(field, one)]) : []}
      />
      {field && <ValueField {...{ form, row, field, change }} valueForm={valueFormOf(field, row.compare)} />}
    </>
  )
}

function compareWords(field: Field, compare: string): string {
  const words: Readonly<Record<string, string>> = { ...viewTexts.listCompares, ...viewTexts.compares[kindOf(field)] }
  return words[compare] ?? compare
}

/** The fields of other tables, by the lookup that leads to them. */
function groupsOf(own: readonly Field[], linked: readonly Field[]) {
  const lookups = own.filter(({ id }) => linked.some((field) => field.id.startsWith(`${id}.`)))
  return lookups.map(({ id, name }) => ({ name, fields: linked.filter((field) => field.id.startsWith(`${id}.`)) }))
}

interface ValueProps extends Props {
  field: Field
  valueForm: ValueForm
  change(changes: Partial<RowDraft>): void
}

function ValueField({ form, row, field, valueForm, change }: ValueProps) {
  const problem = form.problems.get(row.key)
  const changeText = (text: string) => change({ text })
  switch (valueForm) {
    case 'none':
      return null
    case 'checked':
      return <SelectField label={viewTexts.value} value={row.text} change={changeText} options={CHECKED} problem={problem} />
    case 'lines':
      return <AreaField label={viewTexts.value} value={row.text} change={changeText} problem={problem} hint={viewTexts.lines} />
    case 'text':
      return field.type === 'date' || field.type === 'datetime' ? (
        <DateField {...{ form, row, field, change: changeText, problem }} />
      ) : (
        <TextField
          {...{ label: viewTexts.value, value: row.text, change: changeText, problem, maxLength: MOST_CHARACTERS, autoComplete: 'off' }}
          {...hintOf(field)}
          dir="auto"
        />
      )
    default:
      return <ChosenValues {...{ form, field, problem }} kind={valueForm} chosen={row.chosen} change={(chosen) => change({ chosen })} />
  }
}

const MOST_CHARACTERS = 500
const CHECKED = [
  ['', viewTexts.choose],
  ['true', viewTexts.checked],
  ['false', viewTexts.unchecked],
] as const

const hintOf = ({ type }: Field) => {
  const hint = viewTexts.valueHints[type]
  return hint === undefined ? {} : { hint }
}

/** Tokens that are offered in words. */
const OFFERED = [
  'today',
  'yesterday',
  'tomorrow',
  '-7d',
  '-30d',
  '+7d',
  '+30d',
  'start_of_week',
  'start_of_month',
  'end_of_month',
  'start_of_year',
]

interface DateProps extends Props {
  field: Field
  change(text: string): void
  problem: string | undefined
}

/** A day is typed, put together of words, or chosen from a calendar. What it means is said below. */
function DateField({ form: { place }, row, field, change, problem }: DateProps) {
  const [isOpen, setOpen] = useState(false)
  const read = readFilterValue(row.text, field, place)
  const known = 'value' in read ? read : undefined
  const meaning = known?.meaning === row.text.trim() ? undefined : known?.meaning
  const hint = meaning ? viewTexts.means(meaning) : viewTexts.valueHints[field.type]
  const day = known && isDay(String(known.value)) ? String(known.value) : null
  return (
    <div className="filter-date">
      <SuggestedField
        {...{ label: viewTexts.value, value: row.text, change, problem, maxLength: MOST_CHARACTERS, autoComplete: 'off' }}
        suggestions={OFFERED.map((token) => filterText(token, field, place) ?? token)}
        hint={hint}
      />
      <button type="button" className="button quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="calendar" />
        {viewTexts.calendar}
      </button>
      {isOpen && (
        <DayCalendar
          {...{ label: viewTexts.calendar, day, today: clockNow(place.now, place.zone).day, locale: place.locale }}
          onChoose={(chosen) => {
            setOpen(false)
            change(filterText(chosen, field, place) ?? chosen)
          }}
        />
      )}
    </div>
  )
}
