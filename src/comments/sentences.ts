/** What people are told of a comment on a record, in sentences. */

import { actingName, type Notice } from '../notifications/notify.ts'
import type { Actor } from '../platform/access/authorize.ts'
import { excerpt } from './mentions.ts'

export const commented = (tableName: string, content: string, actor: Actor): Notice => ({
  event_type: 'COMMENT',
  message: `${actingName(actor)} commented on a record of “${tableName}”.`,
  summary: excerpt(content),
})

export const mentioned = (tableName: string, content: string, actor: Actor): Notice => ({
  event_type: 'comment.mention',
  message: `${actingName(actor)} mentioned you on a record of “${tableName}”.`,
  summary: excerpt(content),
})

export const replied = (tableName: string, content: string, senderName: string): Notice => ({
  event_type: 'COMMENT',
  message: `${excerpt(senderName)} replied by mail on a record of “${tableName}”.`,
  summary: excerpt(content),
})
