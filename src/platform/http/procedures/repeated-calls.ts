/** Calls with an Idempotency-Key: they run once, and again as a whole if their table was changed or placed on a node in the meantime. */
import type { Admission } from '../../access/authorize.ts'
import type { Actor } from '../../actor.ts'
import type { Database } from '../../database/database.ts'
import { notePlacement } from '../../database/nodes/placed-since.ts'
import { isOutdated } from '../../database/outdated-definition.ts'
import { unavailable } from '../../errors.ts'
import { once } from './idempotency.ts'
import type { RequestContext } from './request-context.ts'

/** The headers that a procedure adds to its answer. */
export type Headers = Record<string, string>

/** With this many attempts, a request succeeds even while a script adds a field every few milliseconds. */
const ATTEMPTS = 10

/**
 * Repeats a request with an Idempotency-Key if the table of the path was changed or placed on a node while its transaction ran: after an
 * error the whole transaction is rolled back, so a service cannot repeat its part of it.
 * @throws AppError 503 if the table is still being changed after ten attempts; the error itself if the table has not been changed
 */
export async function withCurrentTable<Result>(
  db: Database,
  admission: Admission,
  admitAgain: () => Promise<Admission>,
  attempt: (admission: Admission) => Promise<Result>,
): Promise<Result> {
  let current = admission
  for (let left = ATTEMPTS; ; left--) {
    const { table_id: tableId = 0 } = tableOf(current)
    const isPlacedSince = notePlacement(db, tableId)
    try {
      return await attempt(current)
    } catch (error) {
      const isPlaced = await isPlacedSince(error)
      if (!isPlaced && !isOutdated(error)) throw error
      if (left === 1) throw unavailable('The table is being changed; retry')
      const next = await admitAgain()
      if (!isPlaced && tableOf(next).table_version === tableOf(current).table_version) throw error
      current = next
    }
  }
}

const tableOf = ({ row }: Admission) => row as { table_id?: number; table_version?: number }

/**
 * Runs the call once for its Idempotency-Key, and returns the stored answer to a repetition.
 * @param headers filled by `proceed`, or on a replay with the stored headers
 * @throws AppError 409 for another body, or while the first request is running
 */
export async function repeatable<Result extends { ok: boolean }>(
  ctx: RequestContext,
  actor: Actor,
  { path, key, raw, headers }: { path: string; key: string; raw: unknown; headers: Headers },
  proceed: () => Promise<Result>,
): Promise<Result> {
  const { db, settings } = ctx.deps
  let fresh: Result | undefined
  const { answer, isReplay } = await once(
    { db, secretKeys: settings.secretKeys, actor, now: ctx.now, operation: path, key, input: raw },
    async () => {
      fresh = await proceed()
      // tRPC returns errors as values. Throwing the error rolls the transaction back.
      if (!fresh.ok) throw (fresh as unknown as { error: unknown }).error
      return { value: (fresh as unknown as { data: unknown }).data, headers }
    },
  )
  if (isReplay) Object.assign(headers, answer.headers, { 'idempotent-replayed': 'true' })
  return fresh ?? ({ ok: true, data: answer.value } as unknown as Result)
}
