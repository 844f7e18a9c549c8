/** The wire form of filters, in all accepted spellings, read into one normal form and a tree of conditions (contract.md §5, §7). */
import { badInputs, type Issue } from '../../platform/http/errors.ts'
import { type Compare, compareOf, needsNoValue } from './compares.ts'

export type Path = (string | number)[]

/** A filter in the normal form of every answer. */
export interface Filter {
  column: string
  compare: Compare
  /** Absent for is_empty and is_not_empty. */
  value?: unknown
  /** Joins the filter to the one before it; 'AND' on the first. */
  connector: 'AND' | 'OR'
}

/** A tree of `all` (and) and `any` (or) groups over leaves. An empty `all` holds for everything. */
export type Tree<Leaf> = Branch<Leaf> | Leaf
export type Branch<Leaf> = { all: Tree<Leaf>[] } | { any: Tree<Leaf>[] }

/** A nested group in the normal form of every answer: of its conditions, only what they say. */
export type FilterGroup = Branch<Omit<Filter, 'connector'>>

/** One condition, and where in the request it stands. */
export interface Condition {
  column: string
  compare: Compare
  value?: unknown
  path: Path
}

/** How many conditions one request or view may have, in all its forms together (contract.md §1). */
export const MAX_FILTERS = 200
const MAX_DEPTH = 5

/** The conditions of a request, as far as it has any. */
export interface WireConditions {
  filters?: unknown
  /** `{"status": "Active", "age": [">", 21]}` */
  where?: unknown
  /** `{all: […]}` or `{any: […]}`, nested. */
  filter?: unknown
}

/**
 * Reads everything that narrows a query, joined by AND.
 * @throws AppError 400 naming each filter that cannot be read
 */
export function parseConditions({ filters, where, filter }: WireConditions): Tree<Condition> {
  const issues: Issue[] = []
  const parts: Tree<Condition>[] = []
  if (isGiven(filters)) parts.push(precedence(readFilters(filters, ['filters'], issues), ['filters']))
  if (isGiven(where)) parts.push({ all: readWhere(where, ['where'], issues) })
  if (isGiven(filter)) parts.push(readGroup(filter, ['filter'], 1, issues))
  return accepted({ all: parts }, issues)
}

/**
 * Reads the `filters` of a view into their normal form.
 * @throws AppError 400 naming each filter that cannot be read
 */
export function parseFilters(filters: unknown): Filter[] {
  const issues: Issue[] = []
  const read = isGiven(filters) ? readFilters(filters, ['filters'], issues) : []
  if (issues.length) throw badInputs(issues)
  return read
}

/**
 * Reads the `filter` of a view; null for none.
 * @throws AppError 400 as for the `filter` of a query
 */
export function parseGroup(filter: unknown): Branch<Condition> | null {
  const issues: Issue[] = []
  return isGiven(filter) ? accepted(readGroup(filter, ['filter'], 1, issues), issues) : null
}

function accepted<Read extends Tree<Condition>>(tree: Read, issues: Issue[]): Read {
  if (!issues.length && leavesOf(tree).length > MAX_FILTERS) issues.push({ path: [], message: TOO_MANY })
  if (issues.length) throw badInputs(issues)
  return tree
}

/** The tree that a list of filters means. AND binds tighter than OR, as in SQL. */
export function precedence(filters: readonly Filter[], path: Path): Tree<Condition> {
  const groups: Condition[][] = [[]]
  for (const [index, { connector, ...condition }] of filters.entries()) {
    if (connector === 'OR') groups.push([])
    groups.at(-1)?.push({ ...condition, path: [...path, index] })
  }
  return groups.length === 1 ? { all: groups.flat() } : { any: groups.map((all) => ({ all })) }
}

/** Every leaf of the tree, in order. */
export function leavesOf<Leaf extends object>(tree: Tree<Leaf>): Leaf[] {
  if ('all' in tree) return tree.all.flatMap((part) => leavesOf(part))
  if ('any' in tree) return tree.any.flatMap((part) => leavesOf(part))
  return [tree]
}

/** The same tree with other leaves. */
export function mapLeaves<From extends object, To extends object>(tree: Branch<From>, change: (leaf: From) => Tree<To>): Branch<To>
export function mapLeaves<From extends object, To extends object>(tree: Tree<From>, change: (leaf: From) => Tree<To>): Tree<To>
export function mapLeaves<From extends object, To extends object>(tree: Tree<From>, change: (leaf: From) => Tree<To>): Tree<To> {
  if ('all' in tree) return { all: tree.all.map((part) => mapLeaves(part, change)) }
  if ('any' in tree) return { any: tree.any.map((part) => mapLeaves(part, change)) }
  return change(tree)
}

/** Null of a key equals absent wherever there is nothing to clear (contract.md §1). */
export const isGiven = (input: unknown) => input !== undefined && input !== null
const isObject = (input: unknown): input is Record<string, unknown> => typeof input === 'object' && input !== null && !Array.isArray(input)
const TOO_MANY = `must have at most ${MAX_FILTERS} filters`

function readFilters(input: unknown, path: Path, issues: Issue[]): Filter[] {
  if (!Array.isArray(input)) return refuse(issues, path, 'must be an array of filters', [])
  if (input.length > MAX_FILTERS) return refuse(issues, path, TOO_MANY, [])
  return input.flatMap((item: unknown, index) => {
    const at = [...path, index]
    const condition = readCondition(item, at, ['connector'], issues)
    if (!condition) return []
    const connector = readConnector((item as Record<string, unknown>).connector, [...at, 'connector'], issues)
    const { path: _, ...rest } = condition
    return [{ ...rest, connector: index === 0 ? 'AND' : connector }]
  })
}

function readConnector(input: unknown, path: Path, issues: Issue[]): 'AND' | 'OR' {
  if (!isGiven(input)) return 'AND'
  const connector = typeof input === 'string' ? input.toUpperCase() : undefined
  if (connector !== 'AND' && connector !== 'OR') return refuse(issues, path, "must be 'AND' or 'OR'", 'AND')
  return connector
}

/** `{column, compare, value}`, with `field` for `column`; null when it cannot be read. */
function readCondition(input: unknown, path: Path, otherKeys: readonly string[], issues: Issue[]): Condition | null {
  if (!isObject(input)) return refuse(issues, path, 'must be a filter: {column, compare, value}', null)
  const unknown = Object.keys(input).filter((key) => !['column', 'field', 'compare', 'value', ...otherKeys].includes(key))
  for (const key of unknown) issues.push({ path: [...path, key], message: 'is not a known key' })
  if ('column' in input && 'field' in input) return refuse(issues, [...path, 'field'], 'is another name of column: send one of them', null)

  const name = 'field' in input ? 'field' : 'column'
  const column = input[name]
  if (column === undefined) return refuse(issues, [...path, 'column'], 'is required', null)
  if (typeof column !== 'string') return refuse(issues, [...path, name], 'must be the id of a field', null)
  if (input.compare === undefined) return refuse(issues, [...path, 'compare'], 'is required', null)
  const compare = compareOf(input.compare)
  if (!compare) return refuse(issues, [...path, 'compare'], UNKNOWN_COMPARE, null)
  return condition(column, compare, input.value, path, issues)
}

const UNKNOWN_COMPARE = 'must be one of =, !=, >, <, >=, <=, contains, starts_with, ends_with, is_empty, is_not_empty'

function condition(column: string, compare: Compare, value: unknown, path: Path, issues: Issue[]): Condition | null {
  if (needsNoValue(compare)) return { column, compare, path }
  // In `where` the value stands under the name of the field.
  const at = path[0] === 'where' ? path : [...path, 'value']
  if (value === undefined) return refuse(issues, at, 'is required', null)
  if (value === null) return refuse(issues, at, 'must not be null; is_empty asks for empty values', null)
  return { column, compare, value, path }
}

function readWhere(input: unknown, path: Path, issues: Issue[]): Condition[] {
  if (!isObject(input)) return refuse(issues, path, 'must be an object of fields and values', [])
  const entries = Object.entries(input)
  if (entries.length > MAX_FILTERS) return refuse(issues, path, TOO_MANY, [])
  return entries.flatMap(([column, asked]) => {
    const at = [...path, column]
    const [spelling, value, ...more] = Array.isArray(asked) ? (asked as unknown[]) : ['=', asked]
    const compare = compareOf(spelling)
    if (!compare) return refuse(issues, [...at, 0], UNKNOWN_COMPARE, [])
    if (more.length) return refuse(issues, at, 'must be a value, or [compare, value]', [])
    return condition(column, compare, value, at, issues) ?? []
  })
}

function readGroup(input: unknown, path: Path, depth: number, issues: Issue[]): Branch<Condition> {
  if (!isGroup(input)) return refuse(issues, path, 'must be {all: […]} or {any: […]}', nothing())
  const [key = '', ...others] = Object.keys(input)
  if (others.length) return refuse(issues, path, 'must have one key, all or any', nothing())
  const items = input[key]
  if (!Array.isArray(items)) return refuse(issues, [...path, key], 'must be an array', nothing())
  if (items.length > MAX_FILTERS) return refuse(issues, [...path, key], TOO_MANY, nothing())
  const parts = items.map((item: unknown, index) => readPart(item, [...path, key, index], depth + 1, issues))
  return key === 'all' ? { all: parts } : { any: parts }
}

/** Inside of a group there are conditions, too. */
function readPart(input: unknown, path: Path, depth: number, issues: Issue[]): Tree<Condition> {
  if (depth > MAX_DEPTH) return refuse(issues, path, `must not be nested deeper than ${MAX_DEPTH}`, nothing())
  return isGroup(input) ? readGroup(input, path, depth, issues) : (readCondition(input, path, [], issues) ?? nothing())
}

const isGroup = (input: unknown): input is Record<string, unknown> => isObject(input) && ('all' in input || 'any' in input)
const nothing = (): Branch<Condition> => ({ all: [] })

/** Notes what is wrong, and goes on with what stands in for the input. */
function refuse<T>(issues: Issue[], path: Path, message: string, instead: T): T {
  issues.push({ path, message })
  return instead
}
