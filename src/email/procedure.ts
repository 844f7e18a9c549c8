/** The builders of this feature's procedures: each finds and checks its resource before the body is validated. */
import { callers, type Resource, type Role } from '../platform/access/authorize.ts'
import { checkSpace, recordResource, renamed, tableOf, tableResource } from '../platform/access/resources.ts'
import { sql } from '../platform/database/database.ts'
import { accountProcedure, resourceProcedure } from '../platform/http/procedures/trpc.ts'
import { integrationResource } from './integrations.ts'
import type { EmailRow } from './outbound/interventions.ts'
import { signatureResource, writerResource } from './signatures.ts'
import { suppressionsResource } from './suppressions/service.ts'

// The ids are in the body, in camel case. Every email endpoint needs a key that can write, even those that only read (api.md, Email).
const inBody = { idsIn: 'body', effect: 'write' } as const
const writes = { effect: 'write' } as const

/** On the table named `tableId`. */
export const emailTableProcedure = resourceProcedure(renamed(tableResource, { table_id: 'tableId' }), 'write', callers.any, inBody).use(
  ({ ctx, next }) => next({ ctx: { ...ctx, table: tableOf(ctx.row, ctx.context.actor) } }),
)

/** On the record named `tableId`, `recordId`. */
export const emailRecordProcedure = resourceProcedure(
  renamed(recordResource, { table_id: 'tableId', record_id: 'recordId' }),
  'write',
  callers.any,
  inBody,
).use(({ ctx, next }) =>
  next({ ctx: { ...ctx, table: tableOf(ctx.row, ctx.context.actor), record: { id: ctx.row.record_id, version: ctx.row.record_version } } }),
)

/** For users who may write in at least one space. */
export const writerProcedure = resourceProcedure(writerResource, 'write', callers.any, writes)

/** On the spaces that the caller administers; on none for everybody else. */
export const adminProcedure = accountProcedure(callers.any, writes)

/** On the suppressed addresses of the account, for admins. */
export const suppressionProcedure = resourceProcedure(suppressionsResource, 'admin', callers.any, writes)

/** On the caller's signature named `id`. */
export const signatureProcedure = resourceProcedure(signatureResource, 'write', callers.any, writes)

/** On the SMTP integration named `id`, by an admin of its space. */
export const integrationProcedure = resourceProcedure(integrationResource, 'admin', callers.session)

/** An email_out comment, found by its id alone. */
const emailResource: Resource<EmailRow & { member_role: Role | null }> = {
  ids: [{ name: 'comment_id', thing: 'Comment', found: 'comment_id' }],
  select: ({ comment_id }) => sql`
    select c.id as comment_id, c.space_id, c.table_id, c.user_id as comment_user_id, c.api_key_id as comment_api_key_id,
      m.role as member_role
    from record_comments c
    join tables t on t.id = c.table_id and t.deleted_at is null
    join spaces s on s.id = t.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where c.id = ${comment_id} and c.type = 'email_out' and c.account_id = p.p_account_id`,
  check: checkSpace,
}

/** On the email_out comment named `comment_id`. */
export const emailProcedure = resourceProcedure(emailResource, 'write', callers.any, writes)
