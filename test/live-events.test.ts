/**
 * Tests which events of live tables each operation writes (contract.md §10, Live tables). Who hears them is tested with the streams;
 * event-writes.test.ts covers the events of tasks and comments.
 */
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { createInvite } from '../src/auth/service.ts'
import { CHANNEL } from '../src/events/log.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { run } from '../src/records/where/run-job.ts'
import { restore as restoreSpace } from '../src/spaces/service.ts'
import { restore as restoreTable } from '../src/tables/service.ts'
import { type Answer, type Caller, type TestAccount, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { liveEvents } from './support/live-events.ts'
import { callRest, callRpc, type Ids, operations } from './support/operations.ts'
import { queriesAround, queriesOf } from './support/statements.ts'
import { fillTable, makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const { told } = liveEvents(app)

const FIELDS = [
  { name: 'Company', type: 'text' },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
  { name: 'Paid', type: 'checkbox' },
  { name: 'Documents', type: 'file' },
]

interface Place {
  account: TestAccount
  /** Records with the companies a, b and c. */
  records: [number, number, number]
  table: number
  /** Calls an operation as the owner, or as another caller. */
  call(name: string, input?: object, ids?: Ids, caller?: Caller): Promise<Answer>
  /** The same, with the id of its change. */
  change(name: string, input?: object, ids?: Ids): Promise<{ body: Answer['body']; change_id: number | null }>
}

const WAYS = { REST: callRest, RPC: callRpc }
type Way = keyof typeof WAYS

async function placed(way: Way): Promise<Place> {
  const account = await app.account({ withPassword: true })
  const records = [{ company: 'a' }, { company: 'b' }, { company: 'c' }]
  const { id: table, records: ids } = await makeTable(app, account, { fields: FIELDS, records })
  const [record_id] = ids
  const call: Place['call'] = (name, input = {}, more = {}, caller = account.owner) => {
    const operation = operations.find((each) => each.name === name)
    if (!operation) throw new Error(`There is no operation ${name}`)
    return WAYS[way](
      app.as(caller),
      operation,
      { space_id: account.space, table_id: table, record_id: record_id as number, ...more },
      { ...input },
    )
  }
  const change: Place['change'] = async (...asked) => {
    const { status, headers, body } = await call(...asked)
    expect(status, JSON.stringify(body)).toBe(200)
    const id = headers.get('x-change-id')
    return { body, change_id: id === null ? null : Number(id) }
  }
  return { account, records: ids as Place['records'], table, call, change }
}

const everything = { filter: { all: [] } }
const upload = { field_id: 'documents', name: 'a.txt', data: 'YQ==' }

/** Each changes something, after `told` was asked for what has prepared it, and returns the events that are expected. */
type Case = (place: Place & { prepared(): Promise<unknown> }) => Promise<object[]>

const CHANGES: Record<string, Case> = {
  async 'create of a record'({ change }) {
    const { body, change_id } = await change('records.create', { data: { company: 'New' } })
    return [{ type: 'record.created', record_id: body.id, change_id }]
  },
  async 'create of a record with a file'({ account, change, records: [record], prepared, table }) {
    const { body: files } = await app.as(account.owner).post(`/api/table/${table}/record/${record}/files/create`, upload)
    await prepared()
    const { body, change_id } = await change('records.create', { data: { documents: files } })
    return [{ type: 'record.created', record_id: body.id, change_id }]
  },
  async 'create of several records'({ change }) {
    const { change_id } = await change('records.createBatch', { records: [{ data: {} }, { data: { company: 'New' } }] })
    return [{ type: 'records.changed', count: 2, change_id }]
  },
  async 'create of a batch of one'({ account, change }) {
    const { change_id } = await change('records.createBatch', { records: [{ data: { company: 'New' } }] })
    const [latest] = await app.db.read<{ record_id: number }>(sql`
      select record_id from events where account_id = ${account.id} and change_id = ${change_id}`)
    return [{ type: 'record.created', record_id: latest?.record_id, change_id }]
  },
  async 'create of no records'({ change }) {
    await change('records.createBatch', { records: [] })
    return []
  },
  async 'update of one field'({ change, records: [record_id] }) {
    const { change_id } = await change('records.update', { data: { company: 'New' } })
    return [{ type: 'record.updated', record_id, change_id, fields: ['company'] }]
  },
  async 'update that names its fields in the order of the table, and only those that differ'({ change, records: [record_id] }) {
    const { change_id } = await change('records.update', { data: { stage: 'Won', paid: false, company: 'New' } })
    return [{ type: 'record.updated', record_id, change_id, fields: ['company', 'stage'] }]
  },
  async 'update without effect'({ change }) {
    await change('records.update', { data: { company: 'a', paid: false } })
    await change('records.update', { data: {} })
    return []
  },
  async 'update of the files of a record'({ account, change, records: [record_id, other], prepared, table }) {
    const { body: files } = await app.as(account.owner).post(`/api/table/${table}/record/${other}/files/create`, upload)
    await prepared()
    const { change_id } = await change('records.update', { data: { documents: files, company: 'New' } })
    return [{ type: 'record.updated', record_id, change_id, fields: ['company', 'documents'] }]
  },
  async 'update of several records'({ change, records: [one, two, three] }) {
    const records = [
      { id: three, data: { company: 'New' } },
      { id: one, data: { stage: 'Won' } },
      { id: two, data: { company: 'b' } },
    ]
    const { change_id } = await change('records.updateBatch', { records })
    return [{ type: 'records.changed', count: 2, change_id }]
  },
  async 'update of several records, of which one is changed'({ change, records: [one, two] }) {
    const records = [
      { id: one, data: { company: 'a', paid: true } },
      { id: two, data: { paid: true, company: 'New', stage: 'Won' } },
    ]
    const { change_id } = await change('records.updateBatch', { records: [{ id: one, data: { company: 'a' } }, records[1]] })
    return [{ type: 'record.updated', record_id: two, change_id, fields: ['company', 'stage', 'paid'] }]
  },
  async 'update of several records, of which none is changed'({ change, records: [one, two] }) {
    await change('records.updateBatch', { records: [one, two].map((id, index) => ({ id, data: { company: 'ab'[index] } })) })
    return []
  },
  async 'update of what matches'({ change }) {
    await change('records.updateWhere', { ...everything, dry_run: true, data: { stage: 'Won' } })
    const { change_id } = await change('records.updateWhere', { ...everything, expect: 3, data: { stage: 'Won' } })
    await change('records.updateWhere', { ...everything, expect: 3, data: { stage: 'Won' } })
    return [{ type: 'records.changed', count: 3, change_id }]
  },
  async 'deletion of a record'({ change, records: [record_id] }) {
    const { change_id } = await change('records.delete')
    return [{ type: 'record.deleted', record_id, change_id }]
  },
  async 'deletion of a batch of one'({ change, records: [, record_id] }) {
    const { change_id } = await change('records.deleteBatch', { record_ids: [record_id] })
    await change('records.deleteBatch', { record_ids: [record_id] })
    return [{ type: 'record.deleted', record_id, change_id }]
  },
  async 'deletion of several records'({ change, records }) {
    const { change_id } = await change('records.deleteBatch', { record_ids: records })
    return [{ type: 'records.changed', count: 3, change_id }]
  },
  async 'deletion of what matches'({ change }) {
    const { change_id } = await change('records.deleteWhere', { ...everything, expect: 3 })
    return [{ type: 'records.changed', count: 3, change_id }]
  },
  async 'restore of a record'({ change, records: [record_id], prepared }) {
    await change('records.delete')
    await prepared()
    const { change_id } = await change('records.restore')
    return [{ type: 'record.restored', record_id, change_id }]
  },
  async 'undo of an update, once'({ change, records: [record_id], prepared }) {
    const { change_id: undone } = await change('records.update', { data: { company: 'New' } })
    await prepared()
    const { change_id } = await change('records.undo', {}, { change_id: undone as number })
    await change('records.undo', {}, { change_id: undone as number })
    return [{ type: 'record.updated', record_id, change_id, fields: ['company'] }]
  },
  async 'undo of a create'({ change, prepared }) {
    const { body, change_id: undone } = await change('records.create', { data: {} })
    await prepared()
    const { change_id } = await change('records.undo', {}, { change_id: undone as number })
    return [{ type: 'record.deleted', record_id: body.id, change_id }]
  },
  async 'undo of a deletion'({ change, records: [record_id], prepared }) {
    const { change_id: undone } = await change('records.delete')
    await prepared()
    const { change_id } = await change('records.undo', {}, { change_id: undone as number })
    return [{ type: 'record.restored', record_id, change_id }]
  },
  async 'undo of the deletion of several records'({ change, records, prepared }) {
    const { change_id: undone } = await change('records.deleteBatch', { record_ids: records })
    await prepared()
    const { change_id } = await change('records.undo', {}, { change_id: undone as number })
    return [{ type: 'records.changed', count: 3, change_id }]
  },
  async 'upload of a file'({ change, records: [record_id] }) {
    const { change_id } = await change('files.create', upload)
    return [{ type: 'record.updated', record_id, change_id, fields: ['documents'] }]
  },
  async 'deletion and restore of a file'({ change, records: [record_id], prepared }) {
    const { body } = await change('files.create', upload)
    const { path } = body[0] ?? body.rows[0]
    await prepared()
    const { change_id: deleted } = await change('files.delete', { field_id: 'documents', path })
    const { change_id: restored } = await change('files.restore', { path })
    return [deleted, restored].map((change_id) => ({ type: 'record.updated', record_id, change_id, fields: ['documents'] }))
  },
}

describe.each(Object.keys(WAYS) as Way[])('by %s, the event of', (way) => {
  test.each(Object.entries(CHANGES))('%s', async (_, run) => {
    const place = await placed(way)
    const { account, table: table_id } = place
    await told(account)
    const expected = await run({ ...place, prepared: () => told(account) })
    const common = { space_id: account.space, table_id, user_id: account.owner.id }
    expect(await told(account)).toEqual(expected.map((event) => ({ ...common, ...event })))
  })
})

/** Changes of definitions and views. The table has a view, which needs the stage, and another table has a lookup into it. */
interface Defined extends Place {
  view: number
  linking: number
  /** A view of the other table, which filters by the stage of the linked record. */
  linkingView: number
  prepared(): Promise<unknown>
}

const stageIs = (column: string, value: string) => ({ all: [{ column, compare: '=', value }] })

const DEFINITIONS: Record<string, (place: Defined) => Promise<object[]>> = {
  async 'another name of the table, once'({ call }) {
    for (const name of ['Offers', 'Offers']) await call('tables.update', { name })
    return [{ type: 'table.updated' }]
  },
  async 'a new field'({ call }) {
    await call('fields.create', { name: 'Amount', type: 'number' })
    return [{ type: 'table.updated' }]
  },
  async 'a changed field, once'({ call }) {
    for (const name of ['Firm', 'Firm']) await call('fields.update', { name }, { field_id: 'company' })
    return [{ type: 'table.updated' }]
  },
  async 'another order of the fields, once'({ call }) {
    for (let time = 1; time <= 2; time++) await call('fields.reorder', { field_ids: ['stage', 'company', 'documents', 'paid'] })
    return [{ type: 'table.updated' }]
  },
  async 'another option'({ call }) {
    await call('fields.update', { add_options: ['Lost'] }, { field_id: 'stage' })
    return [{ type: 'table.updated' }]
  },
  async 'another title of an option, which views name'({ call, view, linking, linkingView }) {
    const { body: field } = await call('fields.update', { options: ['Lead', { title: 'Done', was: 'Won' }] }, { field_id: 'stage' })
    expect(field.options).toEqual(['Lead', 'Done'])
    return [
      { type: 'table.updated' },
      { type: 'view.updated', view_id: view },
      { table_id: linking, type: 'view.updated', view_id: linkingView },
    ]
  },
  async 'a deleted field, with the views that need it'({ call, view, linking, linkingView }) {
    await call('fields.delete', { force: true }, { field_id: 'stage' })
    return [
      { type: 'table.updated' },
      { type: 'view.deleted', view_id: view },
      { table_id: linking, type: 'view.deleted', view_id: linkingView },
    ]
  },
  async 'another type of a field, when it is done'({ call, account, prepared }) {
    const { body: tried } = await call('fields.changeType', { type: 'long_text', dry_run: true }, { field_id: 'company' })
    await runConversion(systemContext(app.deps), tried.job_id)
    const { body } = await call('fields.changeType', { type: 'long_text' }, { field_id: 'company' })
    expect(await told(account)).toEqual([])
    await prepared()
    await runConversion(systemContext(app.deps), body.job_id)
    return [{ type: 'table.updated' }]
  },
  async 'a view that is saved and changed, each once'({ call }) {
    await call('views.check', { name: 'All', type: 'grid' })
    const { body } = await call('views.create', { name: 'All', type: 'grid' })
    for (const name of ['Each', 'Each']) await call('views.update', { name }, { view_id: body.id })
    return ['created', 'updated'].map((verb) => ({ type: `view.${verb}`, view_id: body.id }))
  },
  async 'another default view'({ call, view, prepared }) {
    await call('views.update', { is_table_default: true }, { view_id: view })
    await prepared()
    const { body } = await call('views.create', { name: 'All', type: 'grid', is_table_default: true })
    return [{ type: 'table.updated' }, { type: 'view.updated', view_id: view }, { type: 'view.created', view_id: body.id }]
  },
  async 'a view that is deleted'({ call, view }) {
    await call('views.delete', {}, { view_id: view })
    await call('views.delete', {}, { view_id: view })
    return [{ type: 'view.deleted', view_id: view }]
  },
  async 'a deleted table, with the views of others that need it'({ call, linking, linkingView }) {
    await call('tables.delete', {})
    await call('tables.delete', { force: true })
    return [{ type: 'table.deleted' }, { table_id: linking, type: 'view.deleted', view_id: linkingView }]
  },
  async 'a restored table'({ call, table, prepared }) {
    await call('tables.delete', { force: true })
    await prepared()
    await restoreTable(systemContext(app.deps), table)
    return [{ type: 'table.updated' }]
  },
  async 'a deleted and restored space'({ call, account, linking }) {
    await call('spaces.delete')
    await restoreSpace(systemContext(app.deps), account.space)
    return ['table.deleted', 'table.updated'].flatMap((type) => [{ type }, { type, table_id: linking }])
  },
  async 'nothing for a refused change'({ call, view }) {
    const refused = [
      await call('tables.update', { name: '' }),
      await call('fields.delete', {}, { field_id: 'stage' }),
      await call('fields.reorder', { field_ids: [] }),
      await call('views.create', { name: 'All', type: 'grid', filter: stageIs('nothing', '') }),
      await call('views.update', { filter: stageIs('nothing', '') }, { view_id: view }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 409, 400, 400, 400])
    return []
  },
}

describe.each(Object.keys(WAYS) as Way[])('by %s, live tables are told of', (way) => {
  test.each(Object.entries(DEFINITIONS))('%s', async (_, run) => {
    const place = await placed(way)
    const { account, table: table_id } = place
    const { id: view } = await makeView(app, account, table_id, { filter: stageIs('stage', 'Won') })
    const fields = [{ name: 'Deal', type: 'lookup', table: table_id }]
    const { id: linking } = await makeTable(app, account, { fields })
    const { id: linkingView } = await makeView(app, account, linking, { filter: stageIs('deal.stage', 'Won') })
    await told(account)
    const expected = await run({ ...place, view, linking, linkingView, prepared: () => told(account) })
    expect(await told(account)).toEqual(expected.map((event) => ({ space_id: account.space, table_id, ...event })))
  })
})

/** Changes of who is listed as a member, and how. */
const MEMBERS: Record<string, (place: Place) => Promise<number>> = {
  async 'somebody who is invited, once more with another role, and accepts'({ call, account }) {
    const email = `invited-${account.id}@example.com`
    for (const role of ['viewer', 'viewer', 'member']) await call('spaces.addMember', { email, role })
    const [invited] = await app.db.read<{ id: number }>(sql`select id from users where email = ${email}`)
    const token = await createInvite(app.db, invited?.id ?? 0, new Date())
    const accepted = { token, name: 'Vera', password: 'correct horse battery', timezone: 'UTC' }
    expect((await call('auth.acceptInvite', accepted, {}, null)).status).toBe(200)
    return 3
  },
  async 'another role, once'({ call, account }) {
    for (const role of ['viewer', 'viewer']) await call('spaces.updateMember', { role }, { user_id: account.member.id })
    return 1
  },
  async 'a member who is removed and comes back, each once'({ call, account: { member } }) {
    for (let time = 1; time <= 2; time++) await call('spaces.removeMember', {}, { user_id: member.id })
    for (let time = 1; time <= 2; time++) await call('spaces.addMember', { email: member.email, role: 'viewer' })
    return 2
  },
  async 'a member who is disabled and enabled, each once'({ call, account }) {
    for (const name of ['users.disable', 'users.disable', 'users.enable', 'users.enable'])
      await call(name, {}, { user_id: account.member.id })
    return 2
  },
  async 'a member who is erased'({ call, account }) {
    const { status } = await call('users.erase', { current_password: account.owner.password }, { user_id: account.member.id })
    expect(status).toBe(200)
    return 1
  },
  async 'another owner'({ call, account }) {
    const { status } = await call('account.owner', { current_password: account.owner.password, user_id: account.member.id })
    expect(status).toBe(200)
    return 1
  },
  async 'another name of a member, but not another time zone'({ call, account }) {
    await call('auth.profile', { timezone: 'Asia/Tokyo' }, {}, account.member)
    await call('auth.profile', { name: 'Somebody else' }, {}, account.member)
    return 1
  },
}

describe.each(Object.keys(WAYS) as Way[])('by %s, live tables are told of the members after', (way) => {
  test.each(Object.entries(MEMBERS))('%s', async (_, run) => {
    const place = await placed(way)
    const { account } = place
    await told(account)
    const times = await run(place)
    const events = (await told(account)).filter(({ space_id }) => space_id === account.space)
    expect(events).toEqual(Array(times).fill({ type: 'members.changed', space_id: account.space }))
  })
})

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

describe('a change of many records', () => {
  const ROWS = 1_200
  const work = (id: number) => run(systemContext(app.deps), { bulk_change_id: id })

  test('is told by each batch of its job, and so is its undo', async () => {
    const { account, call, table } = await placed('REST')
    await fillTable(app, table, ROWS, { company: `'x'` })
    await told(account)
    const { body } = await call('records.updateWhere', {
      filter: { all: [{ column: 'company', compare: '=', value: 'x' }] },
      expect: ROWS,
      data: { stage: 'Won' },
    })
    expect(await told(account)).toEqual([])
    await work(body.job_id)
    const { body: undo } = await call('records.undo', {}, { change_id: body.change_id })
    const changed = await told(account)
    await work(undo.job_id)
    const undone = await told(account)
    for (const [events, change_id] of [
      [changed, body.change_id],
      [undone, undo.change_id],
    ] as const) {
      const place = { space_id: account.space, table_id: table, user_id: account.owner.id }
      for (const { count: _, ...event } of events) expect(event).toEqual({ ...place, type: 'records.changed', change_id })
      expect(events.length).toBeGreaterThan(1)
      expect(events.reduce((sum, { count }) => sum + Number(count), 0)).toBe(ROWS)
    }
  })

  test.each([
    ['records.createBatch', { records: [{ data: {} }, { data: {} }] }],
    ['records.updateBatch', undefined],
    ['records.deleteBatch', undefined],
    ['records.deleteWhere', { ...everything, expect: 3 }],
  ])('is told by the last statement of its transaction: %s', async (name, input) => {
    const { call, records } = await placed('REST')
    const texts: string[] = []
    const around = queriesAround(queries, (done, { text }) => {
      texts.push(text)
      return done()
    })
    Object.assign(app.db, around)
    const given = { 'records.updateBatch': { records: records.map((id) => ({ id, data: { company: 'New' } })) } as object }
    const { status } = await call(name, input ?? given[name as 'records.updateBatch'] ?? { record_ids: records })
    expect(status).toBe(200)
    const written = texts.map((text) => text.includes('insert into events'))
    expect(written.filter(Boolean)).toHaveLength(1)
    expect(written.indexOf(true)).toBeGreaterThan(
      texts.findLastIndex((text) => /records|audit_entries|deleted_rows/.test(text) && !text.includes('insert into events')),
    )
  })
})

describe('no event', () => {
  test('is written for a change that is refused', async () => {
    const { account, call, records } = await placed('REST')
    await told(account)
    const [one, two] = records
    const refused = [
      await call('records.create', { data: { company: 1 } }),
      await call('records.create', { data: {} }, {}, account.viewer),
      await call('records.update', { data: { nothing: 1 } }),
      await call('records.updateBatch', {
        records: [
          { id: one, data: { company: 'x' } },
          { id: two, version: 9, data: { company: 'x' } },
        ],
      }),
      await call('records.updateWhere', { ...everything, expect: 4, data: { company: 'x' } }),
      await call('records.restore'),
      await call('records.undo', {}, { change_id: 999_999_999 }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 403, 400, 409, 409, 409, 404])
    expect(await told(account)).toEqual([])
  })

  test('is written twice for a call that is repeated with its key', async () => {
    const { account, table } = await placed('REST')
    await told(account)
    for (let call = 1; call <= 2; call++)
      await app.as(account.owner).post(`/api/table/${table}/records/create`, { data: {} }, { 'idempotency-key': 'once' })
    expect(await told(account)).toHaveLength(1)
  })
})

describe('the user of an event', () => {
  test('is the owner for a key of the account, and its own for a personal key', async () => {
    const { account, call } = await placed('REST')
    await told(account)
    await call('records.update', { data: { company: 'x' } }, {}, account.keys.account)
    await call('records.update', { data: { company: 'y' } }, {}, account.keys.personal)
    const users = (await told(account)).map(({ user_id }) => user_id)
    expect(users[0]).toBe(account.owner.id)
    expect(users).toHaveLength(2)
  })
})

describe('the event of an import', () => {
  test('has the number of the records, and is announced', async () => {
    const { account, table } = await placed('REST')
    await told(account)
    const listener = await app.db.connect()
    const announced = once(listener, 'notification')
    await listener.query(`listen ${CHANNEL}`)
    const { headers } = await app.as(account.owner).send(`/api/table/${table}/import`, {
      ...{ method: 'POST', body: 'company\nx\ny\n', headers: { 'content-type': 'text/csv' } },
    })
    const change_id = Number(headers.get('x-change-id'))
    const place = { space_id: account.space, table_id: table, user_id: account.owner.id }
    expect(await told(account)).toEqual([{ ...place, type: 'records.changed', count: 2, change_id }])
    await announced
    await listener.end()
  })

  test('is not written if the file is refused', async () => {
    const { account, table } = await placed('REST')
    await told(account)
    const sent = { method: 'POST', body: 'company,paid\nx,perhaps\n', headers: { 'content-type': 'text/csv' } }
    expect((await app.as(account.owner).send(`/api/table/${table}/import`, sent)).status).toBe(400)
    expect(await told(account)).toEqual([])
  })
})
