/** The signatures of a user. Another user's signature is not found (contract.md §6, Signatures). */
import { isDeepStrictEqual } from 'node:util'
import { lockActiveUser } from '../accounts/user-status.ts'
import { audit, differing } from '../audit/log.ts'
import type { Resource } from '../platform/access/authorize.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { forbidden, notFound, stale } from '../platform/errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { NewSignature, Signature, SignatureUpdate } from './schema.ts'

/** Signatures are for users who may send email: those who can write in at least one space. */
const canWrite = sql`(p.p_is_owner or exists (
  select 1 from space_members m join spaces s on s.id = m.space_id and s.deleted_at is null
  where m.user_id = p.p_user_id and m.role in ('member', 'admin')))`

export interface WriterRow {
  can_write: boolean
}

export const writerResource: Resource<WriterRow> = {
  ids: [],
  select: () => sql`select ${canWrite} as can_write`,
  // A key that is limited to some spaces sends with the signatures of the owner, who also has other spaces to use them in.
  check: ({ can_write }, { spaceIds }) => {
    if (spaceIds || !can_write) throw forbidden()
  },
}

export interface SignatureRow extends WriterRow {
  signature_id: number
}

export const signatureResource: Resource<SignatureRow> = {
  ids: [{ name: 'id', thing: 'Signature', found: 'signature_id' }],
  select: ({ id }) => sql`
    select g.id as signature_id, ${canWrite} as can_write from email_signatures g
    where g.id = ${id} and g.user_id = p.p_user_id and g.account_id = p.p_account_id`,
  check: writerResource.check,
}

const columns = sql`id, name, html, is_default, created_at, updated_at, version`

/** The signature as the wire has it, with its version. */
const answerOf = (value: Signature): Answer<Signature> => ({ value, version: value.version })

/** The signatures of the acting user, by name. */
export async function list({ db, actor }: Context): Promise<{ rows: Signature[]; total: number }> {
  const rows = await db.read<Signature>(
    sql`select ${columns} from email_signatures where user_id = ${actor.userId} order by lower(name collate "pg_c_utf8"), id`,
  )
  return { rows, total: rows.length }
}

/**
 * Creates a signature, whose HTML the schema has sanitised. A new default replaces the old one.
 * @throws AppError 401 if the user has just been erased
 */
export async function create(context: Context, input: NewSignature): Promise<Answer<Signature>> {
  const { db, actor } = context
  const at = formatInstant(context.now)
  return context.transaction(async () => {
    await lockActiveUser(context)
    if (input.is_default) await clearDefault(context)
    const [row] = await db.write<Signature>(sql`
      insert into email_signatures (account_id, user_id, name, html, is_default, created_at, updated_at)
      values (${actor.accountId}, ${actor.userId}, ${input.name}, ${input.html}, ${input.is_default ?? false},
        ${at}::timestamp, ${at}::timestamp)
      returning ${columns}`)
    const created = row as Signature
    await audit(context, 'signature.created', { id: created.id, name: created.name })
    return answerOf(created)
  })
}

/** A key that is absent keeps its value. @throws AppError 404; 409 with the present row for a stale If-Match */
export async function update(
  context: Context,
  { signature_id }: SignatureRow,
  input: SignatureUpdate,
  ifMatch?: IfMatch,
): Promise<Answer<Signature>> {
  const { db, now } = context
  return context.transaction(async () => {
    // Two requests set the default one after the other; else the unique index would refuse one.
    if (input.is_default) await lockActiveUser(context)
    const [present] = await db.read<Signature>(sql`select ${columns} from email_signatures where id = ${signature_id} for update`)
    if (!present) throw notFound('Signature')
    if (isStale(ifMatch, present)) throw stale('The signature has changed since', answerOf(present))
    // An update without a difference keeps the version, so that it makes no If-Match stale.
    const next = { name: input.name ?? present.name, html: input.html ?? present.html, is_default: input.is_default ?? present.is_default }
    if (isDeepStrictEqual({ ...present, ...next }, present)) return answerOf(present)
    if (input.is_default) await clearDefault(context)
    const [row] = await db.write<Signature>(sql`
      update email_signatures set
        name = ${next.name}, html = ${next.html}, is_default = ${next.is_default},
        version = version + 1, updated_at = ${formatInstant(now)}::timestamp
      where id = ${signature_id}
      returning ${columns}`)
    const detail = { changed: differing(present, { ...present, ...next }) }
    await audit(context, 'signature.updated', { id: signature_id, name: next.name, detail })
    return answerOf(row as Signature)
  })
}

export async function remove(context: Context, { signature_id }: SignatureRow): Promise<void> {
  await context.transaction(async () => {
    const [row] = await context.db.write<{ name: string }>(sql`delete from email_signatures where id = ${signature_id} returning name`)
    if (row) await audit(context, 'signature.deleted', { id: signature_id, name: row.name })
  })
}

async function clearDefault(context: Context): Promise<void> {
  const { db, actor } = context
  await db.write(sql`update email_signatures set is_default = false, version = version + 1 where user_id = ${actor.userId} and is_default`)
}

/** Deletes the signatures of an erased user. @returns how many */
export async function deleteSignatures(db: Database, userId: number): Promise<number> {
  return (await db.write(sql`delete from email_signatures where user_id = ${userId}`)).changed
}
