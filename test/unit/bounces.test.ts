/** Reads failure messages in the forms of many mail systems, and takes no other message for one. All of them were written for this test. */
import { describe, expect, test } from 'vitest'
import { readMessage } from '../../src/email/mime/message.ts'
import { bounceCause } from '../../src/email/reports/bounce-cause.ts'
import { deliveryReport } from '../../src/email/reports/delivery-report.ts'
import { cpuTime } from '../support/cpu-time.ts'
import { MAIL, reportedIn, saidOfAnn, TO_ANN } from '../support/failure-reports.ts'

const read = (lines: string[], mail = MAIL) => reportedIn(Buffer.from(lines.join('\r\n')), mail)
const said = (lines: string[], mail = MAIL) => saidOfAnn(Buffer.from(lines.join('\r\n')), mail)

const returned = ['Message-ID: <offer-1@example.com>', 'From: desk@example.com', 'To: ann@customer.example', 'Subject: Our offer']

const report = (notice: string[], fields: string[], header = ['From: Mail Delivery System <MAILER-DAEMON@mx.example>']) => [
  ...header,
  'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  ...notice,
  '--b',
  'Content-Type: message/delivery-status',
  '',
  ...fields,
  '--b',
  'Content-Type: message/rfc822',
  '',
  ...returned,
  '--b--',
]

describe('a failure message', () => {
  test.each<[form: string, lines: string[], expected: string]>([
    [
      'Postfix',
      report(
        [
          'I could not deliver your message.',
          '',
          '<ann@customer.example>: host mx.customer.example[192.0.2.7] said: 550 5.1.1',
          '    no such user',
        ],
        [
          'Reporting-MTA: dns; mx.example',
          '',
          'Final-Recipient: rfc822; ann@customer.example',
          'Action: failed',
          'Status: 5.1.1',
          'Diagnostic-Code: smtp; 550 5.1.1 no such user',
        ],
      ),
      'failed · 550 · 5.1.1 · hard · The address does not exist',
    ],
    [
      'Exim',
      [
        'From: Mail Delivery System <Mailer-Daemon@mx.example>',
        'X-Failed-Recipients: ann@customer.example',
        'Auto-Submitted: auto-replied',
        '',
        'Your message to one of its recipients has failed for good:',
        '',
        '  ann@customer.example',
        '    host mx.customer.example [192.0.2.7]',
        '    SMTP error from remote mail server after RCPT TO:<ann@customer.example>:',
        '    552 5.2.2 Over quota',
        '',
        '------ This is a copy of your message, with all its headers. ------',
        '',
        ...returned,
      ],
      'failed · 552 · 5.2.2 · soft · The mailbox is full',
    ],
    [
      'qmail',
      [
        'From: MAILER-DAEMON@mx.example',
        'Subject: failure notice',
        '',
        'This is the mail program at mx.example. Your message did not arrive.',
        '',
        '<ann@customer.example>:',
        '192.0.2.7 does not like recipient.',
        'Remote host said: 553 sorry, that domain is not in my list of allowed hosts (#5.7.1)',
        'Giving up on 192.0.2.7.',
        '',
        '--- Below this line is a copy of the message.',
        '',
        ...returned,
      ],
      'failed · 553 · 5.7.1 · policy · The server does not take mail for this domain from this sender',
    ],
    [
      'sendmail, without the fields of a report',
      [
        'From: Mail Delivery Subsystem <MAILER-DAEMON>',
        'Subject: Returned mail: see transcript for details',
        '',
        '   ----- These addresses had permanent fatal errors -----',
        '<ann@customer.example>',
        '    (reason: 550 5.1.1 <ann@customer.example>... User unknown)',
        '',
        '   ----- Transcript of session follows -----',
        '... while talking to mx.customer.example.:',
        '>>> DATA',
        '<<< 550 5.1.1 <ann@customer.example>... User unknown',
      ],
      'failed · 550 · 5.1.1 · hard · The address does not exist',
    ],
    [
      'Exchange, which gives no address for whom it has not found',
      [
        'From: System Administrator <postmaster@customer.example>',
        'Subject: Undeliverable: Our offer',
        '',
        'Your message',
        '',
        '  To:      ann@customer.example; bob@customer.example',
        '  Subject: Our offer',
        '',
        'did not reach the following recipient(s):',
        '',
        'ann@customer.example on Mon, 2 Mar 2026 10:12:00 +0000',
        '    The recipient name is not recognized',
      ],
      'failed ·  ·  · hard · The address does not exist',
    ],
    [
      'Outlook.com, as HTML alone',
      [
        'From: postmaster@outlook.com',
        'Subject: Undeliverable: Our offer',
        'Content-Type: text/html; charset=utf-8',
        '',
        '<p>Your message to <a href="mailto:ann@customer.example">ann@customer.example</a> was blocked.</p>',
        '<p>Remote server returned &#39;550 5.7.606 Access denied, banned sending IP [192.0.2.9]&#39;</p>',
      ],
      "failed · 550 · 5.7.606 · block · The server refuses this sender's server",
    ],
    [
      'Gmail',
      [
        'From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
        'Subject: Delivery Status Notification (Failure)',
        '',
        'Delivery to this recipient failed permanently:',
        '',
        '     ann@customer.example',
        '',
        'Technical details: the other server answered',
        '550-5.2.1 The account that you tried to reach is disabled. See',
        '550 5.2.1 https://support.mx.example/disabled abc123.45 - gsmtp',
        '',
        '----- Original message -----',
        '',
        ...returned,
      ],
      'failed · 550 · 5.2.1 · hard · The mailbox is disabled',
    ],
    [
      'Yahoo',
      [
        'From: MAILER-DAEMON@yahoo.com',
        'Subject: Failure Notice',
        '',
        'Sorry, we were unable to deliver your message to the following address.',
        '',
        '<ann@customer.example>:',
        '554: delivery error: dd This user does not have a customer.example account (ann@customer.example) [0]',
      ],
      'failed · 554 ·  · hard · The address does not exist',
    ],
    [
      'Amazon SES, with the answer of the other server in its own',
      report(
        ['An error occurred while trying to deliver the mail to the following recipients:', 'ann@customer.example'],
        [
          'Reporting-MTA: dns; ses.example',
          '',
          'Action: failed',
          'Final-Recipient: rfc822; ann@customer.example',
          "Diagnostic-Code: smtp; 5.1.0 - Unknown address error 550-'5.2.2 Mailbox full' (delivery attempts: 0)",
          'Status: 5.1.0',
        ],
        ['From: MAILER-DAEMON@ses.example'],
      ),
      'failed · 550 · 5.2.2 · soft · The mailbox is full',
    ],
    [
      'Zoho',
      [
        'From: mailer-daemon@mail.zoho.example',
        'Subject: Undelivered Mail Returned to Sender',
        '',
        'This message was made by mail software. Your mail did not arrive.',
        '',
        'ann@customer.example Invalid Address, ERROR_CODE :550, ERROR_CODE :5.7.1 rejected by our DMARC policy',
      ],
      'failed · 550 · 5.7.1 · policy · The mail failed the checks of its sender (SPF, DKIM or DMARC)',
    ],
    [
      'a server that writes German',
      [
        'From: Postmaster <postmaster@kunde.example>',
        'Subject: Unzustellbar: Unser Angebot',
        'Content-Type: text/plain; charset=iso-8859-1',
        '',
        'Ihre Nachricht wurde nicht zugestellt.',
        'ann@customer.example: Der Empfänger ist unbekannt',
      ],
      'failed ·  ·  · hard · The address does not exist',
    ],
    [
      'a server that calls everything 5.0.0',
      report(
        ['Not delivered.'],
        [
          'Reporting-MTA: dns; mx.example',
          '',
          'Final-Recipient: rfc822; ann@customer.example',
          'Action: failed',
          'Status: 5.0.0',
          'Diagnostic-Code: smtp; 552 5.2.3 Message exceeds the maximum size',
        ],
      ),
      'failed · 552 · 5.2.3 · policy · The mail is too large for the recipient',
    ],
    [
      'a report whose words have the code that its fields lack',
      report(
        ['<ann@customer.example>: host mx.customer.example said: 550 5.1.1 User unknown'],
        ['Reporting-MTA: dns; mx.example', '', 'Final-Recipient: rfc822; ann@customer.example', 'Action: failed', 'Status: 5.0.0'],
      ),
      'failed · 550 · 5.1.1 · hard · The address does not exist',
    ],
  ])('of %s is read', async (_, lines, expected) => {
    expect(await said(lines)).toBe(expected)
  })

  test.each<[fault: string, fields: string[]]>([
    ['no action', ['Reporting-MTA: dns; mx.example', '', 'Final-Recipient: rfc822; ann@customer.example', 'Status: 4.4.7']],
    ['another word for the action', ['Final-Recipient: rfc822; ann@customer.example', 'Action: expired', 'Status: 4.4.7']],
    [
      'no empty line between its groups',
      [
        'Reporting-MTA: dns; mx.example',
        'Final-Recipient: rfc822; ann@customer.example',
        'Action: failed',
        'Status: 4.4.7',
        'Final-Recipient: rfc822; carl@elsewhere.example',
        'Action: delayed',
        'Status: 4.0.0',
      ],
    ],
    [
      'the original recipient alone',
      ['Original-Recipient: <Ann@customer.example>', 'Action: Failure', 'Diagnostic-Code: smtp;4.4.7 expired'],
    ],
  ])('with small faults is read: %s', async (_, fields) => {
    expect(await said(report(['Your mail did not arrive.'], fields))).toMatch(/^failed · .* · 4\.4\.7 · soft/)
  })

  test('is read when its parts have lost their MIME headers', async () => {
    const [from = '', , , ...body] = report(
      ['Not delivered.'],
      ['Final-Recipient: rfc822; ann@customer.example', 'Action: failed', 'Status: 5.1.1'],
    )
    expect(await said([from, 'Subject: failure notice', '', ...body])).toMatch(/^failed · .*5\.1\.1 · hard/)
  })

  test('about a forwarding address is about the only recipient, if it returns the mail', async () => {
    const notice = [
      'From: MAILER-DAEMON@mx.example',
      '',
      '<ann.lee@private.example>: 550 5.1.1 User unknown',
      '',
      '--- Below this line is a copy of the message.',
      '',
      ...returned,
    ]
    expect(await said(notice, TO_ANN)).toMatch(/^failed · 550 · 5\.1\.1/)
    expect(await said(notice)).toBeUndefined()
  })

  test('about several recipients gives each its own code', async () => {
    const found = await read([
      'From: MAILER-DAEMON@mx.example',
      'Subject: Undelivered mail',
      '',
      '<ann@customer.example>: 550 5.1.1 User unknown',
      '<bob@customer.example>: 452 4.2.2 Mailbox full',
    ])
    expect([...found].map(([address, { code, status }]) => [address, code, status])).toEqual(
      expect.arrayContaining([
        ['ann@customer.example', '550', '5.1.1'],
        ['bob@customer.example', '452', '4.2.2'],
      ]),
    )
  })
})

test.each<[form: string, lines: string[]]>([
  [
    'in the form of RFC 3464',
    report(
      ['The mail is still waiting.'],
      [
        'Final-Recipient: rfc822; ann@customer.example',
        'Action: delayed',
        'Status: 4.4.1',
        'Will-Retry-Until: Fri, 6 Mar 2026 10:12:00 +0000',
      ],
    ),
  ],
  [
    'in words',
    [
      'From: Mail Delivery System <Mailer-Daemon@mx.example>',
      'Subject: Warning: message 1abc delayed 24 hours',
      '',
      'A message that you sent has not yet been delivered:',
      '  ann@customer.example',
      'No action is required on your part. Delivery attempts will continue.',
    ],
  ],
])('a notice of a delay %s is no failure', async (_, lines) => {
  expect(await said(lines)).toMatch(/^delayed/)
})

test('a report of a delivery is no failure', async () => {
  const lines = report(['Your mail has arrived.'], ['Final-Recipient: rfc822; ann@customer.example', 'Action: delivered', 'Status: 2.0.0'])
  expect(await said(lines)).toMatch(/^delivered/)
})

describe('an ordinary message is not taken for a failure', () => {
  test.each<[what: string, lines: string[]]>([
    [
      'an answer about a failure',
      [
        'From: Ann Lee <ann@customer.example>',
        'Subject: Re: Undeliverable: Our offer',
        '',
        'My address bob@customer.example gave you 550 5.1.1 User unknown? It works now.',
      ],
    ],
    [
      'a forwarded failure',
      [
        'From: Ann Lee <ann@customer.example>',
        'Subject: Fwd: Undelivered Mail Returned to Sender',
        '',
        'See below.',
        '',
        '> From: MAILER-DAEMON@mx.example',
        '> <bob@customer.example>: 550 5.1.1 User unknown',
      ],
    ],
    [
      'an out-of-office note that names a colleague',
      [
        'From: Ann Lee <ann@customer.example>',
        'Subject: Automatic reply: Our offer',
        'Auto-Submitted: auto-replied',
        '',
        'I am away. My mailbox is full, so please write to bob@customer.example.',
      ],
    ],
    [
      'a mail with a price that looks like a code',
      ['From: Ann Lee <ann@customer.example>', 'Subject: Our order', '', 'ann@customer.example takes 550 chairs.'],
    ],
    [
      'a newsletter',
      [
        'From: News <news@shop.example>',
        'Precedence: bulk',
        'Subject: Free delivery',
        '',
        'Hello ann@customer.example, no quota on chairs: 550 of them.',
      ],
    ],
    [
      'a failure of another mail to somebody else',
      [
        'From: MAILER-DAEMON@mx.example',
        'Subject: failure notice',
        '',
        '<carl@elsewhere.example>: 550 5.1.1 User unknown',
        '',
        '--- Below this line is a copy of the message.',
        '',
        'Message-ID: <another@example.com>',
        'To: carl@elsewhere.example',
      ],
    ],
  ])('%s', async (_, lines) => {
    expect(await said(lines)).toBeUndefined()
    expect(await said(lines, TO_ANN)).toBeUndefined()
  })
})

test.each<[words: string, kind: string]>([
  ['550 5.1.1 <ann@customer.example>: Recipient address rejected: User unknown in virtual mailbox table', 'hard'],
  ['550 5.4.1 Recipient address rejected: Access denied', 'hard'],
  ['Host or domain name not found. Name service error for name=customer.example type=MX: Host not found', 'hard'],
  ['Name service error for domain customer.example: Host not found, try again', 'soft'],
  ['553 5.1.8 <desk@example.com>: Sender address rejected: Domain not found', 'block'],
  ['554 5.7.1 Service unavailable; Client host [192.0.2.9] blocked using zen.spamhaus.org', 'block'],
  ['550 5.7.25 The IP address sending this message does not have a PTR record', 'block'],
  ['550 5.7.26 Unauthenticated email from example.com is not accepted due to domain policy', 'policy'],
  ['554 5.7.1 Message rejected as spam', 'policy'],
  ['552 5.3.4 Message size exceeds fixed limit', 'policy'],
  ['550 5.7.133 Only authenticated senders allowed', 'policy'],
  ['454 4.7.1 Relay access denied', 'policy'],
  ['451 4.7.1 Greylisted, please try again in 300 seconds', 'soft'],
  ['421 4.7.0 Too many connections from your host', 'soft'],
  ['connect to mx.customer.example[192.0.2.7]:25: Connection timed out', 'soft'],
  ['554 5.4.6 Too many hops', 'soft'],
  ['550 Requested action not taken', 'block'],
])('the words "%s" mean %s', (diagnostic, kind) => {
  const [, code = null] = /^([45]\d\d) /.exec(diagnostic) ?? []
  const [status = null] = /[45]\.\d\.\d+/.exec(diagnostic) ?? []
  expect(bounceCause({ code, status, diagnostic }).kind).toBe(kind)
})

test.each([
  'a@b.example ',
  '<a@b.example>: 550 5.1.1 user\n',
  '\n',
  'over quota ',
  '> ',
  ' '.repeat(50),
  'Message-ID: <',
  '-----',
  '***',
  '***\n',
  'will be still ',
  'delivery attempts will be ',
  'full x ',
])('a notice of 200 KB that repeats %j takes no time', async (text) => {
  const raw = Buffer.from(`From: MAILER-DAEMON@mx.example\nSubject: failure notice\n\n${text.repeat(200_000 / text.length)}`)
  const message = await readMessage(raw)
  const usedMs = cpuTime()
  deliveryReport(message, raw)
  expect(usedMs()).toBeLessThan(2_000)
})
