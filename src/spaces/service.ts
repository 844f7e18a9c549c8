import { findOrInvite } from '../accounts/service.ts'
import type { UserRef } from '../accounts/user-status.ts'
import { audit } from '../audit/log.ts'
import { endInviteWithoutSpace } from '../auth/service.ts'
import { tellAllTables, tellMembers } from '../events/table-events.ts'
import type { Resource, Role } from '../platform/access/authorize.ts'
import { type SpaceRef, type SpaceRow, spaceResource } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { sql, toTheSecond } from '../platform/database/database.ts'
import { conflict, notFound } from '../platform/errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import { invite } from './invites.ts'
import type { ListedMember, Member, MemberQuery, NewMember, Space } from './schema.ts'

/** Returns the spaces that the caller can access, by name. */
export async function list({ db, actor }: Context): Promise<{ rows: Space[]; total: number }> {
  const rows = await db.read<Space>(sql`
    select s.id, s.name, s.account_id, case when ${actor.isOwner} then 'admin' else m.role end as role
    from spaces s left join space_members m on m.space_id = s.id and m.user_id = ${actor.userId}
    where s.account_id = ${actor.accountId} and s.deleted_at is null and (${actor.isOwner} or m.role is not null)
      and (${actor.spaceIds}::int[] is null or s.id = any(${actor.spaceIds}::int[]))
    order by lower(s.name), s.id`)
  return { rows, total: rows.length }
}

/** Creates a space, with the account's owner as its first admin. */
export async function create(context: Context, { name }: { name: string }): Promise<Space> {
  const { actor, now, transaction } = context
  const at = toTheSecond(now)
  return transaction(async () => {
    const space = await context.db.prisma.space.create({ data: { accountId: actor.accountId, name, createdAt: at, updatedAt: at } })
    await context.db.prisma.spaceMember.create({
      data: { spaceId: space.id, userId: actor.userId, accountId: actor.accountId, role: 'admin', createdAt: at },
    })
    await audit(context, 'space.created', { id: space.id, name, spaceId: space.id })
    return { id: space.id, name, account_id: actor.accountId, role: 'admin' }
  })
}

export async function update(context: Context, space: SpaceRef, { name = space.name }: { name?: string | undefined }): Promise<Space> {
  await context.transaction(async () => {
    const { count } = await context.db.prisma.space.updateMany({
      where: { id: space.id, NOT: { name } },
      data: { name, updatedAt: toTheSecond(context.now) },
    })
    if (count) await audit(context, 'space.updated', { id: space.id, name, spaceId: space.id, detail: { before: space.name } })
  })
  return { ...space, name }
}

/** Marks the space as deleted: it disappears from every query at once, and a job deletes its contents after seven days. */
export async function remove(context: Context, space: SpaceRef): Promise<void> {
  await context.transaction(async () => {
    const { count } = await context.db.prisma.space.updateMany({
      where: { id: space.id, deletedAt: null },
      data: { deletedAt: toTheSecond(context.now) },
    })
    if (!count) return
    await tellAllTables(context, space.id, 'table.deleted')
    await audit(context, 'space.deleted', { id: space.id, name: space.name, spaceId: space.id })
  })
}

/**
 * Restores a deleted space with its tables, as long as the job has not deleted them. For scripts.
 * @throws AppError 404 if no deleted space has the id
 */
export async function restore(context: Context, spaceId: number): Promise<{ id: number; name: string }> {
  return context.transaction(async () => {
    const [space] = await context.db.prisma.space.updateManyAndReturn({
      where: { id: spaceId, deletedAt: { not: null } },
      data: { deletedAt: null, updatedAt: toTheSecond(context.now) },
      select: { id: true, name: true, accountId: true },
    })
    if (!space) throw notFound('Deleted space')
    const { id, name, accountId } = space
    await tellAllTables(context, id, 'table.updated')
    await audit(context, 'space.restored', { id, name, spaceId: id, accountId })
    return { id, name }
  })
}

const memberColumns = sql`u.id as user_id, u.name, u.email, m.role, u.status`

/**
 * Returns the people of a space, by name. The account's owner is one of them, as an admin, whatever the space says. Only admins and account
 * keys see who was invited (contract.md §9, People).
 */
export async function listMembers(
  { db }: Context,
  space: SpaceRef,
  { search, limit }: MemberQuery,
): Promise<{ rows: ListedMember[]; total: number }> {
  const isAdmin = space.role === 'admin'
  const words = search?.split(/\s+/).filter(Boolean) ?? []
  const rows = await db.read<Member & { total: number }>(sql`
    with people as (
      select a.owner_user_id as user_id, 'admin' as role from accounts a where a.id = ${space.account_id}
      union all
      select m.user_id, m.role from space_members m join accounts a on a.id = m.account_id
      where m.space_id = ${space.id} and m.user_id <> a.owner_user_id)
    select ${memberColumns}, count(*) over () as total from people m join users u on u.id = m.user_id
    where ${isAdmin ? sql`u.status <> 'deleted'` : sql`u.status = 'active'`} and not exists (
      select from unnest(${words}::text[]) as w (word)
      where position(lower(w.word collate "pg_c_utf8") in lower(normalize(u.name || ' ' || u.email) collate "pg_c_utf8")) = 0)
    order by lower(u.name), u.id limit ${limit ?? null}::int`)
  return {
    rows: rows.map(({ total: _, status, ...member }) => (isAdmin ? { ...member, status } : member)),
    total: rows[0]?.total ?? 0,
  }
}

/**
 * Adds a person to a space. An unknown address is invited by mail. A member who has not accepted yet is invited again, with the given role.
 * @throws AppError 409 for an active member, for a user who is disabled, and for an address of another account;
 *   429 after several invitations
 */
export async function addMember(context: Context, space: SpaceRef, { email, role }: NewMember): Promise<Member> {
  const { db, now, transaction } = context
  return transaction(async () => {
    const user = await findOrInvite(db, space.account_id, email, now)
    if (user.status === 'deleted') throw conflict("This user is disabled; the account's owner can enable them")
    const isInvited = user.status === 'invited'
    const { count } = await db.prisma.spaceMember.createMany({
      data: [{ spaceId: space.id, userId: user.id, accountId: space.account_id, role, createdAt: toTheSecond(now) }],
      skipDuplicates: true,
    })
    const isNew = count > 0
    if (isNew) {
      await tellMembers(context, space.account_id, [space.id])
      await audit(context, 'member.added', { id: user.id, spaceId: space.id, detail: { role, invited: user.isNew } })
    } else if (!isInvited) throw conflict('Already a member of this space')
    else await setRole(context, { spaceId: space.id, accountId: space.account_id, userId: user.id }, role)
    if (isInvited && !(isNew && (await hasInvite(context, space, user.id)))) await invite(context, space, user.id)
    if (!isNew) await audit(context, 'member.invited_again', { id: user.id, spaceId: space.id })
    return { user_id: user.id, name: user.name, email, role, status: user.status as Member['status'] }
  })
}

/**
 * True if a link that was mailed for another space, or is about to be, lets the person into this one, too. A link that ends within a day
 * does not count.
 */
async function hasInvite({ db, now }: Context, { id }: SpaceRef, userId: number): Promise<boolean> {
  const at = sql`${formatInstant(now)}::timestamp`
  const found = await db.read(sql`
    select from space_members m join spaces s on s.id = m.space_id and s.deleted_at is null
    where m.user_id = ${userId} and m.space_id <> ${id} and (
      -- The job of its mail makes the link, so that there may be none yet.
      m.created_at > ${at} - interval '1 hour'
      or exists (select from invites i where i.user_id = m.user_id and i.expires_at > ${at} + interval '1 day'))
    limit 1`)
  return found.length > 0
}

interface MemberRow extends SpaceRow {
  found_user_id: number
  found_is_owner: boolean
}

/** A member of the space in the path. One who is disabled is none meanwhile, as in the list. */
export const memberResource: Resource<MemberRow> = {
  ids: [...spaceResource.ids, { name: 'user_id', thing: 'Member', found: 'found_user_id' }],
  select: ({ user_id, ...ids }) => sql`
    select s.*, other.user_id as found_user_id, owned.id is not null as found_is_owner
    from (${spaceResource.select(ids, null)}) s
    left join (space_members other join users u on u.id = other.user_id and u.status <> 'deleted')
      on other.space_id = s.space_id and other.user_id = ${user_id}
    left join accounts owned on owned.owner_user_id = other.user_id`,
  check: spaceResource.check,
}

/** @throws AppError 409 for the account's owner, who stays an admin of every space; 404 if the member has just been removed */
export async function updateMember(context: Context, row: MemberRow, role: Role): Promise<Member> {
  refuseOwner(row)
  const { space_id: spaceId, account_id: accountId, found_user_id: userId } = row
  return context.transaction(() => setRole(context, { spaceId, accountId, userId }, role))
}

interface MemberOf {
  spaceId: number
  accountId: number
  userId: number
}

/** @throws AppError 404 if the member has just been removed */
async function setRole(context: Context, { spaceId, accountId, userId }: MemberOf, role: Role): Promise<Member> {
  // The lock makes `before` the role that this change replaces.
  const [member] = await context.db.read<Member>(sql`
    select ${memberColumns} from space_members m join users u on u.id = m.user_id
    where m.space_id = ${spaceId} and m.user_id = ${userId} and u.status <> 'deleted' for update of m`)
  if (!member) throw notFound('Member')
  if (member.role === role) return member
  await context.db.prisma.spaceMember.updateMany({ where: { spaceId, userId }, data: { role } })
  await tellMembers(context, accountId, [spaceId])
  await audit(context, 'member.updated', { id: userId, spaceId, detail: { role, before: member.role } })
  return { ...member, role }
}

/** @throws AppError 409 for the account's owner */
export async function removeMember(context: Context, row: MemberRow): Promise<void> {
  refuseOwner(row)
  const { space_id: spaceId, found_user_id: userId } = row
  await context.transaction(async () => {
    const [removed] = await context.db.write<{ role: Role }>(
      sql`delete from space_members where space_id = ${spaceId} and user_id = ${userId} returning role`,
    )
    // Another request may have removed the member since this one was admitted.
    if (!removed) return
    await endInviteWithoutSpace(context.db, userId)
    await tellMembers(context, row.account_id, [spaceId])
    await audit(context, 'member.removed', { id: userId, spaceId, detail: { role: removed.role } })
  })
}

function refuseOwner({ found_is_owner }: MemberRow): void {
  if (found_is_owner) throw conflict("The account's owner is an admin of every space")
}

/** Makes the new owner of an account an admin of all its spaces, deleted ones included, as every owner is. */
export async function joinAllSpaces(context: Context, { id, account_id }: UserRef): Promise<void> {
  const { db, now } = context
  await db.write(sql`
    insert into space_members (space_id, user_id, account_id, role, created_at)
    select s.id, ${id}::int, s.account_id, 'admin', ${formatInstant(now)}::timestamp from spaces s where s.account_id = ${account_id}
    on conflict (space_id, user_id) do update set role = 'admin' where space_members.role <> 'admin'`)
  const spaces = await db.read<{ id: number }>(sql`
    select s.id from spaces s where s.account_id = ${account_id} and s.deleted_at is null order by s.id`)
  await tellMembers(
    context,
    account_id,
    spaces.map((space) => space.id),
  )
}

/** Takes an erased user out of all spaces. */
export async function leaveAllSpaces(context: Context, { id, account_id }: UserRef): Promise<void> {
  const left = await context.db.write<{ space_id: number }>(sql`delete from space_members where user_id = ${id} returning space_id`)
  await tellMembers(
    context,
    account_id,
    left.map(({ space_id }) => space_id),
  )
}

/** Deletes the rows of spaces that were marked as deleted long enough ago and have no tables left (tables/purge.ts). */
export async function removeEmptied(context: Context, keptDays: number): Promise<void> {
  const before = formatInstant(new Date(context.now.getTime() - keptDays * 86_400_000))
  await context.transaction(async () => {
    const removed = await context.db.write<{ id: number; account_id: number; name: string }>(sql`
      delete from spaces s where s.deleted_at < ${before}::timestamp and not exists (select from tables t where t.space_id = s.id)
      returning s.id, s.account_id, s.name`)
    for (const { id, account_id: accountId, name } of removed) await audit(context, 'space.purged', { id, name, spaceId: id, accountId })
  })
}
