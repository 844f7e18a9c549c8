/** What is kept about one person, as a ZIP archive (contract.md §9, People of an account). */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { fromBufferPromise } from 'yauzl'
import { zipStream } from '../src/platform/bytes/zip-stream.ts'
import { historyOf, sql } from '../src/platform/database/database.ts'
import { type Caller, type Person, type TestAccount, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()

const made = async (caller: Caller, path: string, body: object = {}) => {
  const answer = await app.as(caller).post(path, body)
  expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined])
  return answer.body
}
const pathOf = ({ id }: { id: number }) => `/api/user/${id}/export.zip`
const fetchExport = (caller: Person, user: { id: number }, init: RequestInit = {}) =>
  fetch(app.url + pathOf(user), { ...init, headers: { cookie: `gridpost_session=${caller.session}` } })

/** The files of an archive by name; JSON is parsed. */
async function unzipped(archive: Buffer): Promise<Record<string, unknown>> {
  const zip = await fromBufferPromise(archive)
  const files: Record<string, unknown> = {}
  for await (const entry of zip.eachEntry()) {
    const bytes = await buffer(await zip.openReadStreamPromise(entry))
    files[entry.fileName] = entry.fileName.endsWith('.json') ? JSON.parse(bytes.toString()) : bytes.toString()
  }
  return files
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into rows of any shape.
async function exported(caller: Person, user: { id: number }): Promise<Record<string, any>> {
  const response = await fetchExport(caller, user)
  expect(response.status).toBe(200)
  return unzipped(Buffer.from(await response.arrayBuffer()))
}

/** An account whose member has something of every kind. */
async function desk() {
  const account = await app.account()
  const { admin, member, keys, space } = account
  const table = await makeTable(app, account, {
    records: [{ name: 'Acme' }],
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Papers', type: 'file' },
    ],
  })
  const record = `${table.path}/record/${table.records[0]}`
  const upload = { field_id: 'papers', name: 'Ünd so: weiter.txt', type: 'text/plain', data: Buffer.from('Hello').toString('base64') }
  const [file] = await made(member, `${record}/files/create`, upload)
  const task = await made(member, `/api/tasks/onRecord/${table.id}/${table.records[0]}/create`, { title: 'Call' })
  await made(member, '/api/tasks/create', { title: 'Mine alone' })
  await made(admin, `/api/tasks/onRecord/${table.id}/${table.records[0]}/create`, { title: 'Given', assignee_user_id: member.id })
  await made(admin, '/api/tasks/create', { title: 'Not theirs' })
  await made(member, `${record}/comments/create`, { content: 'On the record' })
  await made(keys.personal, `${record}/comments/create`, { content: 'By a key' })
  await made(member, `/api/task/${task.id}/comments/create`, { content: 'On the task' })
  await made(admin, `${record}/comments/create`, { content: `@{${member.id}:Max} look` })
  await made(member, '/api/email/signatures/create', { name: 'Short', html: '<p>Max</p>' })
  await made(member, '/api/preference/draft.1/update', { value: { body: 'Dear Ann' } })
  await made(member, '/api/preference/draft.2/update', { value: 'sent' })
  await made(member, '/api/preference/draft.2/update', { value: null })
  await made(admin, '/api/preference/draft.1/update', { value: 'Not theirs' })
  const view = await made(admin, `${table.path}/views/create`, { name: 'All', type: 'grid', config: {} })
  await app.db.write(sql`update views set created_by = ${member.id} where id = ${view.id}`)
  const server = { label: 'Desk', host: '127.0.0.1', port: 1, tls: 'none', from_domains: ['example.com'] }
  const { id: smtpIntegrationId } = await made(admin, `/api/space/${space}/smtp/create`, server)
  const mail = { tableId: table.id, recordId: table.records[0], smtpIntegrationId, fromIdentity: { email: 'desk@example.com' } }
  expect((await app.as(member).post('/api/email/send', { ...mail, to: ['ann@customer.example'], subject: 'Offer' })).status).toBe(202)
  return { ...account, table, record, file, task }
}

describe('the export of a person', () => {
  test('has what is kept about them, with their files and without secrets', async () => {
    const { owner, member, keys, space, table, file, task } = await desk()
    const response = await fetchExport(owner, member)
    expect(response.headers.get('content-type')).toBe('application/zip')
    expect(response.headers.get('content-disposition')).toContain(`filename="user-${member.id}.zip"`)
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    const files = await unzipped(Buffer.from(await response.arrayBuffer()))
    const entry = `files/${file.path}/Ünd so_ weiter.txt`
    expect(Object.keys(files)).toEqual([
      'profile.json',
      ...['memberships', 'sessions', 'keys', 'signatures', 'preferences'].map((name) => `${name}.json`),
      ...['address-changes', 'subscriptions', 'tasks', 'comments', 'changes', 'mails'].map((name) => `${name}.json`),
      ...['notifications.json', 'views.json', 'audit.json', entry, 'files.json'],
    ])
    expect(files[entry]).toBe('Hello')
    expect(files['profile.json']).toMatchObject({
      id: member.id,
      name: member.name,
      email: member.email,
      status: 'active',
      is_owner: false,
    })
    expect(files).toMatchObject({
      'memberships.json': [{ space_id: space, role: 'member' }],
      'sessions.json': [{ id: expect.any(Number) }],
      'keys.json': [{ kind: 'personal', read_only: false }],
      'signatures.json': [{ name: 'Short', html: '<p>Max</p>' }],
      'preferences.json': [{ name: 'draft.1', value: { body: 'Dear Ann' }, updated_at: expect.any(String) }],
      'address-changes.json': [],
      'tasks.json': [{ id: task.id, title: 'Call', creator_user_id: member.id }, { title: 'Mine alone' }, { title: 'Given' }],
      'comments.json': [
        { table_id: table.id, record_id: table.records[0], content: 'On the record', user_name: member.name },
        { content: 'By a key' },
        { task_id: task.id, content: 'On the task' },
      ],
      'changes.json': [
        {
          table_id: table.id,
          record_id: table.records[0],
          version: 2,
          kind: 'update',
          changes: [{ field: 'papers', from: [], to: [file] }],
        },
      ],
      'mails.json': [{ metadata: { subject: 'Offer', recipients: [{ email: 'ann@customer.example' }] } }],
      'notifications.json': expect.arrayContaining([expect.objectContaining({ event_type: 'comment.mention' })]),
      'views.json': [{ name: 'All', table_id: table.id }],
      'files.json': [{ path: file.path, name: 'Ünd so: weiter.txt', size: 5, entry }],
    })
    const secrets = JSON.stringify(files)
    for (const secret of [member.session, keys.personal, 'token_hash', 'password_hash']) expect(secrets).not.toContain(secret)
    const log = (await app.as(owner).get('/api/audit/list?action=export.user')).body
    expect(log).toMatchObject([{ actor_user_id: owner.id, object: { type: 'user', id: String(member.id), name: null } }])
  })

  test('has nothing of deleted records until they are restored', async () => {
    const { owner, member, table } = await desk()
    const record = `${table.path}/record/${table.records[0]}`
    await made(member, `${record}/update`, { data: { name: 'Acme Ltd' } })
    const lists = ['tasks', 'comments', 'changes', 'mails', 'notifications', 'files', 'subscriptions'] as const
    const kept = async (caller: Person) => {
      const files = await exported(caller, member)
      return Object.fromEntries(lists.map((name) => [name, files[`${name}.json`]]))
    }
    const before = await kept(owner)
    await made(member, `${record}/delete`)
    for (const caller of [owner, member]) {
      const { tasks, subscriptions, ...rest } = await kept(caller)
      expect(tasks).toMatchObject([{ title: 'Mine alone' }])
      expect(subscriptions).toHaveLength(1)
      expect(rest).toEqual({ comments: [], changes: [], mails: [], notifications: [], files: [] })
    }
    await made(owner, `${record}/restore`)
    const after = await kept(owner)
    for (const name of lists) expect([name, after[name].length]).toEqual([name, before[name].length + Number(name === 'changes')])
  })

  test('is for the owner and for that person, in a session', async () => {
    const account = await app.account()
    const { owner, admin, member, viewer, outsider, keys } = account
    const callers: [Caller, number, (string | undefined)?][] = [
      [owner, 200],
      [member, 200],
      [admin, 403, 'Not authorized'],
      [viewer, 403, 'Not authorized'],
      [outsider, 404, 'User not found'],
      [keys.account, 403, 'API endpoint not available to API keys'],
      [keys.personal, 403, 'API endpoint not available to API keys'],
      [null, 401, undefined],
    ]
    for (const [caller, status, message] of callers) {
      const answer = await app.as(caller).get(pathOf(member))
      expect([status, answer.status]).toEqual([status, status])
      if (message) expect(answer.body.message).toBe(message)
    }
    const ids: [string, number][] = [
      ['abc', 400],
      ['0', 404],
      ['-1', 404],
      ['99999999999', 404],
    ]
    for (const [id, status] of ids) expect((await app.as(owner).get(`/api/user/${id}/export.zip`)).status).toBe(status)
    expect((await app.as(owner).post(pathOf(member))).status).toBe(405)
    const head = await fetchExport(owner, member, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/zip'])
    expect((await app.as(owner).get('/api/audit/list?action=export.user')).body).toHaveLength(2)
  })

  test('leaves out for the person what they may not read any more, and has it for the owner', async () => {
    const { owner, member, space } = await desk()
    await made(owner, `/api/space/${space}/member/${member.id}/remove`)
    const titles = (files: Record<string, { title: string }[]>) => files['tasks.json']?.map(({ title }) => title)
    const [own, all] = [await exported(member, member), await exported(owner, member)]
    expect(titles(own)).toEqual(['Mine alone'])
    expect(titles(all)).toEqual(['Call', 'Mine alone', 'Given'])
    expect(own['notifications.json']).toEqual([])
    expect(all['notifications.json']).not.toEqual([])
    // Others may have changed the view since.
    expect([own['changes.json'], all['changes.json'].length]).toEqual([[], 1])
    expect([own['views.json'], all['views.json']]).toEqual([[], [expect.objectContaining({ name: 'All' })]])
    // What they have written themselves is theirs.
    for (const files of [own, all]) expect(files['comments.json']).toHaveLength(3)
  })

  test('has of somebody who was erased what they have left, under the new name', async () => {
    const account = (await app.account({ withPassword: true })) as TestAccount
    const { owner, member } = account
    const { path, records } = await makeTable(app, account, { records: [{}] })
    await made(member, `${path}/record/${records[0]}/comments/create`, { content: 'Mine' })
    await made(owner, `/api/user/${member.id}/erase`, { current_password: owner.password })
    const files = await exported(owner, member)
    expect(files['profile.json']).toMatchObject({ name: `Deleted user ${member.id}`, email: null, status: 'erased' })
    expect(files).toMatchObject({ 'sessions.json': [], 'keys.json': [], 'comments.json': [{ user_name: `Deleted user ${member.id}` }] })
    expect(JSON.stringify(files)).not.toContain(member.email)
  })

  test('has the changes of records by the person and by keys for them, read in short statements', async () => {
    const account = await app.account()
    const { owner, admin, member, keys } = account
    const table = await makeTable(app, account, {
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Who', type: 'user' },
      ],
    })
    const { id } = await made(member, `${table.path}/records/create`, { data: { name: 'a' } })
    await made(admin, `${table.path}/record/${id}/update`, { data: { name: 'b' } })
    await made(keys.personal, `${table.path}/record/${id}/update`, { data: { name: 'c', who: member.id } })
    // More entries than a statement reads, between those of others.
    await app.db.write(sql`
      insert into ${historyOf(table.id)} (change_id, at, record_id, version, user_id, records, kind)
      select 10 + v, '2026-03-31 09:30:00', ${id}, 100 + v, case when v % 2 = 0 then ${member.id}::int else ${admin.id}::int end, 1, 'update'
      from generate_series(1, 120) v`)
    await app.db.write(sql`
      insert into ${historyOf(table.id)} (change_id, at, record_id, version, user_id, records, kind, record_ids)
      values (9, '2026-03-31 09:30:00', 0, 1, ${member.id}, 5, 'create', '{[50,54]}')`)
    const files = await exported(owner, member)
    const [imported, created, byKey, ...others] = files['changes.json']
    expect(imported).toMatchObject({ table_id: table.id, record_id: null, kind: 'create', records: 5 })
    expect(created).toMatchObject({ table_id: table.id, record_id: id, version: 1, kind: 'create', api_key_id: null })
    const person = { id: member.id, email: member.email, name: member.name }
    const changes = [
      { field: 'name', name: 'Name', from: 'b', to: 'c' },
      { field: 'who', name: 'Who', from: null, to: person },
    ]
    expect(byKey).toMatchObject({ version: 3, kind: 'update', api_key_id: expect.any(Number), changes })
    expect(others.map(({ version }: { version: number }) => version)).toEqual(Array.from({ length: 60 }, (_, index) => 102 + 2 * index))
    expect((await exported(owner, owner))['changes.json']).toEqual([])
  })

  test('names a file whose bytes are gone, and has all others', async () => {
    const { owner, member, record, file } = await desk()
    const [other] = await made(member, `${record}/files/create`, {
      ...{ field_id: 'papers', name: 'b.txt', type: 'text/plain', data: 'SGk=' },
    }).then((list: { name: string; path: string }[]) => list.filter(({ name }) => name === 'b.txt'))
    await app.deps.storage.remove(file.path)
    const files = await exported(owner, member)
    const entries = Object.fromEntries(files['files.json'].map(({ path, entry }: Record<string, string>) => [path, entry]))
    expect(entries).toEqual({ [file.path]: null, [other?.path ?? '']: `files/${other?.path}/b.txt` })
    expect(files[`files/${other?.path}/b.txt`]).toBe('Hi')
  })

  test('is read page by page, and ends with a caller who hangs up', async () => {
    const { owner, member, record, task } = await desk()
    await app.db.write(sql`
      insert into task_comments (account_id, task_id, user_id, user_name, content)
      select account_id, task_id, user_id, user_name, repeat(md5(g::text), 1000) from task_comments, generate_series(1, 1500) g
      where task_id = ${task.id}`)
    const files = await exported(owner, member)
    expect(files['comments.json']).toHaveLength(1_503)
    expect(new Set(files['comments.json'].map(({ task_id, id }: Record<string, number>) => `${task_id} ${id}`)).size).toBe(1_503)

    const response = await fetchExport(owner, member)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await reader.cancel()
    const running = sql`select 1 from pg_stat_activity where state = 'active' and query like '%from task_comments%' and pid <> pg_backend_pid()`
    await expect.poll(() => app.db.read(running)).toEqual([])
    expect((await app.as(owner).get(`${record}/get`)).status).toBe(200)
  })
})

describe('a ZIP archive that is written while it is read', () => {
  const entry = (name: string, bytes: Readable) => ({ name, bytes, isCompressed: false, at: new Date('2030-05-01T10:00:00Z') })
  const endless = () => {
    let sent = 0
    const bytes = new Readable({
      read() {
        sent += 65_536
        this.push(Buffer.alloc(65_536))
      },
    })
    return { bytes, sent: () => sent }
  }

  test('asks its sources for no more than is read', async () => {
    const { bytes, sent } = endless()
    const archive = await zipStream(Readable.from([entry('a', bytes)]))
    await once(archive, 'readable')
    archive.read(1_000)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(sent()).toBeLessThan(4 * 1_048_576)
    archive.destroy()
    await expect.poll(() => bytes.destroyed).toBe(true)
  })

  test('fails with the error of a source, and of the list of entries', async () => {
    const failing = new Readable({
      read() {
        this.destroy(new Error('gone'))
      },
    })
    await expect(zipStream(Readable.from([entry('a', failing)])).then(buffer)).rejects.toThrow('gone')
    async function* none(): AsyncGenerator<never> {
      yield* []
      throw new Error('no list')
    }
    await expect(zipStream(none()).then(buffer)).rejects.toThrow('no list')
  })
})
