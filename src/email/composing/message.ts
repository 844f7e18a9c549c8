/** The message of an email: its headers, its thread, its text and its files. */
import { openStored } from '../../files/reading.ts'
import type { Context } from '../../platform/context.ts'
import { textOfSanitized } from '../../platform/mail/html-text.ts'
import { replyAddress } from '../headers.ts'
import type { OutboundMail } from '../queries.ts'
import type { ResolvedContent } from './content.ts'
import { withContentIds } from './inline-images.ts'
import type { OutgoingMessage } from './mime.ts'
import { decryptTokens } from './secret-tokens.ts'
import { continuedReferences, continuedThreadIndex, type MailThread } from './threading.ts'

interface Composed {
  message: OutgoingMessage
  envelopeFrom: string
}

export function compose(context: Context, mail: OutboundMail, thread: MailThread, { subject, html }: ResolvedContent): Composed {
  const { settings, now, publicUrl } = context
  const { messageId, inline = [] } = mail.metadata
  const cidOf = new Map(inline.map(({ cid, path }) => [path, cid]))
  const { from, recipients } = mail.request
  const tokens = decryptTokens(settings.secretKeys, messageId, mail.tokens_encrypted)
  const replyTo = replyAddress(tokens.reply, settings.catchDomain)
  const pixel = mail.disable_pixel ? '' : `<img src="${publicUrl()}/email/pixel/${tokens.pixel}.png" width="1" height="1" alt="" />`
  return {
    envelopeFrom: mail.reply_as_envelope ? replyTo : from.email,
    message: {
      from,
      to: recipients.filter(({ kind }) => kind === 'to'),
      cc: recipients.filter(({ kind }) => kind === 'cc'),
      replyTo,
      subject,
      html: withContentIds(html, inline) + pixel,
      // It was sanitised when it was queued, and again if values were put into it.
      text: textOfSanitized(html),
      messageId,
      inReplyTo: thread.messageIds.at(-1) ?? null,
      references: continuedReferences(thread),
      threadIndex: thread.threadIndex && continuedThreadIndex(thread.threadIndex, now),
      date: now,
      attachments: mail.attachments.map(({ name, type, path }) => ({
        name,
        type,
        cid: cidOf.get(path),
        open: async () => {
          const stream = await openStored(context, path)
          if (!stream) throw new Error(`The attachment ${name} is gone`)
          return stream
        },
      })),
    },
  }
}
