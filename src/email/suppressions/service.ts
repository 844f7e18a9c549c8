/** Addresses to which an account sends no more mail, because a mail to them bounced for good, or its recipient complained. */

import { audit } from '../../audit/log.ts'
import type { Resource } from '../../platform/access/authorize.ts'
import { OTHER_SPACE } from '../../platform/access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { shortRead } from '../../platform/database/statements/statement.ts'
import { forbidden, notFound } from '../../platform/errors.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { Failure } from '../smtp/failure.ts'
import type { Suppression, SuppressionQuery, SuppressionReason } from './schema.ts'

/** For admins of at least one space: the addresses are those of the whole account. `remove` says who may remove which. */
export const suppressionsResource: Resource<{ can_manage: boolean }> = {
  ids: [],
  select: () => sql`
    select p.p_is_owner or exists (
      select from space_members m join spaces s on s.id = m.space_id and s.deleted_at is null
      where m.user_id = p.p_user_id and m.role = 'admin') as can_manage`,
  check: ({ can_manage }, { spaceIds }) => {
    if (spaceIds) throw forbidden(OTHER_SPACE)
    if (!can_manage) throw forbidden()
  },
}

/**
 * Suppresses addresses. The first reason stays, but a complaint replaces a bounce. The addresses are locked in alphabetical order, because
 * two simultaneous reports may name them in opposite orders and would deadlock.
 */
export async function suppress(
  { db, now }: Context,
  { account_id, comment_id }: { account_id: number; comment_id: number },
  emails: readonly string[],
  reason: SuppressionReason,
): Promise<void> {
  for (const email of emails.map((email) => email.toLowerCase()).sort())
    await db.write(sql`
      insert into email_suppressions as s (account_id, email, reason, comment_id, created_at)
      values (${account_id}, ${email}, ${reason}, ${comment_id}, ${formatInstant(now)}::timestamp)
      on conflict (account_id, email) do update set reason = excluded.reason, comment_id = excluded.comment_id
      where excluded.reason = 'complaint' and s.reason = 'hard_bounce'`)
}

/** Newest first. `comment_id` is the mail that caused it, if the caller may read it. */
export async function list({ db, actor }: Context, { limit, offset }: SuppressionQuery): Promise<{ rows: Suppression[]; total: number }> {
  const rows = await db.read<Suppression & { total: number }>(sql`
    select x.email, x.reason, x.created_at as since, c.id as comment_id, count(*) over () as total
    from email_suppressions x
    left join record_comments c on c.id = x.comment_id and (${actor.isOwner} or exists (
      select from space_members m where m.space_id = c.space_id and m.user_id = ${actor.userId}))
    where x.account_id = ${actor.accountId}
    order by x.created_at desc, x.id desc limit ${limit} offset ${offset}`)
  return { rows: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 }
}

interface SuppressionRow {
  id: number
  email: string
  reason: SuppressionReason
  /** The mail that caused it. */
  comment_id: number | null
}

/**
 * Lets mail go to the address again. The owner and account keys may for every address, an admin for one that a space of theirs has mailed
 * (contract.md §8, Email).
 * @throws AppError 404 for an address that is not suppressed; 403
 */
export async function remove(context: Context, email: string): Promise<void> {
  const { db, actor } = context
  await context.transaction(async () => {
    const [found] = await db.read<SuppressionRow>(sql`
      select id, email, reason, comment_id from email_suppressions
      where account_id = ${actor.accountId} and email = ${email.toLowerCase()} for update`)
    if (!found) throw notFound('Suppression')
    if (!actor.isOwner && !(await isMailedByAdmin(context, found))) throw forbidden()
    await db.write(sql`delete from email_suppressions where id = ${found.id}`)
    await audit(context, 'suppression.removed', { id: found.id, detail: { reason: found.reason } })
  })
}

/**
 * Whether a space that the user administers has mailed the address. A mail that no server was given for it does not count, or a mail that
 * is dropped because the address is suppressed would be a way to remove it.
 */
async function isMailedByAdmin({ db, actor }: Context, { email, comment_id }: SuppressionRow): Promise<boolean> {
  const [found] = await db.read<{ is_mailed: boolean }>(sql`
    select exists (
      select from space_members m
      join spaces s on s.id = m.space_id and s.deleted_at is null
      join tables t on t.space_id = s.id
      join record_comments c on c.table_id = t.id and c.type = 'email_out'
      where m.user_id = ${actor.userId} and m.role = 'admin' and (c.id = ${comment_id} or exists (
        select from jsonb_array_elements(c.metadata->'recipients') as r (entry)
        where lower(r.entry->>'email' collate "pg_c_utf8") = ${email}
          and (r.entry->>'status' in ('sent', 'bounced', 'unknown') or r.entry#>>'{error,code}' ~ '^[2-5][0-9][0-9]$')))) as is_mailed`)
  return found?.is_mailed ?? false
}

const CAUSES: Record<SuppressionReason, string> = {
  hard_bounce: 'an earlier mail to it bounced for good',
  complaint: 'its recipient reported an earlier mail as unwanted',
  manual: 'an admin suppressed it',
}

/** Why mail to some of the addresses is not sent, by address in lower case. */
export async function suppressedAmong(db: Database, accountId: number, emails: readonly string[]): Promise<Map<string, Failure>> {
  const rows = await db.read<{ email: string; reason: SuppressionReason; since: string }>(
    shortRead(
      'suppressed-among',
      sql`
      select email, reason, created_at as since from email_suppressions
      where account_id = ${accountId} and email = any(${emails.map((email) => email.toLowerCase())}::text[])`,
    ),
  )
  const failureOf = (reason: SuppressionReason, since: string): Failure => ({
    kind: 'permanent',
    code: 'SUPPRESSED',
    enhanced: null,
    message: `No mail is sent to this address since ${since.slice(0, 10)}, because ${CAUSES[reason]}`,
  })
  return new Map(rows.map(({ email, reason, since }) => [email, failureOf(reason, since)]))
}
