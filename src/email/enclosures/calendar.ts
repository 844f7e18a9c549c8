/** Says what an invitation, or the answer to one, is about (RFC 5545, RFC 5546), because many programs send it without words. */

const MAX_CALENDAR = 262_144

interface Property {
  name: string
  parameters: string
  value: string
}

/** What is said of the event, by the method of the calendar. */
const METHODS: Record<string, string> = {
  REQUEST: 'Invitation',
  CANCEL: 'Cancelled',
  COUNTER: 'New time proposed',
  DECLINECOUNTER: 'Proposal declined',
  REFRESH: 'Details asked for',
}
/** What an answer says, by the status of its attendee. */
const ANSWERS: Record<string, string> = { ACCEPTED: 'Accepted', DECLINED: 'Declined', TENTATIVE: 'Tentative', DELEGATED: 'Delegated' }

/**
 * One line such as "Accepted: Kick-off, 3 March 10:00", and the words that were added. '' for a calendar without an event.
 * @param mail the subject says what an answer without a status means; the year is left out if it is that of the mail
 */
export function calendarText(calendar: string, mail: { subject: string; year: number | undefined }): string {
  const lines = calendar
    .slice(0, MAX_CALENDAR)
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/)
  const start = lines.findIndex((line) => /^BEGIN:(VEVENT|VTODO)\s*$/i.test(line))
  if (start < 0) return ''
  const method = propertyIn(lines, 'METHOD')?.value.trim().toUpperCase() ?? ''
  const end = lines.findIndex((line, index) => index > start && /^(END:(VEVENT|VTODO)|BEGIN:VALARM)\s*$/i.test(line))
  const event = lines.slice(start + 1, end < 0 ? undefined : end)
  const summary = unescaped(propertyIn(event, 'SUMMARY')?.value).trim()
  const title = summary || mail.subject.trim()
  const time = writtenTime(propertyIn(event, 'DTSTART') ?? propertyIn(event, 'DUE'), mail.year)
  const words = unescaped(propertyIn(event, method === 'REPLY' || method === 'COUNTER' ? 'COMMENT' : 'DESCRIPTION')?.value).trim()
  const said = method === 'REPLY' ? answerIn(event) : (METHODS[method] ?? 'Event')
  const first = said === undefined && mail.subject.includes(title) ? mail.subject.trim() : title && `${said ?? 'Answer'}: ${title}`
  return [[first, time].filter(Boolean).join(', '), words].filter(Boolean).join('\n\n')
}

/** Undefined for an answer that does not say whether the attendee comes. */
function answerIn(event: string[]): string | undefined {
  const { parameters = '' } = propertyIn(event, 'ATTENDEE') ?? {}
  return ANSWERS[/;PARTSTAT="?([A-Z-]+)/i.exec(parameters)?.[1]?.toUpperCase() ?? '']
}

function propertyIn(lines: string[], wanted: string): Property | undefined {
  for (const line of lines) {
    const [, name = '', parameters = '', value = ''] = PROPERTY.exec(line) ?? []
    if (name.toUpperCase() === wanted) return { name, parameters, value }
  }
  return undefined
}
/** A value in quotes may have a colon. */
const PROPERTY = /^([A-Z-]{1,40})((?:;(?:[^":]|"[^"]*")*)?):(.*)$/i

const unescaped = (value = ''): string => value.replace(/\\([\\;,nN])/g, (_, letter: string) => (/n/i.test(letter) ? '\n' : letter))

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/** The time in the event's own zone, such as "3 March 10:00", or "3 March" for a whole day. */
function writtenTime(property: Property | undefined, year: number | undefined): string {
  const [, ofYear = '', month = '', day = '', hour, minute, utc] =
    /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?/.exec(property?.value.trim() ?? '') ?? []
  const name = MONTHS[Number(month) - 1]
  if (!name) return ''
  const date = `${Number(day)} ${name}${year === undefined || year === Number(ofYear) ? '' : ` ${ofYear}`}`
  return hour === undefined ? date : `${date} ${hour}:${minute}${utc ? ' UTC' : ''}`
}
