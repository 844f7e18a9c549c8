/** Replaces SECRET_KEY: what callers hold before goes on working during the rotation, and what does after it. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SEALED_COLUMNS } from '../scripts/rotate-secrets.ts'
import { encryptTokens, newSecretTokens, sealedTokens } from '../src/email/composing/secret-tokens.ts'
import { startDispatcher } from '../src/email/outbound/dispatcher.ts'
import { unsubscribePath } from '../src/notifications/unsubscribe.ts'
import { type Database, type Sql, sql } from '../src/platform/database/database.ts'
import { reencryptColumn } from '../src/platform/secrets/sealed-columns.ts'
import { fingerprintOf } from '../src/platform/secrets/secrets.ts'
import { type TestAccount, type TestApp, testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { programs } from './support/programs.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const OLD = 'the key that was in use for years'
const NEW = 'the key that takes its place today'
const oldId = fingerprintOf(Buffer.from(OLD))

const smtp = await startSmtp()
smtp.login = { user: 'desk', password: 'swordfish' }
afterAll(() => smtp.close())
const before = await testApp({ SECRET_KEY: OLD, CATCH_DOMAIN: 'reply.example.net' })
const { url: DATABASE_URL } = await testDatabase()
const during = programs({ DATABASE_URL, SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: `${OLD}, another key of years before that` })
afterAll(() => during.cleanUp())

/** What a caller got from the service with the old key. */
interface Held {
  account: TestAccount
  table: number
  integration: number
  mails: number[]
  /** A deleted record with a mail that was not sent. */
  deleted: { path: string; mail: number }
  task: { id: number }
  cursor: string
  unsubscribe: string
}

let held: Held

beforeAll(async () => {
  held = await hold(before)
})

async function hold(app: TestApp): Promise<Held> {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, {
    records: [{ name: 'A' }, { name: 'B' }, { name: 'C' }],
    fields: [{ name: 'Name', type: 'text' }],
  })
  const integration = (
    await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
      label: 'Desk',
      host: '127.0.0.1',
      port: smtp.port,
      tls: 'none',
      username: 'desk',
      password: 'swordfish',
      from_domains: ['example.com'],
    })
  ).body.id
  const mail = async (recordId = records[0]) =>
    (
      await app.as(account.keys.account).post('/api/email/send', {
        tableId: table,
        recordId,
        smtpIntegrationId: integration,
        fromIdentity: { email: 'desk@example.com' },
        to: ['ann@example.org'],
        subject: 'Hello',
        body: '<p>Hello</p>',
      })
    ).body.id as number
  const mails = [await mail(), await mail(), await mail()]
  const deleted = { path: `/api/table/${table}/record/${records[2]}`, mail: await mail(records[2]) }
  await app.as(account.owner).post(`${deleted.path}/delete`)
  const task = (await app.as(account.owner).post('/api/tasks/create', { title: 'Once' }, { 'idempotency-key': 'once' })).body
  const page = await app.as(account.keys.account).post(`/api/table/${table}/records/query`, { limit: 1, cursor: '' })
  const unsubscribe = unsubscribePath(app.settings.secretKeys, account.member.id)
  return { account, table, integration, mails, deleted, task, cursor: page.headers.get('x-next-cursor') ?? '', unsubscribe }
}

/** What an app makes of the things that a caller holds. */
async function use(app: TestApp, { account, table, integration, cursor, unsubscribe }: Held) {
  const [session, key, smtpTest, repeated, page, link] = [
    await app.as(account.owner).get('/api/auth/me'),
    await app.as(account.keys.account).get('/api/key/self'),
    await app.as(account.admin).post(`/api/smtp/${integration}/test`, {}),
    await app.as(account.owner).post('/api/tasks/create', { title: 'Once' }, { 'idempotency-key': 'once' }),
    await app.as(account.keys.account).post(`/api/table/${table}/records/query`, { limit: 1, cursor }),
    await app.as(null).get(unsubscribe),
  ]
  return {
    session: session.status,
    key: key.status,
    smtp: smtpTest.body,
    repeated: [repeated.status, repeated.headers.get('idempotent-replayed'), repeated.body.id],
    page: [page.status, page.body[0]?.name ?? page.body.message],
    link: link.status,
  }
}

/** Lets the app send this mail, and no other. */
async function deliver({ db, deps }: TestApp, mail: number | undefined): Promise<void> {
  await db.write(sql`
    update outbound_emails set due_at = case when comment_id = ${mail ?? 0} then localtimestamp - interval '1 second' end`)
  const count = smtp.received.length
  const stop = startDispatcher(deps)
  await expect.poll(() => smtp.received).toHaveLength(count + 1)
  await stop()
}

/** Queues mails beside those of the test, with tokens under the key of the app. */
async function fillMails({ db, settings }: TestApp, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `<${index}@filled.example>`)
  const tokens = ids.map((id) => encryptTokens(settings.secretKeys, id, newSecretTokens()))
  await db.write(sql`
    insert into outbound_emails (comment_id, account_id, space_id, table_id, record_id, smtp_integration_id, request, message_id,
      pixel_token_hash, tokens_encrypted)
    select 1000000 + n, 1, 1, 1, 1, 1, '{}', id, sha256(id::bytea), tokens
    from unnest(${ids}::text[], ${tokens}::bytea[]) with ordinality as filled (id, tokens, n)`)
}

const everything = () => ({
  session: 200,
  key: 200,
  smtp: { ok: true, error: null },
  repeated: [200, 'true', held.task.id],
  page: [200, 'B'],
  link: 200,
})

test('with the new key and the old one beside it, everything that callers hold goes on working', async () => {
  expect(await use(before, held)).toEqual(everything())
  const app = await testApp({ SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: OLD, CATCH_DOMAIN: 'reply.example.net' })
  expect(await use(app, held)).toEqual(everything())
  const page = await app.as(held.account.keys.account).rpc.records.query.query({ table_id: held.table, limit: 1, cursor: held.cursor })
  expect(page).toMatchObject({ rows: [{ name: 'B' }] })
  await deliver(app, held.mails[0])
  expect(smtp.received.at(-1)?.envelopeFrom).toMatch(/^reply-[0-9a-f]{16}@reply\.example\.net$/)
  await app.stop()
})

test('a process that has the new key only as a further one reads what the others write with it', async () => {
  const ahead = await testApp({ SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: OLD })
  const behind = await testApp({ SECRET_KEY: OLD, SECRET_KEY_PREVIOUS: NEW })
  const [ofAhead, ofBehind] = [await hold(ahead), await hold(behind)]
  for (const [app, has] of [
    [ahead, ofBehind],
    [behind, ofAhead],
  ] as const)
    expect(await use(app, has)).toEqual({ ...everything(), repeated: [200, 'true', has.task.id] })
  await ahead.stop()
  await behind.stop()
})

const rotate = () => during.run('admin', ['rotate-secrets'])

describe('rotate-secrets', () => {
  test('that is interrupted leaves every secret readable, and goes on where it was when it is repeated', async () => {
    const app = await testApp({ SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: OLD })
    await fillMails(before, 700)
    let batches = 0
    const interrupted = new Proxy(app.db, {
      get: (target, name) =>
        name === 'write'
          ? (statement: Sql) => {
              if (batches++) throw new Error('killed')
              return target.write(statement)
            }
          : Reflect.get(target, name),
    })
    const run = (db: Database) => reencryptColumn(db, app.settings.secretKeys, sealedTokens)
    await expect(run(interrupted)).rejects.toThrow('killed')
    expect(await use(app, held)).toEqual(everything())
    const rest = await run(app.db)
    expect([rest.total - rest.changed, rest.unreadable]).toEqual([500, 0])
    expect(await run(app.db)).toEqual({ total: rest.total, changed: 0, unreadable: 0 })
    await app.stop()
  })

  test('encrypts everything again, and keeps the old key while a process writes with it', async () => {
    const { code, stdout, stderr } = await rotate()
    expect({ code, stderr: stderr.split('\n').length }).toEqual({ code: 1, stderr: 1 })
    expect(stdout).toMatch(/^passwords of SMTP integrations: [1-9]\d* of \d+ encrypted again\n/)
    expect(stdout).toContain(`Previous key ${oldId} must stay: a process wrote with it at `)
    expect(stdout).toMatch(/Previous key \w{8} was not used by any process of this release and may go/)
    // A secret that the old process writes after the command is found by the next one.
    await before.as(held.account.owner).post('/api/tasks/create', { title: 'Later' }, { 'idempotency-key': 'later' })
    expect((await rotate()).stdout).toMatch(/answers under an Idempotency-Key: 1 of \d+ encrypted again/)
  })

  test('says that the old key may go once no process writes with it', async () => {
    await before.stop()
    const app = await testApp({ SECRET_KEY: NEW })
    await app.db.write(sql`update secret_key_uses set last_used_at = '2026-03-01 08:00:00' where fingerprint = ${oldId}`)
    const { code, stdout, stderr } = await rotate()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const { what } of SEALED_COLUMNS) expect(stdout).toMatch(new RegExp(`^${what}: 0 of \\d+ encrypted again$`, 'm'))
    expect(stdout).toContain(`Previous key ${oldId} may go: nothing stored needs it.`)
    expect(stdout).toContain('keep it until 2026-03-31')
    await app.stop()
  })

  test('two at once do the work once', async () => {
    const app = await testApp({ SECRET_KEY: OLD, SECRET_KEY_PREVIOUS: NEW })
    const counts = await Promise.all([1, 2].map(() => reencryptColumn(app.db, app.settings.secretKeys, SEALED_COLUMNS[0] as never)))
    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(counts[0]?.total)
    await app.stop()
    expect((await rotate()).stdout).toMatch(/^passwords of SMTP integrations: (\d+) of \1 encrypted again/)
  })
})

test('without the old key, everything stored is readable, and only cursors and links to unsubscribe have ended', async () => {
  const app = await testApp({ SECRET_KEY: NEW, CATCH_DOMAIN: 'reply.example.net' })
  expect(await use(app, held)).toEqual({
    ...everything(),
    page: [400, 'cursor: must be empty, or what came with the page before'],
    link: 404,
  })
  await deliver(app, held.mails[1])
  const sent = smtp.received.at(-1)
  // The reply address and the pixel of a mail are random and stored as hashes: they outlive every key.
  const reply = `From: ann@example.org\r\nTo: ${sent?.envelopeFrom}\r\nMessage-ID: <answer@example.org>\r\n\r\nThank you\r\n`
  expect((await app.as(null).send('/webhooks/email_receive', { method: 'POST', body: reply })).status).toBe(200)
  const [, pixel = ''] = /(\/email\/pixel\/[\w-]+\.png)/.exec(String(sent?.email.html)) ?? []
  await app.as(null).get(pixel)
  await expect.poll(async () => (await app.as(held.account.owner).get(`/api/email/${held.mails[1]}/opens`)).body).toHaveLength(1)
  // A mail whose record was deleted during the rotation is sent once the record is back.
  const { path, mail } = held.deleted
  expect((await app.as(held.account.owner).post(`${path}/restore`)).status).toBe(200)
  expect((await app.as(held.account.owner).post(`/api/email/${mail}/retry`)).status).toBe(200)
  await deliver(app, mail)
  await app.stop()
})

test('without a key that is still needed, callers get errors that say so, and the command as well', async () => {
  const app = await testApp({ SECRET_KEY: 'a key that nobody has used before this' })
  const { smtp, repeated, page, link, session, key } = await use(app, held)
  expect({ session, key, link, page: page[0] }).toEqual({ session: 200, key: 200, link: 404, page: 400 })
  expect(smtp).toMatchObject({ ok: false, error: { code: 'PASSWORD_UNREADABLE' } })
  expect(repeated[0]).toBe(409)
  await app.stop()
  const lost = programs({ DATABASE_URL, SECRET_KEY: 'a key that nobody has used before this' })
  const { code, stdout } = await lost.run('admin', ['rotate-secrets'])
  expect(code).toBe(1)
  expect(stdout).toMatch(/passwords of SMTP integrations: 0 of \d+ encrypted again; \d+ cannot be read with any of the keys: add the key/)
  await lost.cleanUp()
})

test.each([
  ['with commas', 'correct, horse battery staple, and seven words more', []],
  ['with commas between parts that could be keys', 'a first part that could be a key itself, a second part that could be a key itself', []],
  ['that ends in the line break of a file', 'a key that a store of secrets read from a file\n', ['another key of years before that, ']],
])('a key %s is replaced like any other', async (_, key, before) => {
  const old = await testApp({ SECRET_KEY: key })
  const has = await hold(old)
  await old.stop()
  for (const others of ['', ...before]) {
    const app = await testApp({ SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: others + key })
    expect(await use(app, has)).toEqual({ ...everything(), repeated: [200, 'true', has.task.id] })
    await app.stop()
  }
  const rotating = programs({ DATABASE_URL, SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: key })
  const { stdout } = await rotating.run('admin', ['rotate-secrets'])
  expect(stdout).toMatch(/^passwords of SMTP integrations: [1-9]\d* of \d+ encrypted again$/m)
  expect(stdout.match(/^Previous key (\w+)/gm)).toEqual([`Previous key ${fingerprintOf(Buffer.from(key))}`])
  await rotating.cleanUp()
})

test('every encrypted column is rotated', () => {
  const schema = readFileSync(new URL('../prisma/schema.prisma', import.meta.url), 'utf8')
  const models = [...schema.matchAll(/^model \w+ \{([\s\S]*?)@@map\("(\w+)"\)/gm)]
  const sealed = models.flatMap(([, body = '', table]) =>
    [...body.matchAll(/under SECRET_KEY.*\n\s+(\w+)\s+Bytes\??(?:.*@map\("(\w+)"\))?/g)].map(
      ([, name, column]) => `${table}.${column ?? name}`,
    ),
  )
  const inPlace = SEALED_COLUMNS.filter(({ within }) => !within)
  expect(inPlace.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(sealed.sort())
  // Rows that are moved aside with deleted records have a list of their own.
  const moved = new Set(before.deps.cascades.flatMap(({ rows }) => rows ?? []).map(({ table }) => table))
  const aside = SEALED_COLUMNS.filter(({ within }) => within).map(({ within, column }) => `${within?.only}, ${column}`)
  expect(aside).toEqual(inPlace.filter(({ table }) => moved.has(table)).map(({ table, column }) => `t.source = '${table}', ${column}`))
})
