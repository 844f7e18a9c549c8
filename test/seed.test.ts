/** Tests `npm run seed` as the tests of other projects use it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Seeded } from '../scripts/seed-account.ts'
import { FIELD_TYPES } from '../src/fields/registry.ts'
import { readServiceFile } from '../src/platform/processes/service-file.ts'
import { prepareData } from './support/prepared-data.ts'
import { call, type Programs, programs, type Service, signIn } from './support/programs.ts'

type Seed = Seeded & { base_url: string; catch_domain: string }

async function seed({ npmRun }: Programs): Promise<Seed> {
  const { code, stdout, stderr } = await npmRun('seed', ['--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  return JSON.parse(stdout) as Seed
}

describe('beside a running service', () => {
  const beside = programs({ CATCH_DOMAIN: 'replies.test' })
  let service: Service
  let seeded: Seed

  beforeAll(async () => {
    prepareData(beside.dataDir, { withDemo: false })
    service = await beside.start()
    seeded = await seed(beside)
  })
  afterAll(() => beside.cleanUp())

  test('it prints the address, the catch domain and the mail catcher of the service', () => {
    expect(seeded.base_url).toBe(service.url)
    expect(seeded.catch_domain).toBe('replies.test')
    expect(seeded.smtp).toMatchObject({ ...readServiceFile(beside.dataDir)?.catcher, from_domain: expect.any(String) })
    expect(Object.keys(seeded)).toEqual(
      expect.arrayContaining(['account_id', 'space_id', 'other_space_id', 'table_id', 'other_table_id', 'record_ids', 'keys', 'smtp']),
    )
  })

  test('each run creates another account', async () => {
    const again = await seed(beside)
    expect(again.account_id).not.toBe(seeded.account_id)
    expect(again.owner.email).not.toBe(seeded.owner.email)
    expect((await call(service.url, `/api/table/${again.table_id}/get`, { key: seeded.keys.account })).status).toBe(404)
  })

  test('every user can sign in, and has their role in one space', async () => {
    const { space_id, other_space_id } = seeded
    const rolesOf = async (who: 'owner' | 'admin' | 'member' | 'viewer' | 'outsider') => {
      const cookie = await signIn(service.url, seeded[who])
      const { password: _, ...profile } = seeded[who]
      expect((await call(service.url, '/api/auth/me', { cookie })).body).toMatchObject(profile)
      const { body } = await call(service.url, '/api/spaces/list', { cookie })
      return Object.fromEntries((body as { id: number; role: string }[]).map(({ id, role }) => [id, role]))
    }
    expect(await rolesOf('owner')).toEqual({ [space_id]: 'admin', [other_space_id]: 'admin' })
    expect(await rolesOf('admin')).toEqual({ [space_id]: 'admin' })
    expect(await rolesOf('member')).toEqual({ [space_id]: 'member' })
    expect(await rolesOf('viewer')).toEqual({ [space_id]: 'viewer' })
    expect(await rolesOf('outsider')).toEqual({})
  })

  test('each key has the kind and the rights in its name', async () => {
    const { keys, account_id, member, viewer, outsider, owner, other_space_id } = seeded
    const self = async (key: string) => (await call(service.url, '/api/key/self', { key })).body
    const ofAccount = (more: object) => ({ account_id, acts_as: { id: owner.id }, key: { kind: 'account', ...more } })
    expect(await self(keys.account)).toMatchObject(ofAccount({ read_only: false, space_ids: null }))
    expect(await self(keys.account_read_only)).toMatchObject(ofAccount({ read_only: true, space_ids: null }))
    expect(await self(keys.account_other_space)).toMatchObject(ofAccount({ space_ids: [other_space_id] }))
    expect(await self(keys.personal)).toMatchObject({ account_id, acts_as: { id: member.id }, key: { kind: 'personal' } })
    expect(await self(keys.personal_viewer)).toMatchObject({ account_id, acts_as: { id: viewer.id } })
    const stranger = await self(keys.personal_outsider)
    expect(stranger.acts_as.id).toBe(outsider.id)
    expect(stranger.account_id).not.toBe(account_id)
  })

  test('the table has a field of every type, and records with and without a value in each', async () => {
    const { table_id, other_table_id, space_id, record_ids, keys } = seeded
    const { body: table } = await call(service.url, `/api/table/${table_id}/get`, { key: keys.account })
    const fields = new Map<string, Record<string, unknown>>(table.fields.map((field: { id: string }) => [field.id, field]))
    for (const type of FIELD_TYPES) expect(fields.get(type)).toMatchObject({ id: type, name: type, type })
    expect(fields.get('number')).toMatchObject({ decimals: 2 })
    expect(fields.get('lookup')).toMatchObject({ table: other_table_id })
    expect(fields.get('multi_lookup')).toMatchObject({ table: other_table_id })
    expect(fields.get('hidden_text')).toMatchObject({ type: 'text', always_hidden: true })

    const { body: rows } = await call(service.url, `/api/table/${table_id}/records/query`, { key: keys.account, body: {} })
    expect(rows.map(({ id }: { id: number }) => id)).toEqual(record_ids)
    expect(record_ids).toHaveLength(25)
    const isEmpty = (value: unknown) => value === null || value === false || (Array.isArray(value) && !value.length)
    for (const type of [...FIELD_TYPES, 'hidden_text']) {
      const values = rows.map((row: Record<string, unknown>) => row[type])
      expect({ type, some: values.some(isEmpty), others: !values.every(isEmpty) }).toEqual({ type, some: true, others: true })
    }
    const { body: other } = await call(service.url, `/api/table/${other_table_id}/get`, { key: keys.account })
    expect(other.space_id).toBe(space_id)
  })

  test('each value has the form of the contract, and its file can be fetched', async () => {
    const { table_id, record_ids, keys, owner } = seeded
    const get = (path: string) => call(service.url, path, { key: keys.personal })
    const { body: record } = await get(`/api/table/${table_id}/record/${record_ids[0]}/get`)
    const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    expect(record.title).toBe('Alpha')
    expect(record.data).toMatchObject({
      text: 'Alpha',
      long_text: expect.stringContaining('Paragraph 1'),
      email: 'person1@example.com',
      url: expect.stringMatching(/^https:/),
      phone: '+49 30 5550001',
      number: 0,
      checkbox: false,
      date: day,
      datetime: expect.stringMatching(/^\d{4}-\d\d-\d\d 00:00:00$/),
      time: '00:00:00',
      select: 'Lead',
      multi_select: expect.arrayContaining(['red']),
      user: { id: owner.id, email: owner.email, name: owner.name },
      lookup: { id: expect.any(Number), title: 'Acme' },
      hidden_text: 'hidden 1',
    })
    expect(record.data.multi_user[0]).toMatchObject({ id: owner.id })
    expect(record.data.multi_lookup[0]).toMatchObject({ title: 'Acme' })
    expect(record.data.file).toMatchObject([
      { name: 'notes.txt', type: 'text/plain' },
      { name: 'pixel.png', type: 'image/png' },
    ])
    const { status, body } = await get(`/api/file/${record.data.file[0].path}`)
    expect({ status, body }).toEqual({ status: 200, body: 'Plain text, with an umlaut: ä\n' })
  })

  test('there are no tasks, comments or views', async () => {
    const { table_id, record_ids, keys } = seeded
    const get = async (path: string) => (await call(service.url, path, { key: keys.account })).body
    expect(await get(`/api/table/${table_id}/views/list`)).toMatchObject([{ id: 0 }])
    for (const id of record_ids) {
      expect(await get(`/api/tasks/onRecord/${table_id}/${id}/count`)).toEqual({ open: 0, total: 0 })
      expect(await get(`/api/table/${table_id}/record/${id}/comments/get`)).toEqual([])
    }
  })

  test('a mail is sent through its integration', async () => {
    const { table_id, record_ids, keys, smtp } = seeded
    const { status } = await call(service.url, '/api/email/send', {
      key: keys.personal,
      body: {
        tableId: table_id,
        recordId: record_ids[0],
        smtpIntegrationId: smtp.id,
        fromIdentity: { name: 'Max', email: `max@${smtp.from_domain}` },
        to: ['somebody@example.org'],
        subject: 'Seeded {{field:text}}',
        body: '<p>Hello</p>',
      },
    })
    expect(status).toBe(202)
    const caught = async () => ((await call(service.url, '/dev/mail.json')).body as { subject: string }[]).map(({ subject }) => subject)
    await expect.poll(caught).toEqual(['Seeded Alpha'])
  })

  test('an unknown argument is refused in one line', async () => {
    const { code, stdout, stderr } = await beside.run('seed', ['--jason'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe("Unknown option '--jason'; npm run seed -- --help\n")
  })
})

test('without a service it leaves no process running, and the first service takes the port that it reserved for mail', async () => {
  const alone = programs()
  try {
    const seeded = await seed(alone)
    expect(seeded.catch_domain).toBe('reply.localhost')
    expect(existsSync(join(alone.dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
    const service = await alone.start()
    expect(readServiceFile(alone.dataDir)?.catcher).toEqual({ host: seeded.smtp.host, port: seeded.smtp.port })
    await signIn(service.url, seeded.member)
    await service.stop()
  } finally {
    await alone.cleanUp()
  }
})
