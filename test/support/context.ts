import { type Context, type Deps, systemContext } from '../../src/platform/context.ts'
import type { Sql } from '../../src/platform/database/database.ts'

/** A context that calls back before each statement of its own. */
export function watchedContext(deps: Deps, before: (statement: Sql, context: Context) => Promise<void>): Context {
  const context = systemContext(deps)
  const watch =
    <Result>(run: (statement: Sql) => Promise<Result>) =>
    async (statement: Sql) => {
      await before(statement, context)
      return run(statement)
    }
  const ways = { read: watch(context.db.read), write: watch(context.db.write) }
  return { ...context, db: new Proxy(context.db, { get: (target, key) => Reflect.get(key in ways ? ways : target, key) }) }
}
