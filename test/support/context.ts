import { type Context, type Deps, systemContext } from '../../src/platform/context.ts'
import type { Statement } from '../../src/platform/database/statements/statement.ts'

/** A context that calls back before each statement of its own. */
export function watchedContext(deps: Deps, before: (statement: Statement, context: Context) => Promise<void>): Context {
  const context = systemContext(deps)
  const watch =
    <More extends unknown[], Result>(run: (statement: Statement, ...more: More) => Promise<Result>) =>
    async (statement: Statement, ...more: More) => {
      await before(statement, context)
      return run(statement, ...more)
    }
  const doors = { read: watch(context.db.read), write: watch(context.db.write) }
  return { ...context, db: new Proxy(context.db, { get: (target, key) => Reflect.get(key in doors ? doors : target, key) }) }
}
