/**
 * Tests that statements on records name no system table where the records are on another server (docs/decisions/0030-two-planes.md), and that
 * the service answers the same there.
 */
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { dropOfField } from '../src/files/dropped/deleted-field.ts'
import { faultyUses } from '../src/files/uses/queries.ts'
import { systemContext } from '../src/platform/context.ts'
import { historyOf, recordsOf, sql } from '../src/platform/database/database.ts'
import { isOutdated } from '../src/platform/database/outdated-definition.ts'
import { badInput } from '../src/platform/errors.ts'
import { renewHosts } from '../src/records/cells/file-cells.ts'
import { insertRows } from '../src/records/rows.ts'
import type { StoredRow } from '../src/records/stored-row.ts'
import { updateRow } from '../src/records/update-row.ts'
import { tableDefinitions } from '../src/tables/definition-cache.ts'
import { withDefinition } from '../src/tables/with-definition.ts'
import { type Answer, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { NODE_ROLE } from './support/node-role.ts'
import { relationsOf, SYSTEM_TABLES } from './support/relations.ts'
import { everyType, makeTable, makeView } from './support/tables.ts'

/** The statements of all connections, as they are sent. */
const sent: { isOnNode: boolean; text: string }[] = []
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [statement] = args as [string | { text?: string }]
  sent.push({ isOnNode: this.user === NODE_ROLE, text: typeof statement === 'string' ? statement : (statement.text ?? '') })
  return query.apply(this, args)
} as typeof pg.Client.prototype.query

const [here, elsewhere] = [await testApp({}, { isElsewhere: false }), await testApp({}, { isElsewhere: true })]
const account = await here.account()
const { member, viewer, owner } = account
const table = await everyType(here, account)
const path = `/api/table/${table.id}`
const values = (user: number, text: string) => ({
  text,
  number: 3,
  user,
  multi_user: [member.id, user],
  lookup: table.target,
  multi_lookup: [table.target],
  select: 'Done',
  multi_select: ['Open', 'Done'],
})
const records = [values(member.id, 'b'), values(viewer.id, 'a'), { text: 'c' }, values(owner.id, 'd')]
const { body: made } = await here.as(owner).post(`${path}/records/create_batch`, { records: records.map((data) => ({ data })) })
const [first] = made
const view = await makeView(here, account, table.id, { order_by: 'user', filters: [{ column: 'user', compare: 'CONTAINS', value: 'm' }] })

type Ask = [name: string, ask: (app: typeof here) => Promise<Answer>]
const post = (name: string, at: string, body: object): Ask => [name, (app) => app.as(viewer).post(`${path}${at}`, body)]
const get = (name: string, at: string): Ask => [name, (app) => app.as(viewer).get(`${path}${at}`)]

const reads: Ask[] = [
  post('a page', '/records/query', {}),
  post('a page with its count', '/records/query', { count: true, limit: 2 }),
  post('a search', '/records/query', { search: 'b' }),
  post('an order by user', '/records/query', { order_by: 'user' }),
  post('an order by user, descending, by cursor', '/records/query', { order_by: 'user', order_dir: 'D', cursor: '', limit: 2 }),
  post('an order by several', '/records/query', { order: [{ field: 'created_by' }, { field: 'user', dir: 'D' }, { field: 'lookup' }] }),
  post('a part of a name', '/records/query', { filters: [{ column: 'user', compare: 'CONTAINS', value: 'ver' }] }),
  post('the begin of an address', '/records/query', { filters: [{ column: 'user', compare: 'SW', value: member.email.slice(0, 5) }] }),
  post('an address', '/records/query', { filters: [{ column: 'user', compare: '=', value: member.email }] }),
  post('another address', '/records/query', { filters: [{ column: 'user', compare: '!=', value: member.email }] }),
  post('an unknown address', '/records/query', { filters: [{ column: 'multi_user', compare: 'CONTAINS', value: 'nobody@example.com' }] }),
  post('an address among several', '/records/query', { filters: [{ column: 'multi_user', compare: 'CONTAINS', value: member.email }] }),
  post('@me', '/records/query', { filters: [{ column: 'user', compare: 'CONTAINS', value: '@me' }] }),
  post('no user', '/records/query', { filters: [{ column: 'user', compare: 'EMPTY' }] }),
  post('a title', '/records/query', { filters: [{ column: 'lookup', compare: 'CONTAINS', value: 'arg' }], order_by: 'lookup' }),
  post('a view', '/records/query', { view_id: view.id }),
  post('a count', '/records/count', {}),
  post('a restricted count', '/records/count', { filters: [{ column: 'user', compare: 'CONTAINS', value: 'm' }] }),
  post('groups by user', '/records/groups', { by: 'user' }),
  post('groups by day', '/records/groups', { by: 'created_at' }),
  post('sums by user and lookup', '/records/aggregate', {
    by: [{ field: 'user' }, { field: 'lookup' }],
    measures: [{ fn: 'count' }, { fn: 'filled', field: 'lookup' }],
  }),
  post('sums by several users and day', '/records/aggregate', {
    by: [{ field: 'multi_user' }, { field: 'created_at' }],
    measures: [{ fn: 'distinct', field: 'user' }],
    filters: [{ column: 'user', compare: '!=', value: member.email }],
  }),
  post('a board by user', '/records/board', {
    by: 'user',
    order_by: 'user',
    filters: [{ column: 'user', compare: '!=', value: 'nobody@example.com' }],
    include: ['badges'],
  }),
  post('a board by lookup', '/records/board', { by: 'lookup', order_by: 'created_by', order_dir: 'D' }),
  post('neighbours by user', `/record/${first.id}/neighbours`, {
    order: [{ field: 'user' }, { field: 'lookup', dir: 'D' }],
    position: true,
  }),
  post('neighbours among others', `/record/${first.id}/neighbours`, {
    filters: [{ column: 'user', compare: '!=', value: member.email }],
    position: true,
  }),
  post('an explanation', '/records/explain', {
    record_id: first.id,
    filters: [{ column: 'user', compare: '=', value: viewer.email }],
    order_by: 'user',
  }),
  get('a record', `/record/${first.id}/get`),
  get('a record that does not exist', '/record/999999/get'),
  get('an export', '/export.csv'),
  get('an export of a view', `/export.csv?view_id=${view.id}`),
]

/** What an answer says, without the numbers that differ between any two. */
const said = ({ status, body }: Answer) => ({
  status,
  body: JSON.stringify(body)
    .replace(/"request_id":"[^"]*"/, '""')
    .replace(/"(id|record_id|task_id|change_id)":\d+/g, '"$1":0'),
})

/** A record of its own, the requests of each step one after the other, and what they answered. */
async function written(app: typeof here): Promise<unknown[]> {
  const answers: Answer[] = []
  const by = app.as(member)
  const send = async (at: string, body: object = {}): Promise<Answer['body']> => {
    const answer = await by.post(at, body)
    answers.push(answer)
    return answer.body
  }
  const read = async (at: string) => answers.push(await by.get(at))
  const { id } = await send(`${path}/records/create`, { data: values(viewer.id, 'new') })
  await send(`${path}/records/create_batch`, { records: records.map((data) => ({ data })) })
  await send(`${path}/records/create`, { data: {} })
  const record = `${path}/record/${id}`
  await send(`${record}/update`, { data: { user: owner.id, multi_user: [viewer.id], multi_lookup: [] } })
  await send(`${record}/update`, { data: { user: owner.id } })
  await send(`${record}/update`, { data: { user: 0 } })
  await read(`${record}/get`)
  const task = await send(`/api/tasks/onRecord/${table.id}/${id}/create`, { title: 'Call back' })
  await send(`/api/tasks/onRecord/${table.id}/999999/create`, { title: 'Call nobody' })
  await read(`/api/task/${task.id}/get`)
  const comment = await send(`${record}/comments/create`, { content: 'Hello' })
  await send(`${record}/comment/${comment.id}/update`, { content: 'Hello again' })
  await read(`${record}/comments/get`)
  const follow = `/api/subscriptions/${table.id}`
  await send(`${follow}/${id}/subscribe`)
  await send(`${follow}/${id}/subscribe`)
  await send(`${follow}/status`, { record_id: id })
  await send(`${follow}/status`, { record_id: 999_999 })
  await send(`${record}/comment/${comment.id}/delete`)
  await send(`${record}/delete`)
  await send(`${record}/delete`)
  await read(`${record}/get`)
  return [...answers.map(said), ...(await entriesSince(app, id))]
}

/** The entries of the history of this record and later ones. */
const entriesSince = (app: typeof here, recordId: number) =>
  app.db.read(sql`
    select version, at, user_id, api_key_id, records, kind, changes, change_id - min(change_id) over () as step
    from ${historyOf(table.id)} where record_id >= ${recordId} order by change_id, record_id`)

/** The statements that were sent and name records as well as system tables. */
const namingBothPlanes = () =>
  sent
    .map(({ text }) => text)
    .filter((text) => {
      const { system, records: ofUsers } = relationsOf(text)
      return system.length > 0 && ofUsers.length > 0
    })

/** An import, conversions to and from users, and the life of files, in a table of their own. */
async function worked(app: typeof here) {
  const context = systemContext(app.deps)
  const fields = Object.entries({ Text: 'text', Who: 'user', Papers: 'file' }).map(([name, type]) => ({ name, type }))
  const { id, path, records: kept } = await makeTable(app, account, { fields, records: [{ text: 'by hand', who: viewer.id }] })
  const post = async (at: string, body: object) => {
    const answer = await app.as(owner).post(`${path}${at}`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  const cells = async (...ids: string[]) =>
    (await post('/records/query', { fields: ids })).map((row: Record<string, unknown>) => ids.map((field) => row[field]))
  const csv = `Text,Who\n${member.email},${member.email}\nnobody,${viewer.email}\n`
  const sending = { method: 'POST', body: csv, headers: { 'content-type': 'text/csv' } }
  expect((await app.as(owner).send(`${path}/import`, sending)).status).toBe(200)
  const imported = await cells('text', 'who')

  const convert = async (field: string, change: object) => {
    await runConversion(context, (await post(`/field/${field}/changeType`, change)).job_id)
    return cells('text', 'who')
  }
  const asText = await convert('who', { type: 'text' })
  const asUsers = await convert('text', { type: 'user', drop_failing: true })

  const record = `/record/${kept[0]}/files`
  const upload = async () => (await post(`${record}/create`, { field_id: 'papers', name: 'a.txt', data: 'YQ==' })).at(-1).path
  const [removed, moved] = [await upload(), await upload()]
  await post(`${record}/delete`, { field_id: 'papers', path: removed })
  const faulty = []
  for await (const uses of faultyUses(app.db, 2)) faulty.push(...uses)
  const definition = (await tableDefinitions(app.db, [id])).get(id)
  if (!definition) throw new Error('The table is gone')
  await app.db.write(sql`update stored_files set host = 'another' where path = ${moved}`)
  const renew = () => renewHosts(app.db, definition, { first: 1, last: 1_000 })
  const renewed = [await renew(), await renew()]
  const hosts = (await cells('papers')).flat(2).map((file: { host: string } | null) => file?.host)

  await post('/field/papers/delete', { force: true })
  await dropOfField(context, { table_id: id, field_id: 'papers' })
  const dropped = await app.db.read(sql`select dropped_at is not null as is_dropped, field_id from stored_files where table_id = ${id}`)
  return { imported, asText, asUsers, faulty, renewed, hosts, dropped }
}

describe('with the records on another server', () => {
  beforeAll(() => {
    sent.length = 0
  })

  test.each(reads)('%s is answered as here', async (name, ask) => {
    const expected = said(await ask(here))
    expect(expected, expected.body).toMatchObject({ status: name.includes('does not exist') ? 404 : 200 })
    expect(said(await ask(elsewhere))).toEqual(expected)
    expect(said(await ask(elsewhere))).toEqual(expected)
  })

  test('writes are answered as here, and those of the records name no system table', async () => {
    const now = new Date('2026-11-22T12:00:00Z')
    for (const app of [here, elsewhere]) app.setClock(now)
    const expected = await written(here)
    sent.length = 0
    expect(await written(elsewhere)).toEqual(expected)
    for (const app of [here, elsewhere]) app.setClock(null)
    expect(namingBothPlanes()).toEqual([])
  })

  test('imports, conversions and the files of cells end as here, by statements that name one plane', async () => {
    const expected = await worked(here)
    expect(expected.imported).toHaveLength(3)
    sent.length = 0
    expect(await worked(elsewhere)).toEqual(expected)
    expect(namingBothPlanes()).toEqual([])
  })

  test('a write by an outdated definition is repeated with the present one', async () => {
    const add = (name: string) => here.as(owner).post(`${path}/fields/create`, { name, type: 'text' })
    // The service elsewhere has cached the definition, and the statement of access check tells the new version only to the next request.
    const answers = await Promise.all([
      add('Later'),
      ...Array.from({ length: 5 }, () => elsewhere.as(member).post(`${path}/records/create`, { data: values(viewer.id, 'x') })),
      add('Latest'),
    ])
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const { body } = await elsewhere.as(member).post(`${path}/records/create`, { data: { later: '1', latest: '2' } })
    expect(body.data).toMatchObject({ later: '1', latest: '2' })
  })

  test('a write by an outdated definition writes nothing, alone or with others', async () => {
    const { db } = elsewhere
    const outdated = (await tableDefinitions(db, [table.id])).get(table.id)
    if (!outdated) throw new Error('The table is gone')
    expect((await here.as(owner).post(`${path}/fields/create`, { name: 'Newest', type: 'text' })).status).toBe(200)
    const texts = async () => (await here.as(viewer).post(`${path}/records/query`, {})).body.map(({ text }: { text: string }) => text)
    const before = await texts()
    const by = { now: new Date(), userId: null, keyId: null }
    const cells = new Map([['text', 'written late']])
    const many = (count: number) => Array.from({ length: count }, () => cells)
    const writes: (() => Promise<unknown>)[] = [
      () => updateRow(db, outdated, first.id, cells, { ...by, ifMatch: undefined }),
      ...[1, 2, 100].map((count) => () => insertRows(db, outdated, many(count), by)),
    ]
    for (const write of writes) {
      for (const error of [await write().catch(String), await db.transaction(write).catch(String)]) {
        expect(error).toContain('The table does not have this version any more')
      }
    }
    expect(await texts()).toEqual(before)
  })

  test('records that are created at the same time are inserted by one statement, and one that is refused keeps no other out', async () => {
    const { db } = elsewhere
    const definition = (await tableDefinitions(db, [table.id])).get(table.id)
    if (!definition) throw new Error('The table is gone')
    const insert = async (texts: string[]) => {
      const from = sent.length
      const by = { now: new Date(), userId: null, keyId: null }
      const rows = await Promise.allSettled(texts.map((text) => insertRows(db, definition, [new Map([['text', text]])], by)))
      const written = rows.map((row) => (row.status === 'fulfilled' ? (row.value as StoredRow[]).map(({ text }) => text) : row.reason.code))
      return { written, statements: sent.slice(from).filter(({ text }) => /^insert into "t\d+"\.records/.test(text)).length }
    }
    expect(await insert(['j1', 'j2', 'j3', 'j4', 'j5'])).toEqual({ written: [['j1'], ['j2'], ['j3'], ['j4'], ['j5']], statements: 1 })
    await here.db.write(sql`alter table ${recordsOf(table.id)} add constraint not_k2 check (text <> 'k2')`)
    expect(await insert(['k1', 'k2', 'k3'])).toEqual({ written: [['k1'], '23514', ['k3']], statements: 4 })
    await here.db.write(sql`alter table ${recordsOf(table.id)} drop constraint not_k2`)
    // Twenty records take three statements of eight at most.
    const many = Array.from({ length: 20 }, (_, index) => `m${index}`)
    expect(await insert(many)).toEqual({ written: many.map((text) => [text]), statements: 3 })
  })

  test('a record that was written is not written again because the title of a linked record cannot be read', async () => {
    const definition = (await tableDefinitions(elsewhere.db, [table.id])).get(table.id)
    if (!definition) throw new Error('The table is gone')
    // As if the title field of the linked table were deleted right after the write.
    const fields = definition.fields.map((field) => (field.lookup ? { ...field, lookup: { ...field.lookup, title_field: 'gone' } } : field))
    const cells = new Map([['lookup', table.target]])
    const error = await insertRows(elsewhere.db, { ...definition, fields }, [cells], { now: new Date(), userId: null, keyId: null }).catch(
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ message: expect.stringContaining('The record was written') })
    expect(isOutdated(error)).toBe(false)
  })

  test('statements there name records and no system table', () => {
    const onNode = sent.filter(({ isOnNode }) => isOnNode).map(({ text }) => text)
    expect(onNode.length).toBeGreaterThan(reads.length)
    for (const text of onNode) {
      const { system } = relationsOf(text)
      expect(system, text).toEqual([])
    }
  })
})

describe('work during which the table is placed on a node', () => {
  /** What the service does if the first attempt fails and it would find the table elsewhere. */
  async function afterFailure(error: Error): Promise<{ attempts: number; looks: number }> {
    let [attempts, looks] = [0, 0]
    const db = Object.create(here.db, {
      hasNodes: { value: true },
      isElsewhere: { value: () => looks > 0 },
      refreshPlacement: { value: async () => void looks++ },
    }) as typeof here.db
    await withDefinition({ db }, { id: table.id, version: 1 }, async () => {
      if (attempts++ === 0) throw error
    }).catch((thrown: unknown) => expect(thrown).toBe(error))
    return { attempts, looks }
  }
  const answered = (severity: string, code: string) => Object.assign(new pg.DatabaseError('answered', 0, 'error'), { severity, code })

  test.each([
    ['is repeated if its statement was refused', answered('ERROR', '0A000'), { attempts: 2, looks: 1 }],
    [
      'is not repeated after the loss of its connection: it may be committed',
      new Error('Connection terminated'),
      { attempts: 1, looks: 0 },
    ],
    ['is not repeated after a shutdown: it may be committed', answered('FATAL', '57P01'), { attempts: 1, looks: 0 }],
    ['is not repeated after an error of the caller, and nothing is asked', badInput('data', 'is required'), { attempts: 1, looks: 0 }],
  ])('%s', async (_, error, expected) => {
    expect(await afterFailure(error)).toEqual(expected)
  })
})

test('the server of the records refuses a statement that names a system table', async () => {
  const onRecords = elsewhere.db.records(table.id)
  const from = (name: string) => ({ text: `select from ${name}`, values: [] })
  expect(await onRecords.read(from(`t${table.id}.records`))).not.toHaveLength(0)
  for (const name of SYSTEM_TABLES) await expect(onRecords.read(from(`public."${name}"`)), name).rejects.toMatchObject({ code: '42501' })
})

test.each([
  ['select u.name from users u', ['users'], []],
  ['select 1 from "t4".records r, public.tables t', ['tables'], ['t4']],
  [`select r."users", r.tasks as tables from "t12"."records" r /* from users */ where r.text = 'from users' -- join users`, [], ['t12']],
  ['with a as (update t3.records set x = 1 returning id) insert into tasks (id) select id from a', ['tasks'], ['t3']],
  ['select (select count(*) from record_tallies) from t1.records', ['record_tallies'], ['t1']],
])('the tables of %s are %j and %j', (text, system, found) => {
  expect(relationsOf(text)).toEqual({ system, records: found })
})
