/**
 * A second implementation of contract.md §5 for tests: filters, sorts and groups the rows that callers read, in plain JavaScript.
 * It does not use SQL, and takes local dates from Intl.
 */

export type Row = { id: number } & Record<string, unknown>
export interface Filter {
  column: string
  compare: string
  value?: unknown
  all?: true
  connector?: 'AND' | 'OR'
}
export type Group = { all: (Group | Filter)[] } | { any: (Group | Filter)[] } | { not: Group | Filter }
export interface Sort {
  column: string
  type: string
  isDescending: boolean
  /** Where empty values come; by default first if ascending. */
  nulls?: 'first' | 'last' | undefined
}
export interface World {
  zone: string
  now: Date
  me: { id: number; email: string }
  options: string[]
}

/** Lower case character by character, as PostgreSQL does it. */
const lower = (text: string) => [...text].map((character) => (character === 'İ' ? 'i' : character.toLowerCase())).join('')

/** Compares by code points, as UTF-8 sorts. JavaScript's own order compares the halves of surrogate pairs. */
export function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0)
    if (difference) return difference
  }
  return left.length - right.length
}

const localDate = (utc: string, zone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(new Date(`${utc.replace(' ', 'T')}Z`))
const shift = (date: string, days: number) => new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10)
export const utc = (instant: Date) => instant.toISOString().slice(0, 19).replace('T', ' ')

/** The same day of another month, or the last day of a shorter month. */
function months(date: string, count: number): string {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const last = new Date(Date.UTC(year, month - 1 + count + 1, 0)).getUTCDate()
  return new Date(Date.UTC(year, month - 1 + count, Math.min(day, last))).toISOString().slice(0, 10)
}

const monday = (date: string) => shift(date, -((new Date(date).getUTCDay() + 6) % 7))
const firstOfMonth = (date: string) => `${date.slice(0, 8)}01`

/** Resolves the date tokens that the tests use to a date or an instant. Other values stay. */
function meaning(value: string, { now, zone }: World): string {
  const today = localDate(utc(now), zone)
  const words: Record<string, string> = {
    now: utc(now),
    today,
    yesterday: shift(today, -1),
    tomorrow: shift(today, 1),
    start_of_week: monday(today),
    start_of_month: firstOfMonth(today),
    end_of_month: shift(months(firstOfMonth(today), 1), -1),
    start_of_last_year: `${Number(today.slice(0, 4)) - 1}-01-01`,
    end_of_last_week: shift(monday(today), -1),
    end_of_next_month: shift(months(firstOfMonth(today), 2), -1),
    end_of_next_day: shift(today, 1),
    end_of_last_year: `${Number(today.slice(0, 4)) - 1}-12-31`,
  }
  const word = words[value.toLowerCase()]
  if (word) return word
  const [, count, step] = /^([+-]\d+)([dwmyh])$/.exec(value.toLowerCase()) ?? []
  if (step === 'd') return shift(today, Number(count))
  if (step === 'w') return shift(today, 7 * Number(count))
  if (step === 'm') return months(today, Number(count))
  if (step === 'y') return months(today, 12 * Number(count))
  if (step === 'h') return utc(new Date(now.getTime() + Number(count) * 3_600_000))
  return value
}

function orders(compare: string, difference: number): boolean {
  const held: Record<string, boolean> = {
    '=': difference === 0,
    '>': difference > 0,
    '<': difference < 0,
    '>=': difference >= 0,
    '<=': difference <= 0,
  }
  return held[compare] as boolean
}

function hasPart(compare: string, whole: string, part: string): boolean {
  const [text, wanted] = [lower(whole), lower(part)]
  if (compare === 'starts_with') return text.startsWith(wanted)
  return compare === 'ends_with' ? text.endsWith(wanted) : text.includes(wanted)
}

const isPart = (compare: string) => ['contains', 'starts_with', 'ends_with'].includes(compare)
export type Person = { id: number; email: string; name: string }

/** True if one filter holds for a cell (contract.md §5). */
function holds(type: string, cell: unknown, { compare, value, all }: Filter, world: World): boolean {
  if (Array.isArray(value)) {
    const has = (one: unknown) => holds(type, cell, { column: '', compare: '=', value: one }, world)
    if (compare === '!=') return !value.some(has)
    return all ? value.every(has) : value.some(has)
  }
  const isEmpty = cell === null || (Array.isArray(cell) && cell.length === 0)
  if (compare === 'is_empty') return isEmpty
  if (compare === 'is_not_empty') return !isEmpty
  if (compare === '!=') return !holds(type, cell, { column: '', compare: '=', value }, world)
  if (type === 'checkbox') return cell === value
  if (isEmpty) return false
  const rule = RULES[type]
  if (!rule) throw new Error(type)
  return rule(cell as never, compare, value as never, world)
}

/** The type of a field that is reached through a multi_lookup: its cell is the list of the values of the linked records. */
const EACH = 'each '
export const eachOf = (type: string) => EACH + type
const OPPOSITES: Record<string, string> = { '!=': '=', is_empty: 'is_not_empty' }

/** Through a multi_lookup a condition holds if it does for one linked record; two compares are the opposites of others (contract.md §9). */
function holdsForOne(type: string, cells: unknown[], filter: Filter, world: World): boolean {
  const opposite = OPPOSITES[filter.compare]
  if (opposite) return !holdsForOne(type, cells, { ...filter, compare: opposite }, world)
  return cells.some((cell) => holds(type, cell, filter, world))
}

/** Compares a cell that is not empty with a value. */
type Rule = (cell: never, compare: string, value: never, world: World) => boolean

const textRule = (cell: string, compare: string, value: string) => {
  if (isPart(compare)) return hasPart(compare, cell, value)
  return compare === '=' ? cell === value : orders(compare, compareText(lower(cell), lower(value)))
}

const RULES: Record<string, Rule> = {
  text: textRule,
  long_text: textRule,
  email: textRule,
  url: textRule,
  phone: textRule,
  number: (cell: number, compare, value: number | string) =>
    compare === 'contains' ? String(cell).includes(String(value)) : orders(compare, cell - Number(value)),
  date: (cell: string, compare, value: string, world) => orders(compare, compareText(cell, dateOf(meaning(value, world), world))),
  datetime: (cell: string, compare, value: string, world) => {
    const asked = meaning(value, world).replace(/^(\S{10})T(\S{8})Z$/, '$1 $2')
    return orders(compare, compareText(asked.length === 10 ? localDate(cell, world.zone) : cell, asked))
  },
  time: (cell: string, compare, value: string) => orders(compare, compareText(cell, value.padEnd(8, ':00'))),
  select: (cell: string, compare, value: string) => (isPart(compare) ? hasPart(compare, cell, value) : cell === value),
  multi_select: (cell: string[], _, value: string) => cell.includes(value),
  user: (cell: Person, compare, value: unknown, world) => isPerson(cell, compare, value, world),
  multi_user: (cell: Person[], _, value: unknown, world) => cell.some((person) => isPerson(person, '=', value, world)),
  lookup: ({ id, title }: { id: number; title: string | null }, compare, value: never) =>
    isPart(compare) ? title !== null && hasPart(compare, title, value) : id === value,
  multi_lookup: (cell: { id: number }[], _, value: number) => cell.some(({ id }) => id === value),
}

const dateOf = (text: string, { zone }: World) => (text.length === 10 ? text : localDate(text, zone))

function isPerson({ id, email, name }: Person, compare: string, value: unknown, { me }: World): boolean {
  const asked = value === '@me' ? me.email : value
  if (isPart(compare)) return hasPart(compare, name, asked as string) || hasPart(compare, email, asked as string)
  return typeof asked === 'number' ? id === asked : email === lower(asked as string)
}

/** AND binds tighter than OR: any group in which all hold. */
export function grouped(filters: Filter[]): Group {
  const groups: Filter[][] = [[]]
  for (const [index, filter] of filters.entries()) {
    if (index > 0 && filter.connector === 'OR') groups.push([])
    groups.at(-1)?.push(filter)
  }
  return { any: groups.map((all) => ({ all })) }
}

export function matches(row: Row, tree: Group | Filter, types: Map<string, string>, world: World): boolean {
  if ('column' in tree) {
    const [type, cell] = [types.get(tree.column) ?? '', row[tree.column]]
    if (type.startsWith(EACH)) return holdsForOne(type.slice(EACH.length), cell as unknown[], tree, world)
    return holds(type, cell, tree, world)
  }
  if ('all' in tree) return tree.all.every((part) => matches(row, part, types, world))
  if ('any' in tree) return tree.any.some((part) => matches(row, part, types, world))
  return !matches(row, tree.not, types, world)
}

const SEARCHED = new Set(['text', 'long_text', 'email', 'url', 'phone', 'select'])

export function isFound(row: Row, search: string, types: Map<string, string>): boolean {
  const texts = [...types].filter(([, type]) => SEARCHED.has(type)).flatMap(([id]) => (row[id] === null ? [] : lower(row[id] as string)))
  return search.split(/\s+/).every((word) => word === '' || texts.some((text) => hasWord(text, lower(word))))
}

function hasWord(text: string, word: string): boolean {
  if ([...word].length > 2) return text.includes(word)
  const characters = [...text]
  return characters.some((_, at) => characters.slice(at).join('').startsWith(word) && !/[\p{L}\p{N}]/u.test(characters[at - 1] ?? ' '))
}

/** The sort key of a cell; null is smallest. */
export function sortKey(type: string, cell: unknown, { options }: World): string | number | null {
  if (type === 'checkbox') return cell === true ? 1 : 0
  if (cell === null) return null
  if (type === 'number') return cell as number
  if (type === 'select') return options.indexOf(cell as string)
  if (type === 'user') return lower((cell as Person).name)
  if (type === 'lookup') return (cell as { title: string | null }).title === null ? null : lower((cell as { title: string }).title)
  return SEARCHED.has(type) ? lower(cell as string) : (cell as string)
}

/** Orders two rows; ties go by id in the direction of the last key. */
export function compareRows(a: Row, b: Row, sorts: Sort[], world: World): number {
  for (const { column, type, isDescending, nulls } of sorts) {
    const [left, right] = [sortKey(type, a[column], world), sortKey(type, b[column], world)]
    const difference = compareKeys(left, right)
    if (nulls && difference && (left === null || right === null)) return (left === null) === (nulls === 'first') ? -1 : 1
    if (difference) return isDescending ? -difference : difference
  }
  return sorts.at(-1)?.isDescending ? b.id - a.id : a.id - b.id
}

export function compareKeys(left: string | number | null, right: string | number | null): number {
  if (left === right) return 0
  if (left === null) return -1
  if (right === null) return 1
  return typeof left === 'number' ? left - (right as number) : compareText(left, right as string)
}

/** The groups of the rows: empty first, in the order of the field, with every option of a select and both of a checkbox. */
export function groupsOf(
  rows: Row[],
  column: string,
  type: string,
  unit: string | undefined,
  world: World,
): { value: unknown; count: number }[] {
  const listed = type === 'select' ? world.options : type === 'checkbox' ? [false, true] : []
  const counts = new Map<string, { value: unknown; count: number }>(listed.map((value) => [JSON.stringify(value), { value, count: 0 }]))
  for (const row of rows) {
    const value = groupOf(row[column], type, unit, world)
    const group = counts.get(JSON.stringify(value)) ?? { value, count: 0 }
    counts.set(JSON.stringify(value), { value, count: group.count + 1 })
  }
  const idOf = (value: unknown) => (value as Person | null)?.id ?? 0
  return [...counts.values()].sort(
    (a, b) => compareKeys(sortKey(type, a.value, world), sortKey(type, b.value, world)) || idOf(a.value) - idOf(b.value),
  )
}

export function groupOf(cell: unknown, type: string, unit: string | undefined, { zone }: World): unknown {
  if (cell === null || (type !== 'date' && type !== 'datetime')) return cell
  const day = type === 'date' ? (cell as string) : localDate(cell as string, zone)
  if (unit === 'week') return monday(day)
  if (unit === 'month') return firstOfMonth(day)
  if (unit === 'quarter') return firstOfMonth(months(firstOfMonth(day), -((Number(day.slice(5, 7)) - 1) % 3)))
  return unit === 'year' ? `${day.slice(0, 4)}-01-01` : day
}
