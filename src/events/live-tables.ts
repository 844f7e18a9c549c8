/** The tables that a stream names, of which it also hears what happens to records, definitions, views and members. */

import type { Actor } from '../platform/actor.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { notFound } from '../platform/errors.ts'
import { MAX_ID } from '../platform/row-ids.ts'
import { type Burst, sourceOfSpace } from './coalescing.ts'

/** The ids of tables that a caller may read, with those of their spaces. */
export type NamedTables = ReadonlyMap<number, number>

/** The tables of one open stream. */
export interface LiveTables {
  readonly readable: Map<number, number>
  /** Those that are deleted, as long as their last event has not been sent. */
  readonly ending: Set<number>
}

export const liveTables = (named: NamedTables): LiveTables => ({ readable: new Map(named), ending: new Set() })

/** More than a stream may name: the schema refuses so many, whatever they are. */
const MOST_ASKED = 1_000

/**
 * The tables that a stream is asked to name. What is no list of whole numbers is left to the schema.
 * @param asked as it was sent
 * @throws AppError 404 if the caller may not read one of them, whatever the reason (contract.md §10, Live tables)
 */
export async function namedTables(db: Database, actor: Actor, asked: unknown): Promise<NamedTables | undefined> {
  if (!Array.isArray(asked) || !asked.length || !asked.every(Number.isInteger)) return undefined
  const ids = [...new Set((asked as number[]).slice(0, MOST_ASKED))]
  const possible = ids.filter((id) => id >= 1 && id <= MAX_ID)
  const reach = possible.length === ids.length ? await reachOfTables(db, ids, [actor.userId]) : new Map<number, TableReach>()
  return new Map(
    ids.map((id) => {
      const table = reach.get(id)
      if (!table || table.is_deleted || !mayReadSpace(actor, table)) throw notFound('Table')
      return [id, table.space_id]
    }),
  )
}

export interface TableReach {
  id: number
  account_id: number
  space_id: number
  is_deleted: boolean
  /** The members of its space among the given users. */
  users: number[]
}

/** Reads who may read the tables. One of a deleted space is deleted with it. */
export async function reachOfTables(
  db: Database,
  tableIds: readonly number[],
  userIds: readonly number[],
): Promise<ReadonlyMap<number, TableReach>> {
  const rows = await db.read<TableReach>(
    labelled(
      'events:tables',
      sql`select t.id, t.account_id, t.space_id, (t.deleted_at is not null or s.deleted_at is not null) as is_deleted,
        array(select m.user_id from space_members m where m.space_id = t.space_id and m.user_id = any(${userIds}::int[])) as users
      from tables t join spaces s on s.id = t.space_id where t.id = any(${tableIds}::int[])`,
    ),
  )
  return new Map(rows.map((row) => [row.id, row]))
}

function mayReadSpace({ accountId, spaceIds, isOwner, userId }: Actor, { account_id, space_id, users }: TableReach): boolean {
  if (account_id !== accountId || (spaceIds && !spaceIds.includes(space_id))) return false
  return isOwner || users.includes(userId)
}

/** Takes from the tables of a stream those that its caller may not read any more. They do not come back: what was not told is unknown. */
export function narrow({ readable, ending }: LiveTables, actor: Actor, reach: ReadonlyMap<number, TableReach>): void {
  for (const id of [...readable.keys(), ...ending]) {
    const table = reach.get(id)
    const isReadable = table !== undefined && mayReadSpace(actor, table)
    if (isReadable && !table.is_deleted) continue
    readable.delete(id)
    if (isReadable) ending.add(id)
    else ending.delete(id)
  }
}

export const namesNone = ({ readable, ending }: LiveTables): boolean => !readable.size && !ending.size

/** What the stream hears of a page's bursts. The last event of a deleted table ends it. */
export function heardOf({ readable, ending }: LiveTables, page: ReadonlyMap<number, readonly Burst[]>): Burst[] {
  const heard: Burst[] = []
  const ids = readable.size + ending.size < page.size ? [...readable.keys(), ...ending] : [...page.keys()].filter((source) => source > 0)
  for (const id of ids) {
    if (readable.has(id)) heard.push(...(page.get(id) ?? []))
    else if (ending.has(id)) {
      const last = (page.get(id) ?? []).filter(isDeletion)
      if (last.length) ending.delete(id)
      heard.push(...last)
    }
  }
  for (const space of new Set(readable.values())) heard.push(...(page.get(sourceOfSpace(space)) ?? []))
  return heard
}

const isDeletion = ({ last }: Burst): boolean => last.type === 'table.deleted'

/** Whether the stream may still send what it heard before its tables became fewer. */
export const isStillHeard = ({ readable }: LiveTables, burst: Burst): boolean => {
  const { source } = burst
  if (source === undefined || isDeletion(burst)) return true
  return source > 0 ? readable.has(source) : [...readable.values()].some((space) => sourceOfSpace(space) === source)
}
