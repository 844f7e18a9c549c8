/** What a mail consists of: its tokens, recipients, references and images. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type Caller, testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

beforeEach(() => {
  smtp.received.length = 0
})

const patience = { timeout: 15_000 }

async function desk({ timezone = 'UTC' } = {}) {
  const account = await app.account({ timezone })
  const { id: table, records } = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Due', type: 'date' },
      { name: 'Start', type: 'datetime' },
      { name: 'Hour', type: 'time' },
      { name: 'Paid', type: 'checkbox' },
      { name: 'Price', type: 'number', decimals: 2 },
      { name: 'Ratio', type: 'number' },
      { name: 'Stages', type: 'multi_select', options: ['Lead', 'Won'] },
    ],
    records: [
      {
        name: 'Acme',
        due: '2026-11-22',
        start: '2026-11-22 13:30:00',
        hour: '09:30',
        paid: true,
        price: 12.5,
        ratio: 0.125,
        stages: ['Lead', 'Won'],
      },
    ],
  })
  const record = records[0] as number
  const server = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
  const { body: integration } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, server)
  const mail = (more: object = {}) => ({
    tableId: table,
    recordId: record,
    smtpIntegrationId: integration.id as number,
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
    subject: 'Our offer',
    body: '<p>Dear Ann</p>',
    ...more,
  })
  const send = (more: object = {}, caller: Caller = account.member) => app.as(caller).post('/api/email/send', mail(more))
  const preview = async (more: object = {}, caller: Caller = account.member) => {
    const answer = await app.as(caller).post('/api/email/preview', mail(more))
    expect([answer.status, answer.body.message]).toEqual([200, undefined])
    return answer.body
  }
  const comment = async (id: number) =>
    (await app.as(account.member).get(`/api/table/${table}/record/${record}/comments/get?limit=100`)).body.find(
      (row: { id: number }) => row.id === id,
    )
  /** Sends a mail. @returns what the server received, and the comment */
  const sent = async (more: object = {}, caller: Caller = account.member) => {
    const { status, body } = await send(more, caller)
    expect([status, body.message]).toEqual([202, undefined])
    await expect.poll(async () => (await comment(body.id)).metadata.status, patience).not.toBe('queued')
    const received = smtp.received.find(({ email }) => email.messageId === body.comment.metadata.messageId)
    return { received, comment: await comment(body.id) }
  }
  return { ...account, table, record, integrationId: integration.id as number, mail, send, sent, preview, comment }
}

describe('tokens', () => {
  const ALL =
    '{{field:due}}; {{field:start}}; {{field:hour}}; {{field:paid}}; {{field:price}}; {{field:ratio}}; {{field:stages}}; {{field:id}}'
  const RAW = ALL.replaceAll('}}', '|iso}}')

  test("are readable, in the sender's time zone", async () => {
    const { sent, preview, member } = await desk({ timezone: 'Europe/Berlin' })
    await app.as(member).post('/api/auth/profile', { timezone: 'America/New_York' })
    const text = (start: string) =>
      expect.stringMatching(new RegExp(`^22 November 2026; ${start}; 09:30; yes; 12\\.50; 0\\.125; Lead, Won; \\d+$`))
    const { received } = await sent({ subject: ALL })
    expect(received?.email.subject).toEqual(text('22 November 2026, 08:30 EST'))
    expect((await preview({ subject: ALL })).subject).toEqual(text('22 November 2026, 08:30 EST'))
  })

  test("are readable in the owner's time zone for an account key", async () => {
    const { sent, member, keys } = await desk({ timezone: 'Europe/Berlin' })
    await app.as(member).post('/api/auth/profile', { timezone: 'America/New_York' })
    const { received } = await sent({ subject: '{{field:start}}' }, keys.account)
    expect(received?.email.subject).toBe('22 November 2026, 14:30 CET')
    const { received: ofKey } = await sent({ subject: '{{field:start}}' }, keys.personal)
    expect(ofKey?.email.subject).toBe('22 November 2026, 08:30 EST')
  })

  test('with |iso are as the API answers them', async () => {
    const { sent } = await desk({ timezone: 'Europe/Berlin' })
    const { comment } = await sent({ body: `<p>${RAW}</p>` })
    expect(comment.content).toMatch(/^<p>2026-11-22; 2026-11-22 13:30:00; 09:30:00; true; 12.5; 0.125; Lead, Won; \d+<\/p>$/)
  })

  test('of empty cells are empty, except for checkboxes', async () => {
    const { preview, keys, table, record } = await desk()
    const empty = { due: null, start: null, hour: null, paid: null, price: null, ratio: null, stages: [] }
    await app.as(keys.account).post(`/api/table/${table}/record/${record}/update`, { data: empty })
    expect((await preview({ subject: ALL })).subject).toMatch(/^; ; ; no; ; ; ; \d+$/)
  })

  test('are known with spaces and in any case', async () => {
    const { preview } = await desk()
    const subject = '{{ field:name }} {{Field:Name}} {{ FIELD : DUE | ISO }}'
    expect(await preview({ subject })).toMatchObject({ subject: 'Acme Acme 2026-11-22', unresolved: [], problems: [] })
  })

  test('that are unknown, unclosed or nested are named by preview', async () => {
    const { preview, sent } = await desk()
    const subject = '{{field:nothing}} {{field:due|us}} {{field:name'
    const body = '<p>{{field:{{field:name}}}} and {{ field:due } x</p>'
    const result = await preview({ subject, body })
    expect(result).toMatchObject({ html: '<p>{{field:Acme}} and {{ field:due } x</p>', unresolved: ['nothing', 'due|us'] })
    expect(result.problems).toEqual([
      "{{field:nothing}}: 'nothing' is not a field of this table",
      '{{field:due|us}}: only |iso can follow the field',
      '{{field:name…: a token must be closed with }} and contain no other token',
      '{{field:…}} and {{ field:due } x…: a token must be closed with }} and contain no other token',
    ])
    const { comment } = await sent({ subject, body })
    expect(comment).toMatchObject({
      content: '<p>{{field:Acme}} and {{ field:due } x</p>',
      metadata: { unresolved: ['nothing', 'due|us'] },
    })
  })
})
