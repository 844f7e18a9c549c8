/** What a view shows and what is tried beside it: each part in words, and what is tried without it or with another in its place. */
import type { Conditions } from '../grid/pages/record-source.ts'
import type { View } from '../grid/table-data.ts'
import { viewTexts } from '../texts/views/views.ts'
import { membersOf, partsOf, type SortKey, sortWords, treeWords, type Wording } from './condition-words.ts'
import { inPlaceOf, isSortKey, orderOfView, partsOfList, partsOfTried, partsOfView, partsOfWhere, withParts } from './parts.ts'

export interface ShownPart {
  text: string
  /** What is tried when this part is removed. */
  rest: Conditions
  /** The condition or the group; undefined for words that are searched for and for keys of an order. */
  tree?: unknown
  /** What is tried when another condition or group is in its place. */
  changed?(tree: unknown): Conditions
}

/** The parts of what is tried, in the order in which they are shown. */
export function triedParts(tried: Conditions, wording: Wording): ShownPart[] {
  const { filters, filter, where, search, order } = tried
  const own = partsOfTried(tried)
  const changed = (index: number) => (tree: unknown) => {
    const { filters: _, where: __, ...others } = tried
    return { ...others, ...withParts(own.with(index, tree)) } as Conditions
  }
  const conditions: Conditions[] = []

  const list = partsOfList(membersOf(filters))
  list.forEach((_, index) => {
    const rest = list.length === 1 ? [] : membersOf(filters).filter((_, other) => other !== index)
    conditions.push(withKey(tried, 'filters', rest.length ? rest : undefined))
  })
  const members = filter ? partsOf(filter) : []
  members.forEach((_, index) => {
    const rest = members.filter((_, other) => other !== index)
    conditions.push(withKey(tried, 'filter', rest.length ? { all: rest } : undefined))
  })
  for (const { name } of partsOfWhere(where)) {
    const rest = Object.entries(where ?? {}).filter(([other]) => other !== name)
    conditions.push(withKey(tried, 'where', rest.length ? Object.fromEntries(rest) : undefined))
  }
  const parts: ShownPart[] = own.map((tree, index) => ({
    ...{ text: treeWords(tree, wording), tree, rest: conditions[index] ?? tried },
    changed: changed(index),
  }))

  if (search) parts.push({ text: viewTexts.words(String(search)), rest: withKey(tried, 'search', undefined) })

  const keys = membersOf(order).filter(isSortKey)
  keys.forEach((key, index) => {
    const rest = keys.filter((_, other) => other !== index)
    parts.push({ text: sortWords(key, wording), rest: withKey(tried, 'order', rest.length ? rest : undefined) })
  })
  return parts
}

/** What the view itself shows, unless something else is tried in its place: each part can be left out or changed for a trial. */
export function viewParts(view: View, tried: Conditions, wording: Wording): ShownPart[] {
  if (tried.replaces) return []
  const all = inPlaceOf(view, tried) as Conditions
  const own = partsOfView(view)
  const members = all.filter ? partsOf(all.filter) : []
  const without = (index: number) => withKey(all, 'filter', members.length > 1 ? { all: members.toSpliced(index, 1) } : undefined)
  const parts: ShownPart[] = own.map((tree, index) => ({
    ...{ text: treeWords(tree, wording), tree, rest: without(index) },
    changed: (other) => withKey(all, 'filter', { all: members.with(index, other) }),
  }))
  if (tried.order) return parts
  const order = orderOfView(view)
  const keys = order.map((key, index) => {
    const rest = order.toSpliced(index, 1)
    return { text: sortWords(key, wording), rest: withKey(all, 'order', rest.length ? rest : undefined) }
  })
  return [...parts, ...keys]
}

function withKey(tried: Conditions, key: keyof Conditions, value: unknown): Conditions {
  const { [key]: _, ...rest } = tried
  return value === undefined ? rest : { ...rest, [key]: value }
}

/** What the address says; undefined if nothing is tried. */
export const addressOf = (tried: Conditions): string | undefined => (Object.keys(tried).length ? JSON.stringify(tried) : undefined)

/** One more condition or group, which must hold beside all others. */
export function withCondition(tried: Conditions, condition: unknown): Conditions {
  return { ...tried, filter: { all: [...(tried.filter ? partsOf(tried.filter) : []), condition] } as Conditions['filter'] }
}

/** The most keys that an order has. */
const MOST_KEYS = 3

/** True if one more key takes the place of the last one. */
export const isFull = ({ order }: Conditions): boolean => (order ?? []).length >= MOST_KEYS

/** One more key of the order, after those that are tried; a field that is there already gets the new direction. */
export function withSort({ order, ...tried }: Conditions, key: SortKey & { dir: 'A' | 'D' }): Conditions {
  const others = (order ?? []).filter(({ field }) => field !== key.field)
  return { ...tried, order: [...others.slice(0, MOST_KEYS - 1), key] }
}
