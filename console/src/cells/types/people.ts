/** People: members of the space. A text names one by the address, or by a name that nobody else has. */
import { findPeople } from '../find-people.ts'
import { escapeHtml } from '../html.ts'
import type { CellText } from '../kind.ts'
import { joinList, splitList } from '../list-text.ts'
import { parseNames } from '../naming.ts'
import { isEmpty, isPerson, valuesOf } from '../values.ts'

/** The address, since names are not unique; the name of somebody who was erased. */
const toText = (value: unknown) => joinList(valuesOf(value, isPerson).map(({ email, name }) => email ?? name))

export const user: CellText = {
  align: 'left',
  toText,
  toHtml: (value) => escapeHtml(toText(value)),
  parse: (text) => (text.trim() === '' ? { value: null } : null),
  parseAll: (texts, _, surroundings) => {
    const split = (text: string) => (text.trim() === '' ? [] : [text.trim()])
    return parseNames(
      texts,
      split,
      (names) => findPeople(names, surroundings),
      ([person]) => person ?? null,
    )
  },
  filled: (value) => !isEmpty(value),
}

export const multiUser: CellText = {
  ...user,
  parse: (text) => (text.trim() === '' ? { value: [] } : null),
  parseAll: (texts, _, surroundings) =>
    parseNames(
      texts,
      splitList,
      (names) => findPeople(names, surroundings),
      (people) => [...new Map(people.map((one) => [one.id, one])).values()],
    ),
}
