/**
 * Everything that the service has to know of a type of field. Each type is one file in `types/` that has all of it, and one line in
 * `registry.ts`; the rest of the service asks the definition and never the name of the type.
 */
import type { Sql } from '../platform/database/database.ts'
import type { Cell, Parsed } from './cell.ts'
import type { Compare } from './compares.ts'
import type { Meaning, Moment, Token } from './date-tokens.ts'
import type { Operand, ValueKind } from './operand.ts'
import type { FieldSettings } from './settings.ts'

/** The tables that lookups point to, with the id of the field that is their title (null: none). Deleted tables are missing. */
export type Lookups = ReadonlyMap<number, { titleField: string | null }>

/** The circumstances that a query is printed for. */
export interface QueryContext {
  moment: Moment
  /** The acting user. */
  me: { id: number; email: string }
  accountId: number
  lookups: Lookups
}

/** A condition whose value has been read as the field wants it. */
export interface Condition {
  field: FieldSettings
  compare: Compare
  operand: Operand
}

/** How records are ordered by a field. */
export interface SortRule {
  /** For docs/queries.md: "the number". */
  readonly follows: string
  /** The type of the key as a cast names it. */
  readonly keyType: string
  /** Whether every record has a key, even one whose cell is empty. */
  readonly isNeverEmpty: boolean
  /** The key, which is null for an empty value. Queries are sorted by it and indexes are made of it, so that the planner knows it again. */
  key(field: FieldSettings, column: Sql, context: Pick<QueryContext, 'lookups' | 'accountId'>): Sql
  /** Whether an index can have the key: it depends on the record alone, binds no value, and fits into a row of an index. */
  isIndexable(field: FieldSettings): boolean
}

/** How records are counted by a field. */
export type Grouping =
  | {
      readonly by: 'value'
      /** The value as SQL, told from others by equality. */
      value(field: FieldSettings, column: Sql): Sql
      /** All values as the wire has them, where there is a list of them; null otherwise. */
      values(field: FieldSettings): readonly (string | boolean)[] | null
    }
  /** Instants belong to the local day in which they lie. */
  | { readonly by: 'days'; readonly isInstant: boolean }

/** Whose users, members and records a text can name, and the zone in which a date and an instant become each other. */
export interface ConversionPlace {
  account_id: number
  space_id: number
  timeZone: string
}

/** A field that gets another type: as it is and as it is to be, with the text form of the cell. */
export interface TypeChange {
  from: FieldSettings
  to: FieldSettings
  text: Sql
  place: ConversionPlace
}

/** Makes a cell of another type without going through text; null for the way through text. */
export type DirectConversion = ((cell: Sql, change: TypeChange) => Sql) | null
export const THROUGH_TEXT: DirectConversion = null

/** The titles of the records that a file names. */
export interface TitledRecords {
  titles: ReadonlyMap<number, string | null>
  /** By title: the record that has it, 'several', or null for none. */
  ids: ReadonlyMap<string, number | 'several' | null>
}

/** A value to be parsed as if a caller had written it, or the reason why there is none. */
export type ReadText = { value: unknown } | { reason: string }

/** How cells are written into files of comma-separated values and read back. Of a list, each value is written and read by itself. */
export interface CsvRule {
  /** Whether the text needs a shield where a spreadsheet would take it for a formula. A negative number is none. */
  readonly isShielded: boolean
  /** Whether the column is read as text, because a float would round values of more than 15 digits. */
  readonly isReadAsText: boolean
  /** @param value as the wire has it, anything but null */
  print(value: unknown): string
  /** @param text not empty @param named titles of the table that a lookup points to, as far as `titleIn` has found them in the file */
  read(text: string, field: FieldSettings, named: TitledRecords | undefined): ReadText
  /** The title, and the id if there is one beside it, by which a text names a record; null for types and texts that name none so. */
  titleIn(text: string): { title: string; id: number | null } | null
}

/** A part of a view's layout that is built on fields of certain types. */
export type LayoutRole = 'date' | 'color' | 'image' | 'category'

export interface FieldTypeDefinition {
  // ── the field ─────────────────────────────────────────────────────────────

  /** What a field of the type takes beside its name and flags; null for nothing. */
  readonly takes: 'options' | 'decimals' | 'table' | null
  readonly roles: readonly LayoutRole[]

  // ── its cells ─────────────────────────────────────────────────────────────

  /** The type of the column as DDL. Every column is nullable and has no default: adding one rewrites nothing. */
  readonly column: string
  /** Whether a cell holds a list. */
  readonly isMultiple: boolean
  /** What cells name: by id, or as entries of files. It is read for all rows together, and checked for all cells that are written. */
  readonly names: 'users' | 'records' | 'files' | null
  /** The UTF-16 units that a text may have (contract.md §1); null for types that are no free text. */
  readonly maxLength: number | null
  /**
   * Reads what a caller writes, by every rule of contract.md §3 that needs no look at the database.
   * @param value anything but null, which is no value
   * @param me the acting user, for `@me`
   */
  parse(value: unknown, field: FieldSettings, me: number): Parsed
  /** A cell as a value of a statement. @param cell anything but null */
  bind(cell: Cell): Cell
  /** The value of a cell as SQL, where cells may still hold what no longer is a value. */
  value(field: FieldSettings, column: Sql): Sql
  /** Whether JSON made by Postgres would write a value otherwise than as its text. */
  readonly isTextInJson: boolean
  /** Returns what turns stored cells into the wire's, made once for all rows; null where they are the same. Names are in place by then. */
  presenter(field: FieldSettings): ((cell: unknown) => unknown) | null

  // ── queries ───────────────────────────────────────────────────────────────

  /** The compares of the type, each with the kind of value that it takes (contract.md §5). */
  readonly compares: Readonly<Partial<Record<Compare, ValueKind>>>
  /** Prints a condition with one of these compares, `is_empty` and `is_not_empty` aside. */
  condition(condition: Condition, context: QueryContext): Sql
  /** Whether the value is empty, as SQL in brackets. */
  isEmpty(field: FieldSettings, column: Sql, context: QueryContext): Sql
  /** What a date token means on such a field; null for types that take no tokens. */
  readonly meaningOf: ((token: Token, moment: Moment) => Meaning) | null
  /** Null for types that cannot be sorted by. */
  readonly sort: SortRule | null
  /**
   * How selective `=` is as a key of an index, 0 being the most. Null where `=` is no equality of the column (a datetime means a whole
   * day, a checkbox counts empty as false, lists), and for texts that may be longer than a row of an index.
   */
  readonly equalityRank: number | null
  /** Null for types that cannot be grouped by. */
  readonly groups: Grouping | null
  /** Whether `search` looks into the field: the condition that finds a word, or null when no value has it. Null for types that are not searched. */
  readonly search: ((field: FieldSettings, column: Sql, word: string) => Sql | null) | null

  // ── as text ───────────────────────────────────────────────────────────────

  /** One value as text, as SQL: null if it no longer names anything. Null for types that become no other type. */
  readonly asText: ((value: Sql, field: FieldSettings, place: ConversionPlace) => Sql) | null
  /** Reads a text as a cell, as SQL: null for a text that could not be written to such a field. Null for types that nothing becomes. */
  readonly fromText: ((text: Sql, field: FieldSettings, place: ConversionPlace) => Sql) | null
  /** The types beside texts that such a field becomes, each with the way that it takes (docs/field-types.md). */
  readonly becomes: Readonly<Record<string, DirectConversion>>
  readonly csv: CsvRule
}
