import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok, RecordPath } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, recordProcedure, resourceProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { dueOfPrincipal } from './queries.ts'
import { MarkedRead, Notification, NotificationPath, NotificationQuery, ReadState, UnreadCount } from './schema.ts'
import * as notifications from './service.ts'

export const notificationsRouter = router({
  list: accountProcedure(callers.users)
    .meta(rest('POST', '/api/notifications/list', docs.list, { isList: true }))
    .input(NotificationQuery)
    .output(listOf(Notification))
    .query(({ ctx, input }) => notifications.list(ctx.context, input)),

  unreadCount: accountProcedure(callers.users, { principalRow: dueOfPrincipal })
    .meta(rest('POST', '/api/notifications/unreadCount', docs.unreadCount))
    .input(NoInput)
    .output(UnreadCount)
    .query(({ ctx }) => notifications.unreadCount(ctx.context, ctx.row)),

  markRead: resourceProcedure(notifications.notificationResource, 'read', callers.users)
    .meta(rest('POST', '/api/notifications/{id}/markRead', docs.markRead))
    .input(NotificationPath)
    .output(ReadState)
    .mutation(({ ctx }) => notifications.mark(ctx.context, ctx.row, true)),

  markUnread: resourceProcedure(notifications.notificationResource, 'read', callers.users)
    .meta(rest('POST', '/api/notifications/{id}/markUnread', docs.markUnread))
    .input(NotificationPath)
    .output(ReadState)
    .mutation(({ ctx }) => notifications.mark(ctx.context, ctx.row, false)),

  markRecordRead: recordProcedure('read', callers.users)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/markRead', docs.markRecordRead))
    .input(RecordPath)
    .output(MarkedRead)
    .mutation(({ ctx, input }) => notifications.markRecordRead(ctx.context, input)),

  markAllRead: accountProcedure(callers.users)
    .meta(rest('POST', '/api/notifications/markAllRead', docs.markAllRead))
    .input(NoInput)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await notifications.markAllRead(ctx.context)
      return { ok: true }
    }),
})
