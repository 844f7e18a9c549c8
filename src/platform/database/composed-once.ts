/**
 * Statements whose text is composed once. To compose 2 KB of SQL for each request, and to look up the statement by a new text, costs as
 * much as sending it.
 */
import { BoundedMap } from '../collections/bounded-map.ts'
import type { Sql, Statement } from './database.ts'

/** Gives the statement with the values of a run. */
export type Composed<Values> = (values: Values) => Statement

/** Stands for a value until the statement is run. */
class Bound {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  toString(): string {
    throw new Error(`${this.name} is bound when the statement is run, so it cannot be part of its text`)
  }
}

/** The values that each run binds. */
type Names<Values> = readonly (string & keyof Values)[]

/**
 * Composes the statement at once.
 * @param compose may only bind the values that it gets, because they are not the real ones
 */
export function composedOnce<Values extends object>(names: Names<Values>, compose: (values: Values) => Sql): Composed<Values> {
  const { text, values } = compose(Object.fromEntries(names.map((name) => [name, new Bound(name)])) as Values)
  return (given) => ({ text, values: values.map((value) => (value instanceof Bound ? given[value.name as keyof Values] : value)) })
}

/**
 * Keeps statements that were composed once, by their shape: all that their text depends on.
 * @param most of them are kept, those that were used last
 */
export function composedByShape<Values extends object>(most: number) {
  const statements = new BoundedMap<string, Composed<Values>>(most)
  return (shape: string, names: Names<Values>, compose: (values: Values) => Sql): Composed<Values> => {
    const known = statements.get(shape)
    if (known) return known
    const statement = composedOnce(names, compose)
    statements.set(shape, statement)
    return statement
  }
}
