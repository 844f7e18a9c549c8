/** Shared by tests of tasks. */
import { type Sql, sql } from '../../src/platform/database/database.ts'
import type { Caller, TestApp } from './app.ts'
import { makeTable } from './tables.ts'

export const NOW = new Date('2026-03-30T09:30:00Z')
/** The instant the given minutes after NOW. */
export const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000)

export const sorted = (...ids: number[]) => [...ids].sort((a, b) => a - b)

export interface Told {
  event_type: string
  actor_user_id: number | null
  message: string
  summary: string
  url: string
  task_id: number
}

export const taskSupport = (app: TestApp) => ({
  /** An account with a table of two records. */
  async onRecord() {
    const account = await app.account()
    const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Analytical Engines' }, { name: 'Difference Ltd' }] })
    const [record = 0, other = 0] = records
    const path = `/api/tasks/onRecord/${table}/${record}`
    const create = (caller: Caller, body: object, headers?: Record<string, string>) => app.as(caller).post(`${path}/create`, body, headers)
    return { ...account, account, table, record, other, path, create }
  },

  /** The notifications of a user, oldest first. */
  told: (userId: number) =>
    app.db.read<Told>(
      sql`select event_type, actor_user_id, message, summary, url, task_id from notifications where user_id = ${userId} order by id`,
    ),

  /** Runs a statement in a transaction that stays open. @returns a function that commits it */
  async holding(statement: Sql): Promise<() => Promise<void>> {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: ran, resolve: hasRun } = Promise.withResolvers<void>()
    const writer = app.db.transaction(async () => {
      await app.db.write(statement)
      hasRun()
      await released
    })
    await Promise.race([ran, writer])
    return () => {
      release()
      return writer
    }
  },

  async subscribersOf(taskId: number): Promise<number[]> {
    const rows = await app.db.read<{ user_id: number }>(
      sql`select user_id from task_subscribers where task_id = ${taskId} order by user_id`,
    )
    return rows.map((row) => row.user_id)
  },
})
