/** The texts of notifications about comments. */

import { actingName, type Notice } from '../notifications/notify.ts'
import type { Actor } from '../platform/actor.ts'
import { excerpt } from './mentions.ts'
import type { Subject } from './subject.ts'

type NoticeSubject = Pick<Subject, 'title' | 'notices'>

/** A comment that consists of files alone is summed up by their names. */
export const commented = (
  { title, notices }: NoticeSubject,
  content: string,
  actor: Actor,
  attachments: readonly { name: string }[] = [],
): Notice => ({
  event_type: notices.comment,
  message: `${actingName(actor)} commented on ${title}.`,
  summary: excerpt(content || attachments.map(({ name }) => name).join(', ')),
})

export const mentioned = ({ title, notices }: NoticeSubject, content: string, actor: Actor): Notice => ({
  event_type: notices.mention,
  message: `${actingName(actor)} mentioned you on ${title}.`,
  summary: excerpt(content),
})

export const replied = ({ title, notices }: NoticeSubject, content: string, senderName: string): Notice => ({
  event_type: notices.comment,
  message: `${excerpt(senderName)} replied by mail on ${title}.`,
  summary: excerpt(content),
})
