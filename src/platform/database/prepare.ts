/**
 * Statements whose text is composed once: to compose 2 KB of SQL for each request, and to look the statement up by a new text, costs as
 * much as sending it. They are few and hot; every other statement is composed for each run.
 */
import pg from 'pg'
import { BoundedMap } from '../collections/bounded-map.ts'
import { formatInstant } from '../time/time.ts'
import { raw, type Sql, sql } from './database.ts'
import type { Statement } from './statements/statement.ts'

/** Stands for a value until the statement is run. */
class Parameter {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** The parameters of a statement: what stands in its text for the values of a run. */
export type Parameters<Values> = { readonly [Name in keyof Values]-?: Sql }

/** A value, or the parameter that stands for it. */
export type Given<Value> = Value | Sql

/** The instant as a timestamp. */
export const timestamp = (instant: Given<Date>): Sql => sql`${instant instanceof Date ? formatInstant(instant) : instant}::timestamp`

/** What the text of a statement depends on, by name. Objects and functions among it never change, and are compared by identity. */
type Key = object

/** A value of the code, printed into the text. */
export const constant = (value: string | number): Sql => raw(typeof value === 'string' ? pg.escapeLiteral(value) : String(value))

/**
 * Prepares statements, one for each key.
 * @param most of them are kept, those that were used last
 * @param compose gets everything that the text may depend on, and must use nothing else: later runs with the same key get the same text
 * @returns the statement of a key, whose properties always come in one order, with the values of a run
 */
export function prepare<Of extends Key, Values extends object>(
  most: number,
  compose: (p: Parameters<Values>, key: Of) => Sql,
): (key: Of, values: Values) => Statement {
  const statements = new BoundedMap<string, Prepared>(most)
  return (key, values) => {
    const name = Object.values(key).map(nameOf).join(' ')
    const known = statements.get(name) ?? prepared(compose(PARAMETERS as Parameters<Values>, key))
    statements.set(name, known)
    return { text: known.text, values: known.names.map((parameter) => bound(values, parameter)) }
  }
}

interface Prepared {
  text: string
  /** The names of the parameters, in their order. */
  names: readonly string[]
}

/** @throws Error for a value in the statement that is no parameter: all later runs would get the value of the first one */
function prepared({ text, values }: Sql): Prepared {
  const names = values.map((value, index) => {
    if (value instanceof Parameter) return value.name
    throw new Error(`$${index + 1} of a prepared statement is neither a parameter nor a constant: ${text}`)
  })
  return { text, names }
}

const PARAMETERS: unknown = new Proxy({}, { get: (_, name) => sql`${new Parameter(String(name))}` })

function bound<Values extends object>(values: Values, name: string): unknown {
  const value = values[name as keyof Values]
  if (value === undefined) throw new Error(`No value for the parameter ${name} of a prepared statement`)
  return value
}

let objects = 0
const numbers = new WeakMap<object, number>()

function nameOf(part: unknown): string {
  if ((typeof part !== 'object' && typeof part !== 'function') || part === null) return JSON.stringify(part)
  const number = numbers.get(part) ?? ++objects
  numbers.set(part, number)
  return `#${number}`
}
