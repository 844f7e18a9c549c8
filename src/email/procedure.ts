/** The builders of this feature's procedures: what each needs, found and checked before its body is judged. */
import { callers } from '../platform/access/authorize.ts'
import { recordResource, renamed, tableOf, tableResource } from '../platform/access/resources.ts'
import { resourceProcedure } from '../platform/http/trpc.ts'
import { integrationResource } from './integrations.ts'
import { emailResource } from './service.ts'
import { signatureResource, writerResource } from './signatures.ts'

// The ids stand in the body, in camel case; and all of it counts as writing, lists too (api.md, Email).
const inBody = { idsIn: 'body', effect: 'write' } as const
const writes = { effect: 'write' } as const

/** On the table named `tableId`. */
export const tableProcedure = resourceProcedure(renamed(tableResource, { table_id: 'tableId' }), 'write', callers.any, inBody).use(
  ({ ctx, next }) => next({ ctx: { ...ctx, table: tableOf(ctx.row, ctx.context.actor) } }),
)

/** On the record named `tableId`, `recordId`. */
export const recordProcedure = resourceProcedure(
  renamed(recordResource, { table_id: 'tableId', record_id: 'recordId' }),
  'write',
  callers.any,
  inBody,
).use(({ ctx, next }) =>
  next({ ctx: { ...ctx, table: tableOf(ctx.row, ctx.context.actor), record: { id: ctx.row.record_id, version: ctx.row.record_version } } }),
)

/** For whoever may write in some space. */
export const writerProcedure = resourceProcedure(writerResource, 'write', callers.any, writes)

/** On the caller's signature named `id`. */
export const signatureProcedure = resourceProcedure(signatureResource, 'write', callers.any, writes)

/** On the SMTP integration named `id`, by an admin of its space. */
export const integrationProcedure = resourceProcedure(integrationResource, 'admin', callers.session)

/** On the email_out comment named `comment_id`. */
export const emailProcedure = resourceProcedure(emailResource, 'write', callers.any, writes)
