/** What the recipient of a caught mail, or their mail server, would send back: a reply, and a delivery report (RFC 3464). */
import { newHexToken } from '../../platform/secrets/secrets.ts'
import type { CaughtMail } from './mail-folder.ts'

/** The kinds of failure that a form offers: the enhanced status, and the words of a mail server. */
export const BOUNCES = {
  unknown: { label: 'No such user', status: '5.1.1', diagnostic: '550 5.1.1 The email account that you tried to reach does not exist' },
  full: { label: 'Mailbox full', status: '5.2.2', diagnostic: '552 5.2.2 The mailbox is over its quota' },
  refused: { label: 'Refused by policy', status: '5.7.1', diagnostic: '550 5.7.1 Message refused by the policy of the recipient' },
} as const
export type BounceChoice = keyof typeof BOUNCES

/** True for an address whose mails come back to the service. */
export const isReplyAddress = (address: string | undefined): boolean => /\breply-[0-9a-f]{16}@/i.test(address ?? '')

/** The reply of a mail program, with the mail quoted below the text. */
export async function replyTo(mail: CaughtMail, { from, text }: { from: string; text: string }): Promise<Buffer> {
  const sender = addressOf(from, mail)
  const quoted = (mail.text ?? '').split('\n').map((line) => `> ${line}`)
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({
    from: sender,
    to: mail.headers['reply-to'] ?? mail.from,
    subject: /^re:/i.test(mail.subject) ? mail.subject : `Re: ${mail.subject}`,
    inReplyTo: mail.messageId,
    references: [mail.headers.references ?? '', mail.messageId].join(' ').trim(),
    messageId: newMessageId(sender),
    text: [text.trim(), '', `On ${new Date(mail.receivedAt).toUTCString()}, ${mail.from} wrote:`, ...quoted].join('\n'),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}

/** The report of the mail server of a recipient that the mail cannot be delivered. */
export function reportOn(mail: CaughtMail, { recipient, kind }: { recipient: string; kind: BounceChoice }): Buffer {
  const address = addressOf(recipient, mail)
  const { status, diagnostic } = BOUNCES[kind]
  const server = address.split('@').at(-1) ?? ''
  const boundary = newHexToken(12)
  const lines = [
    'Return-Path: <>',
    `From: Mail Delivery System <MAILER-DAEMON@${server}>`,
    `To: <${mail.envelopeFrom}>`,
    'Subject: Undelivered Mail Returned to Sender',
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: ${newMessageId(address)}`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'Your message could not be delivered to one or more recipients.',
    '',
    `<${address}>: ${diagnostic}`,
    '',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    `Reporting-MTA: dns; ${server}`,
    '',
    `Final-Recipient: rfc822; ${address}`,
    'Action: failed',
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${diagnostic}`,
    '',
    `--${boundary}`,
    'Content-Type: text/rfc822-headers',
    '',
    `Message-ID: ${mail.messageId}`,
    `From: ${oneLine(mail.headers.from ?? '')}`,
    `To: ${oneLine(mail.headers.to ?? '')}`,
    `Subject: ${oneLine(mail.headers.subject ?? '')}`,
    '',
    `--${boundary}--`,
    '',
  ]
  return Buffer.from(lines.join('\r\n'))
}

/** One of the recipients. The form offers only these, and another address could bring line breaks into the header. */
const addressOf = (given: string, { envelopeTo }: CaughtMail): string =>
  envelopeTo.includes(given) ? given : (envelopeTo[0] ?? 'nobody@localhost')

const newMessageId = (address: string) => `<${newHexToken(16)}@${address.split('@').at(-1)}>`
const oneLine = (value: string) => value.replace(/\s+/g, ' ')
