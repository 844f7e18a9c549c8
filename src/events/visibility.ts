/** Decides who may see an event, by the memberships, tables and tasks at the time when it is sent. */

import type { Actor } from '../platform/actor.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { isOfTable } from './coalescing.ts'
import type { StoredEvent } from './order.ts'

/** The data that the rules need for a batch of events. */
export interface Reach {
  /** The tables that are not deleted. */
  tables: ReadonlySet<number>
  /** By space: its members among the given users. */
  members: ReadonlyMap<number, ReadonlySet<number>>
  /** By standalone task: creator, assignee, and subscribers among the given users. */
  people: ReadonlyMap<number, ReadonlySet<number>>
  /** By account: the version of its access (docs/decisions/0034-access-versions.md). */
  versions: ReadonlyMap<number, string>
}

type Pair = [id: number, users: number[]]

/**
 * Reads the data for a batch of events and all users with open streams, in one statement. Of the events of live tables only the version of
 * the access is read: a stream knows which tables it may read by that version.
 */
export async function reachOf(db: Database, batch: readonly StoredEvent[], userIds: readonly number[]): Promise<Reach> {
  const events = batch.filter((event) => !isOfTable(event))
  const idsOf = (key: 'account_id' | 'space_id' | 'table_id' | 'task_id', among: readonly StoredEvent[]) => [
    ...new Set(among.flatMap((event) => event[key] ?? [])),
  ]
  const standalone = events.filter(({ space_id, audience }) => space_id === null && audience === null)
  const taskIds = idsOf('task_id', standalone)
  const [found] = await db.read<{ tables: number[]; members: Pair[]; people: Pair[]; versions: [number, string][] }>(
    labelled(
      'events:reach',
      sql`select
      array(
        select t.id from tables t join spaces s on s.id = t.space_id and s.deleted_at is null
        where t.id = any(${idsOf('table_id', events)}::int[]) and t.deleted_at is null
      ) as tables,
      (select coalesce(json_agg(json_build_array(m.space_id, m.users)), '[]') from (
        select space_id, array_agg(user_id) as users from space_members
        where space_id = any(${idsOf('space_id', events)}::int[]) and user_id = any(${userIds}::int[]) group by space_id
      ) m) as members,
      (select coalesce(json_agg(json_build_array(p.task_id, p.users)), '[]') from (
        select k.id as task_id, array[k.creator_user_id, k.assignee_user_id]
          || array(select user_id from task_subscribers f where f.task_id = k.id and f.user_id = any(${userIds}::int[])) as users
        from tasks k where k.id = any(${taskIds}::int[]) and k.space_id is null
      ) p) as people,
      (select coalesce(json_agg(json_build_array(v.account_id, v.version)), '[]') from access_versions v
        where v.account_id = any(${idsOf('account_id', batch)}::int[])) as versions`,
    ),
  )
  const sets = (pairs: Pair[] = []) => new Map(pairs.map(([id, users]) => [id, new Set(users)]))
  return {
    tables: new Set(found?.tables),
    members: sets(found?.members),
    people: sets(found?.people),
    versions: new Map(found?.versions),
  }
}

/**
 * Whether the actor may see the event (contract.md §4, Read; §2, whitelists). Notifications and standalone tasks belong to users, so
 * account keys do not get their events.
 */
export function maySee(actor: Actor, event: StoredEvent, reach: Reach): boolean {
  const { space_id, task_id, audience } = event
  if (event.account_id !== actor.accountId) return false
  if (space_id !== null && !mayReadTable(actor, space_id, event.table_id, reach)) return false
  if (space_id !== null && audience === null) return true
  if (actor.kind === 'account') return false
  if (audience !== null) return audience.includes(actor.userId)
  return task_id !== null && (reach.people.get(task_id)?.has(actor.userId) ?? false)
}

function mayReadTable(actor: Actor, spaceId: number, tableId: number | null, { tables, members }: Reach): boolean {
  if (tableId === null || !tables.has(tableId)) return false
  if (actor.spaceIds && !actor.spaceIds.includes(spaceId)) return false
  return actor.isOwner || (members.get(spaceId)?.has(actor.userId) ?? false)
}

/**
 * For each user, the events that they may see at most, in order. `maySee` then checks only these: of a thousand streams few are
 * concerned by an event. The owner of the account, who may see all, is not listed.
 */
export function eventsByUser(events: readonly StoredEvent[], reach: Reach): ReadonlyMap<number, readonly StoredEvent[]> {
  const found = new Map<number, StoredEvent[]>()
  for (const event of events) {
    for (const user of usersConcerned(event, reach)) {
      const known = found.get(user)
      if (known) known.push(event)
      else found.set(user, [event])
    }
  }
  return found
}

/** The members of the event's space; outside of spaces its audience, or the people of its task. */
function usersConcerned({ space_id, task_id, audience }: StoredEvent, { members, people }: Reach): ReadonlySet<number> {
  if (space_id !== null) return members.get(space_id) ?? new Set()
  return audience ? new Set(audience) : (people.get(task_id ?? 0) ?? new Set())
}
