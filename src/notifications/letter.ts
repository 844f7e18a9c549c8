/** Composes the mail about one or more notifications of one person. */
import { escapeHtml } from '../platform/mail/html.ts'
import { readableDate, readableInstant } from '../platform/time/readable-time.ts'
import { instantOf } from '../platform/time/time.ts'
import { localDate, localTime } from '../platform/time/time-zones.ts'
import type { NotificationType } from './notify.ts'

/** A notification, with the task or record that it is about. */
export interface LetterItem {
  id: number
  event_type: NotificationType
  message: string
  summary: string
  /** The path of the task or record in a frontend. */
  url: string
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  created_at: string
  /** Null if the notification is about a record. */
  task_title: string | null
  due_date: string | null
  due_time: string | null
  /** Null for a standalone task. */
  table_name: string | null
  record_id: number | null
  record_title: string | null
}

export interface LetterReader {
  name: string
  /** An IANA zone: all times in the letter are local to it. */
  timezone: string
}

export interface Composed {
  subject: string
  text: string
  html: string
}

/** The letter lists the newest notifications and counts the others. */
const MAX_LISTED = 20
const MAX_SUBJECT = 150

/** The notifications about one task or record, newest first. */
interface Topic {
  title: string
  /** The place of the task or record, and when a task is due, in words. */
  facts: string[]
  url: string
  lines: { message: string; at: string; excerpt: string | null }[]
}

/**
 * Composes the letter: grouped by task or record, newest first, each with a link.
 * @param items one or more, of one person
 * @param links addresses without a trailing slash: of the service, and of the page to unsubscribe
 */
export function composeLetter(
  items: readonly LetterItem[],
  reader: LetterReader,
  now: Date,
  links: { publicUrl: string; unsubscribe: string },
): Composed {
  const newestFirst = items.toSorted((a, b) => b.id - a.id)
  const topics = topicsOf(newestFirst.slice(0, MAX_LISTED), reader, now, links.publicUrl)
  const letter: Letter = {
    subject: subjectOf(newestFirst),
    greeting: `Hello ${oneLine(reader.name)},`,
    topics,
    more: Math.max(0, items.length - MAX_LISTED),
    timezone: reader.timezone,
    unsubscribe: links.unsubscribe,
  }
  return { subject: letter.subject, text: plainText(letter), html: htmlOf(letter) }
}

interface Letter {
  subject: string
  greeting: string
  topics: Topic[]
  more: number
  timezone: string
  unsubscribe: string
}

const quoted = (title: string) => `“${title}”`
/** Characters that turn the order of the letters after them (UAX #9): a name with one would turn the rest of the sentence. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll(TURNING, '').trim()

/** The subject of one notification is its message; that of several is their number and topics. */
function subjectOf(items: readonly LetterItem[]): string {
  const [first, ...others] = items
  if (!first) throw new Error('A letter needs a notification')
  if (!others.length) return shortened(oneLine(first.message).replace(/\.$/, ''))
  const topics = [...new Set(items.map(topicTitle))]
  const named = topics.slice(0, 2).join(', ')
  const noun = items.every(({ event_type }) => event_type === 'TASK_REMINDER') ? 'reminders' : 'notifications'
  return shortened(`${items.length} ${noun}: ${named}${topics.length > 2 ? ` and ${topics.length - 2} more` : ''}`)
}

const shortened = (text: string) => (text.length > MAX_SUBJECT ? `${text.slice(0, MAX_SUBJECT - 1).trimEnd()}…`.toWellFormed() : text)

const topicTitle = (item: LetterItem): string => oneLine(item.task_title === null ? recordName(item) : quoted(item.task_title))

const recordName = ({ record_title, record_id }: LetterItem) => (record_title ? quoted(record_title) : `Record ${record_id}`)

/** The line of a task names its record, that of a record its table. */
function factsOf(item: LetterItem, timezone: string): string[] {
  const { task_title, table_name } = item
  const due = dueOf(item, timezone)
  const place = table_name === null ? [] : [task_title === null ? table_name : `${table_name}: ${recordName(item)}`]
  return [...place.map(oneLine), ...(due === null ? [] : [`due ${due}`])]
}

function topicsOf(items: readonly LetterItem[], { timezone }: LetterReader, now: Date, publicUrl: string): Topic[] {
  const topics = new Map<string, Topic>()
  for (const item of items) {
    const topic = topics.get(item.url) ?? {
      title: topicTitle(item),
      facts: factsOf(item, timezone),
      url: publicUrl + item.url,
      lines: [],
    }
    topics.set(item.url, topic)
    topic.lines.push({
      message: oneLine(item.message),
      at: timeOf(item.created_at, timezone, now),
      excerpt: QUOTES.has(item.event_type) && item.summary ? item.summary : null,
    })
  }
  return [...topics.values()]
}

/** The types whose summary quotes a user or a server. Other summaries contain times in UTC, which the topic shows in the reader's zone. */
const QUOTES: ReadonlySet<NotificationType> = new Set([
  'TASK_COMMENT',
  'task.comment.mention',
  'comment.mention',
  'COMMENT',
  'SMTP_FAILING',
  'EMAIL_BOUNCED',
])

function dueOf({ due_date, due_time }: LetterItem, timezone: string): string | null {
  if (due_date === null) return null
  return due_time === null ? readableDate(due_date) : readableInstant(instantOf(`${due_date} ${due_time}`), timezone)
}

/** Only the time if the instant lies within the reader's day. */
function timeOf(createdAt: string, timezone: string, now: Date): string {
  const at = instantOf(createdAt)
  const isToday = localDate(at, timezone) === localDate(now, timezone)
  return isToday ? localTime(at, timezone).slice(0, 5) : readableInstant(at, timezone)
}

const FOOT = 'You get this mail because of the mail setting in your Gridpost profile.'

function plainText({ greeting, topics, more, timezone, unsubscribe }: Letter): string {
  const blocks = topics.map(({ title, facts, url, lines }) =>
    [
      [title, ...facts].join(' – '),
      ...lines.flatMap(({ message, at, excerpt }) => [`- ${message} (${at})`, ...(excerpt === null ? [] : [`  > ${excerpt}`])]),
      url,
    ].join('\n'),
  )
  if (more) blocks.push(`… and ${more} more.`)
  return [greeting, ...blocks, `-- \n${FOOT} Times are in ${timezone}.`, `No more mails like this: ${unsubscribe}`]
    .join('\n\n')
    .concat('\n')
}

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:15px;line-height:1.5"
const LINK = 'color:#1d4ed8;text-decoration:none'
const MUTED = 'color:#5b6472;font-size:13px'
const QUOTED = 'margin:0 0 8px;padding:0 0 0 12px;border-left:3px solid #d9dee6;color:#3d4654'

function htmlOf({ subject, greeting, topics, more, timezone, unsubscribe }: Letter): string {
  const blocks = topics.map(
    ({ title, facts, url, lines }) => `<div style="margin:0 0 16px;padding:12px 16px;border:1px solid #d9dee6;border-radius:8px">
<p style="margin:0 0 8px;font-size:16px;font-weight:bold"><a href="${escapeHtml(url)}" style="${LINK}">${escapeHtml(title)}</a></p>
${facts.length ? `<p style="margin:0 0 8px;${MUTED}">${escapeHtml(facts.join(' – '))}</p>\n` : ''}${lines.map(lineHtml).join('\n')}
</div>`,
  )
  const rest = more ? `<p style="margin:0 0 16px">… and ${more} more.</p>\n` : ''
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px 12px;background:#f4f5f7;color:#1c2430;${FONT}">
<div style="max-width:560px;margin:0 auto;padding:24px;background:#ffffff;border-radius:8px">
<p style="margin:0 0 16px">${escapeHtml(greeting)}</p>
${blocks.join('\n')}
${rest}<p style="margin:24px 0 0;${MUTED}">${FOOT} Times are in ${escapeHtml(timezone)}.<br>
<a href="${escapeHtml(unsubscribe)}" style="color:#5b6472">No more mails like this</a></p>
</div>
</body>
</html>
`
}

const lineHtml = ({ message, at, excerpt }: Topic['lines'][number]) =>
  `<p style="margin:0 0 4px">${escapeHtml(message)} <span style="${MUTED}">${escapeHtml(at)}</span></p>${
    excerpt === null ? '' : `\n<blockquote style="${QUOTED}">${escapeHtml(excerpt)}</blockquote>`
  }`
