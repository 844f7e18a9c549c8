/** Tests update_where and delete_where of up to 1,000 records, which one transaction changes. */
import { afterEach, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { fillTable, makeTable, makeView } from './support/tables.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '100000' })
const account = await app.account()
const stranger = await app.account()
const owner = app.as(account.owner)

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
  { name: 'Amount', type: 'number', decimals: 2 },
  { name: 'Secret', type: 'text', admin_only: true },
  { name: 'Due', type: 'date' },
  { name: 'Boss', type: 'user' },
  { name: 'Files', type: 'file' },
]
const RECORDS = [
  { name: 'a', stage: 'Won', amount: 3 },
  { name: 'b', stage: 'Lead', amount: 1 },
  { name: 'c', stage: 'Lead', amount: 3 },
  { name: 'd', stage: 'Won' },
  {},
]
const deals = () => makeTable(app, account, { fields: FIELDS, records: RECORDS })

type Way = 'REST' | 'RPC'
const OPERATIONS = { update_where: 'updateWhere', delete_where: 'deleteWhere' } as const
type Operation = keyof typeof OPERATIONS

/** Calls by REST or RPC. @returns the status and the body in the form of REST */
async function call(way: Way, operation: Operation, table: { id: number }, body: object, caller: Caller = account.member) {
  const as = app.as(caller)
  if (way === 'REST') return as.post(`/api/table/${table.id}/records/${operation}`, body)
  const answer = await as.post(`/trpc/records.${OPERATIONS[operation]}`, { table_id: table.id, ...body })
  const { httpStatus: _, ...error } = answer.body.error?.data ?? {}
  return { ...answer, body: answer.body.result?.data ?? error }
}
const post = (operation: Operation, table: { id: number }, body: object, caller?: Caller) => call('REST', operation, table, body, caller)

const rowsOf = async (table: { path: string }) =>
  (await owner.post(`${table.path}/records/query`, { include: ['version'], limit: 1_000 })).body as {
    id: number
    name: string | null
    stage: string | null
    amount: number | null
    _version: number
  }[]
const namesOf = async (table: { path: string }) => (await rowsOf(table)).map(({ name }) => name)

const WON = { where: { stage: 'Won' } }
const EVERY = { filter: { all: [] } }
/** Each operation with the inputs that it needs beside conditions. */
const BOTH = [
  ['update_where', { data: { stage: 'Lost' } }],
  ['delete_where', {}],
] as const
const WAYS: readonly Way[] = ['REST', 'RPC']
const EACH = WAYS.flatMap((way) => BOTH.map(([operation, inputs]) => [way, operation, inputs] as const))

describe.each(EACH)('by %s, %s', (way, operation, inputs) => {
  test('counts the records in a dry run, and changes as many as are expected', async () => {
    const table = await deals()
    const before = await rowsOf(table)
    expect((await call(way, operation, table, { ...WON, ...inputs, dry_run: true })).body).toEqual({ matched: 2 })
    expect(await rowsOf(table)).toEqual(before)
    const { status, body } = await call(way, operation, table, { ...WON, ...inputs, expect: 2 })
    expect([status, body]).toMatchObject([200, { matched: 2, changed: 2 }])
    const after = operation === 'update_where' ? ['Lost', 'Lead', 'Lead', 'Lost', null] : ['Lead', 'Lead', null]
    expect((await rowsOf(table)).map(({ stage }) => stage)).toEqual(after)
  })

  test('changes nothing if another number of records matches', async () => {
    const table = await deals()
    const before = await rowsOf(table)
    for (const expected of [0, 1, 3, 200_000]) {
      const { status, body } = await call(way, operation, table, { ...WON, ...inputs, expect: expected })
      expect([status, body]).toEqual([
        409,
        { message: `2 records match now, not ${expected}`, code: 'CONFLICT', matched: 2, request_id: expect.any(String) },
      ])
    }
    expect(await rowsOf(table)).toEqual(before)
  })

  test('takes every record only where the filter says so', async () => {
    const table = await deals()
    const unconditional = [
      {},
      { filters: [] },
      { where: {} },
      { filter: null },
      { search: '  ' },
      { view_id: 0 },
      { filter: { any: [] } },
      { filter: { all: [{ all: [] }] } },
      { filter: { not: { all: [] } } },
      { view_id: (await makeView(app, account, table.id)).id },
    ]
    for (const asked of unconditional) {
      const { status, body } = await call(way, operation, table, { ...asked, ...inputs, dry_run: true })
      expect([status, body.issues?.[0]?.path], JSON.stringify(asked)).toEqual([400, ['filter']])
    }
    const { id: view_id } = await makeView(app, account, table.id)
    for (const asked of [EVERY, { ...EVERY, filters: [] }, { ...EVERY, view_id }])
      expect((await call(way, operation, table, { ...asked, ...inputs, dry_run: true })).body).toEqual({ matched: 5 })
    expect((await call(way, operation, table, { ...EVERY, ...inputs, expect: 5 })).body).toMatchObject({ matched: 5, changed: 5 })
  })

  const wrong: [string, object, string][] = [
    ['neither mode', {}, 'expect: is required'],
    ['no dry run', { dry_run: false }, 'expect: is required'],
    ['both modes', { dry_run: true, expect: 2 }, 'expect: does not go with dry_run: true'],
    ['both modes with 0', { dry_run: true, expect: 0 }, 'expect: does not go with dry_run: true'],
    ['an expectation that is no number', { expect: '2' }, 'expect: '],
    ['a negative expectation', { expect: -1 }, 'expect: must be 0 or more'],
    ['a broken expectation', { expect: 1.5 }, 'expect: '],
    ['a dry run that is no boolean', { dry_run: 'true' }, 'dry_run: '],
    ...['order', 'order_by', 'order_dir', 'limit', 'offset', 'cursor', 'fields', 'include', 'count', 'explain', 'record_ids'].map(
      (key): [string, object, string] => [key, { expect: 2, [key]: null }, `${key}: is not a known key`],
    ),
    ['a column that is unknown', { expect: 2, where: { nope: 1 } }, "where.nope: 'nope' is not a field"],
    ['an unknown compare', { expect: 2, filters: [{ column: 'name', compare: '~' }] }, 'filters[0].compare: '],
    ['a value of a wrong type', { expect: 2, where: { amount: 'many' } }, 'where.amount: '],
  ]
  test.each(wrong)('refuses %s', async (_, asked, message) => {
    const table = await deals()
    const { status, body } = await call(way, operation, table, { ...WON, ...inputs, ...asked })
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
    expect(body.message).toContain(message)
    expect(await namesOf(table)).toHaveLength(5)
  })

  test('is for callers who may write in the space, by keys that may write', async () => {
    const table = await deals()
    const readOnly = await account.keyOf({ accountId: account.id, userId: account.owner.id }, { kind: 'account', read_only: true })
    const refused: [Caller, number, string][] = [
      [null, 401, 'Sign in, or send an API key as a bearer token'],
      [account.viewer, 403, 'Not authorized'],
      [readOnly, 403, 'API key is read-only'],
      [stranger.owner, 404, 'Table not found'],
      [stranger.keys.account, 404, 'Table not found'],
      [account.outsider, 404, 'Table not found'],
    ]
    for (const [caller, status, message] of refused)
      for (const mode of [{ dry_run: true }, { expect: 2 }]) {
        const answer = await call(way, operation, table, { ...WON, ...inputs, ...mode }, caller)
        expect([answer.status, answer.body.message]).toEqual([status, message])
      }
    expect((await call(way, operation, { id: 999_999 }, { ...WON, ...inputs, expect: 2 })).status).toBe(404)
    for (const caller of [account.member, account.keys.personal, account.keys.account])
      expect((await call(way, operation, table, { ...WON, ...inputs, dry_run: true }, caller)).body).toEqual({ matched: 2 })
  })
})

describe('an update of the records that match', () => {
  test('writes the same values into each, by whoever asks for it', async () => {
    const table = await deals()
    const data = { stage: 'Lost', amount: '7.505', due: '2026-03-31', boss: '@me', name: null }
    expect((await post('update_where', table, { ...WON, data, expect: 2 })).body).toMatchObject({ matched: 2, changed: 2 })
    const rows = (await owner.post(`${table.path}/records/query`, { where: { stage: 'Lost' }, include: ['version'] })).body
    const { id, email, name } = account.member
    for (const row of rows)
      expect(row).toMatchObject({
        ...{ name: null, stage: 'Lost', amount: 7.51, due: '2026-03-31', boss: { id, email, name }, _version: 2 },
        updated_by: { id, email, name },
      })
    expect(rows).toHaveLength(2)
  })

  test('leaves records as they are that have the values already, and counts the others as changed', async () => {
    const table = await deals()
    const data = { amount: 3 }
    const before = await rowsOf(table)
    expect((await post('update_where', table, { where: { amount: ['<', 5] }, data, expect: 3 })).body).toMatchObject({ changed: 1 })
    expect((await rowsOf(table)).map(({ _version }) => _version)).toEqual([1, 2, 1, 1, 1])
    const again = await post('update_where', table, { where: { amount: ['<', 5] }, data, expect: 3 })
    expect(again.body).toEqual({ matched: 3, changed: 0, change_id: null })
    expect(again.headers.get('x-change-id')).toBe(null)
    expect((await rowsOf(table))[0]).toEqual(before[0])
    expect((await post('update_where', table, { where: { amount: 99 }, data, expect: 0 })).body).toEqual({
      ...{ matched: 0, changed: 0, change_id: null },
    })
  })

  test('of the field of the condition is done once', async () => {
    const table = await deals()
    expect((await post('update_where', table, { where: { amount: ['>=', 1] }, data: { amount: 2 }, expect: 3 })).body.changed).toBe(3)
    expect((await rowsOf(table)).map(({ amount }) => amount)).toEqual([2, 2, 2, null, null])
  })

  const refused: [string, object, number, string][] = [
    ['no value', {}, 400, 'data: must have a value for at least one field'],
    ['a field that is unknown', { nope: 1 }, 400, "data.nope: 'nope' is not a field of this table"],
    ['a calculated field', { created_at: null }, 400, 'Unassignable - cannot set calculation field: created_at'],
    ['an unknown option', { stage: 'Nope' }, 400, 'data.stage: '],
    ['a user who is no member', { boss: 'nobody@example.com' }, 400, 'data.boss: nobody@example.com is not a member of this space'],
    ['a file that is not stored', { files: [{ path: '1-1-stolen' }] }, 400, 'data.files: 1-1-stolen is not a stored file of this table'],
    ['a field of admins', { secret: 'x' }, 403, 'Not authorized'],
  ]
  test.each(refused)('is refused with %s, also in a dry run', async (_, data, status, message) => {
    const table = await deals()
    for (const mode of [{ dry_run: true }, { expect: 2 }])
      for (const way of WAYS) {
        const answer = await call(way, 'update_where', table, { ...WON, data, ...mode })
        expect(answer.status).toBe(status)
        expect(answer.body.message).toContain(message)
      }
    expect((await post('update_where', table, { ...WON, data: { secret: 'x' }, expect: 2 }, account.admin)).status).toBe(200)
  })

  test('is refused without data, or with data that is no object', async () => {
    const table = await deals()
    for (const data of [undefined, null, [], 'x'])
      expect((await post('update_where', table, { ...WON, data, expect: 2 })).body.issues?.[0]?.path).toEqual(['data'])
  })

  test('does not empty a required field', async () => {
    const { id, path } = await makeTable(app, account, {
      fields: [{ name: 'Name', type: 'text', required: true }],
      records: [{ name: 'a' }],
    })
    for (const name of [null, '']) {
      const { status, body } = await post('update_where', { id }, { ...EVERY, data: { name }, expect: 1 })
      expect([status, body.message]).toEqual([400, 'data.name: is required'])
    }
    expect(await namesOf({ path })).toEqual(['a'])
  })

  test('names the inputs that a view makes it ignore, and the options that do not exist', async () => {
    const table = await deals()
    const { id: view_id } = await makeView(app, account, table.id, { filters: [{ column: 'stage', compare: '=', value: 'Won' }] })
    const data = { amount: 9 }
    const through = await post('update_where', table, { view_id, where: { amount: 3 }, data, dry_run: true })
    expect([through.body, through.headers.get('x-ignored')]).toEqual([{ matched: 2 }, 'where'])
    const appended = await post('update_where', table, { view_id, append_filters: true, where: { amount: 3 }, data, expect: 1 })
    expect([appended.body.changed, appended.headers.get('x-ignored')]).toEqual([1, null])
    const unknown = await post('update_where', table, { where: { stage: 'Nope' }, data, expect: 0 })
    expect([unknown.body.matched, unknown.headers.get('x-unknown-options')]).toEqual([0, 'stage=Nope'])
    expect((await post('update_where', table, { view_id: 999_999, data, expect: 0 })).body.message).toBe('View not found')
    expect((await post('update_where', table, { search: 'lea', data, expect: 2 })).body.changed).toBe(2)
  })

  test('takes conditions on linked records', async () => {
    const table = await deals()
    const fields = [
      { name: 'Note', type: 'text' },
      { name: 'Deal', type: 'lookup', table: table.id },
    ]
    const notes = await makeTable(app, account, { fields, records: table.records.map((deal) => ({ deal })) })
    const { body } = await post('update_where', notes, { where: { 'deal.stage': 'Won' }, data: { note: 'yes' }, expect: 2 })
    expect(body.changed).toBe(2)
    const rows = (await owner.post(`${notes.path}/records/query`)).body
    expect(rows.map(({ note }: { note: string | null }) => note)).toEqual(['yes', null, null, 'yes', null])
  })

  test('gives each record the same files, and releases those that it had', async () => {
    const table = await deals()
    const upload = async (record: number, name: string) =>
      (
        await owner.post(`${table.path}/record/${record}/files/create`, {
          field_id: 'files',
          name,
          data: Buffer.from(name).toString('base64'),
        })
      ).body.at(-1) as { path: string }
    const [first, second] = table.records as [number, number]
    const [kept, lost] = [await upload(first, 'kept.txt'), await upload(second, 'lost.txt')]
    expect((await post('update_where', table, { ...EVERY, data: { files: [kept] }, expect: 5 })).body.changed).toBe(4)
    const files = await app.db.read<{ path: string; dropped: boolean }>(
      sql`select path, dropped_at is not null as dropped from stored_files where path = any(${[kept.path, lost.path]}::text[])`,
    )
    expect(new Map(files.map(({ path, dropped }) => [path, dropped]))).toEqual(
      new Map([
        [kept.path, false],
        [lost.path, true],
      ]),
    )
    expect((await post('update_where', table, { where: { name: 'a' }, data: { files: [] }, expect: 1 })).body.changed).toBe(1)
    expect((await owner.get(`/api/file/${kept.path}`)).status).toBe(200)
  })
})

test('an update of the records that match is one change in the history of each', async () => {
  const table = await deals()
  const answer = await post('update_where', table, { where: { amount: ['<', 5] }, data: { amount: 3 }, expect: 3 })
  const { change_id } = answer.body
  expect([change_id, answer.headers.get('x-change-id')]).toEqual([expect.any(Number), String(change_id)])
  const historyOf = async (record?: number) => (await owner.get(`${table.path}/record/${record}/history`)).body
  const [first, second] = table.records
  expect((await historyOf(second))[0]).toMatchObject({
    ...{ change_id, version: 2, kind: 'update', records: 1, user_id: account.member.id, api_key_id: null },
    changes: [{ field: 'amount', from: 1, to: 3 }],
  })
  expect((await historyOf(first)).map(({ kind }: { kind: string }) => kind)).toEqual(['create'])
})

describe('a deletion of the records that match', () => {
  test('deletes their tasks and comments, and is audited as one', async () => {
    const table = await deals()
    const [first, second] = table.records
    const taskOf = async (record?: number) =>
      (await app.as(account.member).post(`/api/tasks/onRecord/${table.id}/${record}/create`, { title: 'Call' })).body.id as number
    const [gone, left] = [await taskOf(first), await taskOf(second)]
    expect((await post('delete_where', table, { ...WON, expect: 2 })).body).toMatchObject({ matched: 2, changed: 2 })
    expect((await owner.get(`/api/task/${gone}/get`)).status).toBe(404)
    expect((await owner.get(`/api/task/${left}/get`)).status).toBe(200)
    const { body } = await owner.get('/api/audit/list?action=records.deleted&limit=1')
    expect(body[0]).toMatchObject({
      ...{ actor_user_id: account.member.id, table_id: table.id, object: null },
      detail: { count: 2, record_ids: [table.records[0], table.records[3]] },
    })
  })
})

test.each(BOTH)('%s of 1,000 records is one transaction', async (operation, inputs) => {
  const { id, path } = await makeTable(app, account, { fields: FIELDS })
  await fillTable(app, id, 1_000, { name: `'r' || i` })
  expect((await post(operation, { id }, { ...EVERY, ...inputs, expect: 1_000 })).body).toMatchObject({ matched: 1_000, changed: 1_000 })
  expect((await owner.post(`${path}/records/count`, { where: { stage: ['is_empty', ''] } })).body.count).toBe(0)
})

describe('what changes meanwhile', () => {
  const queries = queriesOf(app.db)
  afterEach(() => Object.assign(app.db, queries))

  /** Runs the change once, just before the records are locked. */
  function beforeLock(change: () => Promise<unknown>): void {
    let isDue = true
    const changing = queriesWith(queries, async ({ text }) => {
      if (!isDue || !/for update of r\b/.test(text)) return
      isDue = false
      await change()
    })
    Object.assign(app.db, changing)
  }

  test.each(BOTH)('%s is refused if a record no longer matches, or another does', async (operation, inputs) => {
    const table = await deals()
    const [first, second] = table.records
    const update = (record: number | undefined, stage: string) => owner.post(`${table.path}/record/${record}/update`, { data: { stage } })
    beforeLock(() => update(first, 'Lead'))
    const fewer = await post(operation, table, { ...WON, ...inputs, expect: 2 })
    expect([fewer.status, fewer.body.matched]).toEqual([409, 1])
    beforeLock(() => Promise.all([update(first, 'Won'), update(second, 'Won')]))
    const more = await post(operation, table, { ...WON, ...inputs, expect: 1 })
    expect([more.status, more.body.matched]).toEqual([409, 3])
    expect(await namesOf(table)).toHaveLength(5)
  })

  test.each(BOTH)('%s waits for a change of a record, and looks at it again', async (operation, inputs) => {
    const table = await deals()
    const [first] = table.records
    let waiting: Promise<{ status: number; body: { matched: number } }> | undefined
    await app.db.transaction(async () => {
      await app.db.records(table.id).write(sql([`update t${table.id}.records set stage = 1 where id = ${first}`] as never))
      waiting = post(operation, table, { ...WON, ...inputs, expect: 2 })
      await expect.poll(() => queries.read(sql`select from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0`)).not.toEqual([])
    })
    expect(await waiting).toMatchObject({ status: 409, body: { matched: 1 } })
  })

  test('two requests with the same number change the records once', async () => {
    const table = await deals()
    const body = { ...WON, data: { stage: 'Lost' }, expect: 2 }
    const answers = await Promise.all(Array.from({ length: 4 }, () => post('update_where', table, body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    for (const { status, body } of answers) if (status === 409) expect(body.matched).toBe(0)
  })

  test.each(BOTH)('%s is judged by the fields that the table has then', async (operation, inputs) => {
    const table = await deals()
    const deleting = (field: string) => () => owner.post(`${table.path}/field/${field}/delete`)
    beforeLock(deleting('due'))
    expect((await post(operation, table, { where: { amount: 1 }, ...inputs, expect: 1 })).body.changed).toBe(1)
    beforeLock(deleting('amount'))
    const refused = await post(operation, table, { where: { amount: 3 }, ...inputs, expect: operation === 'update_where' ? 2 : 2 })
    expect([refused.status, refused.body.message]).toEqual([400, "where.amount: 'amount' is not a field of this table"])
    const data = { files: null }
    if (operation === 'update_where') {
      beforeLock(deleting('files'))
      const gone = await post(operation, table, { ...WON, data, expect: 2 })
      expect([gone.status, gone.body.message]).toEqual([400, "data.files: 'files' is not a field of this table"])
    }
  })

  test.each(BOTH)('%s is 404 if the table is deleted', async (operation, inputs) => {
    const table = await deals()
    beforeLock(() => owner.post(`${table.path}/delete`))
    const { status, body } = await post(operation, table, { ...WON, ...inputs, expect: 2 })
    expect([status, body.message]).toEqual([404, 'Table not found'])
  })

  test('changes all records or none: a failure in the middle leaves them', async () => {
    const table = await deals()
    const before = await rowsOf(table)
    await app.db.write(sql([`alter table t${table.id}.records add check (name <> 'd' or stage <> 3)`] as never))
    expect((await post('update_where', table, { ...WON, data: { stage: 'Lost' }, expect: 2 })).status).not.toBe(200)
    expect(await rowsOf(table)).toEqual(before)
  })
})

test.each(BOTH)('%s with an Idempotency-Key is done once', async (operation, inputs) => {
  const table = await deals()
  const send = (body: object) =>
    app.as(account.member).post(`${table.path}/records/${operation}`, body, { 'idempotency-key': `once-${operation}` })
  const body = { where: { amount: 3 }, ...inputs, expect: 2 }
  const first = await send(body)
  expect(first.body).toMatchObject({ matched: 2, changed: 2 })
  const again = await send(body)
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
  expect((await send({ ...body, expect: 1 })).status).toBe(409)
})
