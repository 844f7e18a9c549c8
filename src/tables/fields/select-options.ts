/** Changes the options of a select. An option keeps its id, so that the cells keep their meaning. */
import type { Option } from '../../fields/settings.ts'

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
  const ids = new Map(present.map(({ id, title }) => [title, id]))
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
  const problem = missing !== undefined ? `unknown option "${missing}"` : twice !== undefined ? `"${twice}" is listed twice` : null
  return { options, removed, problem }
}

/** The first title that is listed twice. */
export function repeatedTitle(titles: readonly string[]): string | undefined {
  return titles.find((title, index) => titles.indexOf(title) < index)
}
