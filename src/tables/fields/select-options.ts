/** The options of a select as they change: titles come and go, ids stay with what the cells mean. */
import type { Option } from '../../fields/settings.ts'

/** A title, or the new title of an option that `was` called something else. */
export type WantedOption = string | { title: string; was: string }

export interface OptionChange {
  options: Option[]
  /** Options that are no longer there; cells may still hold them. */
  removed: Option[]
  /** What makes the list impossible; null when nothing does. */
  problem: string | null
}

/**
 * The list that replaces the present one. The same title keeps its id, `{title, was}` keeps the id of `was`, others are new.
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
    // An option that gives its title to another is a new one when the old title comes again.
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
