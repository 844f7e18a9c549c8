/** The editors of options, people and links. */
import { useMemo } from 'react'
import { cellTexts } from '../../texts/cells.ts'
import { useSearch } from '../../ui/lists/use-search.ts'
import type { EditorProps } from '../cell-kind.ts'
import { searchPeople } from '../find-people.ts'
import { searchRecords } from '../find-records.ts'
import type { Link, Person } from '../kind.ts'
import { Avatar } from '../shown.tsx'
import { isLink, isPerson, isText, valuesOf } from '../values.ts'
import { ChoiceEditor, type Choosing } from './choice-editor.tsx'

/** How many people and records a list offers; more are found by typing. */
const MOST_OFFERED = 50

const options: Choosing<string> = {
  idOf: (title) => title,
  textOf: (title) => title,
  Content: (title, { field }) => (
    <span className="chip" data-color={field.colors?.[title] ?? 'gray'} dir="auto">
      {title}
    </span>
  ),
  chosenIn: (value) => valuesOf(value, isText),
  valueOf: ([title]) => title ?? null,
  useFound: (text, { field }) => {
    const found = useMemo(() => {
      const words = text.toLowerCase().split(/\s+/)
      return (field.options ?? []).filter((title) => words.every((word) => title.toLowerCase().includes(word)))
    }, [text, field])
    return { found, isBusy: false, problem: null }
  },
}

const people: Choosing<Person> = {
  idOf: ({ id }) => String(id),
  textOf: ({ name }) => name,
  Content: (person) => (
    <span className="person" dir="auto">
      <Avatar id={person.id} name={person.name} />
      {person.name}
      <span className="choice-detail">{person.email}</span>
    </span>
  ),
  chosenIn: (value) => valuesOf(value, isPerson),
  valueOf: ([person]) => person ?? null,
  useFound: (text, { surroundings }) => useSearch(text, (words, signal) => searchPeople(surroundings, words, MOST_OFFERED, signal)),
}

const links: Choosing<Link> = {
  idOf: ({ id }) => String(id),
  textOf: ({ id, title }) => title ?? cellTexts.untitled(id),
  Content: ({ id, title }) => (
    <span className="link-chip" data-untitled={title ? undefined : ''} dir="auto">
      {title ?? cellTexts.noTitle}
      <span className="choice-detail">{id}</span>
    </span>
  ),
  chosenIn: (value) => valuesOf(value, isLink),
  valueOf: ([link]) => link ?? null,
  useFound: (text, { field, surroundings }) =>
    useSearch(text, (words, signal) => searchRecords(field, surroundings.client, words, MOST_OFFERED, signal)),
}

const severalOf = <One extends string | Person | Link>(choosing: Choosing<One>): Choosing<One> => ({
  ...choosing,
  valueOf: (chosen) => chosen as readonly string[] | readonly Person[] | readonly Link[],
})
const [severalOptions, severalPeople, severalLinks] = [severalOf(options), severalOf(people), severalOf(links)]

export const SelectEditor = (props: EditorProps) => <ChoiceEditor editor={props} choosing={options} isMultiple={false} />
export const MultiSelectEditor = (props: EditorProps) => <ChoiceEditor editor={props} choosing={severalOptions} isMultiple />
export const UserEditor = (props: EditorProps) => <ChoiceEditor editor={props} choosing={people} isMultiple={false} />
export const MultiUserEditor = (props: EditorProps) => <ChoiceEditor editor={props} choosing={severalPeople} isMultiple />
export const LinkEditor = (props: EditorProps) => <ChoiceEditor editor={props} choosing={links} isMultiple={false} />
export const MultiLinkEditor = (props: EditorProps) => <ChoiceEditor editor={props} choosing={severalLinks} isMultiple />
