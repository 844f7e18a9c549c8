/** Writes the audit log: rows that are committed together with the change that they describe (docs/audit.md). */
import { isDeepStrictEqual } from 'node:util'
import { storedAddress } from '../platform/access/network.ts'
import type { Context, Requester } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { formatInstant } from '../platform/time/time.ts'
import { ACTIONS, type Action } from './actions.ts'
import { auditEntries } from './metrics.ts'

export interface NewAuditEntry {
  /** The id of the object; its type follows from the action. Absent if there are several objects. */
  id?: number | string | undefined
  /** The name of a thing, such as a field. Never the name of a person, and never the content of a record. */
  name?: string
  spaceId?: number | null
  tableId?: number | null
  detail?: Record<string, unknown>
  /** By default the account of the acting user. */
  accountId?: number
}

type Acting = Pick<Context, 'actor' | 'ip' | 'requester' | 'now' | 'settings' | 'metrics'>

/**
 * Writes one row, in the open transaction of the change.
 * @throws Error outside of a transaction, because the change could then be committed without its row
 */
export async function audit(context: Acting & Pick<Context, 'db'>, action: Action, entry: NewAuditEntry = {}): Promise<void> {
  if (!context.db.inTransaction()) throw new Error(`${action} must be audited in the transaction of its change`)
  await context.db.write(auditing(context, action, entry))
}

/** The statement that writes the row, for an event without a transaction of its own, and for a transaction on another connection. */
export function auditing(context: Acting, action: Action, entry: NewAuditEntry = {}): Sql {
  const { actor, now, settings, metrics } = context
  const { id, name = null, spaceId = null, tableId = null, detail = {}, accountId = actor.accountId } = entry
  const by = context.requester ?? requesterOf(context)
  if (!accountId) throw new Error(`${action} needs an account`)
  const object = id === undefined ? null : JSON.stringify({ type: ACTIONS[action].object, id: String(id), name })
  metrics.count(auditEntries, { action })
  const at = sql`${formatInstant(now)}::timestamp`
  // If the clock of the service is behind, the row must not be deletable early.
  const keepUntil = sql`greatest(${at}, now() at time zone 'UTC') + make_interval(days => ${settings.keepAuditDays}::int)`
  return sql`
    insert into audit_entries (at, account_id, actor_user_id, api_key_id, ip, action, space_id, table_id, object, detail, keep_until)
    values (${at}, ${accountId}::int, ${by.userId}::int, ${by.keyId}::int, ${storedAddress(by.ip)}::text, ${action}::text,
      ${spaceId}::int, ${tableId}::int, ${object}::jsonb, ${JSON.stringify(detail)}::jsonb, ${keepUntil})`
}

/** The caller. An operator's command has the rights of a user, but neither a session nor a key, and is not attributed to the user. */
export function requesterOf({ actor, ip }: Pick<Context, 'actor' | 'ip'>): Requester {
  const isRequest = actor.sessionId !== null || actor.keyId !== null
  return { userId: isRequest ? actor.userId : null, keyId: actor.keyId, ip }
}

/** The names of the properties that a change has altered, for `detail.changed`. */
export function differing<T extends object>(before: T, after: T): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof T & string)[]
  return keys.filter((key) => !STAMPS.has(key) && !isDeepStrictEqual(before[key], after[key]))
}

const STAMPS = new Set(['updated_at', 'last_used_at', 'version'])
