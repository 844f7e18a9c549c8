/** The list of a space's tables, with what `include` adds to it (contract.md §9, Tables). */
import { describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { countTable } from '../src/tables/row-counts.ts'
import { testApp } from './support/app.ts'
import { queriesAround, queriesOf } from './support/statements.ts'
import { everyType, fillTable, makeTable, makeView } from './support/tables.ts'

const app = await testApp()

describe('the list of tables', () => {
  test('has fields, views and counts of each table, as their own endpoints answer them', async () => {
    const account = await app.account()
    const { owner, viewer, keys, space } = account
    const everything = await everyType(app, account)
    await makeView(app, account, everything.id, { name: 'b', filters: [{ column: 'select', compare: '=', value: 'Open' }] })
    await makeView(app, account, everything.id, { name: 'A' })
    await makeTable(app, account, { name: 'Älpler', records: [{ name: 'x' }, { name: 'y' }] })
    await makeTable(app, account, { name: 'Empty', fields: [] })
    const bare = (await app.as(viewer).get(`/api/space/${space}/tables/list`)).body
    expect(bare.map(({ name }: { name: string }) => name)).toEqual(['Empty', 'Everything', 'Other', 'Älpler'])
    const of = async (table: { id: number }, what: string) => (await app.as(viewer).get(`/api/table/${table.id}/${what}`)).body
    const expected = []
    for (const table of bare)
      expected.push({
        ...table,
        fields: (await of(table, 'get')).fields,
        views: await of(table, 'views/list'),
        record_count: (await app.as(viewer).post(`/api/table/${table.id}/records/count`)).body.count,
      })
    for (const caller of [viewer, owner, keys.account, keys.personalViewer]) {
      const { body, headers } = await app.as(caller).get(`/api/space/${space}/tables/list?include=fields,views,counts`)
      expect(body).toEqual(expected)
      expect(headers.get('x-total-count')).toBe('4')
    }
    expect(expected.map(({ record_count }) => record_count)).toEqual([0, 0, 1, 2])
    expect(expected[1]?.views.map(({ name }: { name: string }) => name)).toEqual(['Default', 'A', 'b'])
    const { rows } = await app.as(viewer).rpc.tables.list.query({ space_id: space, include: ['counts', 'fields', 'views'] })
    expect(rows).toEqual(expected)
  })

  test('has the keys that were asked for, and those of today without any', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, { name: 'One' })
    const keysOf = async (query: string) =>
      (await app.as(account.viewer).get(`/api/space/${account.space}/tables/list${query}`)).body.flatMap((table: object) =>
        Object.keys(table),
      )
    const own = ['id', 'name', 'space_id']
    for (const query of ['', '?include=', '?included=fields']) expect(await keysOf(query), query).toEqual(own)
    expect(await keysOf('?include=views')).toEqual([...own, 'views'])
    expect(await keysOf('?include=counts&include=fields')).toEqual([...own, 'fields', 'record_count'])
    await app.as(account.owner).post(`/api/table/${id}/delete`)
    expect(await keysOf('?include=fields,views,counts')).toEqual([])
    expect((await app.as(account.viewer).get(`/api/space/${account.otherSpace}/tables/list?include=fields`)).status).toBe(403)
  })

  test('shows changes at once, and counts large tables by their triggers', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, { name: 'Large' })
    const listed = async () => (await app.as(account.viewer).get(`/api/space/${account.space}/tables/list?include=fields,counts`)).body[0]
    expect(await listed()).toMatchObject({ name: 'Large', record_count: 0 })
    await fillTable(app, id, 30, { name: "'n' || i" })
    await countTable(systemContext(app.deps), { table_id: id, recount: false })
    await fillTable(app, id, 5, { name: "'n' || i" })
    await app.as(account.owner).post(`/api/table/${id}/fields/create`, { name: 'New', type: 'date' })
    const { fields, record_count } = await listed()
    expect([record_count, fields.map((field: { id: string }) => field.id).includes('new')]).toEqual([35, true])
  })

  test('refuses an unknown name, naming it', async () => {
    const { viewer, space } = await app.account()
    const { status, body } = await app.as(viewer).get(`/api/space/${space}/tables/list?include=fields,records`)
    expect([status, body.message]).toEqual([400, "include[1]: must be one of fields, views, counts, not 'records'"])
    const long = await app.as(viewer).get(`/api/space/${space}/tables/list?include=${'x'.repeat(2_000)}`)
    expect([long.status, long.body.message.length < 300]).toEqual([400, true])
    // @ts-expect-error the typed client knows the names
    const refused = app.as(viewer).rpc.tables.list.query({ space_id: space, include: ['records'] })
    await expect(refused).rejects.toMatchObject({ data: { httpStatus: 400 } })
  })

  // Records on a node are read table by table.
  test.skipIf(process.env.TEST_SPACES === 'elsewhere')('takes no statement more for further tables', async () => {
    const account = await app.account()
    const ask = () => app.as(account.viewer).get(`/api/space/${account.space}/tables/list?include=fields,views,counts`)
    const statementsOf = async () => {
      await ask()
      let statements = 0
      const queries = queriesOf(app.db)
      Object.assign(
        app.db,
        queriesAround(app.db, (run) => {
          statements++
          return run()
        }),
      )
      try {
        await ask()
      } finally {
        Object.assign(app.db, queries)
      }
      return statements
    }
    /** Of several calls, since one may meet a statement of the background or one that reads a caller's rights again. */
    const fewestStatements = async () => Math.min(...[await statementsOf(), await statementsOf(), await statementsOf()])
    await makeTable(app, account)
    const few = await fewestStatements()
    for (let count = 0; count < 5; count++) await makeTable(app, account)
    expect(await fewestStatements()).toBe(few)
  })
})
