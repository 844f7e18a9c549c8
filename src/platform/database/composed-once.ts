/**
 * Statements whose text is composed once. To compose 2 KB of SQL for each request, and to look up the statement by a new text, costs as
 * much as sending it.
 */
import type { Sql } from './database.ts'
import type { Statement } from './statement.ts'

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
 * @throws Error for another value in the statement: all later runs would get the value of the first one
 */
export function composedOnce<Values extends object>(names: Names<Values>, compose: (values: Values) => Sql): Composed<Values> {
  const { text, values } = compose(Object.fromEntries(names.map((name) => [name, new Bound(name)])) as Values)
  const bound = values.map((value, index) => {
    if (value instanceof Bound) return value.name as keyof Values
    throw new Error(`$${index + 1} of a statement that is composed once is neither bound by each run nor a constant: ${text}`)
  })
  return (given) => ({ text, values: bound.map((name) => given[name]) })
}
