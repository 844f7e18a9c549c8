/** What has changed in a record, newest first (contract.md §10, History). The rows are written past the service. */
import { beforeAll, describe, expect, test } from 'vitest'
import { works } from '../src/background.ts'
import { FIELD_TYPES } from '../src/fields/registry.ts'
import { systemContext } from '../src/platform/context.ts'
import { historyOf, sql } from '../src/platform/database/database.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { everyType, makeTable, type TestTable } from './support/tables.ts'

const app = await testApp({ KEEP_HISTORY_DAYS: '60' })
let account: TestAccount
beforeAll(async () => {
  account = await app.account()
})

interface Entry {
  record_id: number
  version: number
  change_id?: number
  at?: string
  user_id?: number | null
  api_key_id?: number | null
  kind?: string
  records?: number | null
  changes?: object | null
}

/** Writes entries past the service. Those of the record that the service has written itself go. */
async function write(table: { id: number }, entries: readonly Entry[]): Promise<void> {
  const rows = entries.map((entry) => ({
    ...{ change_id: 1_000 + entry.version, at: '2026-03-31 09:30:00', user_id: account.member.id, api_key_id: null },
    ...{ kind: 'update', records: 1, changes: null },
    ...entry,
  }))
  const ids = [...new Set(entries.map(({ record_id }) => record_id))]
  await app.db.write(sql`delete from ${historyOf(table.id)} where record_id = any(${ids}::int[])`)
  await app.db.write(sql`
    insert into ${historyOf(table.id)} (record_id, version, change_id, at, user_id, api_key_id, kind, records, changes)
    select e.record_id, e.version, e.change_id, e.at, e.user_id, e.api_key_id, e.kind, e.records, e.changes
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e (record_id int, version int, change_id bigint, at timestamp,
      user_id int, api_key_id int, kind text, records int, changes jsonb)`)
}

/** The one row of an import. */
const writeImport = (table: { id: number }, { changeId, ids, records }: { changeId: number; ids: string; records: number }) =>
  app.db.write(sql`
    insert into ${historyOf(table.id)} (record_id, version, change_id, at, user_id, kind, records, record_ids)
    values (0, ${changeId}, ${changeId}, '2026-03-30 08:00:00', ${account.member.id}, 'create', ${records}, ${ids}::int4multirange)`)

const pathOf = (table: TestTable, record = table.records[0]) => `${table.path}/record/${record}/history`
const read = (path: string, caller: Caller = account.viewer) => app.as(caller).get(path)

async function rowsOf(path: string, caller?: Caller) {
  const { status, body } = await read(path, caller)
  expect([status, body.message]).toEqual([200, undefined])
  return body
}

const nameChange = (from?: string, to?: string) => ({ name: { name: 'Name', type: 'text', from, to } })

describe('the history of a record', () => {
  test('is its changes, newest first, the same on REST and RPC', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'c' }] })
    const [record_id = 0] = table.records
    await write(table, [
      { record_id, version: 1, kind: 'create', user_id: account.owner.id },
      { record_id, version: 2, changes: nameChange(undefined, 'b') },
      { record_id, version: 3, records: 12, at: '2026-04-01 10:00:00', kind: 'undo', changes: nameChange('b', 'c') },
    ])
    const { member, owner } = account
    const rows = [
      {
        ...{ change_id: 1_003, version: 3, at: '2026-04-01 10:00:00', user_id: member.id, user_name: member.name, api_key_id: null },
        ...{ kind: 'undo', records: 12, changes: [{ field: 'name', name: 'Name', from: 'b', to: 'c' }] },
      },
      {
        ...{ change_id: 1_002, version: 2, at: '2026-03-31 09:30:00', user_id: member.id, user_name: member.name, api_key_id: null },
        ...{ kind: 'update', records: 1, changes: [{ field: 'name', name: 'Name', from: null, to: 'b' }] },
      },
      {
        ...{ change_id: 1_001, version: 1, at: '2026-03-31 09:30:00', user_id: owner.id, user_name: owner.name, api_key_id: null },
        ...{ kind: 'create', records: 1 },
      },
    ]
    const answer = await read(pathOf(table))
    expect(answer.body).toEqual(rows)
    expect([answer.headers.get('x-total-count'), answer.headers.get('x-next-cursor')]).toEqual(['3', null])
    expect((await read(`${pathOf(table)}?envelope=true`)).body).toEqual({ rows, total: 3 })
    expect(await app.as(account.keys.personal).rpc.records.history.query({ table_id: table.id, record_id })).toEqual({ rows, total: 3 })
  })

  test('is read with the right to read, and is nobody else’s', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }, { name: 'b' }] })
    const foreign = await makeTable(app, account, { records: [{ name: 'x' }] })
    const [record = 0, gone = 0] = table.records
    await write(table, [{ record_id: gone, version: 9, changes: nameChange('a', 'b') }])
    expect((await app.as(account.owner).post(`${table.path}/record/${gone}/delete`)).status).toBe(200)
    const { owner, viewer, outsider, keys } = account
    const cases: [Caller, string, number, string?][] = [
      [owner, pathOf(table), 200],
      [viewer, pathOf(table), 200],
      [keys.accountReadOnly, pathOf(table), 200],
      [keys.personalViewer, pathOf(table), 200],
      [keys.accountOtherSpace, pathOf(table), 403, 'API key not authorized for this workspace'],
      [outsider, pathOf(table), 404, 'Table not found'],
      [keys.accountOutsider, pathOf(table), 404, 'Table not found'],
      [null, pathOf(table), 401],
      [owner, pathOf(table, gone), 404, 'Record not found'],
      [owner, pathOf(table, 0), 404, 'Record not found'],
      [owner, pathOf(table, 99_999_999_999), 404, 'Record not found'],
      [owner, pathOf(foreign, record + 1_000), 404, 'Record not found'],
      [owner, `/api/table/999999/record/${record}/history`, 404, 'Table not found'],
      [owner, `${table.path}/record/abc/history`, 400],
    ]
    for (const [caller, path, status, message] of cases) {
      const answer = await read(path, caller)
      expect([path, answer.status]).toEqual([path, status])
      if (message) expect(answer.body.message).toBe(message)
    }
    expect((await app.as(owner).post(pathOf(table))).status).toBe(405)
  })

  test('is paged by a cursor that belongs to its record', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }, { name: 'b' }] })
    const [record_id = 0, other = 0] = table.records
    await write(
      table,
      Array.from({ length: 205 }, (_, index) => ({ record_id, version: index + 1, changes: nameChange('a', 'b') })),
    )
    const versions: number[] = []
    let cursor: string | null = ''
    for (let page = 0; cursor !== null; page++) {
      const answer = await read(`${pathOf(table)}?limit=50&cursor=${cursor}`)
      expect(answer.headers.get('x-total-count')).toBe(page ? null : '205')
      versions.push(...answer.body.map(({ version }: { version: number }) => version))
      cursor = answer.headers.get('x-next-cursor')
      if (page === 0)
        // What is written meanwhile does not shift the pages that follow.
        await app.db.write(sql`
          insert into ${historyOf(table.id)} (record_id, version, change_id, at, kind, records)
          values (${record_id}, 206, 9999, '2026-05-01 00:00:00', 'update', 1)`)
    }
    expect(versions).toEqual(Array.from({ length: 205 }, (_, index) => 205 - index))
    const sizes: [string, number][] = [
      ['', 50],
      ['limit=200', 200],
      ['limit=1000', 200],
      ['limit=0', 1],
      ['limit=-5', 1],
    ]
    for (const [query, length] of sizes) expect((await rowsOf(`${pathOf(table)}?${query}`)).length, query).toBe(length)
    const issued = (await read(`${pathOf(table)}?limit=1`)).headers.get('x-next-cursor') ?? ''
    const bad: [string, string][] = [
      [`${pathOf(table)}?limit=1.5`, 'limit'],
      [`${pathOf(table)}?limit=x`, 'limit'],
      [`${pathOf(table)}?cursor=nonsense`, 'cursor'],
      [`${pathOf(table)}?cursor=${issued}A`, 'cursor'],
      [`${pathOf(table, other)}?cursor=${issued}`, 'cursor'],
    ]
    for (const [path, field] of bad) {
      const { status, body } = await read(path)
      expect([path, status, body.issues?.[0].path]).toEqual([path, 400, [field]])
    }
    expect((await read(`${pathOf(table, other)}?cursor=${issued}`)).body.message).toBe('Cursor belongs to another query')
  })

  test('ends a page early where its texts are long, with a cursor to the rest', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }] })
    const [record_id = 0] = table.records
    await write(table, [{ record_id, version: 1, kind: 'create' }])
    await app.db.write(sql`
      insert into ${historyOf(table.id)} (record_id, version, change_id, at, kind, records, changes)
      select ${record_id}, v, v, '2026-03-31 09:30:00', 'update', 1,
        jsonb_build_object('name', jsonb_build_object('name', 'Name', 'type', 'long_text', 'to', repeat(md5(v::text), 100000)))
      from generate_series(2, 9) v`)
    const first = await read(`${pathOf(table)}?limit=200`)
    const versions = (rows: { version: number }[]) => rows.map(({ version }) => version)
    expect(versions(first.body)).toEqual([9, 8, 7])
    expect(first.headers.get('x-total-count')).toBe('9')
    const second = await read(`${pathOf(table)}?cursor=${first.headers.get('x-next-cursor')}`)
    expect(versions(second.body)).toEqual([6, 5, 4])
    const third = await read(`${pathOf(table)}?cursor=${second.headers.get('x-next-cursor')}`)
    expect([versions(third.body), third.headers.get('x-next-cursor')]).toEqual([[3, 2, 1], null])
  })

  test('shows values of every type as a record shows them, and numbers with all digits', async () => {
    const table = await everyType(app, account)
    const [record_id = 0] = (await app.as(account.owner).post(`${table.path}/records/create_batch`, { records: [{ data: {} }] })).body.map(
      ({ id }: { id: number }) => id,
    )
    const { member } = account
    const file = { name: 'a.txt', path: '1-1-abc-a.txt', size: 5, type: 'text/plain', host: 'local' }
    const person = { id: member.id, email: member.email, name: member.name }
    const cells: Record<string, { cell: string; value: unknown; titles?: object }> = {
      text: { cell: 'Ünd "so"', value: 'Ünd "so"' },
      long_text: { cell: 'a\nb', value: 'a\nb' },
      email: { cell: 'a@example.com', value: 'a@example.com' },
      url: { cell: 'https://example.com', value: 'https://example.com' },
      phone: { cell: '+49 1', value: '+49 1' },
      number: { cell: '12.50', value: 12.5 },
      checkbox: { cell: 'true', value: true },
      date: { cell: '2026-03-31', value: '2026-03-31' },
      datetime: { cell: '2026-03-31 09:30:00', value: '2026-03-31 09:30:00' },
      time: { cell: '09:30:00', value: '09:30:00' },
      select: { cell: '3', value: 'Former', titles: { 3: 'Former' } },
      multi_select: { cell: '{2,3,9}', value: ['Done then', 'Former'], titles: { 2: 'Done then', 3: 'Former' } },
      user: { cell: `${member.id}`, value: person },
      multi_user: { cell: `{${member.id},99999999}`, value: [person] },
      lookup: { cell: '7', value: { id: 7, title: 'Acme then' }, titles: { 7: 'Acme then' } },
      multi_lookup: {
        cell: '{7,8}',
        value: [
          { id: 7, title: 'Acme then' },
          { id: 8, title: null },
        ],
        titles: { 7: 'Acme then' },
      },
      file: { cell: JSON.stringify([file]), value: [file] },
    }
    expect(Object.keys(cells).sort()).toEqual([...FIELD_TYPES].sort())
    const empties = (await app.as(account.owner).get(`${table.path}/record/${record_id}/get`)).body.data
    const changes = Object.fromEntries(
      Object.entries(cells).map(([type, { cell, titles }]) => [type, { name: type, type, to: cell, ...(titles && { titles }) }]),
    )
    await write(table, [{ record_id, version: 2, changes }])
    const [entry] = await rowsOf(pathOf(table, record_id))
    expect(entry.changes).toEqual(
      Object.entries(cells).map(([type, { value }]) => ({ field: type, name: type, from: empties[type], to: value })),
    )
    const exact = { name: 'number', type: 'number', from: '123456789012345.12345678', to: '-0.00000001' }
    await write(table, [{ record_id, version: 2, changes: { number: exact } }])
    for (const path of [pathOf(table, record_id), `${pathOf(table, record_id)}?envelope=true`]) {
      const text = await (await fetch(app.url + path, { headers: { authorization: `Bearer ${account.keys.account}` } })).text()
      expect(text).toContain('"from":123456789012345.12345678,"to":-1e-8')
    }
  })

  test('names fields as they are called now, and those that are gone or of another type as they were', async () => {
    const table = await makeTable(app, account, {
      records: [{ name: 'a' }],
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Stage', type: 'text' },
        { name: 'Old', type: 'select', options: ['A'] },
      ],
    })
    const [record_id = 0] = table.records
    const as = app.as(account.owner)
    await as.post(`${table.path}/field/name/update`, { name: 'Company' })
    await as.post(`${table.path}/field/old/delete`)
    const stage = { name: 'Stage', type: 'number', from: '1.5', to: '2' }
    const old = { name: 'Old', type: 'select', to: '1', titles: { 1: 'A' } }
    await write(table, [{ record_id, version: 2, changes: { old, stage, ...nameChange('a') } }])
    const [{ changes }] = await rowsOf(pathOf(table))
    expect(changes).toEqual([
      { field: 'name', name: 'Company', from: 'a', to: null },
      { field: 'stage', name: 'Stage', from: 1.5, to: 2 },
      { field: 'old', name: 'Old', from: null, to: 'A' },
    ])
  })

  test('names users and keys as they are called now', async () => {
    const own = await app.account({ withPassword: true })
    const { owner, member } = own
    const table = await makeTable(app, own, {
      records: [{ name: 'a' }],
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Who', type: 'user' },
      ],
    })
    const [record_id = 0] = table.records
    const as = app.as(owner)
    const keyOf = async (kind: string, caller: Caller) =>
      (await app.as(caller).post('/api/keys/create', { kind, name: `${kind} key` })).body.id as number
    const [accountKey, goneKey, personalKey] = [
      await keyOf('account', owner),
      await keyOf('account', owner),
      await keyOf('personal', member),
    ]
    const who = { name: 'Who', type: 'user', to: `${member.id}` }
    await write(table, [
      { record_id, version: 2, user_id: member.id, changes: { who } },
      { record_id, version: 3, user_id: owner.id, api_key_id: accountKey },
      { record_id, version: 4, user_id: owner.id, api_key_id: goneKey },
      { record_id, version: 5, user_id: member.id, api_key_id: personalKey },
      { record_id, version: 6, user_id: null },
    ])
    await as.post(`/api/key/${goneKey}/delete`)
    await as.post(`/api/key/${accountKey}/update`, { name: 'Renamed' })
    const authors = async () => {
      const rows = await rowsOf(pathOf(table), owner)
      return rows.map(({ user_id, user_name, api_key_id }: Record<string, unknown>) => [user_id, user_name, api_key_id])
    }
    const others = [
      [owner.id, `API: Deleted key ${goneKey}`, goneKey],
      [owner.id, 'API: Renamed', accountKey],
    ]
    expect(await authors()).toEqual([
      [null, null, null],
      [member.id, 'API: personal key', personalKey],
      ...others,
      [member.id, member.name, null],
    ])
    expect((await as.post(`/api/user/${member.id}/erase`, { current_password: owner.password })).status).toBe(200)
    expect(await authors()).toEqual([
      [null, null, null],
      [member.id, `Deleted user ${member.id}`, personalKey],
      ...others,
      [member.id, `Deleted user ${member.id}`, null],
    ])
    const rows = await rowsOf(pathOf(table), owner)
    expect(rows.at(-1).changes[0].to).toEqual({ id: member.id, email: null, name: `Deleted user ${member.id}` })
    expect(JSON.stringify(rows)).not.toContain(member.email)
  })

  test('has the import that made the record as its creation', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
    const [first = 0, second = 0, third = 0] = table.records
    await app.db.write(sql`delete from ${historyOf(table.id)}`)
    await writeImport(table, { changeId: 70, ids: `{[${first},${second}]}`, records: 2 })
    await writeImport(table, { changeId: 71, ids: `{[${third + 5},${third + 9}]}`, records: 5 })
    await write(table, [
      { record_id: second, version: 2, changes: nameChange('b', 'B') },
      { record_id: third, version: 1, kind: 'create' },
    ])
    const created = { change_id: 70, version: 1, kind: 'create', records: 2, at: '2026-03-30 08:00:00', user_id: account.member.id }
    expect(await rowsOf(pathOf(table, first))).toEqual([{ ...created, user_name: account.member.name, api_key_id: null }])
    expect(await rowsOf(pathOf(table, second))).toMatchObject([{ version: 2 }, created])
    expect(await rowsOf(pathOf(table, third))).toMatchObject([{ version: 1, change_id: 1_001 }])
    // The import is the second page.
    const page = await read(`${pathOf(table, second)}?limit=1`)
    expect([page.body.length, page.headers.get('x-total-count')]).toEqual([1, '2'])
    const next = await read(`${pathOf(table, second)}?limit=1&cursor=${page.headers.get('x-next-cursor')}`)
    expect(next.body).toMatchObject([created])
    expect(next.headers.get('x-next-cursor')).toBeNull()
  })

  test('counts the records of a change of several transactions', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
    const changes = nameChange('a', 'b')
    await write(
      table,
      table.records.map((record_id, index) => ({ record_id, version: index + 2, change_id: 500, records: null, changes })),
    )
    expect(await rowsOf(pathOf(table))).toMatchObject([{ change_id: 500, records: 3 }])
  })

  test('is empty where nothing was kept yet', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }] })
    await app.db.write(sql`delete from ${historyOf(table.id)}`)
    const answer = await read(pathOf(table))
    expect([answer.body, answer.headers.get('x-total-count')]).toEqual([[], '0'])
  })

  test('of 10,000 changes is read by the index, whichever page', async () => {
    const table = await makeTable(app, account, { records: [{ name: 'a' }] })
    const [record_id = 0] = table.records
    const changes = JSON.stringify(nameChange('a', 'b'))
    await app.db.write(sql`delete from ${historyOf(table.id)}`)
    await app.db.write(sql`
      insert into ${historyOf(table.id)} (record_id, version, change_id, at, user_id, kind, records, changes)
      select ${record_id}::int + r, v, v, '2026-03-31 09:30:00', ${account.member.id}, 'update', 1, ${changes}::jsonb
      from generate_series(1, 10000) v, generate_series(0, 4) r`)
    await app.db.write(sql`analyze ${historyOf(table.id)}`)
    const statements = await statementsDuring(async () => {
      const first = await read(pathOf(table))
      expect([first.body.length, first.headers.get('x-total-count')]).toEqual([50, '10000'])
      const second = await read(`${pathOf(table)}?cursor=${first.headers.get('x-next-cursor')}`)
      expect([second.body[0].version, second.headers.get('x-total-count')]).toEqual([9_950, null])
    })
    const pages = statements.filter(({ text }) => text.includes('bytes_before'))
    expect(pages).toHaveLength(2)
    // The first page counts the entries as well.
    for (const [index, { text, values }] of pages.entries()) {
      const [plan] = await app.db.read<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
        text: `explain (analyze, buffers, format json) ${text}`,
        values,
      })
      const nodes = nodesOf(plan?.['QUERY PLAN'][0].Plan ?? {})
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
      expect(nodes[0]?.['Shared Hit Blocks'] as number).toBeLessThan(index ? 60 : 400)
    }
  })
})

async function statementsDuring(work: () => Promise<void>): Promise<{ text: string; values: unknown[] }[]> {
  const seen: { text: string; values: unknown[] }[] = []
  const present = queriesOf(app.db)
  Object.assign(
    app.db,
    queriesWith(app.db, ({ text, values }) => seen.push({ text, values })),
  )
  try {
    await work()
  } finally {
    Object.assign(app.db, present)
  }
  return seen
}

type PlanNode = Record<string, unknown> & { Plans?: PlanNode[] }
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

describe('the clean-up', () => {
  const DAY_MS = 86_400_000
  const at = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 19).replace('T', ' ')
  const work = (name: string) => works.find(({ queue }) => queue.name === name) ?? expect.fail(name)
  const enqueued = async () => {
    const jobs = await app.db.read<{ id: number }>(sql`
      select (data->>'table_id')::int as id from pgboss.job where name = 'records.forget-history' and state = 'created' order by 1`)
    await app.db.write(sql`delete from pgboss.job where name = 'records.forget-history'`)
    return jobs.map(({ id }) => id)
  }
  async function cleanUp(): Promise<number[]> {
    await work('records.forget-histories').run(systemContext(app.deps), {} as never)
    const tables = await enqueued()
    for (const table_id of tables) await work('records.forget-history').run(systemContext(app.deps), { table_id } as never)
    return tables
  }
  const kept = (table: { id: number }) =>
    app.db.read(sql`select record_id, version from ${historyOf(table.id)} order by record_id, version`)

  test('forgets what is older than KEEP_HISTORY_DAYS, in small steps, of the tables that have such changes', async () => {
    await cleanUp()
    const [old, young] = [
      await makeTable(app, account, { records: [{ name: 'a' }] }),
      await makeTable(app, account, { records: [{ name: 'a' }] }),
    ]
    const record_id = old.records[0] ?? 0
    for (const { id } of [old, young]) await app.db.write(sql`delete from ${historyOf(id)}`)
    await write(young, [{ record_id: young.records[0] ?? 0, version: 2, at: at(59) }])
    await app.db.write(sql`
      insert into ${historyOf(old.id)} (record_id, version, change_id, at, kind, records)
      select ${record_id}, v, v, ${at(61)}::timestamp, 'update', 1 from generate_series(2, 2600) v`)
    await app.db.write(sql`
      insert into ${historyOf(old.id)} (record_id, version, change_id, at, kind, records, record_ids) values
        (0, 1, 1, ${at(90)}, 'create', 5, '{[100,104]}'), (0, 2, 3000, ${at(10)}, 'create', 5, '{[200,204]}'),
        (${record_id}, 2601, 2601, ${at(59)}, 'update', 1, null)`)
    const statements = await statementsDuring(async () => {
      expect(await cleanUp()).toEqual([old.id])
    })
    const [present, youngOnes] = [await kept(old), await kept(young)]
    expect(present).toEqual([
      { record_id: 0, version: 2 },
      { record_id, version: 2601 },
    ])
    expect(youngOnes).toHaveLength(1)
    const deletes = statements.filter(({ text }) => text.includes('delete from "t'))
    expect(deletes.length).toBeGreaterThanOrEqual(4)
    expect(await cleanUp()).toEqual([])
  })

  test('leaves tables alone that are gone, or without a history', async () => {
    const table = await makeTable(app, account)
    await app.db.write(sql`update tables set has_history = false where id = ${table.id}`)
    await app.db.write(sql`drop table ${historyOf(table.id)}`)
    expect(await cleanUp()).not.toContain(table.id)
    for (const table_id of [table.id, 999_999]) await work('records.forget-history').run(systemContext(app.deps), { table_id } as never)
  })
})
