/** Mails are signed with the key of their integration, and others can check the signature with the DNS record that it shows. */
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { authenticate } from 'mailauth'
import { afterAll, describe, expect, test } from 'vitest'
import { sealedDkimKeys } from '../src/email/authenticity/dkim-keys.ts'
import { sql } from '../src/platform/database/database.ts'
import { reencryptColumn } from '../src/platform/secrets/sealed-columns.ts'
import { testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

const DKIM = { domain: 'example.com', selector: 'gp1' }

async function integration(more: object = { dkim: DKIM }) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const server = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'], ...more }
  const admin = app.as(account.admin)
  const { body: created } = await admin.post(`/api/space/${account.space}/smtp/create`, server)
  const as = app.as(account.keys.account)
  /** Sends a mail, and returns it as the server received it. */
  const send = async (mail: object = {}): Promise<string> => {
    const to = `ann-${randomBytes(4).toString('hex')}@customer.example`
    const from = { email: 'desk@example.com' }
    const { status } = await as.post('/api/email/send', {
      tableId: table,
      recordId: records[0],
      smtpIntegrationId: created.id,
      fromIdentity: from,
      to: [to],
      subject: 'Grüße',
      body: '<p>Our offer, äöü.</p>',
      ...mail,
    })
    expect(status).toBe(202)
    const received = () => smtp.received.find(({ envelopeTo }) => envelopeTo.includes(to))?.raw
    await expect.poll(received).toBeDefined()
    return received() as string
  }
  const update = (changes: object) => admin.post(`/api/smtp/${created.id}/update`, changes)
  return { account, admin, as, created, records, send, table, update }
}

interface DnsRecord {
  name: string
  value: string
}

/** Checks a mail as its receiver would, with a DNS that has the record alone. */
async function verify(raw: string, record: DnsRecord) {
  const resolver = async (name: string, type: string) => {
    if (type === 'TXT' && name === record.name) return [record.value.match(/.{1,255}/g) ?? []]
    throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
  }
  const { dkim } = await authenticate(raw, { resolver, disableArc: true, disableBimi: true, strict: true })
  return dkim.results.map(({ status, signingDomain, selector }) => ({ result: status.result, domain: signingDomain, selector }))
}

describe('an integration with a DKIM key', () => {
  test('shows the key and the DNS record with which receivers check its mails', async () => {
    const { created, send } = await integration()
    expect(created.dkim).toEqual({ ...DKIM, public_key: expect.stringMatching(/^MII[\w+/]{380,}={0,2}$/) })
    expect(created.dkim_record).toEqual({
      name: 'gp1._domainkey.example.com',
      type: 'TXT',
      value: `v=DKIM1; k=rsa; p=${created.dkim.public_key}`,
    })
    const raw = await send()
    expect(await verify(raw, created.dkim_record)).toEqual([{ result: 'pass', ...DKIM }])
    const [changed] = await verify(raw.replace('Our offer', 'Our other'), created.dkim_record)
    expect(changed?.result).toBe('fail')
  })

  test('signs large mails, and leaves no file behind', async () => {
    const { as, created, records, send, table } = await integration()
    const data = randomBytes(3 * 1_048_576).toString('base64')
    const { body: file } = await as.post(`/api/table/${table}/record/${records[0]}/comments/upload`, {
      name: 'photo.jpg',
      type: 'image/jpeg',
      data,
    })
    const raw = await send({ attachments: [file] })
    expect(raw.length).toBeGreaterThan(4 * 1_048_576)
    expect(await verify(raw, created.dkim_record)).toEqual([{ result: 'pass', ...DKIM }])
    await expect.poll(() => readdir(`${app.deps.settings.dataDir}/tmp`)).toEqual([])
  })

  test('keeps its key until it gets another selector, and signs no more without one', async () => {
    const { admin, created, send, update, account } = await integration({})
    expect([created.dkim, created.dkim_record]).toEqual([null, null])
    expect(await send()).not.toContain('DKIM-Signature')

    const { body: first } = await update({ dkim: DKIM })
    expect(first.dkim).toMatchObject(DKIM)
    const { body: same } = await update({ dkim: { ...DKIM, selector: 'GP1' }, label: 'Sales' })
    expect(same.dkim).toEqual(first.dkim)
    const { body: second } = await update({ dkim: { ...DKIM, selector: 'gp2' } })
    expect(second.dkim.selector).toBe('gp2')
    expect(second.dkim.public_key).not.toBe(first.dkim.public_key)
    const raw = await send()
    expect(await verify(raw, second.dkim_record)).toMatchObject([{ result: 'pass', selector: 'gp2' }])
    const { body: listed } = await admin.get(`/api/space/${account.space}/smtp/list`)
    expect(listed).toEqual([second])

    expect((await update({ dkim: null })).body).toMatchObject({ dkim: null, dkim_record: null })
    expect(await send()).not.toContain('DKIM-Signature')
    const changes = await app.db.read<{ detail: { changed: string[] } }>(
      sql`select detail from audit_entries where action = 'integration.updated' and account_id = ${account.id} order by id`,
    )
    expect(changes.map(({ detail }) => detail.changed)).toEqual([['dkim'], ['label'], ['dkim'], ['dkim']])
  })

  test.each([
    [{ domain: 'example.com' }, 'dkim.selector'],
    [{ domain: 'example com', selector: 'a' }, 'dkim.domain'],
    [{ domain: 'example.com; p=', selector: 'a' }, 'dkim.domain'],
    [{ domain: 'example.com', selector: 'a b' }, 'dkim.selector'],
    [{ domain: 'example.com', selector: '-a' }, 'dkim.selector'],
    [{ domain: 'example.com', selector: 'a'.repeat(64) }, 'dkim.selector'],
    [{ ...DKIM, public_key: 'AAAA' }, 'dkim'],
    ['example.com', 'dkim'],
  ])('refuses %j', async (dkim, path) => {
    const { account, admin } = await integration({})
    const { status, body } = await admin.post(`/api/space/${account.space}/smtp/create`, { label: 'A', host: '127.0.0.1', port: 25, dkim })
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(path)
  })

  test('has its key encrypted, and a rotation of SECRET_KEY encrypts it again', async () => {
    const { created, send } = await integration()
    const stored = async () => {
      const rows = await app.db.read<{ key: Buffer }>(sql`select dkim_key_encrypted as key from smtp_integrations where id = ${created.id}`)
      return rows[0]?.key as Buffer
    }
    const before = await stored()
    expect(before.toString('latin1')).not.toContain('PRIVATE')
    const { secretKeys } = app.deps.settings
    const fresh = { current: Buffer.from('a new key of the service, long enough'), previous: [secretKeys.current] }
    expect((await reencryptColumn(app.db, fresh, sealedDkimKeys)).unreadable).toBe(0)
    expect((await stored()).equals(before)).toBe(false)
    await reencryptColumn(app.db, { current: secretKeys.current, previous: [fresh.current] }, sealedDkimKeys)
    expect(await verify(await send(), created.dkim_record)).toEqual([{ result: 'pass', ...DKIM }])
  })

  test('lets mails wait while its key cannot be read', async () => {
    const { account, admin, as, created, records, table, update } = await integration()
    await app.db.write(sql`update smtp_integrations set dkim_key_encrypted = '\\x0102'::bytea where id = ${created.id}`)
    const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'desk@example.com' } }
    await as.post('/api/email/send', { ...mail, to: ['ben@customer.example'], subject: 'Waits' })
    const failing = async () => (await admin.get(`/api/space/${account.space}/smtp/list`)).body[0].failing?.message
    await expect.poll(failing).toContain('DKIM key')
    const { body: comments } = await as.get(`/api/table/${table}/record/${records[0]}/comments/get`)
    expect(comments[0].metadata.status).toBe('queued')
    await update({ dkim: { ...DKIM, selector: 'gp3' } })
    const received = () => smtp.received.filter(({ envelopeTo }) => envelopeTo.includes('ben@customer.example'))
    await expect.poll(() => received().length).toBe(1)
  })
})
