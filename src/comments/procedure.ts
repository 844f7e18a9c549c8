/** Procedures on a comment of a record: the record is found and checked first, as everywhere. */
import { type Actor, callers, type Resource } from '../platform/access/authorize.ts'
import { type RecordRow, recordResource, tableOf } from '../platform/access/resources.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { forbidden } from '../platform/http/errors.ts'
import { resourceProcedure } from '../platform/http/trpc.ts'
import { isStillEditable } from './authorship.ts'
import { canDelete, canEdit, type Subject } from './policy.ts'

export interface CommentRow extends RecordRow, Subject {
  comment_id: number
}

const ids = [...recordResource.ids, { name: 'comment_id', thing: 'Comment', found: 'comment_id' }] as const

const commentResource = (rule: (row: Subject, actor: Actor) => boolean): Resource<CommentRow> => ({
  ids,
  select: ({ table_id = 0, record_id = 0, comment_id }): Sql => sql`
    select r.*, c.id as comment_id, c.type as comment_type, c.user_id as comment_user_id, c.api_key_id as comment_api_key_id,
      c.created_at as comment_created_at
    from (${recordResource.select({ table_id, record_id })}) r
    left join record_comments c on c.table_id = r.table_id and c.record_id = r.record_id and c.id = ${comment_id}`,
  check: (row, actor, right) => {
    recordResource.check(row, actor, right)
    if (!rule(row, actor)) throw forbidden()
  },
  ...(recordResource.without && { without: { ...recordResource.without, ids } as unknown as Resource<CommentRow> }),
})

const RULES = { edit: canEdit, delete: canDelete }

/** On the comment named `comment_id` of a record; for an edit, as long as it can be edited. */
export const commentProcedure = (right: keyof typeof RULES) =>
  resourceProcedure(commentResource(RULES[right]), 'write', callers.any).use(({ ctx, next }) => {
    if (right === 'edit' && !isStillEditable(ctx.row, ctx.context.now)) throw forbidden('Comment can no longer be edited')
    return next({ ctx: { ...ctx, table: tableOf(ctx.row, ctx.context.actor), comment: ctx.row } })
  })
