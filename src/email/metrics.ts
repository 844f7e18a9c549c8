/** Metrics of emails from records. How many wait, and for how long, is in the metrics of their queue, `email.send`. */
import { counter, duration, type Metric } from '../platform/metrics.ts'

/** Counted when an email comes into a state. */
export const mails = counter({
  name: 'gridpost_mails_total',
  help: 'Emails that came into a state: queued, sent, read, bounced or dropped.',
  labels: ['state'],
})

export const recipients = counter({
  name: 'gridpost_mail_recipients_total',
  help: 'Recipients after an attempt to deliver: sent, queued for the next attempt, dropped, or unknown.',
  labels: ['state'],
})

export const deliverySeconds = duration({
  name: 'gridpost_smtp_seconds',
  help: 'Time of one dialogue with the SMTP server of an integration, by outcome.',
  labels: ['outcome'],
  buckets: [0.05, 0.1, 0.5, 1, 5, 15, 60, 300],
})

export const inboundMails = counter({
  name: 'gridpost_inbound_mails_total',
  help: 'Inbound messages, by what became of them.',
  labels: ['verdict'],
})

export const emailMetrics: readonly Metric[] = [mails, recipients, deliverySeconds, inboundMails]
