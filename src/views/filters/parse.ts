/** Parses the conditions of a request, in all accepted forms, into a tree of conditions (contract.md §5, §7). */

import { type Compare, compareOf, needsNoValue } from '../../fields/compares.ts'
import { badInputs, type Issue } from '../../platform/errors.ts'
import { valueInNfc } from '../../platform/normal-forms.ts'

export type Path = (string | number)[]

/** A filter as answers spell it. */
export interface Filter {
  column: string
  compare: Compare
  /** Absent for is_empty and is_not_empty; a list for any of several values. */
  value?: unknown
  /** True if a record must have all values of the list. */
  all?: true
  /** Joins the filter to the one before it; 'AND' on the first. */
  connector: 'AND' | 'OR'
}

/** A tree of `all` (AND), `any` (OR) and `not` groups. An empty `all` is true, an empty `any` false. */
export type Tree<Leaf> = Branch<Leaf> | Leaf
export type Branch<Leaf> = { all: Tree<Leaf>[] } | { any: Tree<Leaf>[] } | { not: Tree<Leaf> }

/** A condition or a nested group as answers spell it. */
export type FilterTree = Tree<Omit<Filter, 'connector'>>

/** One condition, with its path in the request. */
export interface ParsedCondition {
  column: string
  compare: Compare
  value?: unknown
  all?: true
  path: Path
}

/** The most conditions that one request or view may have, in all forms together (contract.md §1). */
export const MAX_FILTERS = 200
/** The most groups in one another. */
const MAX_DEPTH = 5
/** The most values of a list. */
const MAX_VALUES = 200

/** The three forms in which a request may send conditions. */
export interface WireConditions {
  filters?: unknown
  /** `{"status": "Active", "age": [">", 21]}` */
  where?: unknown
  /** A condition, or `{all: […]}`, `{any: […]}` or `{not: …}`, nested. */
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
  if (isGiven(filter)) parts.push(readTree(filter, ['filter'], 1, issues))
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
export function parseTree(filter: unknown): Tree<ParsedCondition> | null {
  const issues: Issue[] = []
  return isGiven(filter) ? accepted(readTree(filter, ['filter'], 1, issues), issues) : null
}

function accepted(tree: Tree<ParsedCondition>, issues: Issue[]): Tree<ParsedCondition> {
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
  if (isAllOf(tree)) return tree.all.flatMap((part) => leavesOf(part))
  if ('any' in tree) return tree.any.flatMap((part) => leavesOf(part))
  return 'not' in tree ? leavesOf(tree.not) : [tree]
}

/** The tree with each leaf replaced. */
export function mapLeaves<From extends object, To extends object>(tree: Tree<From>, change: (leaf: From) => Tree<To>): Tree<To> {
  if (isAllOf(tree)) return { all: tree.all.map((part) => mapLeaves(part, change)) }
  if ('any' in tree) return { any: tree.any.map((part) => mapLeaves(part, change)) }
  return 'not' in tree ? { not: mapLeaves(tree.not, change) } : change(tree)
}

/** A condition has `all`, too: with `true`, where a record must have all values of its list. */
export const isAllOf = <Leaf extends object>(tree: Tree<Leaf>): tree is { all: Tree<Leaf>[] } => 'all' in tree && Array.isArray(tree.all)

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
  const unknown = Object.keys(input).filter((key) => !['column', 'field', 'compare', 'value', 'all', ...otherKeys].includes(key))
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
  const asked = condition(column, compare, input.value, path, issues)
  if (!isGiven(input.all) || input.all === false) return asked
  const message = wrongAll(input.all, compare, input.value)
  if (message) return refuse(issues, [...path, 'all'], message, null)
  return asked && { ...asked, all: true }
}

/** What is wrong about `all`; undefined if nothing is. */
function wrongAll(all: unknown, compare: Compare, value: unknown): string | undefined {
  if (all !== true) return 'must be true or false'
  return compare === '=' && Array.isArray(value) ? undefined : 'goes with = and a list of values only'
}

const UNKNOWN_COMPARE = 'must be one of =, !=, >, <, >=, <=, contains, starts_with, ends_with, is_empty, is_not_empty'

function condition(column: string, compare: Compare, value: unknown, path: Path, issues: Issue[]): ParsedCondition | null {
  if (needsNoValue(compare)) return { column, compare, path }
  // In `where` the key of the value is the field itself.
  const at = path[0] === 'where' ? path : [...path, 'value']
  if (value === undefined) return refuse(issues, at, 'is required', null)
  if (value === null) return refuse(issues, at, 'must not be null; is_empty asks for empty values', null)
  if (Array.isArray(value) && !isList(value, compare, at, issues)) return null
  return { column, compare, value: valueInNfc(value), path }
}

/** Checks a list of values as far as it does not depend on the field. */
function isList(values: readonly unknown[], compare: Compare, path: Path, issues: Issue[]): boolean {
  const wrong = (message: string, index?: number) => refuse(issues, index === undefined ? path : [...path, index], message, false)
  if (path[0] === 'where') return wrong('must be one value; filters and filter take lists')
  if (compare !== '=' && compare !== '!=') return wrong(`must be one value; a list goes with = and !=, not with ${compare}`)
  if (values.length < 1 || values.length > MAX_VALUES) return wrong(`must have 1 to ${MAX_VALUES} values`)
  const empty = values.indexOf(null)
  return empty < 0 || wrong('must not be null; is_empty asks for empty values', empty)
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

/** Parses a condition or a group that stands alone: the whole `filter`, or what a `not` negates. @param depth of it, if it is a group */
function readTree(input: unknown, path: Path, depth: number, issues: Issue[]): Tree<ParsedCondition> {
  if (isObject(input) && Object.values(input).some(isGiven)) return readPart(input, path, depth, issues)
  return refuse(issues, path, 'must be {column, compare, value}, {all: […]}, {any: […]} or {not: …}', nothing())
}

/** Parses a member of a group: another group, or a condition. @param depth of the member, if it is a group */
function readPart(input: unknown, path: Path, depth: number, issues: Issue[]): Tree<ParsedCondition> {
  if (!isGroup(input)) return readCondition(input, path, [], issues) ?? nothing()
  if (depth > MAX_DEPTH) return refuse(issues, path, `must not be nested deeper than ${MAX_DEPTH}`, nothing())
  return readGroup(input, path, depth, issues)
}

const GROUPS: readonly string[] = ['all', 'any', 'not']

function readGroup(input: Record<string, unknown>, path: Path, depth: number, issues: Issue[]): Tree<ParsedCondition> {
  const isAbsent = (name: string) => GROUPS.includes(name) && !isGiven(input[name])
  const [key = '', ...others] = Object.keys(input).filter((name) => !isAbsent(name))
  if (others.length) return refuse(issues, path, 'must have one key, all, any or not', nothing())
  const items = input[key]
  if (key === 'not') return { not: readTree(items, [...path, key], depth + 1, issues) }
  if (!Array.isArray(items)) return refuse(issues, [...path, key], 'must be an array', nothing())
  if (items.length > MAX_FILTERS) return refuse(issues, [...path, key], TOO_MANY, nothing())
  const parts = items.map((item: unknown, index) => readPart(item, [...path, key, index], depth + 1, issues))
  return key === 'all' ? { all: parts } : { any: parts }
}

/** `all` is also the key by which a condition asks for all values of its list. */
const isGroup = (input: unknown): input is Record<string, unknown> =>
  isObject(input) && (isGiven(input.any) || isGiven(input.not) || (isGiven(input.all) && !NAMES.some((name) => isGiven(input[name]))))
const NAMES = ['column', 'field', 'compare']
const nothing = (): Branch<ParsedCondition> => ({ all: [] })

/** Adds an issue, and returns a replacement for the input so that parsing can continue. */
function refuse<T>(issues: Issue[], path: Path, message: string, replacement: T): T {
  issues.push({ path, message })
  return replacement
}
