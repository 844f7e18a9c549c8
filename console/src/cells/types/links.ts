/** Links to records of another table. A text names one by a title that no other record has, by its id, or by both: `Acme (12)`. */
import { findRecords } from '../find-records.ts'
import { escapeHtml } from '../html.ts'
import type { CellText, Link } from '../kind.ts'
import { joinList, splitList } from '../list-text.ts'
import { parseNames } from '../naming.ts'
import { isEmpty, isLink, valuesOf } from '../values.ts'

const nameOf = ({ id, title }: Link) => title ?? `(${id})`
const oneText = (value: unknown) => valuesOf(value, isLink).map(nameOf).join(', ')
const listText = (value: unknown) => joinList(valuesOf(value, isLink).map(nameOf))

export const lookup: CellText = {
  align: 'left',
  toText: oneText,
  toHtml: (value) => escapeHtml(oneText(value)),
  parse: (text) => (text.trim() === '' ? { value: null } : null),
  parseAll: (texts, field, { client }) => {
    const split = (text: string) => (text.trim() === '' ? [] : [text.trim()])
    return parseNames(
      texts,
      split,
      (names) => findRecords(names, field, client),
      ([link]) => link ?? null,
    )
  },
  filled: (value) => !isEmpty(value),
}

export const multiLookup: CellText = {
  ...lookup,
  toText: listText,
  toHtml: (value) => escapeHtml(listText(value)),
  parse: (text) => (text.trim() === '' ? { value: [] } : null),
  parseAll: (texts, field, { client }) =>
    parseNames(
      texts,
      splitList,
      (names) => findRecords(names, field, client),
      (links) => [...new Map(links.map((one) => [one.id, one])).values()],
    ),
}
