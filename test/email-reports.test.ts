/** What reports and refusals lead to: verdicts that say what happened, suppressions, and the instants that are noted. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { replayMessages } from '../src/email/inbox/replay.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { failureReport, mailDesk, postMail, untilRead } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

beforeEach(() => {
  smtp.recipients.clear()
  smtp.on = {}
  app.setClock(null)
})

const UNKNOWN = '550 5.1.1 User unknown'

/** The newest message that came for the account. */
const inboundOf = async (caller: ReturnType<typeof app.as>) => (await caller.get('/api/email/inbound/list')).body[0]

async function report(lines: string[]): Promise<void> {
  await postMail(app, lines)
  await untilRead(app)
}

describe('the verdict of a failure report', () => {
  test('is bounced once for a recipient, and again for a second report about it', async () => {
    const { as, sent } = await mailDesk(app, smtp)
    const { address } = await sent('ann@customer.example', 'bob@customer.example')
    for (const words of [UNKNOWN, '550 5.1.1 Still unknown']) {
      await report(failureReport(address, { 'ann@customer.example': words }))
      expect(await inboundOf(as)).toMatchObject({ verdict: 'bounced', reason: null, comment_ids: [] })
    }
  })

  test('says that it names nobody, if the mail went to several and it names a stranger', async () => {
    const { as, sent, suppressed } = await mailDesk(app, smtp)
    const { address, messageId, metadata } = await sent('ann@customer.example', 'bob@customer.example')
    await report(failureReport(address, { 'stranger@customer.example': UNKNOWN }, messageId))
    expect(await inboundOf(as)).toMatchObject({
      verdict: 'automatic',
      reason: 'A failure report that names none of the recipients, so that nobody was marked',
      comment_ids: [],
    })
    expect((await metadata()).recipients.map(({ status }: { status: string }) => status)).toEqual(['sent', 'sent'])
    expect(await suppressed()).toEqual([])
  })

  test('says that the mail was not sent to a recipient whom the server had refused', async () => {
    const { as, sent } = await mailDesk(app, smtp)
    smtp.recipients.set('bob@customer.example', '550 5.7.1 Rejected by policy')
    const { address, metadata } = await sent('ann@customer.example', 'bob@customer.example')
    await report(failureReport(address, { 'bob@customer.example': UNKNOWN }))
    expect(await inboundOf(as)).toMatchObject({
      verdict: 'automatic',
      reason: 'A failure report about a recipient to whom the mail was not sent',
    })
    expect((await metadata()).recipients[1]).toMatchObject({ status: 'dropped', error: { enhanced: '5.7.1' } })
  })
})

describe('a notice in words', () => {
  const notice = (to: string, subject: string, ...words: string[]) => [
    'From: Mail Delivery System <MAILER-DAEMON@mx.customer.example>',
    `To: ${to}`,
    `Subject: ${subject}`,
    'Content-Type: text/plain; charset=utf-8',
    '',
    ...words,
  ]

  test.each<[what: string, subject: string, words: string[], isDelay: boolean]>([
    [
      'a delay of which the server speaks of a rejection',
      'Delayed Mail (still being retried)',
      ['It will be retried until it is 5 day(s) old.', '', '<ann@customer.example>: 450 4.2.0 Recipient address rejected: Greylisted'],
      true,
    ],
    ['a delay in German', 'Warnung', ['Die Zustellung an ann@customer.example verzögert sich. Sie wird weiter versucht.'], true],
    ['a delay in French', 'Retard', ['Votre message pour ann@customer.example n’a pas encore été remis.'], true],
    ['a success', 'Successful Mail Delivery Report', ['Listed below:', '', '<ann@customer.example>: delivery: 250 2.0.0 OK'], false],
    ['what would be a failure', 'Notice', ['If your mail to ann@customer.example could not be delivered, send it again.'], false],
  ])('about %s leaves the mail sent, and nobody is told of a bounce', async (_, subject, words, isDelay) => {
    const { sent, as, suppressed } = await mailDesk(app, smtp)
    const { address, metadata } = await sent('ann@customer.example')
    await report(notice(address, subject, ...words))
    const { status, recipients } = await metadata()
    expect([status, recipients[0].status, recipients[0].delay !== undefined]).toEqual(['sent', 'sent', isDelay])
    expect(await suppressed()).toEqual([])
    expect((await inboundOf(as)).verdict).toBe('automatic')
  })

  test('is read for each recipient by itself', async () => {
    const { sent, as, suppressed } = await mailDesk(app, smtp)
    const { address, metadata } = await sent('ann@customer.example', 'bob@customer.example', 'carl@customer.example')
    await report(
      notice(
        address,
        'Returned mail: see transcript for details',
        '   ----- The following addresses had permanent fatal errors -----',
        '<ann@customer.example>',
        '    (reason: 550 5.1.1 User unknown)',
        '',
        '   ----- The following addresses had transient non-fatal errors -----',
        '<bob@customer.example>',
        '',
        '   ----- The following addresses had successful delivery notifications -----',
        '<carl@customer.example>  (relayed to non-DSN-aware mailer)',
      ),
    )
    expect((await metadata()).recipients.map(({ status }: { status: string }) => status)).toEqual(['bounced', 'sent', 'sent'])
    expect(await suppressed()).toEqual(['ann@customer.example'])
    expect((await inboundOf(as)).verdict).toBe('bounced')
  })

  test('of a person at postmaster@ who answers is a comment, and bounces nobody', async () => {
    const { sent, as, comments } = await mailDesk(app, smtp)
    const { address, metadata } = await sent('ann@customer.example')
    const words = 'Your mail to ann@customer.example could not be delivered: 552 5.2.2 Mailbox full. It is mended, please send it again.'
    await report(['From: Paul Master <postmaster@customer.example>', `To: ${address}`, 'Subject: Re: Our offer', '', words])
    expect((await metadata()).status).toBe('sent')
    expect((await comments()).at(-1)).toMatchObject({
      content: words,
      type: 'email_in',
      user_name: 'Paul Master',
      metadata: { autoReply: false },
    })
    expect(await inboundOf(as)).toMatchObject({ verdict: 'comment', reason: null })
  })
})

test('what a report is noted with is the instant when it came, also when it is read again later', async () => {
  const { sent, table } = await mailDesk(app, smtp)
  const { address, metadata } = await sent('ann@customer.example')
  const delayed = failureReport(address, { 'ann@customer.example': '451 4.4.1 No answer from the host' })
  app.setClock(new Date('2026-11-20T08:00:00Z'))
  await report(delayed.map((line) => line.replace('Action: failed', 'Action: delayed')))
  expect((await metadata()).recipients[0].delay.at).toBe('2026-11-20 08:00:00')
  app.setClock(new Date('2026-11-22T10:00:00Z'))
  const [stored] = await app.db.read<{ id: number }>(
    sql`select inbound_email_id as id from inbound_verdicts where table_id = ${table} order by 1 desc limit 1`,
  )
  expect(await replayMessages(systemContext(app.deps), { id: stored?.id ?? 0 })).toMatchObject({ read: 1, failed: [] })
  expect((await metadata()).recipients[0].delay.at).toBe('2026-11-20 08:00:00')
})

test('the pause before the next attempt begins at the end of the last, however long that took', async () => {
  const { as, mail } = await mailDesk(app, smtp)
  app.setClock(new Date('2026-11-20T08:00:00Z'))
  smtp.recipients.set('slow@customer.example', 451)
  smtp.on.recipient = async () => app.setClock(new Date('2026-11-20T08:01:00Z'))
  const { body } = await as.post('/api/email/send', mail(['slow@customer.example']))
  const dueAt = async () =>
    (
      await app.db.read<{ due_at: string; attempts: number }>(
        sql`select due_at, attempts from outbound_emails where comment_id = ${body.id} and attempts > 0`,
      )
    )[0]?.due_at
  await expect.poll(dueAt).toBe('2026-11-20 08:01:05')
})

describe('a refusal of a recipient during sending', () => {
  test.each([
    ['550 5.1.1 <gone@customer.example>: Recipient address rejected: User unknown', true],
    ['550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup', true],
    ['550 No such user here', true],
    ['550 5.7.1 Relaying denied', false],
    ['550 5.7.1 Message rejected as spam by content filtering', false],
    ['554 5.7.1 Service unavailable; client host blocked using a blocklist', false],
    ['550 Rejected', false],
    ['552 5.2.2 The mailbox is over quota', false],
    ['553 5.1.8 Sender address rejected: domain not found', false],
  ])('with %s suppresses the address: %s', async (reply, isSuppressed) => {
    const { sent, suppressed } = await mailDesk(app, smtp)
    smtp.recipients.set('gone@customer.example', reply)
    const { metadata } = await sent('gone@customer.example', 'bob@customer.example')
    expect((await metadata()).recipients).toMatchObject([{ status: 'dropped', error: { code: reply.slice(0, 3) } }, { status: 'sent' }])
    expect(await suppressed()).toEqual(isSuppressed ? ['gone@customer.example'] : [])
  })

  test('that may pass, or of the sender, suppresses nobody', async () => {
    const { sent, suppressed, as, mail, metadataOf } = await mailDesk(app, smtp)
    smtp.recipients.set('full@customer.example', 451)
    const { body } = await as.post('/api/email/send', mail(['full@customer.example']))
    await expect.poll(async () => (await metadataOf(body.id)).recipients[0].error?.code).toBe('451')
    smtp.onSender = { code: 550 }
    await sent('ann@customer.example')
    smtp.onSender = {}
    expect(await suppressed()).toEqual([])
  })
})

test('two reports at once about the same addresses in opposite orders do not block each other', async () => {
  const { id: accountId, sent, suppressed } = await mailDesk(app, smtp)
  const [ann, bob] = ['ann@customer.example', 'bob@customer.example']
  const mails = [await sent(ann, bob), await sent(bob, ann)]
  const before = await deadlocks()
  await app.db.write(
    sql`insert into email_suppressions (account_id, email, reason) values (${accountId}, ${ann}, 'hard_bounce'), (${accountId}, ${bob}, 'hard_bounce')`,
  )
  // The first report waits for the lock, then the second: if it held Bob's row while it waits for Ann's, it would block the first.
  const locker = await app.db.connect()
  await locker.query('begin')
  await locker.query('select from email_suppressions where account_id = $1 and email = $2 for update', [accountId, ann])
  for (const [index, { address }] of mails.entries()) {
    await postMail(app, failureReport(address, { [ann]: UNKNOWN, [bob]: UNKNOWN }))
    await expect.poll(blocked).toBe(index + 1)
  }
  await locker.end()
  await untilRead(app)
  expect(await deadlocks()).toBe(before)
  expect(await suppressed()).toEqual([ann, bob])
})

/** How many statements on suppressions wait for a lock. */
async function blocked(): Promise<number> {
  const [row] = await app.db.read<{ waiting: number }>(sql`
    select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%email_suppressions%'`)
  return row?.waiting ?? 0
}

/** How many deadlocks the database has ended so far. */
async function deadlocks(): Promise<number> {
  await app.db.read(sql`select pg_stat_force_next_flush()`)
  const [row] = await app.db.read<{ deadlocks: number }>(
    sql`select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()`,
  )
  return row?.deadlocks ?? 0
}
