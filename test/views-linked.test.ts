/** Tests saved views that name fields of other tables through lookups, and what changes of these tables do to them (contract.md §9). */
import { describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)

/** A table of companies, and one of deals that refer to them. */
async function made() {
  const companies = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'City', type: 'text' },
      { name: 'Size', type: 'text' },
      { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
      { name: 'Active', type: 'checkbox' },
    ],
    records: [
      { name: 'Acme', city: 'Oslo', stage: 'Won', size: '7', active: true },
      { name: 'Bolt', city: 'Lima', stage: 'Lead', size: '5' },
    ],
  })
  const deals = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Company', type: 'lookup', table: companies.id },
      { name: 'Partners', type: 'multi_lookup', table: companies.id },
      { name: 'Size', type: 'text' },
    ],
    records: [{ name: 'a', company: companies.records[0] }, { name: 'b', company: companies.records[1] }, { name: 'c' }],
  })
  return { companies, deals }
}

const filters = (column: string, value: unknown) => ({ filters: [{ column, compare: '=', value, connector: 'AND' }] })
const names = async (table: { path: string }, view_id: number) =>
  (await owner.post(`${table.path}/records/query`, { view_id })).body.map(({ name }: { name: string }) => name).join('')
/** Changes the type of the field. @returns the job that did */
async function changed(table: { path: string }, field: string, to: object) {
  const { body, status } = await owner.post(`${table.path}/field/${field}/changeType`, to)
  expect(status, JSON.stringify(body)).toBe(200)
  await runConversion(systemContext(app.deps), body.job_id)
  return (await owner.get(`/api/job/${body.job_id}`)).body
}
const ofView = async (table: { path: string }, id: number) => (await owner.get(`${table.path}/view/${id}/get`)).body

describe('a saved view', () => {
  test('may filter, sort and show by linked fields', async () => {
    const { deals } = await made()
    const config = { columns: ['name', 'company.city'] }
    const view = await makeView(app, account, deals.id, { ...filters('company.city', 'Oslo'), order_by: 'company.stage', config })
    expect(view).toMatchObject({ ...filters('company.city', 'Oslo'), order_by: 'company.stage', config })
    expect(await names(deals, view.id)).toBe('a')
    const sorted = await makeView(app, account, deals.id, { order: [{ field: 'company.city', dir: 'D' }] })
    expect(await names(deals, sorted.id)).toBe('abc')
    const grouped = await makeView(app, account, deals.id, { filter: { not: filters('company.stage', 'Won').filters[0] } }).catch(
      () => null,
    )
    expect(grouped).toBeNull()
    const opposite = await makeView(app, account, deals.id, { filter: { not: { column: 'company.stage', compare: '=', value: 'Won' } } })
    expect(await names(deals, opposite.id)).toBe('bc')
  })

  test('is exported with its linked columns', async () => {
    const { deals } = await made()
    const config = { columns: ['name', 'company.city', 'company.stage'] }
    const { id } = await makeView(app, account, deals.id, { config, ...filters('company.stage', 'Won') })
    const { body: text } = await owner.get(`${deals.path}/export.csv?view_id=${id}`)
    expect(text.replace('\uFEFF', '').split('\r\n').slice(0, 2)).toEqual(['Name,company.city,company.stage', 'a,Oslo,Won'])
  })

  test('refuses what a query refuses, and titles that no option has', async () => {
    const { deals } = await made()
    for (const [body, message] of [
      [filters('company.town', 'x'), "'town' is not a field"],
      [filters('company.stage', 'Gone'), 'Gone'],
      [{ order_by: 'company.city.x' }, 'more than one dot'],
    ] as const)
      for (const at of ['create', 'check']) {
        const answer = await owner.post(`${deals.path}/views/${at}`, { name: 'Wrong', type: 'grid', ...body })
        expect(answer.status).toBe(400)
        expect(JSON.stringify(answer.body)).toContain(message)
      }
  })

  test('follows renamed fields and options of the other table', async () => {
    const { companies, deals } = await made()
    const view = await makeView(app, account, deals.id, filters('company.stage', 'Won'))
    await owner.post(`${companies.path}/field/stage/update`, { name: 'Phase', options: ['Lead', { title: 'Closed', was: 'Won' }] })
    expect(await ofView(deals, view.id)).toMatchObject(filters('company.stage', 'Closed'))
    expect(await names(deals, view.id)).toBe('a')
  })

  test('is named when a field of the other table is deleted, and goes or loses its order with force', async () => {
    const { companies, deals } = await made()
    const filtered = await makeView(app, account, deals.id, filters('company.city', 'Oslo'))
    const sorted = await makeView(app, account, deals.id, { order_by: 'company.city' })
    const shown = await makeView(app, account, deals.id, { config: { columns: ['name', 'company.city'] } })
    const own = await makeView(app, account, companies.id, filters('city', 'Oslo'))
    const refused = await owner.post(`${companies.path}/field/city/delete`, {})
    expect(refused.status).toBe(409)
    for (const { name } of [filtered, sorted, own]) expect(JSON.stringify(refused.body)).toContain(name)
    const { body } = await owner.post(`${companies.path}/field/city/delete`, { force: true })
    expect(body.deleted_views.map(({ id }: { id: number }) => id).sort()).toEqual([filtered.id, own.id].sort())
    expect(body.unsorted_views).toEqual([{ id: sorted.id, name: sorted.name }])
    expect((await owner.get(`${deals.path}/view/${filtered.id}/get`)).status).toBe(404)
    expect(await ofView(deals, sorted.id)).toMatchObject({ order_by: null })
    expect(await ofView(deals, shown.id)).toMatchObject({ config: { columns: ['name'] } })
  })

  test('is never saved with a field that is deleted at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const { companies, deals } = await made()
      const view = { name: 'Both', type: 'grid', ...filters('company.city', 'Oslo'), order_by: 'company.city' }
      const [saved, deleted] = await Promise.all([
        owner.post(`${deals.path}/views/create`, view),
        owner.post(`${companies.path}/field/city/delete`, {}),
      ])
      expect([
        [200, 409],
        [400, 200],
      ]).toContainEqual([saved.status, deleted.status])
    }
  })

  test('is named when its lookup is deleted', async () => {
    const { deals } = await made()
    const view = await makeView(app, account, deals.id, filters('company.city', 'Oslo'))
    expect((await owner.post(`${deals.path}/field/company/delete`, {})).status).toBe(409)
    const { body } = await owner.post(`${deals.path}/field/company/delete`, { force: true })
    expect(body.deleted_views).toEqual([{ id: view.id, name: view.name }])
  })

  test('is named when the other table is deleted', async () => {
    const { companies, deals } = await made()
    const view = await makeView(app, account, deals.id, filters('company.city', 'Oslo'))
    const sorted = await makeView(app, account, deals.id, { order: [{ field: 'company.city' }, { field: 'name' }] })
    const refused = await owner.post(`${companies.path}/delete`, {})
    expect(refused.status).toBe(409)
    expect(JSON.stringify(refused.body)).toContain(view.name)
    expect((await owner.post(`${companies.path}/delete`, { force: 'yes' })).status).toBe(400)
    expect((await owner.post(`${companies.path}/delete`, { force: true })).body).toEqual({ ok: true })
    expect((await owner.get(`${deals.path}/view/${view.id}/get`)).status).toBe(404)
    expect(await ofView(deals, sorted.id)).toMatchObject({ order: [{ field: 'name', dir: 'A' }] })
    expect(await names(deals, sorted.id)).toBe('abc')
  })

  test('only shows linked columns that there are, and asks nobody before these go', async () => {
    const { companies, deals } = await made()
    const config = { columns: ['name', 'company.city', 'company', 'company.stage'], widths: { 'company.city': 80, name: 90 } }
    const { id } = await makeView(app, account, deals.id, { config })
    expect((await changed(deals, 'company', { type: 'text' })).state).toBe('done')
    expect(await ofView(deals, id)).toMatchObject({ config: { columns: ['name', 'company'] } })
    const other = await made()
    const shown = await makeView(app, account, other.deals.id, { config })
    expect((await changed(other.companies, 'city', { type: 'select', options: ['Oslo', 'Lima'] })).state).toBe('done')
    expect((await changed(other.deals, 'company', { type: 'multi_lookup' })).state).toBe('done')
    expect(await ofView(other.deals, shown.id)).toMatchObject({ config })
    const { body } = await owner.post(`${other.deals.path}/records/query`, { fields: config.columns, limit: 1 })
    expect(body).toMatchObject([{ name: 'a', 'company.city': ['Oslo'], 'company.stage': ['Won'] }])
    expect((await owner.post(`${other.companies.path}/delete`, {})).status).toBe(200)
    expect(await ofView(other.deals, shown.id)).toMatchObject({ config: { columns: ['name', 'company'] } })
    expect(companies.id).toBeGreaterThan(0)
  })

  const condition = (column: string, compare: string, value?: unknown) => ({
    filters: [{ column, compare, ...(value !== undefined && { value }) }],
  })

  test.each<[change: string, at: 'companies' | 'deals', field: string, to: object, view: object, isNamed: boolean]>([
    ['of a field that no view names', 'companies', 'size', { type: 'number' }, condition('company.city', '=', 'Oslo'), false],
    ['that keeps what a condition means', 'companies', 'city', { type: 'long_text' }, condition('company.city', 'contains', 'o'), false],
    ['of the field of a condition', 'companies', 'size', { type: 'number' }, condition('company.size', 'starts_with', '5'), true],
    ['of the field of an order, which stays sortable', 'companies', 'size', { type: 'number' }, { order_by: 'company.size' }, false],
    [
      'of the field of an order, which is not sortable',
      'companies',
      'stage',
      { type: 'multi_select' },
      { order_by: 'company.stage' },
      true,
    ],
    [
      'of the second key of an order',
      'companies',
      'stage',
      { type: 'multi_select' },
      { order: [{ field: 'name' }, { field: 'company.stage' }] },
      true,
    ],
    ['through several, of a condition', 'companies', 'size', { type: 'number' }, condition('partners.size', 'starts_with', '5'), true],
    ['of a field of the same id', 'deals', 'size', { type: 'number' }, condition('company.size', 'starts_with', '5'), false],
    ['of a lookup to one of several', 'deals', 'company', { type: 'multi_lookup' }, condition('company.city', '=', 'Oslo'), false],
    [
      'of a lookup to several, where a condition finds unchecked cells',
      'deals',
      'company',
      { type: 'multi_lookup' },
      condition('company.active', '=', false),
      true,
    ],
    [
      'of a lookup to several, where a condition finds others than unchecked cells',
      'deals',
      'company',
      { type: 'multi_lookup' },
      condition('company.active', '!=', false),
      true,
    ],
    [
      'of a lookup to several, where a condition finds checked cells',
      'deals',
      'company',
      { type: 'multi_lookup' },
      condition('company.active', '=', true),
      false,
    ],
    ['of a lookup to several, with an order', 'deals', 'company', { type: 'multi_lookup' }, { order_by: 'company.city' }, true],
    ['of a multi_lookup to one', 'deals', 'partners', { type: 'lookup' }, condition('partners.city', '!=', 'Oslo'), false],
    [
      'of a multi_lookup to one, where a condition finds unchecked cells',
      'deals',
      'partners',
      { type: 'lookup' },
      condition('partners.active', '=', false),
      true,
    ],
    ['of a lookup to texts', 'deals', 'company', { type: 'text' }, condition('company.city', '=', 'Oslo'), true],
    ['of another lookup', 'deals', 'partners', { type: 'lookup' }, condition('company.city', '=', 'Oslo'), false],
  ])('at a change of the type %s: %s.%s to %j', async (_, at, field, to, view, isNamed) => {
    const tables = await made()
    const { id, name } = await makeView(app, account, tables.deals.id, view)
    const found = await names(tables.deals, id)
    const refused = isNamed ? await owner.post(`${tables[at].path}/field/${field}/changeType`, to) : undefined
    expect([refused?.status, refused?.body.message.includes(name)]).toEqual(isNamed ? [409, true] : [undefined, undefined])
    const job = await changed(tables[at], field, { ...to, ...(isNamed && { force: true }) })
    expect(job).toMatchObject({ state: 'done' })
    if (!isNamed) return expect([job.deleted_views ?? [], await names(tables.deals, id)]).toEqual([[], found])
    const isSorted = 'order_by' in view || 'order' in view
    expect(job).toMatchObject({ deleted_views: isSorted ? [] : [{ id, name }], dropped_sorts: isSorted ? [{ id, name }] : [] })
    expect((await owner.get(`${tables.deals.path}/view/${id}/get`)).status).toBe(isSorted ? 200 : 404)
  })

  test('is named with those of the other table', async () => {
    const { companies, deals } = await made()
    const [linked, own] = [
      await makeView(app, account, deals.id, condition('company.size', 'starts_with', '5')),
      await makeView(app, account, companies.id, condition('size', 'starts_with', '5')),
    ]
    const sorted = await makeView(app, account, deals.id, { order_by: 'company.size' })
    const { status, body } = await owner.post(`${companies.path}/field/size/changeType`, { type: 'number' })
    expect(status).toBe(409)
    expect([linked, own, sorted].map(({ name }) => body.message.includes(name))).toEqual([true, true, false])
    const options = await makeView(app, account, deals.id, condition('partners.stage', '=', ['Won']))
    const less = await owner.post(`${companies.path}/field/stage/update`, { options: ['Lead'] })
    expect([less.status, less.body.message.includes(options.name)]).toEqual([409, true])
  })

  test('is named when a field of the other table, or its lookup, gets another type', async () => {
    const { companies, deals } = await made()
    const view = await makeView(app, account, deals.id, { filters: [{ column: 'company.size', compare: 'starts_with', value: '5' }] })
    const refused = await owner.post(`${companies.path}/field/size/changeType`, { type: 'number' })
    expect(refused.status).toBe(409)
    expect(JSON.stringify(refused.body)).toContain(view.name)
    const lookup = await owner.post(`${deals.path}/field/company/changeType`, { type: 'select' })
    expect(lookup.status).toBe(409)
    expect(JSON.stringify(lookup.body)).toContain(view.name)
  })
})
