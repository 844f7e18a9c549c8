import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

const assigned = {
  id: 31,
  user_id: 8,
  actor_user_id: 7,
  account_id: 1,
  space_id: 1,
  table_id: 101,
  record_id: 12,
  task_id: 55,
  event_type: 'TASK_ASSIGNED',
  message: 'Ada Byron assigned you the task “Call back”.',
  url: '/task/55',
  summary: '“Call back” is due on 2026-03-31.',
  seen_at: null,
  read_at: null,
  created_at: '2026-03-30 09:30:00',
}

export const docs = operationDocs('Notifications', {
  list: {
    summary: 'List notifications',
    description:
      "Returns the caller's own notifications, newest first. A notification stays when its task, record or comment is deleted. While the " +
      'caller cannot read the space, table or task of a notification, it is left out here and in the counts.',
    example: { input: { filter: 'unread' }, output: { rows: [assigned], total: 1 } },
  },

  unreadCount: {
    summary: 'Count unread notifications',
    description: "Counts the unread notifications, and the caller's open tasks that are due today or overdue.",
    example: { output: { unread: 3, tasksDue: 1 } },
  },

  markRead: {
    summary: 'Mark a notification as read',
    description: 'Repeating the call changes nothing.',
    example: { output: { id: 31, read: true } },
  },

  markUnread: {
    summary: 'Mark a notification as unread',
    description: 'Repeating the call changes nothing.',
    example: { output: { id: 31, read: false } },
  },

  markRecordRead: {
    summary: "Mark a record's notifications as read",
    description: "Marks the caller's unread notifications about the record and about its tasks, which its badge counts as `unread`.",
    example: { output: { read: 2 } },
  },

  markAllRead: {
    summary: 'Mark all notifications as read',
    description: "Marks all of the caller's notifications that the list shows.",
    example: { output: { ok: true } },
  },
})

const parameters = [{ name: 'token', in: 'path', required: true, description: 'The token of the link.', schema: { type: 'string' } }]
const html = (description: string) => ({ description, content: { 'text/html': { schema: { type: 'string' } } } })

export const notificationOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/unsubscribe/{token}',
    operationId: 'notifications.unsubscribePage',
    tag: 'Notifications',
    summary: 'Show the page that stops notification mails',
    description: 'The target of the link at the end of a notification mail. The page asks for confirmation and changes nothing.',
    isPublic: true,
    parameters,
    responses: { 200: html('The page.'), 404: html('The link is incomplete.') },
  },
  {
    method: 'post',
    path: '/unsubscribe/{token}',
    operationId: 'notifications.unsubscribe',
    tag: 'Notifications',
    summary: 'Stop notification mails',
    description:
      "Sets the user's mail preference to none. Mail programs call it for their one-click unsubscribe (RFC 8058). Repeating the call " +
      'changes nothing.',
    isPublic: true,
    parameters,
    responses: { 200: html('The mails are stopped.'), 404: html('The link is incomplete.') },
  },
]
