/**
 * The columns of a noun, declared once, in the order of its JSON: the schema of the wire, the type of a row, the SELECT list, the writer of
 * lists, what an INSERT must give and what an update may change all come from the declaration.
 */
import { z } from 'zod'
import { ident, join, raw, type Sql, sql } from '../../database/database.ts'
import { asJsonb, asNumber, asText, type WriteValue } from './row-json.ts'

/** Who sets a column: the database or some later statement, the INSERT, or the INSERT and updates. */
type SetBy = 'service' | 'insert' | 'update'

export interface Column<Schema extends z.ZodType = z.ZodType, By extends SetBy = SetBy> {
  /** Its value on the wire. */
  readonly schema: Schema
  /** True if the value is left out where the column is null. Elsewhere null is written. */
  readonly isOptional: boolean
  /** Its type in SQL. */
  readonly type: string
  readonly setBy: By
  readonly write: WriteValue
  /** Converts a value that is not null to what a statement binds. */
  bind(value: unknown): unknown
}

export type Columns = Readonly<Record<string, Column>>

const columnOf =
  (type: string, write: WriteValue) =>
  <Schema extends z.ZodType>(schema: Schema): Column<Schema, 'insert'> => ({
    schema,
    isOptional: schema instanceof z.ZodOptional,
    type,
    write,
    setBy: 'insert',
    bind: (value) => value,
  })

export const int = columnOf('int', asNumber)
export const text = columnOf('text', asText)
export const date = columnOf('date', asText)
export const time = columnOf('time', asText)
export const instant = columnOf('timestamp', asText)
export const jsonb = <Schema extends z.ZodType>(schema: Schema): Column<Schema, 'insert'> => ({
  ...columnOf('jsonb', asJsonb(schema))(schema),
  bind: (value) => JSON.stringify(value),
})

/** A column that an INSERT does not give. */
export const setByService = <Schema extends z.ZodType>(column: Column<Schema>): Column<Schema, 'service'> => ({
  ...column,
  setBy: 'service',
})
/** A column that an update may change. */
export const changeable = <Schema extends z.ZodType>(column: Column<Schema>): Column<Schema, 'update'> => ({ ...column, setBy: 'update' })

// ── rows ────────────────────────────────────────────────────────────────────

type Shape<All extends Columns> = { [Name in keyof All]: All[Name]['schema'] }
type OrNull<Value> = undefined extends Value ? Exclude<Value, undefined> | null : Value

/** A row as it is stored. */
export type StoredRow<All extends Columns> = { [Name in keyof All]: OrNull<z.output<All[Name]['schema']>> }

/** A row on the wire. */
type WireRow<All extends Columns> = z.output<z.ZodObject<Shape<All>>>

/** The row on the wire, for `z.object`. */
export const shapeOf = <All extends Columns>(columns: All): Shape<All> =>
  Object.fromEntries(Object.entries(columns).map(([name, { schema }]) => [name, schema])) as Shape<All>

/** Returns the function that makes the row on the wire of a stored row, which may have other properties, too. */
export function wireOf<All extends Columns>(columns: All): (row: StoredRow<All>) => WireRow<All> {
  const names = Object.entries(columns)
  return (row) => {
    const wire: Record<string, unknown> = {}
    for (const [name, { isOptional }] of names) if (row[name] !== null || !isOptional) wire[name] = row[name]
    return wire as WireRow<All>
  }
}

/** The columns of the relation with this alias. */
export const selectColumns = (columns: Columns, alias: string): Sql =>
  raw(
    Object.keys(columns)
      .map((name) => `${alias}.${name}`)
      .join(', '),
  )

/** The same for an object that PostgreSQL prints as JSON, in which it prints timestamps otherwise. */
export const selectForJson = (columns: Columns, alias: string): Sql =>
  raw(
    Object.entries(columns)
      .map(([name, { type }]) => (type === 'timestamp' ? `${alias}.${name}::text as ${name}` : `${alias}.${name}`))
      .join(', '),
  )

// ── writes ──────────────────────────────────────────────────────────────────

type Names<All extends Columns, By extends SetBy> = {
  [Name in keyof All & string]: All[Name]['setBy'] extends By ? Name : never
}[keyof All & string]

type InsertedName<All extends Columns> = Names<All, 'insert' | 'update'>

/** The values of all columns that an INSERT gives. */
export type Inserted<All extends Columns> = Pick<StoredRow<All>, InsertedName<All>>

/** The values of all columns that an update may change. */
export type Changeable<All extends Columns> = Pick<StoredRow<All>, Names<All, 'update'>>

/**
 * The names and the values for an INSERT, in one order.
 * @param given the values, or their parameters, but for the columns that the statement computes
 * @param others further columns, which are not on the wire
 */
export function insertion<All extends Columns, Computed extends { readonly [Name in InsertedName<All>]?: Sql }>(
  columns: All,
  given: Readonly<Record<Exclude<InsertedName<All>, keyof Computed>, Sql>>,
  computed: Computed,
  others: Readonly<Record<string, Sql>> = {},
): { names: Sql; values: Sql } {
  const values: Readonly<Record<string, Sql | undefined>> = computed
  const inserted = Object.keys(columns).filter((name) => columns[name]?.setBy !== 'service') as InsertedName<All>[]
  const cast = inserted.map((name) => sql`(${values[name] ?? given[name as keyof typeof given]})::${raw(columns[name]?.type ?? '')}`)
  return { names: join([...inserted, ...Object.keys(others)].map(ident)), values: join([...cast, ...Object.values(others)]) }
}

/** The assignments of an UPDATE. */
export const assignments = <All extends Columns>(columns: All, next: Changeable<All>): Sql =>
  join(
    changeableIn(columns).map((name) => {
      const [{ type, bind }, value] = [columns[name] as Column, next[name]]
      return sql`${ident(name)} = ${value === null ? null : bind(value)}::${raw(type)}`
    }),
  )

/** Whether the update leaves the row as it is. Lists are compared by identity. */
export const isSame = <All extends Columns>(columns: All, row: StoredRow<All>, next: Changeable<All>): boolean =>
  changeableIn(columns).every((name) => row[name] === next[name])

const changeableIn = <All extends Columns>(columns: All) =>
  Object.keys(columns).filter((name) => columns[name]?.setBy === 'update') as Names<All, 'update'>[]
