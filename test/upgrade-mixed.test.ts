/** Processes of the previous release and of this one at the same time: each goes on with what the other has written. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { undocumented } from './support/documented.ts'
import { call, signIn } from './support/programs.ts'
import { openReleases, type Release } from './support/releases.ts'
import { openStream } from './support/streams.ts'

const releases = await openReleases()
const { previous, smtp, query, run } = releases
const { keys, space_id, owner, member } = previous.login
const DIRECTIONS: [Release, Release][] = [
  ['previous', 'current'],
  ['current', 'previous'],
]

let contacts = 0
beforeAll(async () => {
  // The first process of this release applies its migrations.
  await run('previous web', 'current web')
  contacts = (await get('previous', `/api/space/${space_id}/tables/list`)).find(({ name }: Row) => name === 'Contacts').id
})
afterAll(() => releases.close())
/** No process has ended by itself, or has answered 500. */
afterEach(() => expect(releases.troubles()).toEqual([]))

interface Row {
  id: number
  name: string
  data: Record<string, unknown>
  [column: string]: unknown
}
type Options = NonNullable<Parameters<typeof call>[2]>

/** Sends a request as the key of the account, unless the options name another caller. Answers of this release must be as documented. */
async function send(release: Release, path: string, options: Options = {}) {
  const answer = await call(releases.url(`${release} web`), path, options.cookie ? options : { key: keys.account, ...options })
  expect(answer.status, `${path} at the ${release} release: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
  const [mediaType = ''] = (answer.headers.get('content-type') ?? '').split(';')
  const method = options.body === undefined ? 'GET' : 'POST'
  // A replayed answer is that of the release which gave it first.
  const isOwn = release === 'current' && answer.headers.get('idempotent-replayed') === null
  if (isOwn) expect(undocumented(method, path, { ...answer, mediaType })).toBeUndefined()
  return answer
}
const get = async (release: Release, path: string, options?: Options) => (await send(release, path, options)).body
const post = async (release: Release, path: string, body: object = {}, options?: Options) =>
  (await send(release, path, { ...options, body })).body

const TEXT = { name: 'Name', type: 'text' }
let counter = 0
const fresh = (what: string) => `${what} ${counter++}`

const addContact = (release: Release, data: object = {}): Promise<Row> =>
  post(release, `/api/table/${contacts}/records/create`, { data: { name: fresh('Contact'), company: 'Upgraders', ...data } })

const LOGIN = { user: 'desk', password: 'correct horse' }
smtp.login = LOGIN

/** Adds an SMTP integration that signs in. @returns its id */
async function addIntegration(release: Release, cookie: string): Promise<number> {
  const server = { host: '127.0.0.1', port: smtp.port, tls: 'none', username: LOGIN.user, password: LOGIN.password }
  const sender = { from_domains: ['demo.example'], from_identities: [{ name: 'Sales', email: 'sales@demo.example' }] }
  return (await post(release, `/api/space/${space_id}/smtp/create`, { label: fresh('Desk'), ...server, ...sender }, { cookie })).id
}

/** Queues a mail. @returns the address that it goes to */
async function sendMail(release: Release, integration?: number): Promise<string> {
  const { id } = await addContact(release)
  const address = `${fresh('customer').replace(' ', '-')}@customer.example`
  const [first] = await post(release, '/api/email/smtpOptions', { tableId: contacts })
  const mail = {
    tableId: contacts,
    recordId: id,
    smtpIntegrationId: integration ?? first.id,
    fromIdentity: { email: 'sales@demo.example' },
  }
  await post(release, '/api/email/send', { ...mail, to: [address], subject: 'For {{field:company}}', body: '<p>Hello</p>' })
  return address
}
const mailsTo = (address: string) => smtp.received.filter(({ envelopeTo }) => envelopeTo.includes(address))
const untilMailed = (address: string) => expect.poll(() => mailsTo(address).length).toBe(1)

/** Reads whatever there is at both releases. This one may say more, and no other things. */
async function expectSameAnswers(): Promise<void> {
  const cookie = await signIn(releases.url('previous web'), owner)
  const tables: Row[] = await get('previous', `/api/space/${space_id}/tables/list`)
  const paths = tables.flatMap(({ id }) => [`/api/table/${id}/get`, `/api/table/${id}/views/list`, `/api/table/${id}/export.csv`])
  const records: Row[] = await post('previous', `/api/table/${contacts}/records/query`)
  for (const { id } of [...records.slice(0, 10), ...records.slice(-10)])
    paths.push(
      `/api/table/${contacts}/record/${id}/get`,
      `/api/table/${contacts}/record/${id}/comments/get`,
      `/api/tasks/onRecord/${contacts}/${id}/list`,
    )
  const space = `/api/space/${space_id}`
  for (const path of [...paths, '/api/auth/me', '/api/spaces/list', `${space}/get`, `${space}/members/list`, `${space}/smtp/list`])
    expect([path, await get('current', path, { cookie })]).toMatchObject([path, await get('previous', path, { cookie })])
  for (const path of ['/api/tasks/list', '/api/tasks/badgeCount', '/api/notifications/list', '/api/email/signatures/list'])
    expect([path, await post('current', path, {}, { cookie })]).toMatchObject([path, await post('previous', path, {}, { cookie })])
  for (const { id } of tables)
    for (const view of (await get('previous', `/api/table/${id}/views/list`)) as Row[]) {
      const ask = (release: Release) => post(release, `/api/table/${id}/records/query`, { view_id: view.id })
      expect([view.name, await ask('current')]).toEqual([view.name, await ask('previous')])
    }
}

test('answer alike about the data of the previous release', expectSameAnswers)

test('changes of records are kept by this release, also between those of the previous one, which keeps none', async () => {
  const { id } = await addContact('previous', { company: 'First' })
  const record = `/api/table/${contacts}/record/${id}`
  const change = (release: Release, company: string) => post(release, `${record}/update`, { data: { company } })
  for (const [release, company] of [
    ['current', 'Second'],
    ['previous', 'Third'],
    ['current', 'Fourth'],
  ] as const)
    await change(release, company)
  const entries: Row[] = await get('current', `${record}/history`)
  const company = { field: 'company', name: 'Company' }
  expect(entries.map(({ version, kind, changes }) => [version, kind, changes])).toEqual([
    [4, 'update', [{ ...company, from: 'Third', to: 'Fourth' }]],
    [2, 'update', [{ ...company, from: 'First', to: 'Second' }]],
  ])
  const made = await post('previous', `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields: [TEXT] })
  const { id: old } = await post('previous', `/api/table/${made.id}/records/create`, { data: { name: 'a' } })
  const path = `/api/table/${made.id}/record/${old}`
  expect(await get('current', `${path}/history`)).toEqual([])
  await post('current', `${path}/update`, { data: { name: 'b' } })
  expect(await get('current', `${path}/history`)).toMatchObject([{ version: 2, changes: [{ field: 'name', from: 'a', to: 'b' }] }])
})

describe.each(DIRECTIONS)('what the %s release has written, at the %s release', (writer, reader) => {
  test('a session and a key are valid', async () => {
    const cookie = await signIn(releases.url(`${writer} web`), member)
    expect(await get(reader, '/api/auth/me', { cookie })).toMatchObject({ email: member.email })
    const { secret } = await post(writer, '/api/keys/create', { kind: 'personal', name: fresh('Key') }, { cookie })
    expect(await get(reader, '/api/key/self', { key: secret })).toMatchObject({
      key: { kind: 'personal' },
      acts_as: { email: member.email },
    })
  })

  test('a record is read, found and changed', async () => {
    const { id, data } = await addContact(writer)
    const path = `/api/table/${contacts}/record/${id}`
    expect(await get(reader, `${path}/get`)).toMatchObject({ id, data: { company: 'Upgraders' } })
    const { headers } = await send(reader, `${path}/get`)
    const changed = { 'if-match': headers.get('etag') ?? '' }
    await post(writer, `${path}/update`, { data: { company: 'Others' } }, { headers: changed })
    const filters = [{ column: 'name', compare: '=', value: data.name, connector: 'AND' }]
    for (const release of [reader, writer])
      expect(await post(release, `/api/table/${contacts}/records/query`, { filters })).toMatchObject([{ id, company: 'Others' }])
    await post(reader, `${path}/delete`)
    expect((await call(releases.url(`${writer} web`), `${path}/get`, { key: keys.account })).status).toBe(404)
  })

  test('a request is repeated under its Idempotency-Key', async () => {
    const body = { data: { name: fresh('Contact'), company: 'Once' } }
    const headers = { 'idempotency-key': randomUUID() }
    const first = await post(writer, `/api/table/${contacts}/records/create`, body, { headers })
    expect(await post(reader, `/api/table/${contacts}/records/create`, body, { headers })).toEqual(first)
  })

  test.each<[string, object]>([
    ['in an order', { order_by: 'company' }],
    ['in the opposite order', { order: [{ field: 'company', dir: 'D' }] }],
    ['in the order of the ids', {}],
  ])('a cursor leads to the next page %s', async (_, order) => {
    const page = { limit: 2, ...order }
    const { body, headers } = await send(writer, `/api/table/${contacts}/records/query`, { body: { ...page, cursor: '' } })
    const next = { ...page, cursor: headers.get('x-next-cursor') }
    const [second, same] = [
      await post(reader, `/api/table/${contacts}/records/query`, next),
      await post(writer, `/api/table/${contacts}/records/query`, next),
    ]
    expect(second).toEqual(same)
    expect(new Set([...body, ...second].map(({ id }: Row) => id)).size).toBe(4)
  })

  test('a table with fields of all types and a view take records', async () => {
    const cookie = await signIn(releases.url(`${writer} web`), owner)
    const options = { options: ['Open', 'Done'], decimals: 2, table: contacts }
    const takes = { select: ['options'], multi_select: ['options'], number: ['decimals'], lookup: ['table'], multi_lookup: ['table'] }
    const document = await get('previous', '/openapi.json')
    const fields = document.components.schemas.Field.properties.type.enum.map((type: keyof typeof takes) => ({
      name: type,
      type,
      ...Object.fromEntries((takes[type] ?? []).map((key) => [key, options[key as keyof typeof options]])),
    }))
    const { id } = await post(writer, `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields }, { cookie })
    const contact = await addContact(writer)
    const data = {
      text: 'Text',
      number: 12.5,
      checkbox: true,
      date: '2026-02-28',
      datetime: '2026-02-28 10:30:00',
      select: 'Open',
      multi_select: ['Open', 'Done'],
      lookup: contact.id,
    }
    const record = await post(reader, `/api/table/${id}/records/create`, { data })
    const open = [{ column: 'select', compare: '=', value: 'Open', connector: 'AND' }]
    const view = { name: 'Open', type: 'grid', filters: open, order_by: 'number', order_dir: 'D' }
    const { id: view_id } = await post(writer, `/api/table/${id}/views/create`, view, { cookie })
    const [found, same] = [
      await post(reader, `/api/table/${id}/records/query`, { view_id }),
      await post(writer, `/api/table/${id}/records/query`, { view_id }),
    ]
    expect(found).toEqual(same)
    expect(found).toMatchObject([{ id: record.id, number: 12.5, date: '2026-02-28', select: 'Open' }])
    await post(reader, `/api/table/${id}/fields/create`, { name: 'Later', type: 'text' }, { cookie })
    await post(writer, `/api/table/${id}/record/${record.id}/update`, { data: { later: 'Now' } })
    expect(await post(reader, `/api/table/${id}/records/query`)).toMatchObject([{ later: 'Now' }])
  })

  test('a task is changed, commented and done', async () => {
    const { id: record } = await addContact(writer)
    const task = await post(writer, `/api/tasks/onRecord/${contacts}/${record}/create`, {
      title: fresh('Task'),
      due_date: '2100-01-04',
      due_time: '10:00',
      reminder_offset_mins: 30,
    })
    await post(reader, `/api/task/${task.id}/update`, { details: 'By the other' })
    const comment = await post(reader, `/api/task/${task.id}/comments/create`, { content: 'By the other' })
    await post(writer, `/api/task/${task.id}/comment/${comment.id}/update`, { content: 'By the first' })
    expect(await get(reader, `/api/task/${task.id}/comments/get`)).toMatchObject([{ content: 'By the first' }])
    expect(await post(reader, `/api/task/${task.id}/markDone`)).toEqual({ ok: true, status: 'done' })
    const [first, other] = [await get(writer, `/api/task/${task.id}/get`), await get(reader, `/api/task/${task.id}/get`)]
    expect(first).toMatchObject({ status: 'done', details: 'By the other', reminder_at: '2100-01-04 09:30:00' })
    // The current release may show more.
    const [current, previous] = writer === 'current' ? [first, other] : [other, first]
    expect(current).toMatchObject(previous)
  })

  test('a file is downloaded', async () => {
    const { id } = await addContact(writer)
    const file = { field_id: 'documents', name: 'note.txt', type: 'text/plain', data: Buffer.from('Hello').toString('base64') }
    const [{ path }] = await post(writer, `/api/table/${contacts}/record/${id}/files/create`, file)
    expect(await get(reader, `/api/file/${path}`)).toBe('Hello')
  })

  test('a change arrives in a stream of events, and in one that is resumed', async () => {
    const listen = (release: Release, lastId?: string) => openStream(releases.url(`${release} web`), keys.account, lastId)
    const { id: record } = await addContact(writer)
    const addTask = () => post(writer, `/api/tasks/onRecord/${contacts}/${record}/create`, { title: fresh('Task') })
    const created = (id: number) => expect.objectContaining({ type: 'task.created', task_id: id })
    const [near, far] = [await listen(writer), await listen(reader)]
    const first = await addTask()
    expect([await near.until(1), await far.until(1)]).toEqual([[created(first.id)], [created(first.id)]])
    near.cut()
    const second = await addTask()
    const resumed = await listen(reader, near.lastId())
    expect(await resumed.until(1)).toEqual([created(second.id)])
    far.cut()
    resumed.cut()
  })
})

test('views with conditions that only this release knows are in the list of the previous one, with no records, and keep their conditions', async () => {
  const cookie = await signIn(releases.url('previous web'), owner)
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Tags', type: 'multi_select', options: ['Hot', 'New'] },
    { name: 'Note', type: 'text' },
  ]
  const { id } = await post('previous', `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields }, { cookie })
  const path = `/api/table/${id}`
  await post('previous', `${path}/records/create`, { data: { name: 'Ann', tags: ['Hot', 'New'] } })
  const [hot, ann] = [
    { column: 'tags', compare: '=', value: ['Hot', 'New'], all: true },
    { column: 'name', compare: '=', value: 'Ann' },
  ]
  const conditions: [string, object][] = [
    ['all', { filters: [{ ...hot, connector: 'AND' }] }],
    ['all in a group', { filter: { any: [hot] } }],
    ['bare', { filter: ann }],
    ['list', { filters: [{ ...ann, value: ['Ann', 'Ben'], connector: 'AND' }] }],
    ['not', { filter: { not: { ...ann, value: 'Ben' } } }],
    ['not in a group', { filter: { all: [ann, { any: [{ not: { ...ann, value: 'Ben' } }] }] } }],
  ]
  const views: Row[] = []
  for (const [name, condition] of conditions)
    views.push(await post('current', `${path}/views/create`, { name, type: 'grid', ...condition }, { cookie }))
  expect(views).toMatchObject(conditions.map(([name, condition]) => ({ name, filters: [], ...condition })))
  const list = (release: Release): Promise<Row[]> => get(release, `${path}/views/list`, { cookie })
  const found = async (release: Release) =>
    Promise.all(views.map(async (view) => (await post(release, `${path}/records/query`, { view_id: view.id })).length))

  expect((await list('previous')).map(({ name }) => name)).toEqual(['Default', ...conditions.map(([name]) => name)])
  expect([await found('previous'), await found('current')]).toEqual([views.map(() => 0), views.map(() => 1)])
  // What the previous release changes of the table, and of a view, leaves the conditions alone.
  await post('previous', `${path}/field/note/delete`, {}, { cookie })
  await post('previous', `${path}/field/tags/update`, { options: ['Hot', 'New', 'Old'] }, { cookie })
  for (const { id: view, name } of views) await post('previous', `${path}/view/${view}/update`, { name: `${name} again` }, { cookie })
  expect(await list('current')).toMatchObject([
    { name: 'Default' },
    ...conditions.map(([name, condition]) => ({ name: `${name} again`, filters: [], ...condition })),
  ])
  expect(await found('current')).toEqual(views.map(() => 1))
  // A filter that it saves in their place counts.
  for (const { id: view } of views)
    await post('previous', `${path}/view/${view}/update`, { filters: [{ ...ann, value: 'Ben', connector: 'AND' }] }, { cookie })
  expect([await found('previous'), await found('current')]).toEqual([views.map(() => 0), views.map(() => 0)])
})

test('colors of options are kept by changes of the previous release, which does not show them, and go with options that it removes', async () => {
  const cookie = await signIn(releases.url('previous web'), owner)
  const fields = [{ name: 'Stage', type: 'select', options: ['Open', 'Late', 'Done'], colors: { Open: 'gray', Done: 'green' } }]
  const { id } = await post('current', `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields }, { cookie })
  const path = `/api/table/${id}`
  const stage = async (release: Release) => (await get(release, `${path}/get`, { cookie })).fields[1]
  expect(await stage('previous')).not.toHaveProperty('colors')
  const renamed = { name: 'Step', options: ['Open', { title: 'Won', was: 'Done' }, 'Late'] }
  expect(await post('previous', `${path}/field/stage/update`, renamed, { cookie })).toMatchObject({ options: ['Open', 'Won', 'Late'] })
  expect(await stage('current')).toMatchObject({ name: 'Step', colors: { Open: 'gray', Won: 'green' } })
  await post('previous', `${path}/field/stage/update`, { options: ['Open', 'Late'] }, { cookie })
  expect(await post('current', `${path}/field/stage/update`, { add_options: ['New', 'More'] }, { cookie })).toMatchObject({
    options: ['Open', 'Late', 'New', 'More'],
    colors: { Open: 'gray' },
  })
})

test('views with orders that only this release knows are without them at the previous one, and keep them', async () => {
  const cookie = await signIn(releases.url('previous web'), owner)
  const cities = await post('previous', `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields: [TEXT] }, { cookie })
  for (const name of ['Oslo', 'Lima']) await post('previous', `/api/table/${cities.id}/records/create`, { data: { name } })
  const fields = [TEXT, { name: 'City', type: 'lookup', table: cities.id }, { name: 'Note', type: 'text' }]
  const { id } = await post('previous', `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields }, { cookie })
  const path = `/api/table/${id}`
  for (const [name, city] of [
    ['a', 1],
    ['b', 2],
    ['c', null],
  ])
    await post('previous', `${path}/records/create`, { data: { name, city } })
  const [none, config] = [{ order_by: null, order_dir: null }, { columns: ['name', 'city.name'] }]
  const linked = { column: 'city.name', compare: '!=', value: 'Lima' }
  const by = (order_by: string, order_dir: 'A' | 'D' | null = null) => ({ order_by, order_dir })
  const keys = [
    { field: 'city.name', dir: 'D' },
    { field: 'name', dir: 'A' },
  ]
  const [turned, last] = [[...keys].reverse(), [{ field: 'name', dir: 'D', nulls: 'last' }]]
  const cases: [name: string, saved: object, before: object, found: string, foundBefore: string][] = [
    ['1 order_by', by('city.name', 'D'), none, 'abc', 'abc'],
    ['2 only order_by', by('city.name'), none, 'cba', 'abc'],
    ['3 order', { order: keys, ...by('city.name', 'D') }, none, 'abc', 'abc'],
    ['4 second key', { order: turned, ...by('name', 'A') }, none, 'abc', 'abc'],
    ['5 condition', { filter: linked, ...by('name', 'D') }, { filter: { any: [] }, ...by('name', 'D') }, 'ca', ''],
    ['6 both', { filters: [{ ...linked, connector: 'AND' }], ...by('city.name', 'A') }, { filter: { any: [] }, ...none }, 'ca', ''],
    ['7 nulls', { order: last, ...by('name', 'D') }, none, 'cba', 'abc'],
    ['8 columns', { config, ...by('name', 'D') }, { config, ...by('name', 'D') }, 'cba', 'cba'],
  ]
  const views: Row[] = []
  for (const [name, saved] of cases) views.push(await post('current', `${path}/views/create`, { name, type: 'grid', ...saved }, { cookie }))
  const list = async (release: Release): Promise<Row[]> => (await get(release, `${path}/views/list`, { cookie })).slice(1)
  const found = (release: Release) =>
    Promise.all(
      views.map(async (view) => {
        const rows: Row[] = await post(release, `${path}/records/query`, {
          view_id: view.id,
          ...(release === 'current' && { fields: ['name'] }),
        })
        return rows.map(({ name }) => name).join('')
      }),
    )
  const expectViews = async (ending = '') => {
    expect(await list('current')).toMatchObject(cases.map(([name, saved]) => ({ name: name + ending, ...saved })))
    expect(await list('previous')).toMatchObject(cases.map(([name, , before]) => ({ name: name + ending, ...before })))
    expect((await list('previous')).filter((view) => 'order' in view)).toEqual([])
    expect(await found('current')).toEqual(cases.map(([, , , names]) => names))
    expect(await found('previous')).toEqual(cases.map(([, , , , names]) => names))
  }
  await expectViews()
  expect(await get('previous', `${path}/indexes`, { cookie })).toEqual(await get('current', `${path}/indexes`, { cookie }))
  // What the previous release changes of the tables, and of a view, leaves the orders alone.
  await post('previous', `${path}/field/note/delete`, {}, { cookie })
  await post('previous', `/api/table/${cities.id}/field/name/update`, { name: 'Title' }, { cookie })
  for (const { id: view, name } of views) await post('previous', `${path}/view/${view}/update`, { name: `${name} again` }, { cookie })
  await expectViews(' again')
  // An order that it saves in their place counts.
  for (const { id: view } of views) await post('previous', `${path}/view/${view}/update`, by('name', 'D'), { cookie })
  expect(await found('current')).toEqual(['cba', 'cba', 'cba', 'cba', 'ca', 'ca', 'cba', 'cba'])
  expect(await list('current')).toMatchObject(views.map(() => by('name', 'D')))
  // And one that this release saves.
  for (const { id: view } of views) await post('current', `${path}/view/${view}/update`, by('city.name'), { cookie })
  expect(await list('previous')).toMatchObject(views.map(() => none))
  expect(await found('current')).toEqual(['cba', 'cba', 'cba', 'cba', 'ca', 'ca', 'cba', 'cba'])
  for (const { id: view } of views) await post('previous', `${path}/view/${view}/delete`, {}, { cookie })
  expect(await list('current')).toEqual([])
})

describe.each(DIRECTIONS)('jobs of the %s release, with workers of the %s release alone', (sender, worker) => {
  beforeAll(() => run('previous web', 'current web', `${worker} worker`))

  test('mails are sent, also through an integration with a password', async () => {
    const cookie = await signIn(releases.url(`${sender} web`), owner)
    const addresses = [await sendMail(sender), await sendMail(sender, await addIntegration(sender, cookie))]
    for (const address of addresses) await untilMailed(address)
    const [mail] = mailsTo(addresses[1] ?? '')
    expect(mail?.email).toMatchObject({ subject: 'For Upgraders', from: { address: 'sales@demo.example' } })
  })

  test('replies become comments', async () => {
    const address = await sendMail(sender)
    await untilMailed(address)
    const [mail] = mailsTo(address)
    const replyTo = mail?.email.replyTo?.[0]?.address
    const id = fresh('Message').replace(' ', '-')
    const reply = `From: ${address}\r\nTo: ${replyTo}\r\nSubject: Re\r\nMessage-ID: <${id}@customer.example>\r\n\r\nOf course.\r\n`
    const webhook = `${releases.url(`${sender} web`)}/webhooks/email_receive`
    expect((await fetch(webhook, { method: 'POST', body: reply })).status).toBe(200)
    const received = () => query(`select from record_comments where type = 'email_in' and metadata->>'messageId' like $1`, [`%${id}%`])
    await expect.poll(async () => (await received()).length).toBe(1)
  })

  test('invitations are sent', async () => {
    const cookie = await signIn(releases.url(`${sender} web`), owner)
    const email = `${fresh('colleague').replace(' ', '-')}@demo.example`
    await post(sender, `/api/space/${space_id}/members/add`, { email, role: 'viewer' }, { cookie })
    await untilMailed(email)
  })
})

describe('the change of a type', () => {
  async function started(release: Release, content = '12') {
    const cookie = await signIn(releases.url(`${release} web`), owner)
    const fields = [{ name: 'Cell', type: 'text' }]
    const { id } = await post(release, `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields }, { cookie })
    await post(release, `/api/table/${id}/records/create`, { data: { cell: content } })
    const { job_id } = await post(release, `/api/table/${id}/field/cell/changeType`, { type: 'number' }, { cookie })
    const job = (at: Release) => get(at, `/api/job/${job_id}`, { cookie })
    const state = async (at: Release) => (await job(at)).state
    const cell = async () => (await post('current', `/api/table/${id}/records/query`))[0].cell
    return { job, state, cell }
  }

  test('that the previous release began is done by a worker of this one', async () => {
    await run('previous web', 'current web', 'current worker')
    const { state, cell } = await started('previous')
    await expect.poll(() => state('previous')).toBe('done')
    expect([await state('current'), await cell()]).toEqual(['done', 12])
  })

  test('that this release began waits for a worker of this one', async () => {
    await run('previous web', 'current web', 'previous worker')
    const { state, cell } = await started('current')
    // The worker is at work: what comes later is done.
    await untilMailed(await sendMail('current'))
    expect([await state('current'), await state('previous'), await cell()]).toEqual(['checking', 'queued', '12'])
    await run('previous web', 'current web', 'current worker')
    await expect.poll(() => state('current')).toBe('done')
    expect(await cell()).toBe(12)
  })

  test('that this release refused is failed for the previous one', async () => {
    await run('previous web', 'current web', 'current worker')
    const { job, state } = await started('current', 'twelve')
    await expect.poll(() => state('current')).toBe('refused')
    expect(await job('previous')).toMatchObject({ state: 'failed', error: (await job('current')).error })
  })
})

test('a worker of each release leaves the indexes of the other alone', async () => {
  await run('previous web', 'current web', 'previous worker')
  const cookie = await signIn(releases.url('previous web'), owner)
  const fields = [
    { name: 'Company', type: 'text' },
    { name: 'Stage', type: 'select', options: ['New', 'Won'] },
    { name: 'Due', type: 'date' },
    { name: 'Amount', type: 'number', decimals: 2 },
  ]
  const { id } = await post('previous', `/api/space/${space_id}/tables/create`, { name: fresh('Table'), fields }, { cookie })
  await query(`insert into t${id}.records (created_at, updated_at, company, stage, due, amount)
    select now(), now(), 'Company ' || md5(i::text), 1 + i % 2, date '2026-01-01' + i % 700, i % 9973 from generate_series(1, 25000) i`)
  await query(`analyze t${id}.records`)
  const view = (release: Release, layout: object) =>
    post(release, `/api/table/${id}/views/create`, { name: fresh('View'), type: 'grid', ...layout }, { cookie })
  const indexes = (release: Release): Promise<{ name: string; state: string }[]> => get(release, `/api/table/${id}/indexes`, { cookie })
  /** The indexes as PostgreSQL knows them: one that is built again has another id. */
  const built = async () =>
    new Map(
      (
        await query<{ name: string; oid: string }>(
          `select relname as name, c.oid::text as oid from pg_index i join pg_class c on c.oid = indexrelid where indrelid = 't${id}.records'::regclass`,
        )
      ).map(({ name, oid }) => [name, oid]),
    )
  const untilBuilt = async (release: Release, count: number) => {
    const states = async () => (await indexes(release)).map(({ state }) => state)
    await expect.poll(states).toEqual(Array(count).fill('ready'))
    const jobs = `select from pgboss.job where name = 'indexes.follow' and data->>'table_id' = '${id}' and state < 'completed'`
    await expect.poll(async () => (await query(jobs)).length).toBe(0)
  }

  await view('previous', { type: 'calendar', config: { startField: 'due' } })
  await view('previous', { type: 'kanban', config: { categoryField: 'stage' } })
  await view('previous', { order_by: 'amount', order_dir: 'D' })
  const planned = (await indexes('previous')).length
  await untilBuilt('previous', planned)
  expect(await indexes('current')).toMatchObject(await indexes('previous'))
  const first = await built()

  await run('previous web', 'current web', 'current worker')
  await view('current', { filters: [{ column: 'stage', compare: '=', value: 'Won', connector: 'AND' }], order_by: 'due' })
  await untilBuilt('current', planned + 1)
  const second = await built()
  for (const [name, oid] of first) expect([name, second.get(name)]).toEqual([name, oid])

  await run('previous web', 'current web', 'previous worker')
  await view('previous', { filters: [{ column: 'stage', compare: '=', value: 'New', connector: 'AND' }], order_by: 'amount' })
  await untilBuilt('previous', planned + 2)
  const third = await built()
  for (const [name, oid] of second) expect([name, third.get(name)]).toEqual([name, oid])
})

test('answer alike about the data of both releases', expectSameAnswers)

test('a record that this release deletes is gone for both, and back for both; one that the previous release deletes is gone for good', async () => {
  await run('previous web', 'current web', 'current worker')
  const record = await addContact('current')
  const path = `/api/table/${contacts}/record/${record.id}`
  const title = fresh('Call')
  const task = await post('previous', `/api/tasks/onRecord/${contacts}/${record.id}/create`, { title })
  await post('previous', `${path}/comments/create`, { content: 'Hello' })
  const statuses = async () => {
    const asked = [`${path}/get`, `${path}/comments/get`, `/api/task/${task.id}/get`]
    const answers = asked.flatMap((each) =>
      DIRECTIONS.map(([release]) => call(releases.url(`${release} web`), each, { key: keys.account })),
    )
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  const deleted = async (): Promise<number[]> =>
    (await get('current', `/api/table/${contacts}/records/deleted?limit=200`)).map(({ id }: Row) => id)
  await post('current', `${path}/delete`)
  expect(await statuses()).toEqual(Array(6).fill(404))
  expect(await deleted()).toContain(record.id)
  await post('current', `${path}/restore`)
  expect(await statuses()).toEqual(Array(6).fill(200))
  expect(await get('previous', `/api/task/${task.id}/get`)).toMatchObject({ title })
  expect((await post('previous', `${path}/update`, { data: { company: 'Restored' } })).data.company).toBe('Restored')

  await post('previous', `${path}/delete`)
  expect(await statuses()).toEqual(Array(6).fill(404))
  expect(await deleted()).not.toContain(record.id)
  expect((await call(releases.url('current web'), `${path}/restore`, { key: keys.account, body: {} })).status).toBe(404)
})

describe('after the way back', () => {
  test('the previous release sends mails that waited for their server', async () => {
    await run('current web', 'current worker')
    const cookie = await signIn(releases.url('current web'), owner)
    const integration = await addIntegration('current', cookie)
    smtp.login = { user: 'desk', password: 'another one' }
    const address = await sendMail('current', integration)
    const isFailing = async () => (await query('select from smtp_integrations where failing_since is not null')).length
    await expect.poll(isFailing).toBe(1)
    // The integration is paused for half a minute at least, so the worker that stops does not try again.
    smtp.login = LOGIN
    await run('previous web', 'previous worker')
    await untilMailed(address)
    expect(await post('previous', '/api/notifications/list', {}, { cookie })).toContainEqual(
      expect.objectContaining({ event_type: 'SMTP_FAILING' }),
    )
  })
})
