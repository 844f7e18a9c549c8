/**
 * Statements whose text is composed once. To compose 2 KB of SQL for each request, and to look up the statement by a new text, costs as
 * much as sending it.
 */
import type { Sql, Statement } from './database.ts'

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

/**
 * Composes the statement at once.
 * @param names of the values that each run binds
 * @param compose may only bind the values that it gets, because they are not the real ones
 * @returns the statement with the values of a run
 */
export function composedOnce<Values extends object>(
  names: readonly (string & keyof Values)[],
  compose: (values: Values) => Sql,
): (values: Values) => Statement {
  const { text, values } = compose(Object.fromEntries(names.map((name) => [name, new Bound(name)])) as Values)
  return (given) => ({ text, values: values.map((value) => (value instanceof Bound ? given[value.name as keyof Values] : value)) })
}
