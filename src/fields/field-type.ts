/**
 * The definition of a field type: everything that the rest of the service needs to know about it. Each type is one file in `types/` and
 * one line in `registry.ts`. Other code asks the definition and never tests the name of a type.
 */
import type { Sql } from '../platform/database/database.ts'
import type { Cell, Parsed } from './cell.ts'
import type { CellJson } from './cell-json.ts'
import type { Compare } from './compares.ts'
import type { CsvRule } from './csv-rules.ts'
import type { Meaning, Moment, Token } from './date-tokens.ts'
import type { Operand, OperandList, ValueKind } from './operand.ts'
import type { FieldSettings } from './settings.ts'

/** The tables that lookups point to, each with the id of its title field (null if it has none). Deleted tables are absent. */
export type Lookups = ReadonlyMap<number, { titleField: string | null }>

/** The context in which a query is printed as SQL. */
export interface QueryContext {
  moment: Moment
  /** The acting user. */
  me: { id: number; email: string }
  accountId: number
  lookups: Lookups
  /** Present where the statement cannot name the table of users, because the records are elsewhere (docs/decisions/0030-two-planes.md). */
  users?: FoundUsers
}

/** What conditions and orders need of the table of users, read before the statement. */
export interface FoundUsers {
  /** The ids of the users whom a condition means. */
  ids: ReadonlyMap<Condition | ListCondition, readonly number[]>
  /** The sort keys of the account's users, as a JSON object by their ids; undefined where nothing is sorted by users. */
  sortKeys: string | undefined
}

/** A condition whose value has been parsed for its field. */
export interface Condition {
  field: FieldSettings
  compare: Compare
  operand: Operand
}

/** A condition of `=` with a list of values, each parsed for its field. Its opposite is printed as the negation. */
export type ListCondition = Pick<Condition, 'field'> & { operand: OperandList }

/** How records are sorted by a field. */
export interface SortRule {
  /** What the order follows, such as "the number", for docs/queries.md. */
  readonly follows: string
  /** The SQL type of the key, for casts. */
  readonly keyType: string
  /** True if the key is never null, not even for an empty cell. */
  readonly isNeverEmpty: boolean
  /** The sort key, usually null for an empty value. Queries and indexes share it, because the planner matches their expressions by text. */
  key(field: FieldSettings, column: Sql, context: Pick<QueryContext, 'lookups' | 'accountId' | 'users'>): Sql
  /** True if an index can hold the key: it depends on the record alone, binds no parameter, and fits into an index row. */
  isIndexable(field: FieldSettings): boolean
}

/** How records are grouped by a field. */
export type Grouping = ValueGrouping | DayGrouping

export interface ValueGrouping extends GroupingOperations {
  readonly by: 'value'
  /** The value to group by, as SQL: of a cell, or of one value of a list. Null for a value that has been removed. */
  value(field: FieldSettings, value: Sql): Sql
  /** The key by which groups are sorted, of the value of a group. */
  readonly key: SortRule['key']
  /** All possible values, as API answers show them; null if the type has no fixed list of values. */
  values(field: FieldSettings): readonly (string | boolean)[] | null
}

/** Groups by day. An instant belongs to its local day. */
export interface DayGrouping extends GroupingOperations {
  readonly by: 'days'
  readonly isInstant: boolean
}

interface GroupingOperations {
  /** The operations that group by the type: records/aggregate, records/groups and records/board (contract.md §7, §9). */
  readonly in: readonly ('aggregate' | 'groups' | 'board')[]
}

/** What records/aggregate computes of the values of a field, beside counting them (contract.md §9). */
export type ValueMeasure = 'sum' | 'avg' | 'median' | 'min' | 'max' | 'checked'

/** The account and space whose users and members a text can name, and the time zone that relates dates to instants. */
export interface ConversionPlace {
  account_id: number
  space_id: number
  timeZone: string
  /** Undefined if the statement may read the users itself. */
  users?: ConversionUsers | undefined
}

/** The users as JSON objects, for cells on a server without the table of users. */
export interface ConversionUsers {
  /** The addresses of the account's users by id. */
  emails: string
  /** The ids of the space's members by address. */
  members: string
}

/** A field before and after a change of its type, with the text form of the cell. */
export interface CellConversion {
  from: FieldSettings
  to: FieldSettings
  text: Sql
  place: ConversionPlace
}

/** Converts a cell to another type without its text form; null if the conversion uses the text form. */
export type DirectConversion = ((cell: Sql, change: CellConversion) => Sql) | null
export const THROUGH_TEXT: DirectConversion = null

/** A role in a view's layout that only fields of certain types can have. */
export type LayoutRole = 'date' | 'color' | 'image' | 'category'

export interface FieldTypeDefinition {
  // ── the field ─────────────────────────────────────────────────────────────

  /** The setting that a field of the type has besides its name and flags; null if it has none. */
  readonly takes: 'options' | 'decimals' | 'table' | null
  readonly roles: readonly LayoutRole[]

  // ── its cells ─────────────────────────────────────────────────────────────

  /** The column type in DDL. Every column is nullable and has no default, so that adding one does not rewrite the table. */
  readonly column: string
  /** True if a cell holds a list. */
  readonly isMultiple: boolean
  /** What cells refer to. References are resolved for all rows of an answer together, and checked for all cells of a request together. */
  readonly names: 'users' | 'records' | 'files' | null
  /** The maximum length of a text in UTF-16 units (contract.md §1); null for types other than free text. */
  readonly maxLength: number | null
  /**
   * Parses a value that a caller writes, by all rules of contract.md §3 that do not need the database.
   * @param value never null, because null empties the cell without being parsed
   * @param me the acting user, for `@me`
   */
  parse(value: unknown, field: FieldSettings, me: number): Parsed
  /** Converts a cell to the parameter of a statement. @param cell never null */
  bind(cell: Cell): Cell
  /** The value of a cell as SQL. It leaves out removed options and extra digits that cells still hold until a job changes them. */
  value(field: FieldSettings, column: Sql): Sql
  /** Returns a function that writes a cell as JSON, as API answers show it, to be created once and used for all rows. */
  json(field: FieldSettings): CellJson

  // ── queries ───────────────────────────────────────────────────────────────

  /** The compares that the type supports, each with the kind of value that it expects (contract.md §5). */
  readonly compares: Readonly<Partial<Record<Compare, ValueKind>>>
  /** Prints a condition with one of these compares, except `is_empty` and `is_not_empty`. */
  condition(condition: Condition, context: QueryContext): Sql
  /**
   * Prints the condition that a cell has one of the values of a list, or all of them. The values are bound as one array, because a
   * statement takes 65,535 parameters. Null if the type takes no lists.
   */
  readonly among: ((condition: ListCondition, context: QueryContext) => Sql) | null
  /** Selects the ids of the users whom a condition means, for `FoundUsers`; null if it names them by id. Only for types of users. */
  readonly usersMeant?: (condition: Condition | ListCondition, context: QueryContext) => Sql | null
  /** The condition that the value is empty, as SQL in parentheses. */
  isEmpty(field: FieldSettings, column: Sql, context: QueryContext): Sql
  /** Resolves a date token for a field of the type; null for types without date tokens. */
  readonly meaningOf: ((token: Token, moment: Moment) => Meaning) | null
  /** Null if records cannot be sorted by the type. */
  readonly sort: SortRule | null
  /**
   * How selective `=` is as the key of an index; 0 is the most selective. Null where `=` does not compare the column for equality (datetime
   * matches a whole day, checkbox counts empty as false, lists match one element), and for texts that may exceed an index row.
   */
  readonly equalityRank: number | null
  /** Null if records cannot be grouped by the type. */
  readonly groups: Grouping | null
  readonly measures: readonly ValueMeasure[]
  /** Prints the condition that `search` finds a word, or null if no value can contain it. Null for types that `search` does not read. */
  readonly search: ((field: FieldSettings, column: Sql, word: string) => Sql | null) | null

  // ── as text ───────────────────────────────────────────────────────────────

  /** Converts one value to text, as SQL that is null if it refers to something deleted. Null if the type converts to no other type. */
  readonly asText: ((value: Sql, field: FieldSettings, place: ConversionPlace) => Sql) | null
  /** Converts a text to a cell, as SQL that is null if the text is invalid for the field. Null if no type converts to this one. */
  readonly fromText: ((text: Sql, field: FieldSettings, place: ConversionPlace) => Sql) | null
  /** The types besides texts that the type converts to, each with its conversion (docs/field-types.md). */
  readonly becomes: Readonly<Record<string, DirectConversion>>
  readonly csv: CsvRule
}
