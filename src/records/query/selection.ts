/** What a request selects, after it has been checked against the fields of the table: the input of every statement of this room. */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import type { QueryContext } from '../../fields/field-type.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import type { Sort } from '../../views/filters/order.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { ResolvedCondition } from '../../views/filters/resolve-conditions.ts'
import type { Included } from '../schema.ts'
import type { SearchedWord } from './search-plan.ts'

/** The conditions that a record has to meet. */
export interface Selection {
  table: TableDef
  where: Tree<ResolvedCondition>
  /** The words of `search`; a record must contain all of them. */
  words: readonly string[]
  /** The same words with rare trigrams of theirs, where the statement asks the indexes for these (search-plan.ts). */
  searched?: readonly SearchedWord[]
}

export interface ResolvedQuery {
  selection: Selection
  /** The most significant key first; empty for the order by id, ascending. */
  order: readonly Sort[]
  queryContext: QueryContext
  /** Names of the inputs that were not read, because the view decides without them. */
  ignored: readonly string[]
  /** The titles in the conditions of the request that no option has, as `field=title`. */
  unknownOptions: readonly string[]
}

/** What an answer says of the inputs of its query. */
export const noticesOf = ({ ignored, unknownOptions }: ResolvedQuery) => ({ ignored, unknownOptions })

export interface ResolvedPage extends ResolvedQuery {
  /** The columns to read; `id` is always read. */
  fields: readonly FieldDef[]
  /** What the rows show beside their fields. */
  include: Included
  limit: number
  offset: number
  /** Present when the request pages by cursor. */
  walk?: Walk | undefined
  /** Whether the answer includes the number of all selected records. */
  isCounted: boolean
}

/** A request that pages by cursor instead of by offset. */
export interface Walk {
  /** From `queryFingerprint`; a cursor continues only the query that it was made for. */
  fingerprint: string
  /** The end of the previous page; null for the first page. */
  after: PageEnd | null
}

/** True if a condition or a search word narrows the selection. */
export const isRestricted = ({ where, words }: Selection): boolean => words.length > 0 || !isAlways(where)

/** True for a tree without conditions, which every record meets. */
export const isAlways = (tree: Tree<ResolvedCondition>): boolean => 'all' in tree && tree.all.every(isAlways)
