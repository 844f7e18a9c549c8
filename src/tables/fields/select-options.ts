/** Changes the options of a select. An option keeps its id, so that the cells keep their meaning. */
import type { Option } from '../../fields/settings.ts'
import { nfc } from '../../platform/normal-forms.ts'

/** A title, or the new title of the option that `was` named otherwise. */
export type WantedOption = string | { title: string; was: string }

export interface OptionChange {
  options: Option[]
  /** Options that are absent from the new list. Cells may still hold them. */
  removed: Option[]
  /** Why the list is invalid; null when it is valid. */
  problem: string | null
}

/**
 * Returns the list that replaces the present one. The same title keeps its id, `{title, was}` keeps the id of `was`, other titles are new.
 * @param taken ids of former options that cells may still hold
 */
export function changeOptions(present: readonly Option[], wanted: readonly WantedOption[], taken: readonly number[] = []): OptionChange {
  const ids = idsByTitle(present)
  const nextId = Math.max(0, ...ids.values(), ...taken) + 1
  const renamedAway = new Set(wanted.flatMap((option) => (typeof option === 'string' ? [] : option.was)))
  const missing = [...renamedAway].find((title) => !ids.has(title))
  let added = 0
  const options = wanted.map((option) => {
    const { title, was } = typeof option === 'string' ? { title: option, was: option } : option
    // If an option is renamed and its old title is in the list as well, the old title is a new option.
    const kept = typeof option === 'string' && renamedAway.has(title) ? undefined : ids.get(was)
    return { id: kept ?? nextId + added++, title }
  })
  const twice =
    repeatedTitle(options.map(({ title }) => title)) ?? present.find(({ id }) => options.filter((o) => o.id === id).length > 1)?.title
  const removed = present.filter(({ id }) => !options.some((option) => option.id === id))
  const problem = missing !== undefined ? unknownOption(missing) : twice !== undefined ? listedTwice(twice) : null
  return { options, removed, problem }
}

/** An option whose title is not in NFC yet is named by that form as well, because the titles of requests are in it. */
const idsByTitle = (options: readonly Option[]): ReadonlyMap<string, number> =>
  new Map([...options.map(({ id, title }) => [nfc(title), id] as const), ...options.map(({ id, title }) => [title, id] as const)])

/** What is added to the options that a field has at the time, and removed from them. */
export interface OptionEdit {
  add: readonly string[]
  remove: readonly string[]
}

/**
 * Returns the list that `edit` makes of the present one. A title that the field has already is not added, so that two people may add
 * the same one.
 */
export function editOptions(present: readonly Option[], { add, remove }: OptionEdit, taken: readonly number[] = []): OptionChange {
  const titles = new Set(idsByTitle(present).keys())
  const missing = remove.find((title) => !titles.has(title))
  const both = add.find((title) => remove.includes(title))
  const twice = repeatedTitle(add) ?? repeatedTitle(remove)
  const kept = present.flatMap(({ title }) => (remove.includes(nfc(title)) ? [] : title))
  const change = changeOptions(present, [...kept, ...add.filter((title) => !titles.has(title))], taken)
  if (missing !== undefined) return { ...change, problem: unknownOption(missing) }
  if (both !== undefined) return { ...change, problem: `"${both}" is added and removed` }
  return twice === undefined ? change : { ...change, problem: listedTwice(twice) }
}

export const unknownOption = (title: string) => `unknown option "${title}"`
const listedTwice = (title: string) => `"${title}" is listed twice`

/** The first title that is listed twice. */
export function repeatedTitle(titles: readonly string[]): string | undefined {
  return titles.find((title, index) => titles.indexOf(title) < index)
}
