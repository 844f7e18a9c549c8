import { describe, expect, test } from 'vitest'
import { FIELD_TYPES } from '../src/fields/registry.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { everyType } from './support/tables.ts'

const app = await testApp()

const EMPTY = {
  ...Object.fromEntries(FIELD_TYPES.map((type) => [type, null])),
  checkbox: false,
  multi_select: [],
  multi_user: [],
  multi_lookup: [],
  file: [],
}

const valuesOf = (account: TestAccount, target: number) => ({
  text: 'Acme',
  long_text: 'A\nlong\nstory',
  email: 'ann@example.com',
  url: 'https://example.com',
  phone: '+49 30 1',
  number: '12.345',
  checkbox: true,
  date: '2024-02-29',
  datetime: '2026-03-31T09:30:00+02:00',
  time: '09:30',
  select: 'Done',
  multi_select: ['Done', 'Open'],
  user: account.member.email.toUpperCase(),
  multi_user: ['@me', { id: account.viewer.id }],
  lookup: target,
  multi_lookup: [{ id: target }],
  file: [],
})

const shownOf = (account: TestAccount, target: number) => {
  const person = ({ id, email, name }: { id: number; email: string; name: string }) => ({ id, email, name })
  return {
    ...valuesOf(account, target),
    number: 12.35,
    datetime: '2026-03-31 07:30:00',
    time: '09:30:00',
    user: person(account.member),
    multi_user: [person(account.owner), person(account.viewer)],
    lookup: { id: target, title: 'Target' },
    multi_lookup: [{ id: target, title: 'Target' }],
  }
}

describe('a record', () => {
  test('returns a value of every type, on REST and RPC, and accepts it back as it was read', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const shown = shownOf(account, table.target)
    const made = await as.post(`${table.path}/records/create`, { data: valuesOf(account, table.target) })
    expect(made.body).toMatchObject({ title: 'Acme', data: shown, created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) })
    expect(made.headers.get('etag')).toBe('"1"')
    const read = await as.get(`${table.path}/record/${made.body.id}/get`)
    const { change_id: _, ...record } = made.body
    expect(read.body).toEqual(record)
    expect(await as.rpc.records.get.query({ table_id: table.id, record_id: made.body.id })).toEqual(record)
    const again = await as.rpc.records.update.mutate({ table_id: table.id, record_id: made.body.id, data: read.body.data })
    expect(again.data).toEqual(shown)
  })

  test('may be empty, and null, empty texts and empty lists clear its cells', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.personal)
    const empty = await as.post(`${table.path}/records/create`, { data: {} })
    expect(empty.body).toMatchObject({ title: null, data: EMPTY })
    const full = await as.post(`${table.path}/records/create`, { data: valuesOf(account, table.target) })
    const nulls = Object.fromEntries(FIELD_TYPES.map((type) => [type, null]))
    const cleared = await as.post(`${table.path}/record/${full.body.id}/update`, { data: nulls })
    expect(cleared.body.data).toEqual(EMPTY)
    const blank = await as.post(`${table.path}/records/create`, { data: { text: '', url: '', multi_select: [], multi_user: [], file: [] } })
    expect(blank.body.data).toEqual(EMPTY)
    const [stored] = await app.db.read(
      sql`select text, url, multi_select, multi_user, file from ${recordsOf(table.id)} where id = ${blank.body.id}`,
    )
    expect(stored).toEqual({ text: null, url: null, multi_select: null, multi_user: null, file: null })
  })

  test('keeps the cells that an update does not name', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const { body } = await as.post(`${table.path}/records/create`, { data: valuesOf(account, table.target) })
    const changed = await as.post(`${table.path}/record/${body.id}/update`, { data: { number: 1, select: null } })
    expect(changed.body.data).toEqual({ ...body.data, number: 1, select: null })
    const unchanged = await as.post(`${table.path}/record/${body.id}/update`, { data: {} })
    expect(unchanged.body.data).toEqual(changed.body.data)
  })

  test('is refused with every wrong cell at once', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const other = await app.account()
    const wrong = {
      ...Object.fromEntries(FIELD_TYPES.map((type) => [type, { nonsense: true }])),
      user: other.member.email,
      multi_user: [account.member.id, account.outsider.id],
      lookup: 999_999,
      multi_lookup: [table.target, -5],
      file: [{ path: '1-1-stolen' }],
      no_such_field: 1,
      created_by: 1,
      id: 5,
    }
    const answer = await app.as(account.member).post(`${table.path}/records/create`, { data: wrong })
    expect(answer.status).toBe(400)
    expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path.join('.')).sort()).toEqual(
      Object.keys(wrong)
        .map((id) => `data.${id}`)
        .sort(),
    )
    const message = (id: string) => answer.body.issues.find(({ path }: { path: unknown[] }) => path[1] === id).message
    expect(message('created_by')).toBe('Unassignable - cannot set calculation field: created_by')
    expect(message('id')).toBe('Unassignable - cannot set calculation field: id')
    // The message has no path.
    const calc = await app.as(account.member).post(`${table.path}/records/create`, { data: { created_at: 1, created_by: 1 } })
    expect(calc.body.message).toBe('Unassignable - cannot set calculation field: created_at')
    expect(message('user')).toContain('is not a member of this space')
    expect(message('multi_lookup')).toContain('-5')
    const update = await app.as(account.member).post(`/api/table/${table.other}/record/${table.target}/update`, { data: wrong })
    expect(update.status).toBe(400)
  })

  test('has no cell named like an inherited property of objects', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    for (const data of ['{"__proto__": {"text": "x"}}', '{"constructor": 1}', '{"toString": "x"}', '{"version": 9}']) {
      const answer = await app.as(account.member).send(`${table.path}/records/create`, {
        method: 'POST',
        body: `{"data": ${data}}`,
        headers: { 'content-type': 'application/json' },
      })
      expect(answer.status, data).toBe(400)
      expect(answer.body.message).toContain('is not a field of this table')
    }
  })

  test('keeps the name of a former member, who can no longer be assigned', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.owner)
    const { body } = await as.post(`${table.path}/records/create`, { data: { user: account.member.id } })
    expect((await as.post(`/api/space/${account.space}/member/${account.member.id}/remove`)).status).toBe(200)
    expect((await as.get(`${table.path}/record/${body.id}/get`)).body.data.user.name).toBe('Max Member')
    expect((await as.post(`${table.path}/records/create`, { data: { user: account.member.id } })).status).toBe(400)
    // The owner is a member of every space.
    expect((await as.post(`${table.path}/records/create`, { data: { user: account.owner.email } })).status).toBe(200)
  })

  test('omits deleted records from its lookups', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const second = await as.post(`/api/table/${table.other}/records/create`, { data: { name: 'Second' } })
    const data = { lookup: table.target, multi_lookup: [table.target, second.body.id] }
    const { body } = await as.post(`${table.path}/records/create`, { data })
    expect((await as.post(`/api/table/${table.other}/record/${table.target}/delete`)).body).toMatchObject({ ok: true })
    const read = await as.get(`${table.path}/record/${body.id}/get`)
    expect(read.body.data).toMatchObject({ lookup: null, multi_lookup: [{ id: second.body.id, title: 'Second' }] })
    expect((await app.as(account.admin).post(`/api/table/${table.other}/delete`)).status).toBe(200)
    const without = await as.get(`${table.path}/record/${body.id}/get`)
    expect(without.body.data).toMatchObject({ lookup: null, multi_lookup: [] })
    const refused = await as.post(`${table.path}/records/create`, { data: { lookup: second.body.id } })
    expect(refused.status).toBe(400)
  })

  test('shows the current title of a lookup', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const [as, admin] = [app.as(account.member), app.as(account.admin)]
    const { body } = await as.post(`${table.path}/records/create`, { data: { lookup: table.target, multi_lookup: [table.target] } })
    const titles = async () => {
      const { lookup, multi_lookup } = (await as.get(`${table.path}/record/${body.id}/get`)).body.data
      return [lookup.title, multi_lookup[0].title]
    }
    expect(await titles()).toEqual(['Target', 'Target'])
    await admin.post(`/api/table/${table.other}/fields/create`, { name: 'Code', type: 'text' })
    await as.post(`/api/table/${table.other}/record/${table.target}/update`, { data: { code: 'T-1' } })
    await admin.post(`/api/table/${table.other}/fields/reorder`, { field_ids: ['code', 'name'] })
    expect(await titles()).toEqual(['T-1', 'T-1'])
    await admin.post(`/api/table/${table.other}/field/code/delete`)
    expect(await titles()).toEqual(['Target', 'Target'])
    await admin.post(`/api/table/${table.other}/field/name/delete`)
    expect(await titles()).toEqual([null, null])
  })

  test('changes only in the version that If-Match names', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const { body } = await as.post(`${table.path}/records/create`, { data: { text: 'one' } })
    const path = `${table.path}/record/${body.id}/update`
    const first = await as.post(path, { data: { text: 'two' } }, { 'if-match': '"1"' })
    expect([first.status, first.headers.get('etag')]).toEqual([200, '"2"'])
    const stale = await as.post(path, { data: { text: 'three' } }, { 'if-match': '"1"' })
    expect(stale.status).toBe(409)
    expect({ ...stale.body.current, change_id: first.body.change_id }).toEqual(first.body)
    expect((await as.post(path, { data: {} }, { 'if-match': '"1"' })).status).toBe(409)
    const race = await Promise.all(['a', 'b', 'c', 'd'].map((text) => as.post(path, { data: { text } }, { 'if-match': '"2"' })))
    expect(race.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  })

  test('keeps its version and its time of change if a change alters nothing', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const data = { text: 'One', number: 1.5, checkbox: true, date: '2026-03-30', multi_select: [], multi_user: [account.viewer.id] }
    const { body } = await as.post(`${table.path}/records/create`, { data })
    const path = `${table.path}/record/${body.id}/update`
    const first = await as.post(path, { data: { text: 'One', long_text: 'Two' } })
    expect(first.headers.get('etag')).toBe('"2"')
    await app.db.write(sql`update ${recordsOf(table.id)} set updated_at = '2026-01-01 00:00:00' where id = ${body.id}`)
    for (const same of [{ text: 'One' }, { ...data, long_text: 'Two', url: null, lookup: null, file: [] }]) {
      const answer = await as.post(path, { data: same }, { 'if-match': '"2"' })
      expect([answer.status, answer.headers.get('etag'), answer.body]).toEqual([
        200,
        '"2"',
        { ...first.body, updated_at: '2026-01-01 00:00:00', change_id: null },
      ])
    }
    expect((await as.post(path, { data: { text: 'one' } }, { 'if-match': '"2"' })).headers.get('etag')).toBe('"3"')
  })

  test('keeps its version if an empty checkbox becomes false, or one that is false is emptied, alone or in a batch', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const made = await as.post(`${table.path}/records/create_batch`, { records: [{ data: {} }, { data: { checkbox: false } }] })
    for (const { id } of made.body)
      for (const checkbox of [false, null, false]) {
        const one = await as.post(`${table.path}/record/${id}/update`, { data: { checkbox } })
        const [batched] = (await as.post(`${table.path}/records/update_batch`, { records: [{ id, data: { checkbox } }] })).body
        expect([one.body, batched]).toMatchObject(Array(2).fill({ version: 1, data: { checkbox: false } }))
      }
    const [{ id }] = made.body
    expect((await as.post(`${table.path}/record/${id}/update`, { data: { checkbox: true } })).body.version).toBe(2)
    expect((await as.post(`${table.path}/record/${id}/update`, { data: { checkbox: null } })).body).toMatchObject({ version: 3 })
  })

  test('has an admin-only field that members read and admins write', async () => {
    const account = await app.account()
    const { rpc } = app.as(account.owner)
    const fields = [
      { name: 'Name', type: 'text' as const },
      { name: 'Margin', type: 'number' as const, admin_only: true, required: true },
    ]
    const table = await rpc.tables.create.mutate({ space_id: account.space, name: 'Deals', fields })
    const path = `/api/table/${table.id}`
    const made = await app.as(account.member).post(`${path}/records/create`, { data: { name: 'Acme' } })
    expect(made.status).toBe(200)
    const record = `${path}/record/${made.body.id}`
    expect(await app.as(account.member).post(`${record}/update`, { data: { margin: 3 } })).toMatchObject({
      status: 403,
      body: { message: 'Not authorized' },
    })
    expect((await app.as(account.admin).post(`${record}/update`, { data: { margin: 3 } })).body.data.margin).toBe(3)
    expect((await app.as(account.viewer).get(`${record}/get`)).body.data.margin).toBe(3)
    expect((await app.as(account.admin).post(`${path}/records/create`, { data: { name: 'x' } })).body.issues).toEqual([
      { path: ['data', 'margin'], message: 'is required' },
    ])
    expect((await app.as(account.admin).post(`${record}/update`, { data: { margin: null } })).status).toBe(400)
  })

  test('shows who created and changed it, with the owner for an account key', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const { body } = await app.as(account.keys.account).post(`${table.path}/records/create`, { data: {} })
    await app.as(account.member).post(`${table.path}/record/${body.id}/update`, { data: { text: 'x' } })
    const [stored] = await app.db.read(sql`select created_by, updated_by, version from ${recordsOf(table.id)} where id = ${body.id}`)
    expect(stored).toEqual({ created_by: account.owner.id, updated_by: account.member.id, version: 2 })
  })
})

describe('access', () => {
  test('lets members write and viewers read', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const { body } = await app.as(account.member).post(`${table.path}/records/create`, { data: { text: 'x' } })
    const record = `${table.path}/record/${body.id}`
    expect((await app.as(account.viewer).get(`${record}/get`)).status).toBe(200)
    for (const [path, input] of [
      [`${table.path}/records/create`, { data: {} }],
      [`${record}/update`, { data: {} }],
      [`${record}/delete`, {}],
      [`${table.path}/records/delete_batch`, { record_ids: [body.id] }],
      [`${table.path}/records/create_batch`, { records: [] }],
    ] as const) {
      for (const caller of [account.viewer, account.keys.personalViewer])
        expect(await app.as(caller).post(path, input)).toMatchObject({ status: 403, body: { message: 'Not authorized' } })
      expect((await app.as(account.outsider).post(path, input)).status).toBe(404)
      expect((await app.as(account.keys.accountReadOnly).post(path, input)).body.message).toBe('API key is read-only')
    }
    expect((await app.as(account.outsider).get(`${record}/get`)).body.message).toBe('Table not found')
    expect((await app.as(account.keys.accountReadOnly).get(`${record}/get`)).status).toBe(200)
  })

  test('finds no record under another table', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.owner)
    const { body } = await as.post(`${table.path}/records/create_batch`, { records: [{ data: {} }, { data: {} }] })
    const elsewhere = `/api/table/${table.other}/record/${body[1].id}`
    expect(await as.get(`${elsewhere}/get`)).toMatchObject({ status: 404, body: { message: 'Record not found' } })
    expect((await as.post(`${elsewhere}/delete`)).status).toBe(404)
  })
})

describe('batches', () => {
  test('are created in their order, all or none', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const values = valuesOf(account, table.target)
    const records = Array.from({ length: 1_000 }, (_, index) => ({ data: { ...values, text: `Record ${index}`, number: index } }))
    const made = await as.post(`${table.path}/records/create_batch`, { records })
    expect(made.body.map(({ title }: { title: string }) => title)).toEqual(records.map(({ data }) => data.text))
    expect(made.body[999].data).toEqual({ ...shownOf(account, table.target), text: 'Record 999', number: 999 })

    const bad = records.map((record, index) => (index % 500 === 499 ? { data: { number: 'x', select: 'Nope' } } : record))
    const refused = await as.post(`${table.path}/records/create_batch`, { records: bad })
    expect(refused.status).toBe(400)
    expect(refused.body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual([
      'records.499.data.number',
      'records.499.data.select',
      'records.999.data.number',
      'records.999.data.select',
    ])
    const [{ count }] = (await app.db.read(sql`select count(*) from ${recordsOf(table.id)}`)) as [{ count: number }]
    expect(count).toBe(1_000)
    expect((await as.post(`${table.path}/records/create_batch`, { records: [...records, { data: {} }] })).body.message).toBe(
      'records: must have at most 1000 records',
    )
    expect((await as.post(`${table.path}/records/create_batch`, { records: [] })).body).toEqual([])
  })

  test('keep texts that an array spells otherwise, and empty cells', async () => {
    const account = await app.account()
    const { path } = await everyType(app, account)
    const as = app.as(account.member)
    const texts = ['"', '\\', '\\"', '{a,b}', 'NULL', 'null', 'a, b', ' a ', "'", 'two\nlines', '\t', '(1,2)', '$1', '\u{1f600}é', null]
    const records = texts.map((text, index) => ({
      data: { text, long_text: text, number: index % 2 ? index / 4 : null, checkbox: index % 3 === 0 },
    }))
    const { body } = await as.post(`${path}/records/create_batch`, { records })
    for (const [index, { data }] of records.entries()) {
      expect(body[index].data).toMatchObject(data)
      expect((await as.get(`${path}/record/${body[index].id}/get`)).body).toEqual(body[index])
    }
  })

  test('report the first hundred wrong cells, in the order of the records', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const records = Array.from({ length: 300 }, (_, index) => ({ data: index % 2 ? { number: 'x' } : { user: 'nobody@example.com' } }))
    const refused = await app.as(account.member).post(`${table.path}/records/create_batch`, { records })
    expect(refused.body.message).toBe('records[0].data.user: nobody@example.com is not a member of this space')
    expect(refused.body.issues.map(({ path }: { path: unknown[] }) => path[1])).toEqual(Array.from({ length: 100 }, (_, index) => index))
  })

  test('can be created in a table without fields', async () => {
    const account = await app.account()
    const as = app.as(account.keys.account)
    const table = await as.rpc.tables.create.mutate({ space_id: account.space, name: 'Bare', fields: [] })
    const made = await as.post(`/api/table/${table.id}/records/create_batch`, { records: [{ data: {} }, { data: {} }] })
    expect(made.body.map(({ id, data }: { id: number; data: object }) => [id, data])).toEqual([
      [1, {}],
      [2, {}],
    ])
  })

  test('are deleted once, however many concurrent calls there are', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const { body } = await as.post(`${table.path}/records/create_batch`, { records: Array.from({ length: 50 }, () => ({ data: {} })) })
    const ids = body.map(({ id }: { id: number }) => id)
    const answers = await Promise.all(
      [ids, ids.toReversed(), [...ids, 999_999]].map((record_ids) => as.post(`${table.path}/records/delete_batch`, { record_ids })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.reduce((sum, { body }) => sum + body.deleted, 0)).toBe(50)
    for (const record_ids of [[0], ['1'], [1.5], Array.from({ length: 1_001 }, (_, i) => i + 1)])
      expect((await as.post(`${table.path}/records/delete_batch`, { record_ids })).status).toBe(400)
  })
})

describe('concurrent requests', () => {
  test('delete a record once', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const { body } = await as.post(`${table.path}/records/create`, { data: {} })
    const answers = await Promise.all([1, 2, 3].map(() => as.post(`${table.path}/record/${body.id}/delete`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
  })

  test('with one Idempotency-Key create one record', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const once = () => as.post(`${table.path}/records/create`, { data: { text: 'once' } }, { 'idempotency-key': 'k1' })
    const first = await once()
    const second = await once()
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    const [{ count }] = (await app.db.read(sql`select count(*) from ${recordsOf(table.id)}`)) as [{ count: number }]
    expect(count).toBe(1)
  })

  test('write records without a fault while fields are created and deleted', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const [as, admin] = [app.as(account.member), app.as(account.admin)]
    const { body } = await as.post(`${table.path}/records/create`, { data: { text: 'x', select: 'Open' } })
    const writers = Array.from({ length: 4 }, async (_, index) => {
      const statuses: number[] = []
      for (let n = 0; n < 15; n++) {
        const answer =
          index % 2
            ? await as.post(`${table.path}/records/create`, { data: { text: `${index}.${n}` } })
            : await as.post(`${table.path}/record/${body.id}/update`, { data: { number: n } })
        statuses.push(answer.status)
      }
      return statuses
    })
    const changes: number[] = []
    for (let n = 0; n < 5; n++) {
      changes.push((await admin.post(`${table.path}/fields/create`, { name: `New ${n}`, type: 'text' })).status)
      changes.push((await admin.post(`${table.path}/field/select/update`, { options: ['Open', 'Done', `More ${n}`] })).status)
      changes.push((await admin.post(`${table.path}/field/new_${n}/delete`)).status)
    }
    const statuses = (await Promise.all(writers)).flat()
    expect([...new Set([...statuses, ...changes])]).toEqual([200])
    expect((await as.get(`${table.path}/record/${body.id}/get`)).body.data.select).toBe('Open')
  })
})
