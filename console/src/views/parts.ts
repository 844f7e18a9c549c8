/** The conditions of a view and what is tried beside it as a list of parts, all of which must hold: each a condition or a group. */
import type { Client } from '../cells/kind.ts'
import { type Condition, conditionOf, membersOf, partsOf, type SortKey } from './condition-words.ts'

type View = Awaited<ReturnType<Client['views']['get']['query']>>
type ViewChanges = Pick<Parameters<Client['views']['update']['mutate']>[0], 'filters' | 'filter' | 'order'>
type Group = NonNullable<ViewChanges['filter']>

/** What an address may hold; it was typed by anybody. */
export interface Tried {
  filters?: unknown
  filter?: unknown
  where?: unknown
  search?: unknown
  order?: unknown
  replaces?: boolean | undefined
}

const withoutConnector = ({ connector: _, ...condition }: Condition) => condition

/** The parts of a list of conditions. Where one of several suffices they are one part; AND binds tighter than OR. */
export function partsOfList(list: readonly unknown[]): unknown[] {
  const groups: unknown[][] = []
  for (const condition of list.map(conditionOf)) {
    if (!condition) continue
    const isOr = String(condition.connector).toUpperCase() === 'OR'
    if (groups.length === 0 || isOr) groups.push([])
    groups.at(-1)?.push(withoutConnector(condition))
  }
  const [first = []] = groups
  return groups.length < 2 ? first : [{ any: groups.map((all) => (all.length === 1 ? all[0] : { all })) }]
}

/** The short form of conditions, by field. */
export function partsOfWhere(where: unknown): { name: string; condition: Condition }[] {
  if (typeof where !== 'object' || where === null || Array.isArray(where)) return []
  return Object.entries(where).flatMap(([name, asked]) => {
    const [compare, value] = Array.isArray(asked) ? (asked as unknown[]) : ['=', asked]
    const condition = conditionOf({ column: name, compare, ...(value !== undefined && { value }) })
    return condition ? [{ name, condition }] : []
  })
}

export const partsOfView = (view: Pick<View, 'filters' | 'filter'>): unknown[] =>
  view.filter ? [...partsOf(view.filter)] : partsOfList(view.filters)

export const partsOfTried = ({ filters, filter, where }: Tried): unknown[] => [
  ...partsOfList(membersOf(filters)),
  ...(filter ? partsOf(filter) : []),
  ...partsOfWhere(where).map(({ condition }) => condition),
]

export function orderOfView({ order, order_by, order_dir }: Pick<View, 'order' | 'order_by' | 'order_dir'>): SortKey[] {
  return order ?? (order_by ? [{ field: order_by, dir: order_dir ?? 'A' }] : [])
}

export const isSortKey = (key: unknown): key is SortKey =>
  typeof key === 'object' && key !== null && typeof (key as Record<string, unknown>).field === 'string'

/** What is tried, with all that the view has: from then on it stands in place of the view's. */
export function inPlaceOf(view: View, tried: Tried): Tried {
  if (tried.replaces) return tried
  const parts = [...partsOfView(view), ...partsOfTried(tried)]
  const order = tried.order ?? orderOfView(view)
  return {
    replaces: true,
    ...withParts(parts),
    ...(tried.search ? { search: tried.search } : {}),
    ...(membersOf(order).length > 0 && { order }),
  }
}

/** Parts as the `filter` of a query. */
export const withParts = (parts: readonly unknown[]): { filter?: unknown } => (parts.length ? { filter: { all: parts } } : {})

/** The conditions and the order that a view has once what is tried is saved into it; what stays as it is is left out. */
export function savedChanges(view: View, tried: Tried): ViewChanges {
  const own = partsOfTried(tried)
  const parts = tried.replaces ? own : [...partsOfView(view), ...own]
  const order = membersOf(tried.order).filter(isSortKey)
  return {
    ...((tried.replaces || own.length > 0) && conditionsFor(parts)),
    ...((tried.replaces || tried.order !== undefined) && { order: order.length ? (order as NonNullable<ViewChanges['order']>) : null }),
  }
}

/** A list where that suffices, because every reader of views knows lists; otherwise a group. Nothing is asked twice. */
function conditionsFor(parts: readonly unknown[]): Pick<ViewChanges, 'filters' | 'filter'> {
  const unique = [...new Map(parts.map((part) => [JSON.stringify(part), part])).values()]
  const list = unique.flatMap((part) => conditionOf(part) ?? [])
  if (list.length === unique.length) return { filters: list as NonNullable<ViewChanges['filters']> }
  return { filter: (unique.length === 1 ? unique[0] : { all: unique }) as Group }
}

/** True if what is tried holds something that a view can keep: the words of a search are not a part of a view. */
export const isSavable = (view: View, tried: Tried): boolean => Object.keys(savedChanges(view, tried)).length > 0

/** The keys of the changes that somebody else has changed meanwhile. */
export function overwritten(before: View, now: View, keys: readonly string[]): boolean {
  const facts = (view: View): Record<string, unknown> => ({
    name: view.name,
    conditions: [view.filters, view.filter],
    order: orderOfView(view).map(({ field, dir }) => [field, dir ?? 'A']),
  })
  const wanted = keys.map((key) => (key === 'filter' || key === 'filters' ? 'conditions' : key))
  const [old, current] = [facts(before), facts(now)]
  return wanted.some((key) => JSON.stringify(old[key]) !== JSON.stringify(current[key]))
}
