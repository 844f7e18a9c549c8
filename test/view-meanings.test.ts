/** What a filter means must not change without a word: types that change, options that go, and titles that no option has. */
import { beforeAll, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { type As, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)
const admin = app.as(account.admin)

let people: number
beforeAll(async () => {
  people = (await makeTable(app, account, { records: [{ name: 'Ann' }] })).id
})

const FIELDS: Record<string, () => object> = {
  select: () => ({ options: ['Open', 'Done'] }),
  multi_select: () => ({ options: ['Open', 'Done'] }),
  lookup: () => ({ table: people }),
  multi_lookup: () => ({ table: people }),
}
const tableOf = (type: string) => makeTable(app, account, { fields: [{ name: 'Cell', type, ...FIELDS[type]?.() }] })
const list = async (path: string): Promise<{ id: number; name: string }[]> => (await as.get(`${path}/views/list`)).body
const namesOf = async (path: string) => (await list(path)).map(({ name }) => name)

describe('a change of the type', () => {
  const CHANGES: [from: string, to: string, compare: string, value: unknown, keeps: boolean][] = [
    ['datetime', 'text', '=', 'today', false],
    ['datetime', 'long_text', '=', '-7d', false],
    ['datetime', 'text', '>', 'start_of_month+7d', false],
    ['date', 'text', '!=', 'TOMORROW', false],
    ['date', 'text', '=', '2026-03-01', true],
    ['date', 'text', '>=', '2026-03-01', true],
    ['datetime', 'text', '=', '2026-03-01', false],
    ['datetime', 'text', '<', '2026-03-01 10:00:00', true],
    ['datetime', 'text', '=', '2026-03-01T10:00:00+02:00', false],
    ['time', 'text', '=', '09:30', false],
    ['time', 'text', '=', '09:30:00', true],
    ['datetime', 'text', 'is_empty', undefined, true],
    ['user', 'text', '=', '@me', false],
    ['user', 'email', '!=', '@ME', false],
    ['user', 'text', 'contains', 'ann', false],
    ['user', 'text', '=', 'ann@example.com', true],
    ['user', 'text', '=', 'Ann@Example.com', false],
    ['user', 'multi_user', '=', '@me', true],
    ['multi_user', 'text', 'contains', 'ann@example.com', false],
    ['text', 'user', '=', '@me', false],
    ['text', 'date', '=', 'today', false],
    ['text', 'date', '=', '2026-03-01', true],
    ['date', 'datetime', '=', 'today', true],
    ['date', 'datetime', '=', 'now', false],
    ['datetime', 'date', '>', 'start_of_week', true],
    ['datetime', 'date', '>', '-3h', false],
    ['date', 'datetime', '<=', '2026-03-01', true],
    ['number', 'text', '=', '5', true],
    ['number', 'text', '=', '5.0', false],
    ['number', 'text', '>', '5', false],
    ['number', 'text', '>', 5, false],
    ['text', 'number', '<', '5', false],
    ['select', 'text', '=', 'Open', true],
    ['select', 'text', 'contains', 'op', true],
    ['multi_select', 'text', '=', 'Open', false],
    ['select', 'multi_select', '=', 'Open', true],
    ['select', 'multi_select', 'contains', 'Op', false],
    ['select', 'multi_select', 'contains', 'Open', true],
    ['multi_select', 'select', '=', 'Done', true],
    ['text', 'select', '=', 'Open', true],
    ['text', 'long_text', '=', 'today', true],
    ['lookup', 'text', 'contains', 'Ann', true],
    ['lookup', 'multi_lookup', '=', 1, true],
    ['checkbox', 'select', '=', true, false],
    ['select', 'multi_select', '=', ['Open', 'Done'], true],
    ['select', 'text', '!=', ['Open', 'Done'], true],
    ['multi_select', 'select', '=', ['Done'], true],
    ['date', 'text', '=', ['2026-03-01', '2026-03-02'], true],
    ['date', 'text', '=', ['2026-03-01', 'today'], false],
    ['number', 'text', '=', ['5', '6'], true],
    ['user', 'multi_user', '!=', ['@me', 1], true],
    ['text', 'number', '=', ['5', '6.0'], false],
  ]
  test.each(CHANGES)('%s to %s with %s %s: keeps its meaning: %s', async (from, to, compare, value, keeps) => {
    const { id, path } = await tableOf(from)
    const view = await makeView(app, account, id, { filters: [{ column: 'cell', compare, ...(value !== undefined && { value }) }] })
    const change = { type: to, ...(from !== 'lookup' && FIELDS[to]?.()) }
    const answer = await as.post(`${path}/field/cell/changeType`, change)
    if (keeps) return expect([answer.status, answer.body]).toEqual([200, { job_id: expect.any(Number) }])
    expect([answer.status, answer.body.message]).toEqual([409, `Views need this field: ${view.name}; send force: true to change them`])
    expect(answer.body.issues).toEqual([{ path: ['views', view.id], message: view.name }])
  })

  test('with force answers which views it has deleted, and which have lost their sort', async () => {
    const { id, path } = await tableOf('datetime')
    const [lost, kept, sorted] = [
      await makeView(app, account, id, { filter: { any: [{ all: [{ column: 'cell', compare: '=', value: 'today' }] }] } }),
      await makeView(app, account, id, { filters: [{ column: 'cell', compare: 'is_empty' }] }),
      await makeView(app, account, id, { order: [{ field: 'cell', dir: 'D' }] }),
    ]
    const started = await as.rpc.fields.changeType.mutate({ table_id: id, field_id: 'cell', type: 'multi_select', force: true })
    await runConversion(systemContext(app.deps), started.job_id)
    const named = (view: typeof lost) => ({ id: view.id, name: view.name })
    const job = (await as.get(`/api/job/${started.job_id}`)).body
    expect(job).toMatchObject({ state: 'done', deleted_views: [named(lost)], dropped_sorts: [named(sorted)] })
    expect(await as.rpc.jobs.get.query({ job_id: started.job_id })).toEqual(job)
    expect(await namesOf(path)).toEqual(['Default', kept.name, sorted.name])
  })

  test('without force has no such lists, and with force they may be empty', async () => {
    const { path } = await tableOf('datetime')
    for (const [type, force] of [
      ['text', false],
      ['email', true],
    ]) {
      const { body } = await as.post(`${path}/field/cell/changeType`, { type, force })
      await runConversion(systemContext(app.deps), body.job_id)
      const job = (await as.get(`/api/job/${body.job_id}`)).body
      expect([job.state, job.deleted_views, job.dropped_sorts]).toEqual(force ? ['done', [], []] : ['done', undefined, undefined])
    }
  })

  test('ends as refused if a view is saved meanwhile that would mean something else', async () => {
    const { id, path } = await tableOf('user')
    const { body } = await as.post(`${path}/field/cell/changeType`, { type: 'text' })
    const view = await makeView(app, account, id, { filters: [{ column: 'cell', compare: '=', value: '@me' }] })
    await runConversion(systemContext(app.deps), body.job_id)
    expect((await as.get(`/api/job/${body.job_id}`)).body).toMatchObject({ state: 'refused', error: expect.stringContaining(view.name) })
  })

  test('leaves alone what filters by other fields, even by an option that is gone', async () => {
    const fields = [
      { name: 'Cell', type: 'datetime' },
      { name: 'Stage', type: 'select', options: ['Open', 'Gone'] },
    ]
    const { id, path } = await makeTable(app, account, { fields })
    await makeView(app, account, id, { filters: [{ column: 'stage', compare: '=', value: 'Gone' }], config: { columns: ['cell'] } })
    expect((await as.post(`${path}/field/stage/update`, { options: ['Open'], force: true })).status).toBe(200)
    expect((await as.post(`${path}/field/cell/changeType`, { type: 'text' })).status).toBe(200)
  })
})

describe('an option that is removed', () => {
  const filters = [
    ['=', { filters: [{ column: 'cell', compare: '=', value: 'Done' }] }],
    ['!=', { filters: [{ column: 'cell', compare: 'NE', value: 'Done' }] }],
    ['in a group', { filter: { any: [{ all: [{ column: 'cell', compare: '=', value: 'Done' }] }] } }],
  ] as const
  test.each(filters)('and filtered by with %s is 409 naming the view; with force it goes', async (_, filter) => {
    for (const type of ['select', 'multi_select']) {
      const { id, path } = await tableOf(type)
      const view = await makeView(app, account, id, filter)
      const update = (body: object) => as.post(`${path}/field/cell/update`, body)
      const { status, body } = await update({ options: ['Open'] })
      expect([status, body.message]).toEqual([
        409,
        `Views filter by a removed option: ${view.name}; send force: true to remove it all the same`,
      ])
      expect((await update({ options: ['Open', 'Done', 'New'] })).status).toBe(200)
      expect((await update({ options: ['Open', { title: 'Finished', was: 'Done' }, 'New'] })).status).toBe(200)
      expect((await update({ options: ['New', 'Finished'] })).status).toBe(200)
      expect((await update({ options: ['New'], force: true })).body.options).toEqual(['New'])
      expect(await namesOf(path)).toEqual(['Default', view.name])
    }
  })

  test('but is in no filter, or only as a part of titles, may go', async () => {
    const { id, path } = await tableOf('select')
    await makeView(app, account, id, { filters: [{ column: 'cell', compare: 'contains', value: 'Do' }] })
    await makeView(app, account, id, { filters: [{ column: 'cell', compare: '=', value: 'Open' }] })
    expect((await as.post(`${path}/field/cell/update`, { options: ['Open'] })).status).toBe(200)
  })
})

describe('a title that no option has', () => {
  const unknown = { column: 'cell', compare: '=', value: 'Never' }

  test.each(['select', 'multi_select'])('is refused in a view of a %s that is saved', async (type) => {
    const { id, path } = await tableOf(type)
    const view = { name: 'V', type: 'grid' as const }
    const message = 'unknown option "Never"'
    const refused = async (call: ReturnType<As['post']>, at: (string | number)[]) => {
      const { status, body } = await call
      expect([status, body.issues]).toEqual([400, [{ path: at, message }]])
    }
    const known = { ...unknown, value: 'Open' }
    await refused(admin.post(`${path}/views/create`, { ...view, filters: [known, unknown] }), ['filters', 1, 'value'])
    await refused(admin.post(`${path}/views/check`, { ...view, filters: [{ ...unknown, compare: '!=' }] }), ['filters', 0, 'value'])
    const group = { any: [known, { all: [unknown] }] }
    await refused(admin.post(`${path}/views/create`, { ...view, filter: group }), ['filter', 'any', 1, 'all', 0, 'value'])
    const saved = await makeView(app, account, id, { filters: [known] })
    await refused(admin.post(`${path}/view/${saved.id}/update`, { filters: [unknown] }), ['filters', 0, 'value'])
    await expect(admin.rpc.views.create.mutate({ table_id: id, ...view, filters: [unknown] })).rejects.toMatchObject({
      data: { code: 'BAD_REQUEST', issues: [{ message }] },
    })
    expect(await namesOf(path)).toEqual(['Default', saved.name])
  })

  test('in a request finds nothing, and is named in a header', async () => {
    const { id, path } = await tableOf('select')
    await as.post(`${path}/records/create`, { data: { cell: 'Open' } })
    const header = async (operation: string, body: object) => {
      const answer = await as.post(`${path}/records/${operation}`, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return answer.headers.get('x-unknown-options')
    }
    const asked = { filters: [unknown] }
    expect(await header('query', asked)).toBe('cell=Never')
    expect(await header('count', asked)).toBe('cell=Never')
    expect(await header('explain', asked)).toBe('cell=Never')
    expect(await header('groups', { ...asked, by: 'cell' })).toBe('cell=Never')
    expect((await as.post(`${path}/records/query`, asked)).body).toEqual([])
    expect((await as.post(`${path}/records/count`, asked)).body.count).toBe(0)
    expect(await header('query', { where: { cell: 'Never' } })).toBe('cell=Never')
    expect(await header('query', { filter: { any: [unknown, { ...unknown, value: 'Ä, b%\n' }] } })).toBe(
      'cell=Never, cell=%C3%84%2C b%25%0A',
    )
    expect(await header('query', { filters: [unknown, unknown] })).toBe('cell=Never')
    expect(
      await header('query', {
        filters: [
          { ...unknown, value: 'Open' },
          { ...unknown, compare: 'contains' },
        ],
      }),
    ).toBe(null)
    const many = Array.from({ length: 200 }, (_, index) => ({ ...unknown, value: `${'x'.repeat(4_000)}${index}`.slice(-4_000) }))
    expect((await header('query', { filters: many }))?.length).toBeLessThan(1_200)
    const view = await makeView(app, account, id, { filters: [{ ...unknown, value: 'Open' }] })
    expect(await header('query', { view_id: view.id, filters: [unknown] })).toBe(null)
    expect(await header('query', { view_id: view.id, filters: [unknown], append_filters: true })).toBe('cell=Never')
  })

  test('in a view that was saved before finds nothing, and stays until the filters are changed', async () => {
    const { id, path } = await tableOf('select')
    const view = await makeView(app, account, id, { filters: [{ ...unknown, value: 'Done' }] })
    await as.post(`${path}/field/cell/update`, { options: ['Open'], force: true })
    await as.post(`${path}/records/create`, { data: { cell: 'Open' } })
    const found = await as.post(`${path}/records/query`, { view_id: view.id })
    expect([found.body, found.headers.get('x-unknown-options')]).toEqual([[], null])
    expect((await admin.post(`${path}/view/${view.id}/update`, { name: 'Renamed' })).body.filters).toEqual(view.filters)
    expect((await admin.post(`${path}/view/${view.id}/update`, { filters: view.filters })).status).toBe(400)
  })
})
