/** Signatures of a user, for the whole account. Another user's does not exist (contract.md §6). */
import type { Target } from '../access.ts'
import { sql } from '../db.ts'
import { forbidden, notFound } from '../errors.ts'
import { sanitizeHtml } from '../html.ts'
import type { Scope } from '../scope.ts'
import { formatInstant } from '../time.ts'
import type { NewSignature, Signature, SignatureUpdate } from './schema.ts'

/** Signatures are for people who may send: who can write in at least one space. */
const canWrite = sql`(p.p_is_owner or exists (
  select 1 from space_members m join spaces s on s.id = m.space_id and s.deleted_at is null
  where m.user_id = p.p_user_id and m.role in ('member', 'admin')))`

export interface WriterRow {
  can_write: boolean
}

export const writerTarget: Target<WriterRow> = {
  ids: [],
  select: () => sql`select ${canWrite} as can_write`,
  check: ({ can_write }) => {
    if (!can_write) throw forbidden()
  },
}

export interface SignatureRow extends WriterRow {
  signature_id: number
}

export const signatureTarget: Target<SignatureRow> = {
  ids: [{ name: 'id', thing: 'Signature', found: 'signature_id' }],
  select: ({ id }) => sql`
    select g.id as signature_id, ${canWrite} as can_write from email_signatures g
    where g.id = ${id} and g.user_id = p.p_user_id and g.account_id = p.p_account_id`,
  check: writerTarget.check,
}

const columns = sql`id, name, html, is_default, created_at, updated_at`

/** By name. */
export async function list({ db, actor }: Scope): Promise<{ rows: Signature[]; total: number }> {
  const rows = await db.query<Signature>(
    sql`select ${columns} from email_signatures where user_id = ${actor.userId} order by lower(name collate "pg_c_utf8"), id`,
  )
  return { rows, total: rows.length }
}

/** A new default takes the place of the old one. */
export async function create(scope: Scope, input: NewSignature): Promise<Signature> {
  const { db, actor } = scope
  const at = formatInstant(scope.now)
  return scope.transaction(async () => {
    if (input.is_default) await clearDefault(scope)
    const [row] = await db.query<Signature>(sql`
      insert into email_signatures (account_id, user_id, name, html, is_default, created_at, updated_at)
      values (${actor.accountId}, ${actor.userId}, ${input.name}, ${sanitizeHtml(input.html)}, ${input.is_default ?? false},
        ${at}::timestamp, ${at}::timestamp)
      returning ${columns}`)
    return row as Signature
  })
}

/** A key that is absent keeps its value. */
export async function update(scope: Scope, { signature_id }: SignatureRow, input: SignatureUpdate): Promise<Signature> {
  const { db, now } = scope
  const html = input.html === undefined ? null : sanitizeHtml(input.html)
  return scope.transaction(async () => {
    if (input.is_default) await clearDefault(scope)
    const [row] = await db.query<Signature>(sql`
      update email_signatures set
        name = coalesce(${input.name ?? null}::text, name), html = coalesce(${html}::text, html),
        is_default = coalesce(${input.is_default ?? null}::boolean, is_default),
        version = version + 1, updated_at = ${formatInstant(now)}::timestamp
      where id = ${signature_id}
      returning ${columns}`)
    if (!row) throw notFound('Signature')
    return row
  })
}

export async function remove(scope: Scope, { signature_id }: SignatureRow): Promise<void> {
  await scope.transaction((tx) => tx.emailSignature.deleteMany({ where: { id: signature_id } }))
}

/** Two who set a default at once wait for each other on the user's row; the unique index would refuse the second. */
async function clearDefault({ db, actor }: Scope): Promise<void> {
  await db.query(sql`select id from users where id = ${actor.userId} for no key update`)
  await db.execute(
    sql`update email_signatures set is_default = false, version = version + 1 where user_id = ${actor.userId} and is_default`,
  )
}
