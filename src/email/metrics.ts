/** Metrics of emails from records. */
import { sql } from '../platform/database/database.ts'
import { counter, duration, gauge, type Metric } from '../platform/metrics/metrics.ts'

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

/** Counted when too many requests of tracking pixels came at once, or the database was away for too long. */
export const lostOpens = counter({ name: 'gridpost_opens_lost_total', help: 'Opens of mails that could not be recorded.', labels: [] })

export const receptions = counter({
  name: 'gridpost_inbound_smtp_total',
  help:
    'What the receiver of mail answered: accepted, refused (unknown recipient), too_large, deferred, or cut_off ' +
    '(the content did not end).',
  labels: ['outcome'],
})

const waiting = gauge({
  name: 'gridpost_mails_waiting',
  isShared: true,
  help: 'Emails with recipients that are still queued: scheduled, due, under way, or waiting for a retry.',
  labels: ['state'],
  read: async ({ db }) => {
    const rows = await db.read<{ state: string; count: number }>(sql`
      select case when leased_until > localtimestamp then 'under_way' when due_at <= localtimestamp then 'due'
        when attempts = 0 then 'scheduled' else 'retry' end as state, count(*)
      from outbound_emails where due_at is not null group by 1`)
    return rows.map(({ state, count }) => ({ labels: { state }, value: count }))
  },
})

const oldest = gauge({
  name: 'gridpost_mail_oldest_seconds',
  isShared: true,
  help: 'How long the oldest email has been due without an attempt.',
  read: async ({ db }) => {
    const [row] = await db.read<{ seconds: number | null }>(sql`
      select extract(epoch from localtimestamp - min(due_at))::float8 as seconds from outbound_emails
      where due_at <= localtimestamp and (leased_until is null or leased_until < localtimestamp)`)
    return row?.seconds == null ? [] : [{ value: row.seconds }]
  },
})

export const emailMetrics: readonly Metric[] = [mails, recipients, deliverySeconds, inboundMails, receptions, lostOpens, waiting, oldest]
