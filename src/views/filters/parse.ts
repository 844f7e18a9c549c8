/** Parses the conditions of a request, in all accepted forms, into a tree of conditions (contract.md §5, §7). */

import { type Compare, compareOf, needsNoValue } from '../../fields/compares.ts'
import { badInputs, type Issue } from '../../platform/errors.ts'
import { valueInNfc } from '../../platform/normal-forms.ts'

export type Path = (string | number)[]

/** A filter as answers spell it. */
export interface Filter {
  column: string
  compare: Compare
  /** Absent for is_empty and is_not_empty. */
  value?: unknown
  /** Joins the filter to the one before it; 'AND' on the first. */
  connector: 'AND' | 'OR'
}

/** A tree of `all` (AND) and `any` (OR) groups. An empty `all` is true, an empty `any` false. */
export type Tree<Leaf> = Branch<Leaf> | Leaf
export type Branch<Leaf> = { all: Tree<Leaf>[] } | { any: Tree<Leaf>[] }

/** A nested group as answers spell it. */
export type FilterGroup = Branch<Omit<Filter, 'connector'>>

/** One condition, with its path in the request. */
export interface ParsedCondition {
  column: string
  compare: Compare
  value?: unknown
  path: Path
}

/** The most conditions that one request or view may have, in all forms together (contract.md §1). */
export const MAX_FILTERS = 200
/** The most groups in one another. */
const MAX_DEPTH = 5

/** The three forms in which a request may send conditions. */
export interface WireConditions {
  filters?: unknown
  /** `{"status": "Active", "age": [">", 21]}` */
  where?: unknown
  /** `{all: […]}` or `{any: […]}`, nested. */
  filter?: unknown
}

/**
 * Parses all three forms; their conditions are joined by AND.
 * @throws AppError 400 naming each malformed condition
 */
export function parseConditions({ filters, where, filter }: WireConditions): Tree<ParsedCondition> {
  const issues: Issue[] = []
  const parts: Tree<ParsedCondition>[] = []
  if (isGiven(filters)) parts.push(precedence(readFilters(filters, ['filters'], issues), ['filters']))
  if (isGiven(where)) parts.push({ all: readWhere(where, ['where'], issues) })
  if (isGiven(filter)) parts.push(readGroup(filter, ['filter'], 1, issues))
  return accepted({ all: parts }, issues)
}

/**
 * Parses the `filters` of a view.
 * @throws AppError 400 naming each malformed filter
 */
export function parseFilters(filters: unknown): Filter[] {
  const issues: Issue[] = []
  const read = isGiven(filters) ? readFilters(filters, ['filters'], issues) : []
  if (issues.length) throw badInputs(issues)
  return read
}

/**
 * Parses the `filter` of a view; returns null if it is absent.
 * @throws AppError 400 naming each malformed condition
 */
export function parseGroup(filter: unknown): Branch<ParsedCondition> | null {
  const issues: Issue[] = []
  return isGiven(filter) ? accepted(readGroup(filter, ['filter'], 1, issues), issues) : null
}

function accepted<Read extends Tree<ParsedCondition>>(tree: Read, issues: Issue[]): Read {
  if (!issues.length && leavesOf(tree).length > MAX_FILTERS) issues.push({ path: [], message: TOO_MANY })
  if (issues.length) throw badInputs(issues)
  return tree
}

/** The tree of a list of filters. AND binds tighter than OR, as in SQL. */
export function precedence(filters: readonly Filter[], path: Path): Tree<ParsedCondition> {
  const groups: ParsedCondition[][] = [[]]
  for (const [index, { connector, ...condition }] of filters.entries()) {
    if (connector === 'OR') groups.push([])
    groups.at(-1)?.push({ ...condition, path: [...path, index] })
  }
  return groups.length === 1 ? { all: groups.flat() } : { any: groups.map((all) => ({ all })) }
}

/** The leaves of the tree, in order. */
export function leavesOf<Leaf extends object>(tree: Tree<Leaf>): Leaf[] {
  if ('all' in tree) return tree.all.flatMap((part) => leavesOf(part))
  if ('any' in tree) return tree.any.flatMap((part) => leavesOf(part))
  return [tree]
}

/** The tree with each leaf replaced. */
export function mapLeaves<From extends object, To extends object>(tree: Branch<From>, change: (leaf: From) => Tree<To>): Branch<To>
export function mapLeaves<From extends object, To extends object>(tree: Tree<From>, change: (leaf: From) => Tree<To>): Tree<To>
export function mapLeaves<From extends object, To extends object>(tree: Tree<From>, change: (leaf: From) => Tree<To>): Tree<To> {
  if ('all' in tree) return { all: tree.all.map((part) => mapLeaves(part, change)) }
  if ('any' in tree) return { any: tree.any.map((part) => mapLeaves(part, change)) }
  return change(tree)
}

/** Null means absent wherever there is no value to clear (contract.md §1). */
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

/** Parses `{column, compare, value}`, where `field` may replace `column`. Returns null after adding to `issues`. */
function readCondition(input: unknown, path: Path, otherKeys: readonly string[], issues: Issue[]): ParsedCondition | null {
  if (!isObject(input)) return refuse(issues, path, 'must be a filter: {column, compare, value}', null)
  const unknown = Object.keys(input).filter((key) => !['column', 'field', 'compare', 'value', ...otherKeys].includes(key))
  for (const key of unknown) issues.push({ path: [...path, key], message: 'is not a known key' })
  if (isGiven(input.column) && isGiven(input.field))
    return refuse(issues, [...path, 'field'], 'send either column or field, not both', null)

  const name = isGiven(input.field) ? 'field' : 'column'
  const column = input[name]
  if (!isGiven(column)) return refuse(issues, [...path, 'column'], 'is required', null)
  if (typeof column !== 'string') return refuse(issues, [...path, name], 'must be the id of a field', null)
  if (!isGiven(input.compare)) return refuse(issues, [...path, 'compare'], 'is required', null)
  const compare = compareOf(input.compare)
  if (!compare) return refuse(issues, [...path, 'compare'], UNKNOWN_COMPARE, null)
  return condition(column, compare, input.value, path, issues)
}

const UNKNOWN_COMPARE = 'must be one of =, !=, >, <, >=, <=, contains, starts_with, ends_with, is_empty, is_not_empty'

function condition(column: string, compare: Compare, value: unknown, path: Path, issues: Issue[]): ParsedCondition | null {
  if (needsNoValue(compare)) return { column, compare, path }
  // In `where` the key of the value is the field itself.
  const at = path[0] === 'where' ? path : [...path, 'value']
  if (value === undefined) return refuse(issues, at, 'is required', null)
  if (value === null) return refuse(issues, at, 'must not be null; is_empty asks for empty values', null)
  return { column, compare, value: valueInNfc(value), path }
}

function readWhere(input: unknown, path: Path, issues: Issue[]): ParsedCondition[] {
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

function readGroup(input: unknown, path: Path, depth: number, issues: Issue[]): Branch<ParsedCondition> {
  if (!isGroup(input)) return refuse(issues, path, 'must be {all: […]} or {any: […]}', nothing())
  const isAbsent = (name: string) => (name === 'all' || name === 'any') && !isGiven(input[name])
  const [key = '', ...others] = Object.keys(input).filter((name) => !isAbsent(name))
  if (others.length) return refuse(issues, path, 'must have one key, all or any', nothing())
  const items = input[key]
  if (!Array.isArray(items)) return refuse(issues, [...path, key], 'must be an array', nothing())
  if (items.length > MAX_FILTERS) return refuse(issues, [...path, key], TOO_MANY, nothing())
  const parts = items.map((item: unknown, index) => readPart(item, [...path, key, index], depth + 1, issues))
  return key === 'all' ? { all: parts } : { any: parts }
}

/** Parses a member of a group: another group, or a condition. @param depth of the member, if it is a group */
function readPart(input: unknown, path: Path, depth: number, issues: Issue[]): Tree<ParsedCondition> {
  if (!isGroup(input)) return readCondition(input, path, [], issues) ?? nothing()
  if (depth > MAX_DEPTH) return refuse(issues, path, `must not be nested deeper than ${MAX_DEPTH}`, nothing())
  return readGroup(input, path, depth, issues)
}

const isGroup = (input: unknown): input is Record<string, unknown> => isObject(input) && (isGiven(input.all) || isGiven(input.any))
const nothing = (): Branch<ParsedCondition> => ({ all: [] })

/** Adds an issue, and returns a replacement for the input so that parsing can continue. */
function refuse<T>(issues: Issue[], path: Path, message: string, replacement: T): T {
  issues.push({ path, message })
  return replacement
}
