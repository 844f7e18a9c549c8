import { type Deps, type Scope, systemScope } from '../../src/platform/context.ts'
import type { Sql } from '../../src/platform/database/database.ts'

/** A scope that calls back before each statement of its own. */
export function watchedScope(deps: Deps, before: (statement: Sql, scope: Scope) => Promise<void>): Scope {
  const scope = systemScope(deps)
  const watch =
    <Result>(run: (statement: Sql) => Promise<Result>) =>
    async (statement: Sql) => {
      await before(statement, scope)
      return run(statement)
    }
  const ways = { query: watch(scope.db.query), execute: watch(scope.db.execute) }
  return { ...scope, db: new Proxy(scope.db, { get: (target, key) => Reflect.get(key in ways ? ways : target, key) }) }
}
