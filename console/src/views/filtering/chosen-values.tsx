/** The values of a condition that are chosen from a list: options, people, records. */
import { type FocusEvent, type KeyboardEvent, useId, useMemo, useRef, useState } from 'react'
import { searchPeople } from '../../cells/find-people.ts'
import { searchRecords } from '../../cells/find-records.ts'
import type { Field } from '../../cells/kind.ts'
import { useClient } from '../../session/client.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { ChoiceList } from '../../ui/lists/choice-list.tsx'
import { useSearch } from '../../ui/lists/use-search.ts'
import type { Chosen } from './filter-draft.ts'
import type { FormPlace } from './form-place.ts'

interface Props {
  form: FormPlace
  field: Field
  kind: 'options' | 'people' | 'records'
  chosen: readonly Chosen[]
  change(chosen: readonly Chosen[]): void
  problem: string | undefined
}

const MOST_OFFERED = 50

export function ChosenValues({ form, field, kind, chosen, change, problem }: Props) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const shown = chosen.map((one) => ({ ...one, label: labelOf(one, field, form) }))
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  const leave = ({ currentTarget, relatedTarget }: FocusEvent<HTMLDivElement>) => {
    if (!(relatedTarget instanceof Element) || currentTarget.contains(relatedTarget)) return
    if (!relatedTarget.matches(':active')) return setOpen(false)
    // What is being pressed must not move away from the pointer before it is released.
    document.addEventListener('pointerup', () => setTimeout(() => setOpen(false)), { once: true, capture: true })
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only hears that the focus leaves
    <div className="field filter-chosen" onBlur={leave}>
      <label htmlFor={`${id}-button`}>{viewTexts.value}</label>
      {shown.length > 0 && (
        <ul className="view-chips" aria-label={viewTexts.chosen}>
          {shown.map((one) => (
            <li key={one.value} className="view-chip">
              <span dir="auto">{one.label}</span>
              <button
                type="button"
                aria-label={viewTexts.removeValue(one.label)}
                onClick={() => {
                  change(chosen.filter(({ value }) => value !== one.value))
                  button.current?.focus()
                }}
              >
                <Icon name="x" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <button
        ref={button}
        id={`${id}-button`}
        type="button"
        className="button filter-choose"
        aria-expanded={isOpen}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${id}-problem` : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {viewTexts.chooseValue}
        <Icon name="chevron-down" />
      </button>
      {problem && (
        <p className="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
      {isOpen && <Choosing {...{ form, field, kind, chosen, change, close }} />}
    </div>
  )
}

function labelOf({ value, label }: Chosen, { type, table }: Field, { wording }: FormPlace): string {
  if (label !== undefined) return label
  if (value === '@me' || value === wording.me.id) return viewTexts.me
  if (type.endsWith('user')) return wording.personName?.(value) ?? (typeof value === 'number' ? viewTexts.userOf(value) : value)
  if (typeof value === 'string') return value
  return (table === undefined ? undefined : wording.recordTitle?.(table, value)) ?? viewTexts.recordOf(value)
}

interface ChoosingProps extends Omit<Props, 'problem'> {
  close(): void
}

function Choosing({ form, field, kind, chosen, change, close }: ChoosingProps) {
  const [text, setText] = useState('')
  const { found, isBusy, problem } = useOffered(text, form, field, kind)
  const ids = new Set(chosen.map(({ value }) => String(value)))
  const choose = (id: string) => {
    const one = found.find(({ value }) => String(value) === id)
    if (ids.has(id)) change(chosen.filter(({ value }) => String(value) !== id))
    else if (one) change([...chosen, one])
    setText('')
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    close()
  }
  return (
    <div className="filter-choices">
      <ChoiceList
        {...{ label: viewTexts.value, text, isBusy, chosen: ids, isMultiple: true, onChoose: choose, onKey }}
        onText={setText}
        options={found.map(({ value, label = '', detail }) => ({
          ...{ id: String(value), text: label },
          content: (
            <span dir="auto">
              {label}
              {detail && <span className="choice-detail">{detail}</span>}
            </span>
          ),
        }))}
        empty={problem ?? (isBusy ? viewTexts.searching : viewTexts.nothingFound)}
      />
    </div>
  )
}

interface Offered extends Chosen {
  /** What tells it apart from others of its name. */
  detail?: string
}

/** What fits the text: an option of the field, a member of the space, a record of the linked table. */
function useOffered(text: string, { spaceId, wording }: FormPlace, field: Field, kind: Props['kind']) {
  const client = useClient()
  const options = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/)
    const fitting = (field.options ?? []).filter((title) => words.every((word) => title.toLowerCase().includes(word)))
    return fitting.map((title): Offered => ({ value: title, label: title }))
  }, [text, field])
  const searched = useSearch<Offered>(text, async (words, signal) => {
    if (kind === 'options') return []
    if (kind === 'records') {
      const records = await searchRecords(field, client, words, MOST_OFFERED, signal)
      return records.map(({ id, title }) => ({ value: id, label: title ?? viewTexts.recordOf(id), detail: String(id) }))
    }
    const people = await searchPeople({ client, spaceId }, words, MOST_OFFERED, signal)
    const others = people.filter(({ id }) => id !== wording.me.id)
    const isMe = viewTexts.me.startsWith(words.trim().toLowerCase()) || others.length < people.length
    return [
      ...(isMe ? [{ value: '@me', label: viewTexts.me }] : []),
      ...others.map(({ id, name, email }) => ({ value: id, label: name, ...(email && { detail: email }) })),
    ]
  })
  return kind === 'options' ? { found: options, isBusy: false, problem: null } : searched
}
