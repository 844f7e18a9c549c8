/** Where a notification leads. */
import type { inferRouterOutputs } from '@trpc/server'
import type { AppRouter, Client } from 'gridpost-client'
import type { Notification } from './feed.ts'

/**
 * The address of the task, or of the record; that of the mail servers, if one of them fails.
 * @param managed the spaces of which the person is an admin, who may see their mail servers
 * @param entry the comment to show there
 */
export function addressOf(
  { event_type, space_id, task_id, table_id, record_id }: Notification,
  managed: ReadonlySet<number>,
  entry?: number,
): string {
  if (event_type === 'SMTP_FAILING' && space_id !== null && managed.has(space_id)) return `/spaces/${space_id}/integrations`
  const place = task_id === null ? `/table/${table_id}/record/${record_id}` : `/task/${task_id}`
  return entry === undefined ? place : `${place}?entry=${entry}`
}

/** The most comments that a request answers. What is older than these is found by scrolling. */
const MOST_COMMENTS = 100

type Comment = inferRouterOutputs<AppRouter>['comments']['list']['rows'][number]
type TypeOfComment = Comment['type']

/** The kinds of comments that a notification about a record may mean. */
const MEANT: Readonly<Record<string, readonly TypeOfComment[]>> = {
  COMMENT: ['comment', 'email_in'],
  'comment.mention': ['comment'],
  EMAIL_BOUNCED: ['email_out'],
}

/**
 * The comment or mail that the notification is about. A notification does not name it, but is written with it, at the same second.
 * @returns undefined if there is none, or if it is gone
 * @throws TRPCClientError if the place cannot be read
 */
export async function entryOf(client: Client, row: Notification): Promise<number | undefined> {
  const { event_type, table_id, record_id, task_id } = row
  if (task_id !== null) {
    if (!/comment/i.test(event_type)) return undefined
    const { rows } = await client.tasks.comments.list.query({ task_id, limit: MOST_COMMENTS })
    return rows.find((comment) => isWrittenWith(comment, row))?.id
  }
  const types = MEANT[event_type]
  if (!types || table_id === null || record_id === null) return undefined
  const { rows } = await client.comments.list.query({ table_id, record_id, types: [...types], limit: MOST_COMMENTS })
  return rows.find((comment) => (event_type === 'EMAIL_BOUNCED' ? isBounced(comment, row) : isWrittenWith(comment, row)))?.id
}

/** An edit that mentions somebody new notifies them, too. A key and the sender of a mail are no users. */
const isWrittenWith = (comment: Pick<Comment, 'user_id' | 'created_at' | 'updated_at'>, { created_at, actor_user_id }: Notification) =>
  comment.user_id === (actor_user_id ?? 0) && (comment.created_at === created_at || comment.updated_at === created_at)

/** The newest mail with a recipient whose mail came back, and whom the notification names. */
function isBounced({ metadata }: Comment, { message }: Notification): boolean {
  const recipients = metadata?.recipients
  if (!Array.isArray(recipients)) return false
  return recipients.some(
    ({ status, email }: { status?: unknown; email?: unknown }) => status === 'bounced' && message.includes(String(email)),
  )
}
