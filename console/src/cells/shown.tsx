/**
 * How cells show their values. A value is text, whatever it holds: markup is not read, and the direction of each text is its own. Only its
 * beginning is shown, because a cell has a line or two.
 */
import { Fragment, type ReactNode } from 'react'
import { cellTexts } from '../texts/cells.ts'
import { Icon } from '../ui/icons/icon.tsx'
import { dateShown, instantShown, timeShown } from '../ui/locale/date-format.ts'
import { numberText } from '../ui/locale/number-text.ts'
import type { ShownProps } from './cell-kind.ts'
import { hasThumbnail, thumbnailAddress } from './file-facts.ts'
import './cells.css'
import { anyText, isDecimal, isEmpty, isFile, isLink, isPerson, isText, safeUrl, valuesOf } from './values.ts'

const MOST_CHARACTERS = 400
const MOST_CHIPS = 20

const beginning = (text: string): string => (text.length > MOST_CHARACTERS ? text.slice(0, MOST_CHARACTERS) : text)

export function TextShown({ value }: Pick<ShownProps, 'value'>): ReactNode {
  const text = anyText(value)
  return text && <span dir="auto">{beginning(text)}</span>
}

export function UrlShown({ value }: ShownProps): ReactNode {
  const url = safeUrl(value)
  if (!url) return TextShown({ value })
  return (
    <a className="cell-url" href={url} target="_blank" rel="noopener noreferrer" tabIndex={-1} dir="auto">
      {beginning(url)}
    </a>
  )
}

export function NumberShown({ value, field, place }: ShownProps): ReactNode {
  // Ids are no amounts, so they have no groups.
  if (!isDecimal(value) || (typeof value === 'string' && !/^-?[\d.]+$/.test(value))) return TextShown({ value })
  return field.key ? String(value) : numberText(value, place.locale, field.decimals)
}

export function CheckShown({ value, field }: ShownProps): ReactNode {
  if (value !== null && typeof value !== 'boolean') return TextShown({ value })
  return (
    // biome-ignore lint/a11y: an input would take the focus, which is the cell's; Space in the cell changes the value
    <span className="cell-check" role="checkbox" aria-checked={value === true} aria-label={field.name}>
      {value === true && <Icon name="check" />}
    </span>
  )
}

export const DateShown = ({ value, place }: ShownProps): ReactNode =>
  isText(value) ? dateShown(value, place.locale) : TextShown({ value })

export const InstantShown = ({ value, place }: ShownProps): ReactNode => (isText(value) ? instantShown(value, place) : TextShown({ value }))

export const TimeShown = ({ value, place }: ShownProps): ReactNode =>
  isText(value) ? timeShown(value, place.locale) : TextShown({ value })

export function ChoicesShown({ value, field }: ShownProps): ReactNode {
  const titles = valuesOf(value, isText)
  if (!titles.length) return TextShown({ value })
  return chips(titles, (title) => (
    <span key={title} className="chip" data-color={field.colors?.[title] ?? 'gray'} dir="auto">
      {beginning(title)}
    </span>
  ))
}

export function PeopleShown({ value }: ShownProps): ReactNode {
  const people = valuesOf(value, isPerson)
  if (!people.length) return TextShown({ value })
  return chips(people, (person) => (
    <span key={person.id} className="person" title={person.email ?? undefined} dir="auto">
      <Avatar id={person.id} name={person.name} />
      {beginning(person.name)}
    </span>
  ))
}

const COLORS = ['red', 'orange', 'yellow', 'green', 'teal', 'blue', 'indigo', 'purple', 'pink']

export function Avatar({ id, name }: { id: number; name: string }): ReactNode {
  const words = name.trim().split(/\s+/)
  const initials = [words[0], words.length > 1 ? words.at(-1) : ''].map((word) => [...(word ?? '')][0] ?? '').join('')
  return (
    <span className="avatar" data-color={COLORS[id % COLORS.length]} aria-hidden="true">
      {initials.toUpperCase()}
    </span>
  )
}

export function LinksShown({ value }: ShownProps): ReactNode {
  const links = valuesOf(value, isLink)
  if (!links.length) return TextShown({ value })
  return chips(links, ({ id, title }) => (
    <span key={id} className="link-chip" data-untitled={title ? undefined : ''} dir="auto">
      {title ? beginning(title) : cellTexts.untitled(id)}
    </span>
  ))
}

export function FilesShown({ value }: ShownProps): ReactNode {
  const files = valuesOf(value, isFile)
  if (!files.length) return TextShown({ value })
  return chips(files, (file) =>
    hasThumbnail(file) ? (
      <img key={file.path} className="thumb" src={thumbnailAddress(file.path, 160)} alt={file.name} title={file.name} loading="lazy" />
    ) : (
      <span key={file.path} className="file-chip" dir="auto">
        <Icon name="file" />
        {beginning(file.name)}
      </span>
    ),
  )
}

/** The values of a field of linked records, of which a cell holds one for each link. */
export function EachShown({ value, field, place, Shown }: ShownProps & { Shown(props: ShownProps): ReactNode }): ReactNode {
  const values = (Array.isArray(value) ? value : [value]).filter((one) => !isEmpty(one)).slice(0, MOST_CHIPS)
  return values.map((one, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the values have no other names, and their order is that of the links
    <Fragment key={index}>
      {index > 0 && ', '}
      {Shown({ value: one, field, place })}
    </Fragment>
  ))
}

/** The first of many values, and how many more there are. */
function chips<One>(values: readonly One[], chip: (value: One) => ReactNode): ReactNode {
  return (
    <span className="chips">
      {values.slice(0, MOST_CHIPS).map(chip)}
      {values.length > MOST_CHIPS && <span className="chips-more">{cellTexts.more(values.length - MOST_CHIPS)}</span>}
    </span>
  )
}
