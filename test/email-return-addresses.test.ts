/** Copies of a mail to several recipients: only the return address of a recipient's own copy says anything about that recipient. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { failureReport, mailDesk, postMail, untilRead } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net', AUTHSERV_ID: 'mx.example.net' }, { worker: true })

beforeEach(() => {
  smtp.recipients.clear()
  smtp.on = {}
  smtp.onContent = {}
})

const [ANN, BOB, CARL] = ['ann@customer.example', 'bob@customer.example', 'carl@customer.example'] as const
const UNKNOWN = '550 5.1.1 User unknown'

interface Metadata {
  status: string
  recipients: { email: string; status: string; error: { code: string } | null; complaint?: object; receipt?: object; delay?: object }[]
}
const states = ({ recipients }: Metadata) => recipients.map(({ status }) => status)

async function post(lines: string[]): Promise<void> {
  await postMail(app, lines)
  await untilRead(app)
}

const verdictOf = async (caller: ReturnType<typeof app.as>) => (await caller.get('/api/email/inbound/list')).body[0]

/** A report (RFC 6522) whose part is about the mail. */
const report = (to: string, type: string, part: string[], messageId: string) => [
  ...[
    'From: reports@provider.example',
    `To: ${to}`,
    'Subject: A report',
    `Content-Type: multipart/report; report-type=${type}; boundary=b`,
  ],
  ...['', '--b', '', 'This is a report.', '--b', `Content-Type: message/${type}`, '', ...part],
  ...['--b', 'Content-Type: text/rfc822-headers', '', `Message-ID: ${messageId}`, '--b--'],
]

describe('a mail to several recipients', () => {
  test('is a copy for each, with a return address of its own, over one connection', async () => {
    const { sent, arrived } = await mailDesk(app, smtp)
    const before = smtp.connections
    const { metadata, address } = await sent(ANN, BOB, CARL)
    expect(states(await metadata())).toEqual(['sent', 'sent', 'sent'])
    expect(arrived().map(({ envelopeTo }) => envelopeTo)).toEqual([[ANN], [BOB], [CARL]])
    const senders = arrived().map(({ envelopeFrom }) => envelopeFrom)
    expect(new Set([...senders, address]).size).toBe(4)
    for (const sender of senders) expect(sender).toMatch(/^reply-[0-9a-f]{16}@reply\.example\.net$/)
    // No copy has the return address of another one, and all say the same.
    expect(new Set(arrived().map(({ raw }) => raw)).size).toBe(1)
    expect(smtp.connections - before).toBeLessThanOrEqual(1)
    for (const sender of senders) expect(arrived()[0]?.raw).not.toContain(sender)
  })

  test('to one recipient, or from an integration whose reports go elsewhere, is one message', async () => {
    const { sent, arrived, admin, space } = await mailDesk(app, smtp)
    const { address } = await sent(ANN)
    expect(arrived().at(-1)).toMatchObject({ envelopeFrom: address, envelopeTo: [ANN] })
    const [integration] = (await app.as(admin).get(`/api/space/${space}/smtp/list`)).body
    await app.as(admin).post(`/api/smtp/${integration.id}/update`, { reply_as_envelope: false })
    await sent(ANN, BOB)
    expect(arrived().at(-1)).toMatchObject({ envelopeFrom: arrived().at(-1)?.email.from?.address, envelopeTo: [ANN, BOB] })
  })

  test('a refused recipient, or a refused copy, does not touch the others or the connection', async () => {
    const { sent } = await mailDesk(app, smtp)
    smtp.recipients.set(ANN, '550 5.7.1 Rejected by policy')
    // Of Dora, Carl, Bob and Ann, whose address is refused before.
    const codes = [undefined, 554, undefined, undefined]
    smtp.on.recipient = async () => {
      const code = codes.pop()
      smtp.onContent = code ? { code } : {}
    }
    const before = smtp.connections
    const { metadata } = await sent(ANN, BOB, CARL, 'dora@customer.example')
    expect(await metadata()).toMatchObject({
      status: 'sent',
      recipients: [
        { status: 'dropped', error: { code: '550' } },
        { status: 'sent' },
        { status: 'dropped', error: { code: '554' } },
        { status: 'sent' },
      ],
    })
    expect(smtp.connections - before).toBeLessThanOrEqual(1)
  })

  test('whose connection is lost after a copy is sent to the others later, and nobody gets it twice', async () => {
    const { as, mail, metadataOf, arrived } = await mailDesk(app, smtp)
    smtp.on.recipient = async () => {
      smtp.onContent = arrived().length === 1 ? { hangUp: 'after' } : {}
    }
    const { body } = await as.post('/api/email/send', mail([ANN, BOB, CARL]))
    await expect.poll(async () => states(await metadataOf(body.id)), { timeout: 10_000 }).toEqual(['sent', 'unknown', 'queued'])
    smtp.on = {}
    smtp.onContent = {}
    await expect.poll(async () => states(await metadataOf(body.id)), { timeout: 15_000 }).toEqual(['sent', 'unknown', 'sent'])
    expect(arrived().map(({ envelopeTo }) => envelopeTo)).toEqual([[ANN], [CARL]])
    expect((await metadataOf(body.id)).error.code).toBe('OUTCOME_UNKNOWN')
  })
})

describe('a report at the reply address, which every recipient knows', () => {
  test.each([
    ['that one of them has failed', [BOB]],
    ['that all of them have failed', [ANN, BOB]],
  ])('marks nobody of several, and suppresses nobody: %s', async (_, addresses) => {
    const { as, sent, suppressed, comments } = await mailDesk(app, smtp)
    const { address, messageId, metadata } = await sent(ANN, BOB)
    await post(failureReport(address, Object.fromEntries(addresses.map((email) => [email, UNKNOWN])), messageId))
    expect(states(await metadata())).toEqual(['sent', 'sent'])
    expect(await suppressed()).toEqual([])
    expect(await verdictOf(as)).toMatchObject({
      verdict: 'automatic',
      reason: 'A report that came to the reply address, which all recipients know, so that nobody was marked',
    })
    expect(await comments()).toHaveLength(1)
  })

  test.each([
    ['complaint', 'feedback-report', ['Feedback-Type: abuse', `Original-Rcpt-To: ${BOB}`]],
    [
      'receipt',
      'disposition-notification',
      [`Final-Recipient: rfc822; ${BOB}`, 'Disposition: automatic-action/MDN-sent-automatically; displayed'],
    ],
    ['delay', 'delivery-status', ['Reporting-MTA: dns; x', '', `Final-Recipient: rfc822; ${BOB}`, 'Action: delayed', 'Status: 4.4.1']],
  ])('is not believed about one of several: a %s', async (key, type, part) => {
    const { sent, suppressed } = await mailDesk(app, smtp)
    const { address, messageId, metadata } = await sent(ANN, BOB)
    await post(report(address, type, part, messageId))
    expect((await metadata()).recipients[1]).not.toHaveProperty(key)
    expect(await suppressed()).toEqual([])
  })

  test('is believed about the only recipient', async () => {
    const { sent, suppressed } = await mailDesk(app, smtp)
    const { address, messageId, metadata } = await sent(BOB)
    await post(failureReport(address, { [BOB]: UNKNOWN }, messageId))
    expect(states(await metadata())).toEqual(['bounced'])
    expect(await suppressed()).toEqual([BOB])
  })
})

describe('a report at a return address', () => {
  test('marks and suppresses the recipient of the copy', async () => {
    const { as, sent, suppressed, returnAddress } = await mailDesk(app, smtp)
    const { messageId, metadata } = await sent(ANN, BOB)
    await post(failureReport(returnAddress(BOB), { [BOB]: UNKNOWN }, messageId))
    expect(states(await metadata())).toEqual(['sent', 'bounced'])
    expect(await suppressed()).toEqual([BOB])
    expect(await verdictOf(as)).toMatchObject({ verdict: 'bounced', reason: null })
  })

  test('counts for the recipient of the copy alone, whomever it names', async () => {
    const { sent, suppressed, returnAddress } = await mailDesk(app, smtp)
    const { messageId, metadata } = await sent(ANN, BOB, CARL)
    await post(failureReport(returnAddress(ANN), { [BOB]: UNKNOWN, [CARL]: UNKNOWN }, messageId))
    expect(states(await metadata())).toEqual(['bounced', 'sent', 'sent'])
    expect(await suppressed()).toEqual([ANN])
    await post(report(returnAddress(ANN), 'feedback-report', ['Feedback-Type: abuse', `Original-Rcpt-To: ${BOB}`], messageId))
    expect((await metadata()).recipients.map(({ complaint }: Metadata['recipients'][0]) => complaint?.constructor)).toEqual([
      Object,
      undefined,
      undefined,
    ])
    expect(await suppressed()).toEqual([ANN])
  })

  test('about an address to which the recipient forwards the mail counts for the recipient', async () => {
    const { sent, returnAddress } = await mailDesk(app, smtp)
    const { messageId, metadata } = await sent(ANN, BOB)
    await post(failureReport(returnAddress(BOB), { 'bob@elsewhere.example': UNKNOWN }, messageId))
    expect(states(await metadata())).toEqual(['sent', 'bounced'])
  })

  test('is read once if the message names the reply address, too', async () => {
    const { as, sent, comments, returnAddress } = await mailDesk(app, smtp)
    const { address } = await sent(ANN, BOB)
    await post([
      `Delivered-To: ${returnAddress(BOB)}`,
      `To: ${address}`,
      `From: ${BOB}`,
      'Subject: Holiday',
      'Auto-Submitted: auto-replied',
      '',
      'Away',
    ])
    expect((await comments()).map(({ type }: { type: string }) => type)).toEqual(['email_out', 'email_in'])
    expect((await comments())[1].metadata).toMatchObject({ autoReply: true, to: [] })
    expect((await as.get('/api/email/inbound/list')).body).toHaveLength(1)
  })
})

describe('a recipient of unknown outcome', () => {
  /** A mail that Ann has got, while the connection was lost after Bob's copy. */
  const unknown = async () => {
    const all = await mailDesk(app, smtp)
    let returnAddress = ''
    smtp.on.recipient = async () => {
      smtp.onContent = all.arrived().length === 1 ? { hangUp: 'after' } : {}
    }
    const { body } = await all.as.post('/api/email/send', all.mail([ANN, BOB]))
    await expect.poll(async () => states(await all.metadataOf(body.id)), { timeout: 10_000 }).toEqual(['sent', 'unknown'])
    smtp.on = {}
    smtp.onContent = {}
    const first = all.arrived()[0]
    returnAddress = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(first?.raw ?? '')?.[0] as string
    const pixel = /\/email\/pixel\/[\w-]+\.png/.exec(first?.email.html ?? '')?.[0] as string
    return { ...all, address: returnAddress, pixel, metadata: () => all.metadataOf(body.id) as Promise<Metadata> }
  }
  const answer = (to: string, ...headers: string[]) => [...headers, `From: ${BOB}`, `To: ${to}`, 'Subject: Re: Our offer', '', 'Thank you.']

  test('is not proved by an answer in their name, which another recipient can write', async () => {
    const { address, metadata } = await unknown()
    await post(answer(address))
    expect(states(await metadata())).toEqual(['sent', 'unknown'])
  })

  test('is not proved by an open, which may be by another recipient', async () => {
    const { pixel, metadata } = await unknown()
    await fetch(app.url + pixel)
    await expect.poll(async () => (await metadata()).status, { timeout: 10_000 }).toBe('read')
    expect(states(await metadata())).toEqual(['sent', 'unknown'])
  })

  test('is proved by an answer whose sender was checked', async () => {
    const { address, metadata } = await unknown()
    await post(answer(address, 'Authentication-Results: mx.example.net; dmarc=pass header.from=customer.example'))
    expect(states(await metadata())).toEqual(['sent', 'sent'])
  })
})

describe('a mail that an earlier release has sent with the reply address as its return address', () => {
  const earlier = async (days: number) => {
    const all = await mailDesk(app, smtp)
    const mail = await all.sent(ANN, BOB)
    await app.db.execute(sql`
      update outbound_emails set is_separate = null, handed_over = null, created_at = created_at - ${days} * interval '1 day' where comment_id = ${mail.id}`)
    return { ...all, ...mail }
  }

  test('is marked by a report for a week, which suppresses nobody', async () => {
    const { address, messageId, metadata, suppressed } = await earlier(6)
    await post(failureReport(address, { [BOB]: UNKNOWN }, messageId))
    expect(states(await metadata())).toEqual(['sent', 'bounced'])
    expect(await suppressed()).toEqual([])
  })

  test('is not marked by a report that comes later', async () => {
    const { address, messageId, metadata } = await earlier(8)
    await post(failureReport(address, { [BOB]: UNKNOWN }, messageId))
    expect(states(await metadata())).toEqual(['sent', 'sent'])
  })
})
