import { describe, expect, test } from 'vitest'
import { composeLetter, type LetterItem } from '../../src/notifications/letter.ts'

const NOW = new Date('2026-03-30T22:30:00Z')
const LINKS = { publicUrl: 'https://grid.example', unsubscribe: 'https://grid.example/unsubscribe/8.x' }

const onTask: LetterItem = {
  id: 1,
  event_type: 'TASK_ASSIGNED',
  message: 'Ada Byron assigned you the task “Call back”.',
  summary: '“Call back” is due on 2026-03-31 at 22:30 UTC.',
  url: '/task/55',
  created_at: '2026-03-30 21:30:00',
  task_title: 'Call back',
  due_date: '2026-03-31',
  due_time: '22:30:00',
  table_name: 'Companies',
  record_id: 12,
  record_title: 'Analytical\nEngines',
}
const onRecord: LetterItem = {
  ...onTask,
  id: 2,
  event_type: 'COMMENT',
  message: 'Ada Byron commented on a record of “Companies”.',
  summary: 'See the new list',
  url: '/table/101/record/12',
  task_title: null,
  due_date: null,
  due_time: null,
}

const letter = (items: Partial<LetterItem>[], timezone = 'Europe/Berlin', name = 'Max Born') =>
  composeLetter(
    items.map((item) => ({ ...onTask, ...item })),
    { name, timezone },
    NOW,
    LINKS,
  )

describe('a letter', () => {
  test('is written in the order of its letters, whatever a name has in it', () => {
    const message = 'Ada\u202e Byron\u2066 assigned you the task “\u200fCall\u200e back”.'
    const { subject, text, html } = letter(
      [{ message, task_title: '\u202eCall back', record_title: 'A\u2067cme' }],
      'Europe/Berlin',
      'Max\u202d Born',
    )
    expect(subject).toBe('Ada Byron assigned you the task “Call back”')
    expect(text + html).not.toMatch(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/)
  })

  test('has a readable text form', () => {
    const comment = {
      id: 3,
      event_type: 'TASK_COMMENT',
      message: 'Ada Byron commented on the task “Call back”.',
      summary: 'They called.',
    } as const
    const { subject, text } = letter([{ created_at: '2026-03-29 08:00:00' }, onRecord, { ...comment, created_at: '2026-03-30 22:10:00' }])
    expect(subject).toBe('3 notifications: “Call back”, “Analytical Engines”')
    expect(text).toBe(`Hello Max Born,

“Call back” – Companies: “Analytical Engines” – due Wednesday, 1 April 2026, 00:30
- Ada Byron commented on the task “Call back”. (00:10)
  > They called.
- Ada Byron assigned you the task “Call back”. (Sunday, 29 March 2026, 10:00)
https://grid.example/task/55

“Analytical Engines” – Companies
- Ada Byron commented on a record of “Companies”. (Monday, 30 March 2026, 23:30)
  > See the new list
https://grid.example/table/101/record/12

-- 
You get this mail because of the mail setting in your Gridpost profile. Times are in Europe/Berlin.

No more mails like this: https://grid.example/unsubscribe/8.x
`)
  })

  test.each([
    ['UTC', 'Tuesday, 31 March 2026, 22:30'],
    ['Pacific/Kiritimati', 'Wednesday, 1 April 2026, 12:30'],
    ['Etc/GMT+12', 'Tuesday, 31 March 2026, 10:30'],
    ['Asia/Kathmandu', 'Wednesday, 1 April 2026, 04:15'],
  ])('says in %s that the task is due %s', (timezone, due) => {
    const { text, html } = letter([{}], timezone)
    expect(text).toContain(`due ${due}`)
    expect(html).toContain(`due ${due}`)
  })

  test.each(['UTC', 'Pacific/Kiritimati', 'Etc/GMT+12', 'Pacific/Apia'])('never moves a calendar date, not in %s', (timezone) => {
    expect(letter([{ due_time: null }], timezone).text).toContain('due Tuesday, 31 March 2026\n')
  })

  test('supports the first and the last dates of the calendar', () => {
    expect(letter([{ due_date: '9999-12-31' }], 'Pacific/Kiritimati').text).toContain('1 January 10000, 12:30')
    expect(letter([{ due_date: '0001-01-01', due_time: null }]).text).toContain('1 January 1\n')
  })

  test('shows user input as text, on one line of a subject', () => {
    const title = 'Tom & <img src=x onerror=alert(1)>\r\nBcc: eve@example.com'
    const message = `Ada <b> assigned you the task “${title}”.`
    const { subject, html, text } = letter([{ task_title: title, message }], 'UTC', '<script>')
    expect(subject).toBe('Ada <b> assigned you the task “Tom & <img src=x onerror=alert(1)> Bcc: eve@example.com”')
    expect(text).toContain('“Tom & <img src=x onerror=alert(1)> Bcc: eve@example.com”')
    expect(html).toContain('Tom &amp; &lt;img src=x onerror=alert(1)&gt; Bcc: eve@example.com')
    expect(html).toContain('Hello &lt;script&gt;,')
    expect(html).not.toMatch(/<(img|script|b)\b/)
  })

  test('names a record without a title by its id, and a standalone task by its title alone', () => {
    expect(letter([{ ...onRecord, record_title: null }]).text).toContain('\nRecord 12 – Companies\n')
    const alone = { table_name: null, record_id: null, record_title: null, due_date: null }
    expect(letter([alone]).text).toContain('\n“Call back”\n- ')
  })

  test('keeps its subject short', () => {
    const { subject } = letter([{ message: `Ada Byron assigned you the task “${'long '.repeat(100)}”.` }])
    expect(subject).toHaveLength(150)
    expect(subject.endsWith('…')).toBe(true)
  })

  test('mentions that it contains several reminders', () => {
    const reminder = (id: number, title: string) => ({ id, task_title: title, url: `/task/${id}`, event_type: 'TASK_REMINDER' }) as const
    expect(letter([reminder(1, 'One'), reminder(2, 'Two'), reminder(3, 'Three')]).subject).toBe('3 reminders: “Three”, “Two” and 1 more')
  })
})
