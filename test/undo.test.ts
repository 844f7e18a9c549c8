/** Undo of changes of records: what is set back, and why the rest is left (contract.md §10). */
import { describe, expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type Caller, type TestAccount, testApp } from './support/app.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()
const shared = await app.account()

type Body = Answer['body']
type Undo = (table: TestTable, changeId: unknown, caller: Caller) => Promise<Answer>

/** The two roads of a request, whose answers have one form. */
const ROADS: [name: string, undo: Undo][] = [
  ['REST', (table, changeId, caller) => app.as(caller).post(`${table.path}/change/${changeId}/undo`)],
  [
    'RPC',
    async (table, changeId, caller) => {
      const answer = await app.as(caller).post('/trpc/records.undo', { table_id: table.id, change_id: changeId })
      const { result, error } = answer.body
      return { ...answer, body: error ? error.data : result.data }
    },
  ],
]
const [[, undo]] = ROADS as [[string, Undo]]
const errorOf = ({ status, body }: Answer) => `${status} ${body.message}`

async function posted(caller: Caller, path: string, body: object = {}): Promise<Body> {
  const answer = await app.as(caller).post(path, body)
  expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}

/** A request that changes records, and the id of its change, which the header has, too. */
async function change(caller: Caller, path: string, body: object = {}): Promise<number> {
  const { status, headers, body: answer } = await app.as(caller).post(path, body)
  expect(status, `${path}: ${JSON.stringify(answer)}`).toBe(200)
  const id = Number(headers.get('x-change-id'))
  expect(id).toBeGreaterThan(0)
  return id
}

const undone = async (table: TestTable, changeId: number, caller: Caller): Promise<Body> => {
  const answer = await undo(table, changeId, caller)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const { change_id } = answer.body
  expect(answer.headers.get('x-change-id')).toBe(change_id === null ? null : String(change_id))
  return answer.body
}

const NAME = { name: 'Name', type: 'text' }
const FIELDS = [
  NAME,
  { name: 'Amount', type: 'number', decimals: 4 },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
  { name: 'Tags', type: 'multi_select', options: ['Big', 'Old'] },
  { name: 'Owner', type: 'user' },
  { name: 'Team', type: 'multi_user' },
  { name: 'Files', type: 'file' },
  { name: 'Rating', type: 'number', admin_only: true },
  { name: 'Due', type: 'date' },
  { name: 'Met', type: 'datetime' },
  { name: 'Done', type: 'checkbox' },
]

/** A table with one record, and another to which it links. */
async function deals(account: TestAccount = shared, data: object = {}) {
  const companies = await makeTable(app, account, { records: [{ name: 'Acme' }, { name: 'Mill' }] })
  const fields = [
    ...FIELDS,
    { name: 'Company', type: 'lookup', table: companies.id },
    { name: 'Links', type: 'multi_lookup', table: companies.id },
  ]
  const table = await makeTable(app, account, { fields, records: [data] })
  const [record = 0] = table.records
  const [acme = 0, mill = 0] = companies.records
  const path = `${table.path}/record/${record}`
  return {
    ...{ table, record, path, companies, acme, mill },
    update: (data: object, caller: Caller = account.member) => change(caller, `${path}/update`, { data }),
    read: async () => (await app.as(account.owner).get(`${path}/get`)).body,
    upload: async (name: string, caller: Caller = account.member) =>
      (await posted(caller, `${path}/files/create`, { field_id: 'files', name, data: Buffer.from(name).toString('base64') })).at(-1),
  }
}
type Deals = Awaited<ReturnType<typeof deals>>

describe('of an update', () => {
  test.each<[name: string, before: (of: Deals) => object, after: (of: Deals) => object]>([
    ['a text', () => ({ name: 'a' }), () => ({ name: 'b' })],
    ['a text of signs', () => ({ name: 'a "b", {c} \\ d\n' }), () => ({ name: null })],
    ['a number', () => ({ amount: '12.3456' }), () => ({ amount: 7 })],
    ['an option', () => ({ stage: 'Lead' }), () => ({ stage: 'Won' })],
    ['options', () => ({ tags: ['Old', 'Big'] }), () => ({ tags: ['Big'] })],
    ['a user', () => ({ owner: shared.member.id }), () => ({ owner: shared.viewer.id })],
    ['users', () => ({ team: [shared.member.id, shared.viewer.id] }), () => ({ team: [] })],
    ['a link', ({ acme }) => ({ company: acme }), ({ mill }) => ({ company: mill })],
    ['links', ({ acme, mill }) => ({ links: [mill, acme] }), ({ acme }) => ({ links: [acme] })],
    ['a date', () => ({ due: '2024-02-29' }), () => ({ due: null })],
    ['an instant', () => ({ met: '2026-03-31 07:30:00' }), () => ({ met: '2026-03-31 07:30:01' })],
    ['a check', () => ({ done: true }), () => ({ done: false })],
    ['an empty cell', () => ({ due: null, team: [] }), () => ({ due: '2024-02-29', team: [shared.member.id] })],
    [
      'all of them',
      ({ acme }) => ({ name: 'a', amount: 1, company: acme }),
      ({ mill }) => ({ name: 'b', amount: 2, company: mill, done: true }),
    ],
  ])('sets back %s, and undo of the undo sets it again', async (_, before, after) => {
    const of = await deals()
    await posted(shared.member, `${of.path}/update`, { data: before(of) })
    const earlier = (await of.read()).data
    const changeId = await of.update(after(of))
    const later = (await of.read()).data
    const first = await undone(of.table, changeId, shared.member)
    expect(first).toEqual({ undone: 1, skipped: 0, skips: [], change_id: expect.any(Number) })
    expect((await of.read()).data).toEqual(earlier)
    expect(await undone(of.table, first.change_id, shared.member)).toMatchObject({ undone: 1, skipped: 0 })
    expect((await of.read()).data).toEqual(later)
  })

  test('is a change itself, in the history of the record', async () => {
    const of = await deals(shared, { name: 'a' })
    const changeId = await of.update({ name: 'b' })
    const { change_id } = await undone(of.table, changeId, shared.admin)
    const { body } = await app.as(shared.viewer).get(`${of.path}/history`)
    expect(body[0]).toMatchObject({
      ...{ change_id, version: 3, kind: 'undo', user_id: shared.admin.id, records: 1 },
      changes: [{ field: 'name', from: 'b', to: 'a' }],
    })
    expect(await of.read()).toMatchObject({ version: 3, data: { name: 'a' } })
  })

  test('sets back the fields that still have their value, and names the others', async () => {
    const of = await deals(shared, { name: 'a', amount: 1, stage: 'Lead' })
    const changeId = await of.update({ name: 'b', amount: 2, stage: 'Won' })
    await of.update({ amount: 3 })
    expect(await undone(of.table, changeId, shared.member)).toMatchObject({
      ...{ undone: 1, skipped: 1 },
      skips: [{ record_id: of.record, field: 'amount', reason: 'changed since' }],
    })
    expect((await of.read()).data).toMatchObject({ name: 'a', amount: 3, stage: 'Lead' })
  })

  test('sets back a value that was changed since, and back again', async () => {
    const of = await deals(shared, { name: 'a' })
    const changeId = await of.update({ name: 'b' })
    await of.update({ name: 'c' })
    await of.update({ name: 'b' })
    expect(await undone(of.table, changeId, shared.member)).toMatchObject({ undone: 1, skipped: 0 })
  })

  test('compares what is stored: names that have changed make no difference', async () => {
    const account = await app.account()
    const of = await deals(account)
    await of.update({ stage: 'Lead', company: of.acme })
    const changeId = await of.update({ stage: 'Won', company: of.mill })
    const options = ['Lead', 'Won', 'Lost'].map((was) => ({ was, title: `New ${was}` }))
    await posted(account.owner, `${of.table.path}/field/stage/update`, { options })
    await posted(account.owner, `${of.companies.path}/record/${of.mill}/update`, { data: { name: 'Mills' } })
    expect(await undone(of.table, changeId, account.member)).toMatchObject({ undone: 1, skipped: 0 })
    expect((await of.read()).data).toMatchObject({ stage: 'New Lead', company: { id: of.acme } })
  })
})

describe.each(ROADS)('over %s undo leaves a field', (_, send) => {
  interface Case {
    before?: (of: Deals) => object
    after: (of: Deals) => object
    /** Who makes the change; an admin unless it says otherwise. */
    by?: (account: TestAccount) => Caller
    meanwhile: (of: Deals, account: TestAccount) => Promise<unknown>
    undoneBy?: (account: TestAccount) => Caller
    skip: { field: string | null; reason: string }
  }
  const field = (of: Deals, id: string) => `${of.table.path}/field/${id}`
  const CASES: Record<string, Case> = {
    'that was changed since': {
      after: () => ({ name: 'b' }),
      meanwhile: (of) => of.update({ name: 'c' }),
      skip: { field: 'name', reason: 'changed since' },
    },
    'of a record that is deleted': {
      after: () => ({ name: 'b' }),
      meanwhile: (of, { owner }) => posted(owner, `${of.path}/delete`),
      skip: { field: null, reason: 'deleted' },
    },
    'that is deleted': {
      after: () => ({ name: 'b' }),
      meanwhile: (of, { owner }) => posted(owner, `${field(of, 'name')}/delete`),
      skip: { field: 'name', reason: 'field is gone' },
    },
    'of another type now': {
      after: () => ({ due: '2024-02-29' }),
      meanwhile: async (of, { owner }) => {
        await posted(owner, `${field(of, 'due')}/delete`)
        await posted(owner, `${of.table.path}/fields/create`, { name: 'Due', type: 'text' })
      },
      skip: { field: 'due', reason: 'type changed' },
    },
    'that was deleted and created anew': {
      before: () => ({ stage: 'Won' }),
      after: () => ({ stage: 'Lead' }),
      meanwhile: async (of, { owner }) => {
        await posted(owner, `${field(of, 'stage')}/delete`)
        await posted(owner, `${of.table.path}/fields/create`, { name: 'Stage', type: 'select', options: ['New', 'Old'] })
        await of.update({ stage: 'New' }, owner)
      },
      skip: { field: 'stage', reason: 'field is gone' },
    },
    'whose option is gone': {
      before: () => ({ stage: 'Lost' }),
      after: () => ({ stage: 'Won' }),
      meanwhile: (of, { owner }) => posted(owner, `${field(of, 'stage')}/update`, { options: ['Lead', 'Won'], force: true }),
      skip: { field: 'stage', reason: 'option is gone' },
    },
    'one of whose options is gone': {
      before: () => ({ tags: ['Big', 'Old'] }),
      after: () => ({ tags: ['Big'] }),
      meanwhile: (of, { owner }) => posted(owner, `${field(of, 'tags')}/update`, { options: ['Big'], force: true }),
      skip: { field: 'tags', reason: 'option is gone' },
    },
    'whose linked record is deleted': {
      before: ({ acme }) => ({ company: acme }),
      after: ({ mill }) => ({ company: mill }),
      meanwhile: (of, { owner }) => posted(owner, `${of.companies.path}/record/${of.acme}/delete`),
      skip: { field: 'company', reason: 'link is gone' },
    },
    'one of whose linked records is deleted': {
      before: ({ acme, mill }) => ({ links: [acme, mill] }),
      after: () => ({ links: [] }),
      meanwhile: (of, { owner }) => posted(owner, `${of.companies.path}/record/${of.mill}/delete`),
      skip: { field: 'links', reason: 'link is gone' },
    },
    'whose file is deleted for good': {
      before: () => ({ files: [] }),
      after: () => ({ name: 'b' }),
      meanwhile: async () => {},
      skip: { field: 'files', reason: 'file is gone' },
    },
    'whose user has left the space': {
      before: () => ({ owner: '@me' }),
      after: () => ({ owner: null }),
      by: ({ admin }) => admin,
      undoneBy: ({ owner }) => owner,
      meanwhile: (_, { owner, space, admin }) => posted(owner, `/api/space/${space}/member/${admin.id}/remove`),
      skip: { field: 'owner', reason: 'not a member' },
    },
    'that is required now': {
      before: () => ({ amount: null }),
      after: () => ({ amount: 1 }),
      meanwhile: (of, { owner }) => posted(owner, `${field(of, 'amount')}/update`, { required: true }),
      skip: { field: 'amount', reason: 'field is required' },
    },
    'that only admins may write': {
      after: () => ({ due: '2024-02-29' }),
      by: ({ member }) => member,
      undoneBy: ({ member }) => member,
      meanwhile: (of, { owner }) => posted(owner, `${field(of, 'due')}/update`, { admin_only: true }),
      skip: { field: 'due', reason: 'no right' },
    },
  }
  const { 'whose file is deleted for good': _file, ...others } = CASES

  test.each(Object.entries(others))('%s', async (_name, { before, after, by, meanwhile, undoneBy, skip }) => {
    const account = await app.account()
    const of = await deals(account, { name: 'a' })
    const caller = by?.(account) ?? account.admin
    if (before) await app.as(caller).post(`${of.path}/update`, { data: before(of) })
    const changeId = await of.update(after(of), caller)
    await meanwhile(of, account)
    const { data: then } = await of.read()
    const { status, headers, body } = await send(of.table, changeId, undoneBy?.(account) ?? account.admin)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual({ undone: 0, skipped: 1, skips: [{ record_id: of.record, ...skip }], change_id: null })
    expect(headers.has('x-change-id')).toBe(false)
    expect((await of.read()).data).toEqual(then)
    // An undo that has set nothing back is none: it may be tried again.
    expect((await send(of.table, changeId, undoneBy?.(account) ?? account.admin)).body).toEqual(body)
  })

  test('whose file is deleted for good', async () => {
    const account = await app.account()
    const of = await deals(account)
    const [a, b] = [await of.upload('a'), await of.upload('b')]
    const changeId = await of.update({ files: [b] })
    await app.db.write(sql`delete from stored_files where path = ${a.path}`)
    expect((await send(of.table, changeId, account.member)).body).toMatchObject({
      ...{ undone: 0, skipped: 1, change_id: null },
      skips: [{ record_id: of.record, field: 'files', reason: 'file is gone' }],
    })
  })
})

describe('files', () => {
  const stateOf = async (path: string) =>
    (await app.db.read<object>(sql`select dropped_at is not null as dropped, record_id from stored_files where path = ${path}`))[0]

  test('that were removed are put back and in use again; those that were added are dropped', async () => {
    const of = await deals()
    const [a, b] = [await of.upload('a'), await of.upload('b')]
    const removal = await of.update({ files: [b] })
    expect(await stateOf(a.path)).toMatchObject({ dropped: true })
    const { change_id } = await undone(of.table, removal, shared.member)
    expect((await of.read()).data.files).toEqual([a, b])
    expect(await stateOf(a.path)).toEqual({ dropped: false, record_id: of.record })
    await undone(of.table, change_id, shared.member)
    expect((await of.read()).data.files).toEqual([b])
    expect(await stateOf(a.path)).toMatchObject({ dropped: true })
  })

  test('of an upload and of a removal by files/delete are taken back, too', async () => {
    const of = await deals()
    const upload = await change(shared.member, `${of.path}/files/create`, { field_id: 'files', name: 'a', data: '' })
    const [a] = (await of.read()).data.files
    await undone(of.table, upload, shared.member)
    expect((await of.read()).data.files).toEqual([])
    const again = await change(shared.member, `${of.path}/update`, { data: { files: [a] } })
    expect(again).toBeGreaterThan(upload)
    const removal = await change(shared.member, `${of.path}/files/delete`, { field_id: 'files', path: a.path })
    await undone(of.table, removal, shared.member)
    expect((await of.read()).data.files).toEqual([a])
  })
})

describe('of a create', () => {
  const count = async (table: TestTable) => (await app.as(shared.member).post(`${table.path}/records/count`)).body.total

  test('deletes the record, with what is on it', async () => {
    const table = await makeTable(app, shared)
    const { id, change_id } = await posted(shared.member, `${table.path}/records/create`, { data: { name: 'a' } })
    const task = await posted(shared.member, `/api/tasks/onRecord/${table.id}/${id}/create`, { title: 'Call' })
    const answer = await undone(table, change_id, shared.member)
    expect(answer).toEqual({ undone: 1, skipped: 0, skips: [], change_id: expect.any(Number) })
    expect(await count(table)).toBe(0)
    expect((await app.as(shared.member).get(`/api/task/${task.id}/get`)).status).toBe(404)
    expect(await undone(table, change_id, shared.member)).toEqual({ undone: 0, skipped: 0, skips: [], change_id: null })
    // The undo of the undo brings the record back, and another one deletes it again.
    const back = await undone(table, answer.change_id, shared.member)
    expect(back).toEqual({ undone: 1, skipped: 0, skips: [], change_id: expect.any(Number) })
    expect([await count(table), (await app.as(shared.member).get(`/api/task/${task.id}/get`)).status]).toEqual([1, 200])
    expect(await undone(table, answer.change_id, shared.member)).toEqual({ undone: 0, skipped: 0, skips: [], change_id: null })
    expect(await undone(table, back.change_id, shared.member)).toMatchObject({ undone: 1, skipped: 0 })
    expect(await count(table)).toBe(0)
    const audited = await app.db.read(sql`select detail from audit_entries where action = 'records.deleted' and table_id = ${table.id}`)
    expect(audited).toEqual([{ detail: { count: 1, record_ids: [id] } }, { detail: { count: 1, record_ids: [id] } }])
  })

  test('of a batch leaves the records that were changed or deleted since', async () => {
    const table = await makeTable(app, shared)
    const changeId = await change(shared.member, `${table.path}/records/create_batch`, {
      records: ['a', 'b', 'c'].map((name) => ({ data: { name } })),
    })
    const rows = (await app.as(shared.member).post(`${table.path}/records/query`, {})).body as { id: number; name: string }[]
    const idOf = (name: string) => rows.find((row) => row.name === name)?.id
    await posted(shared.member, `${table.path}/record/${idOf('b')}/update`, { data: { name: 'B' } })
    await posted(shared.member, `${table.path}/record/${idOf('c')}/delete`)
    expect(await undone(table, changeId, shared.member)).toMatchObject({
      ...{ undone: 1, skipped: 2 },
      skips: [
        { record_id: idOf('b'), field: null, reason: 'changed since' },
        { record_id: idOf('c'), field: null, reason: 'deleted' },
      ],
    })
    expect(await count(table)).toBe(1)
  })
})

describe.each(ROADS)('over %s', (_, send) => {
  test('a change that does not exist, is of another table or is forgotten, is not found', async () => {
    const [of, other] = [await deals(), await deals()]
    const changeId = await of.update({ name: 'b' })
    const elsewhere = await other.update({ name: 'b' })
    for (const id of [elsewhere, 999_999_999, 9_007_199_254_740_991, 0, -1]) {
      expect(errorOf(await send(of.table, id, shared.admin)), String(id)).toBe('404 Change not found')
    }
    app.setClock(new Date(Date.now() + 181 * 86_400_000))
    expect(errorOf(await send(of.table, changeId, shared.keys.account))).toBe('404 Change not found')
    app.setClock(null)
    expect((await send(of.table, changeId, shared.member)).status).toBe(200)
  })

  test.each(['x', 1.5, '1e3', true, null])('an id of %j is refused', async (id) => {
    const { table } = await deals()
    expect((await send(table, id, shared.member)).status).toBe(400)
  })

  test('an import is refused', async () => {
    const of = await deals()
    const sent = { method: 'POST', body: 'Name\na\nb\n', headers: { 'content-type': 'text/csv' } }
    const imported = await app.as(shared.member).send(`${of.table.path}/import`, sent)
    expect(imported.body).toMatchObject({ created: 2 })
    const importId = Number(imported.headers.get('x-change-id'))
    expect(errorOf(await send(of.table, importId, shared.member))).toBe('400 An import cannot be undone')
  })

  test("one's own change needs the right to write, another's the rights of an admin", async () => {
    const account = await app.account()
    const of = await deals(account)
    const { keys } = account
    const writer = await app.person(account.id, 'Wanda Writer')
    await posted(account.owner, `/api/space/${account.space}/members/add`, { email: writer.email, role: 'member' })
    const statuses = async (by: Caller, undoers: Caller[]) => {
      const found = []
      for (const undoer of undoers) {
        const changeId = await of.update({ name: `n${Math.random()}` }, by)
        found.push((await send(of.table, changeId, undoer)).status)
      }
      return found
    }
    // A personal key acts as its user.
    expect(await statuses(account.member, [account.member, keys.personal, writer, account.admin, keys.account])).toEqual([
      200, 200, 403, 200, 200,
    ])
    expect(await statuses(keys.account, [account.owner, account.member, keys.personal])).toEqual([200, 403, 403])
    expect(await statuses(account.admin, [account.viewer, account.outsider, keys.accountReadOnly, null])).toEqual([403, 404, 403, 401])
  })
})

test('of two undos at once one wins', async () => {
  const of = await deals(shared, { name: 'a' })
  const changeId = await of.update({ name: 'b', amount: 1 })
  const answers = await Promise.all(Array.from({ length: 5 }, () => undone(of.table, changeId, shared.member)))
  expect(answers.map(({ undone }) => undone).sort()).toEqual([0, 0, 0, 0, 1])
  expect(answers.filter(({ undone }) => !undone)).toEqual(Array(4).fill({ undone: 0, skipped: 0, skips: [], change_id: null }))
  expect(await of.read()).toMatchObject({ version: 3 })
})

test('undo with an Idempotency-Key runs once, and its replay has the same change_id', async () => {
  const of = await deals(shared, { name: 'a' })
  const changeId = await of.update({ name: 'b' })
  const send = () =>
    app.as(shared.keys.account).post(`${of.table.path}/change/${changeId}/undo`, undefined, { 'idempotency-key': `undo-${changeId}` })
  const [first, again] = [await send(), await send()]
  expect(first.body).toMatchObject({ undone: 1 })
  expect([again.body, again.headers.get('x-change-id'), again.headers.get('idempotent-replayed')]).toEqual([
    first.body,
    String(first.body.change_id),
    'true',
  ])
})

test('a change that was taken back and made again can be taken back again', async () => {
  const of = await deals(shared, { name: 'a' })
  const changeId = await of.update({ name: 'b' })
  for (let round = 0; round < 3; round++) {
    const { change_id } = await undone(of.table, changeId, shared.member)
    expect((await of.read()).data.name).toBe('a')
    expect((await undone(of.table, changeId, shared.member)).undone).toBe(0)
    expect((await undone(of.table, change_id, shared.member)).undone).toBe(1)
    expect((await of.read()).data.name).toBe('b')
  }
})

test('a batch of a thousand is taken back at once, but for what was changed since', async () => {
  const table = await makeTable(app, shared, { records: Array.from({ length: 1_000 }, (_, index) => ({ name: `a${index}` })) })
  const changeId = await change(shared.member, `${table.path}/records/update_batch`, {
    records: table.records.map((id) => ({ id, data: { name: 'b' } })),
  })
  const some = table.records.slice(0, 150)
  await posted(shared.member, `${table.path}/records/update_batch`, { records: some.map((id) => ({ id, data: { name: 'c' } })) })
  const answer = await undone(table, changeId, shared.member)
  expect([answer.undone, answer.skipped, answer.skips.length]).toEqual([850, 150, 100])
  expect(answer.skips.map(({ record_id }: { record_id: number }) => record_id)).toEqual(table.records.slice(0, 100))
  const names = await app.db.read<{ name: string }>(sql`select r.name from ${recordsOf(table.id)} r order by r.id`)
  expect(names.map(({ name }) => name)).toEqual(table.records.map((_, index) => (index < 150 ? 'c' : `a${index}`)))
})
