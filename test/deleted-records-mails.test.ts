/** Mails of deleted records, and what comes back for them meanwhile (contract.md §10, Deleted records). */
import { afterAll, afterEach, expect, test } from 'vitest'
import { receive } from '../src/email/inbound/receive.ts'
import { removeOldMail } from '../src/email/retention.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { purgeDue } from '../src/records/deleted/purge.ts'
import { testApp } from './support/app.ts'
import { failureReport, mailDesk, postMail, untilRead } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })
afterEach(() => app.setClock(null))

const DAY = 86_400_000
const reply = (address: string, text: string) => [
  ...['From: Ann <ann@customer.example>', `To: ${address}`, 'Subject: Re: Our offer', `Message-ID: <${text}@customer.example>`],
  ...['', text],
]

/** A record with a mail that was sent. */
async function sentMail() {
  const desk = await mailDesk(app, smtp)
  const { mail, table, as, admin, sent } = desk
  const { recordId } = mail([])
  const path = `/api/table/${table}/record/${recordId}`
  const call = async (what: 'delete' | 'restore') => expect((await as.post(`${path}/${what}`)).status).toBe(200)
  const inbox = async () => (await app.as(admin).get('/api/email/inbound/list')).body
  const texts = async () => {
    const { body } = await as.get(`${path}/comments/get`)
    return (body as { type: string; content: string }[]).flatMap(({ type, content }) => (type === 'email_in' ? content : []))
  }
  return { ...desk, first: await sent('ann@customer.example'), path, call, inbox, texts }
}

test('a mail that waits is dropped, and stays so when its record is restored', async () => {
  const { as, mail, call, path, first, arrived } = await sentMail()
  const sendAt = new Date(Date.now() + DAY).toISOString()
  const { body: waiting } = await as.post('/api/email/send', { ...mail(['bob@customer.example']), sendAt })
  await call('delete')
  app.setClock(new Date(Date.now() + 2 * DAY))
  await call('restore')
  const { body: comments } = await as.get(`${path}/comments/get`)
  const dropped = comments.find(({ id }: { id: number }) => id === waiting.id)
  expect(dropped.metadata).toMatchObject({ status: 'dropped', error: { code: 'RECORD_DELETED' }, droppedAt: expect.any(String) })
  expect(dropped.metadata.recipients).toMatchObject([{ status: 'dropped', error: { code: 'RECORD_DELETED' } }])
  expect(comments.find(({ id }: { id: number }) => id === first.id).metadata.status).toBe('sent')
  expect(await app.db.read(sql`select 1 from outbound_emails where comment_id = ${waiting.id} and due_at is not null`)).toEqual([])
  expect(arrived()).toHaveLength(1)
})

test('replies and failure reports that come meanwhile are in no list, and are read once the record is restored', async () => {
  const { first: sent, call, inbox, texts } = await sentMail()
  await postMail(app, reply(sent.address, 'before'))
  await untilRead(app)
  await call('delete')
  expect(await inbox()).toEqual([])
  await postMail(app, reply(sent.address, 'meanwhile'))
  await postMail(app, reply(sent.address, 'meanwhile'))
  await postMail(app, failureReport(sent.address, { 'ann@customer.example': '550 5.1.1 No such user' }, sent.messageId))
  await untilRead(app)
  expect(await inbox()).toEqual([])
  // The raw messages are kept, however old they are.
  const context = systemContext(app.deps)
  await removeOldMail({ ...context, now: new Date(Date.now() + 20 * DAY), settings: { ...context.settings, keepRawMailDays: 1 } })
  await call('restore')
  await expect.poll(texts).toEqual(['meanwhile', 'before'])
  await expect.poll(async () => (await sent.metadata()).status).toBe('bounced')
  expect((await inbox()).map(({ verdict }: { verdict: string }) => verdict)).toEqual(['bounced', 'comment'])
})

test('opens that come meanwhile are counted once the record is restored, and the mail is read', async () => {
  const { first: sent, call, arrived, as } = await sentMail()
  const opens = async () => (await as.get(`/api/email/${sent.id}/opens`)).body
  const pixel = /\/email\/pixel\/[\w-]+\.png/.exec(arrived().at(-1)?.email.html || '')?.[0] as string
  const open = async (method: 'GET' | 'HEAD', day: number) => {
    app.setClock(new Date(Date.UTC(2027, 0, day)))
    expect((await app.as(null).send(pixel, { method, headers: { 'user-agent': 'Mozilla/5.0 (Macintosh)' } })).status).toBe(200)
  }
  const parked = () =>
    app.db.read(sql`select 1 from deleted_rows where source = 'email_opens' and content->'comment_id' = ${sent.id}::text::jsonb`)
  await call('delete')
  await open('HEAD', 1)
  await open('GET', 2)
  await expect.poll(parked).toHaveLength(2)
  await open('GET', 3)
  await expect.poll(parked).toHaveLength(3)
  expect((await opens()).message).toBe('Comment not found')
  app.setClock(null)
  await call('restore')
  expect((await opens()).map(({ opened_at }: { opened_at: string }) => opened_at)).toEqual([
    ...['2027-01-01 00:00:00', '2027-01-02 00:00:00', '2027-01-03 00:00:00'],
  ])
  expect(await sent.metadata()).toMatchObject({ status: 'read', readAt: '2027-01-02 00:00:00' })
})

test('an open that comes meanwhile shows that a mail of unknown outcome was sent, unless its integration has no pixel', async () => {
  for (const disable_pixel of [false, true]) {
    const { first: sent, call, arrived, as, admin } = await sentMail()
    const pixel = /\/email\/pixel\/[\w-]+\.png/.exec(arrived().at(-1)?.email.html || '')?.[0] as string
    await app.db.write(sql`
      update record_comments set metadata = metadata || '{"status":"queued"}'
        || jsonb_build_object('recipients', jsonb_build_array(metadata->'recipients'->0 || '{"status":"unknown"}')) where id = ${sent.id}`)
    const [{ id } = { id: 0 }] = await app.db.read<{ id: number }>(
      sql`select smtp_integration_id as id from outbound_emails where comment_id = ${sent.id}`,
    )
    await app.as(admin).post(`/api/smtp/${id}/update`, { disable_pixel })
    await call('delete')
    await app.as(null).get(pixel)
    await expect
      .poll(() =>
        app.db.read(sql`select 1 from deleted_rows where source = 'email_opens' and content->'comment_id' = ${sent.id}::text::jsonb`),
      )
      .toHaveLength(1)
    await call('restore')
    const { status, recipients } = await sent.metadata()
    expect([status, recipients[0].status]).toEqual(disable_pixel ? ['queued', 'unknown'] : ['read', 'sent'])
    expect((await as.get(`/api/email/${sent.id}/opens`)).body).toHaveLength(1)
  }
})

test('a message that was stored before the deletion and is read after it waits as well', async () => {
  const { first: sent, call, texts, inbox } = await sentMail()
  await call('delete')
  await postMail(app, reply(sent.address, 'late'))
  await untilRead(app)
  // As if its job had begun before the deletion.
  await app.db.write(sql`
    with moved as (delete from deleted_rows where source = 'inbound_verdicts' returning content)
    insert into inbound_verdicts (inbound_email_id, token_hash, account_id, space_id, table_id)
    select v.inbound_email_id, v.token_hash, v.account_id, v.space_id, v.table_id
    from moved m cross join lateral jsonb_populate_record(null::inbound_verdicts, m.content) v`)
  const [message] = await app.db.read<{ id: number }>(sql`select max(id) as id from inbound_emails`)
  await receive(systemContext(app.deps), { id: message?.id ?? 0 })
  expect(await inbox()).toEqual([])
  await call('restore')
  await expect.poll(texts).toEqual(['late'])
})

test('a deletion waits for a message that is being read, and neither is refused', async () => {
  const { call, table, mail } = await sentMail()
  const { recordId } = mail([])
  // As the job of a message does: it locks the reply address, and later the record that gets the comment.
  const message = app.db.transaction(async () => {
    const [{ pid } = { pid: 0 }] = await app.db.read<{ pid: number }>(sql`
      select pg_backend_pid() as pid from reply_tokens where table_id = ${table} and record_id = ${recordId} for update`)
    const deletion = call('delete')
    await expect.poll(() => deletionWaitsFor(pid)).toHaveLength(1)
    await app.db.records(table).read(sql`select from ${recordsOf(table)} where id = ${recordId} for key share`)
    return { deletion }
  })
  await (await message).deletion
})

/** Asked on another connection, and not in the transaction. */
const deletionWaitsFor = async (pid: number) => {
  const client = await app.db.connect()
  try {
    return (await client.query('select from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))', [pid])).rows
  } finally {
    await client.end()
  }
}

test('a purge deletes the messages, and later replies are dropped', async () => {
  const { first: sent, call } = await sentMail()
  await postMail(app, reply(sent.address, 'first'))
  await call('delete')
  await postMail(app, reply(sent.address, 'second'))
  await untilRead(app)
  const stored = () => app.db.read(sql`select id from inbound_emails where from_email = 'ann@customer.example' and raw is not null`)
  const before = (await stored()).length
  app.setClock(new Date(Date.now() + 31 * DAY))
  await purgeDue(systemContext(app.deps))
  expect((await stored()).length).toBe(before - 2)
  await postMail(app, reply(sent.address, 'third'))
  expect((await stored()).length).toBe(before - 2)
})
