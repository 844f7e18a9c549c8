/** Checks again what the caller of a job may do: it may run hours later, when a key is revoked or a member removed. */
import type { Actor } from '../actor.ts'
import { type Database, sql } from '../database/database.ts'
import { AppError, forbidden, notFound } from '../errors.ts'
import { selectOf } from './access-statement.ts'
import { actorOf, type PrincipalRow, refusalOf, selectKeys, selectUser } from './authenticate.ts'
import type { Resource, Right } from './authorize.ts'

/** The user and the key of a request that is over. Both are null for a command of the operator. */
export interface PastRequester {
  user_id: number | null
  api_key_id: number | null
}

/** What the job does, and on what. */
interface Wish<Row extends object> {
  resource: Resource<Row>
  ids: Record<string, number>
  right: Right
}

/**
 * Checks the rights that the user, or the key if there is one, has now. The end of a session ends none of them, and neither does a new
 * secret of the key.
 * @returns the actor and the row; undefined for a command of the operator, who may do everything
 * @throws AppError 404 if the resource has been deleted; 403
 */
export async function requireRequester<Row extends object>(
  db: Database,
  { user_id, api_key_id }: PastRequester,
  { resource, ids, right }: Wish<Row>,
  now: Date,
): Promise<{ actor: Actor; row: Row } | undefined> {
  if (user_id === null && api_key_id === null) return undefined
  const principal = api_key_id === null ? selectUser(sql`u.id = ${user_id}`) : selectKeys(sql`k.id = ${api_key_id}`)
  const [found] = await db.read<PrincipalRow & Row>(
    sql`select p.*, t.* from (${principal}) p left join lateral (${selectOf(resource, ids, db)}) t on true`,
  )
  if (!found) throw forbidden(api_key_id === null ? lost('the user was deleted') : lost('the API key was deleted'))
  // The address of the request was checked when it came.
  const refusal = refusalOf({ ...found, p_ip_allowlist: null }, '', now)
  if (refusal) throw forbidden(lost(refusal))
  const actor = actorOf(found)
  if (actor.readOnly && right !== 'read') throw forbidden(lost('API key is read-only'))
  resource.ids.forEach(({ thing, found: column }) => {
    if ((found as Record<string, unknown>)[column] == null) throw notFound(thing)
  })
  try {
    resource.check(found, actor, right)
  } catch (error) {
    throw error instanceof AppError ? forbidden(lost(error.message)) : error
  }
  return { actor, row: found }
}

const lost = (reason: string) => `The sender has lost the right to do this: ${reason}`
