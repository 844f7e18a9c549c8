/** What programs keep for their user, by name: drafts, recent things, a theme (contract.md §11, Preferences). */
import { lockActiveUser } from '../accounts/user-status.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { badInput, stale } from '../platform/errors.ts'
import { WrittenList } from '../platform/http/answers/written-json.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Preference, PreferenceList, PreferenceUpdate } from './schema.ts'

const MOST_PREFERENCES = 500
const MOST_BYTES = 4 * 1024 * 1024
/** How many deleted names of a user are remembered: a name that is used again has a version that no If-Match was ever sent for. */
const MOST_DELETED = 500

/** A row, whose value is JSON as it is stored; null once it was deleted. */
interface Row {
  name: string
  value: string | null
  version: number
  updated_at: string | null
}

/** The preferences of the acting user whose names begin with the prefix, by name. */
export async function list({ db, actor }: Context, { prefix }: PreferenceList): Promise<WrittenList<Preference>> {
  const rows = await db.read<Row>(sql`
    select name, value, version, updated_at from preferences
    where user_id = ${actor.userId} and value is not null and starts_with(name, ${prefix ?? ''})
    order by name collate "C"`)
  return new WrittenList<Preference>(`[${rows.map(jsonOf).join(',')}]`, { total: rows.length })
}

const jsonOf = ({ value, ...row }: Row): string => `${JSON.stringify(row).slice(0, -1)},"value":${value}}`

/**
 * Keeps a value of the acting user, or deletes it. The same value again changes nothing. A name without a value has the version 0, or that
 * of its deletion: If-Match takes both, since the list does not show what was deleted.
 * @throws AppError 400 beyond the limits; 401 if the user has just been erased; 409 with the present row for a stale If-Match
 */
export async function update(context: Context, { name, value }: PreferenceUpdate, ifMatch?: IfMatch): Promise<Answer<Preference>> {
  const { db, actor, now, transaction } = context
  return transaction(async () => {
    // The limits hold when two requests write at once.
    await lockActiveUser(context)
    const [found] = await db.read<Row>(sql`
      select name, value, version, updated_at from preferences where user_id = ${actor.userId} and name = ${name}`)
    const present = found ?? { name, value: null, version: 0, updated_at: null }
    const isNew = present.value === null && ifMatch?.includes(0)
    if (!isNew && isStale(ifMatch, present)) throw stale('The preference has changed since', answerOf(present))
    if (value === present.value) return answerOf(present)
    if (value !== null) await requireRoom(context, name, Buffer.byteLength(value))
    const [row] = await db.write<Row>(sql`
      insert into preferences (user_id, name, value, updated_at)
      values (${actor.userId}, ${name}, ${value}, ${formatInstant(now)}::timestamp)
      on conflict (user_id, name) do update
        set value = excluded.value, version = preferences.version + 1, updated_at = excluded.updated_at
      returning name, value, version, updated_at`)
    if (value === null) await forgetOldNames(context)
    return answerOf(row as Row)
  })
}

/** @throws AppError 400 if the user would have too many preferences with the value, or too large ones together */
async function requireRoom({ db, actor }: Context, name: string, bytes: number): Promise<void> {
  const [others] = await db.read<{ count: number; bytes: number }>(sql`
    select count(*)::int as count, coalesce(sum(octet_length(value)), 0)::int as bytes from preferences
    where user_id = ${actor.userId} and name <> ${name} and value is not null`)
  const { count, bytes: taken } = others ?? { count: 0, bytes: 0 }
  if (count >= MOST_PREFERENCES) throw badInput('name', `is one too many: a user has at most ${MOST_PREFERENCES} preferences`)
  if (taken + bytes > MOST_BYTES) throw badInput('value', 'is too large: the preferences of a user have at most 4 MB together')
}

async function forgetOldNames({ db, actor }: Context): Promise<void> {
  await db.write(sql`
    delete from preferences where user_id = ${actor.userId} and name in (
      select name from preferences where user_id = ${actor.userId} and value is null
      order by updated_at desc, name offset ${MOST_DELETED})`)
}

const answerOf = ({ value, ...row }: Row): Answer<Preference> => ({
  value: { ...row, value: value === null ? null : JSON.parse(value) },
  version: row.version,
})

/** Deletes the preferences of an erased user. */
export async function deletePreferences(db: Database, userId: number): Promise<void> {
  await db.write(sql`delete from preferences where user_id = ${userId}`)
}
