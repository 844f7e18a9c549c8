/** The builder of procedures on one comment: its subject is found and checked first, then the comment. */
import { callers, type Resource } from '../platform/access/authorize.ts'
import { withRule } from '../platform/access/resources.ts'
import type { Actor } from '../platform/actor.ts'
import { join, raw, type Sql, sql } from '../platform/database/database.ts'
import { forbidden } from '../platform/errors.ts'
import { resourceProcedure } from '../platform/http/procedures/trpc.ts'
import { canDelete, canEdit, isInEditWindow, type JudgedComment } from './policy.ts'
import { commentedRecord } from './record-subject.ts'
import type { SubjectResource } from './subject.ts'

type CommentRow<Row> = Row & JudgedComment & { comment_id: number }

/** On the comment `comment_id` of the subject, for those who may edit it now, or delete it. */
export function commentProcedureOf<Row extends object, Comment, Attachment>(subject: SubjectResource<Row, Comment, Attachment>) {
  const rules = {
    edit: canEdit,
    delete: (row: CommentRow<Row>, actor: Actor) => canDelete(row, actor, subject.isModerator(row, actor)),
  }
  return (right: keyof typeof rules) =>
    resourceProcedure(withRule(commentResource(subject), rules[right]), subject.right, callers.any, {}, (row, actor) => ({
      subject: subject.subjectOf(row, actor),
      comment: row as JudgedComment & { comment_id: number },
    })).use(({ ctx, next }) => {
      if (right === 'edit' && !isInEditWindow(ctx.comment, ctx.context.now)) throw forbidden('Comment can no longer be edited')
      return next()
    })
}

/** On the comment `comment_id` of a record. */
export const commentProcedure = commentProcedureOf(commentedRecord)

function commentResource<Row extends object>({
  resource,
  comments,
  ids: shared,
}: Pick<SubjectResource<Row, unknown, unknown>, 'resource' | 'comments' | 'ids'>): Resource<CommentRow<Row>> {
  const ids = [...resource.ids, { name: 'comment_id', thing: 'Comment', found: 'comment_id' }]
  const belongs = join(
    shared.map((column) => sql`${raw(`c.${column} = s.${column}`)}`),
    ' and ',
  )
  return {
    ids,
    select: ({ comment_id, ...names }, of): Sql => sql`
      select s.*, c.id as comment_id, ${comments.type} as comment_type, c.user_id as comment_user_id, c.api_key_id as comment_api_key_id,
        c.created_at as comment_created_at
      from (${resource.select(names, of)}) s
      left join ${raw(comments.name)} c on ${belongs} and c.id = ${comment_id}`,
    check: (row, actor, right) => resource.check(row, actor, right),
    ...(resource.textOf && { textOf: resource.textOf }),
    ...(resource.readUnread && { readUnread: resource.readUnread }),
    // Without the table of the records there is no comment either: the same 404s apply.
    ...(resource.fallback && { fallback: { ...resource.fallback, ids } as unknown as Resource<CommentRow<Row>> }),
  }
}
