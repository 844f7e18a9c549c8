/** Tests records/board: the records of a query in columns by a field, with a cursor for each column. */
import { describe, expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)
const make = async (path: string, body: object) => (await owner.post(path, body)).body
const companies = await make(`/api/space/${account.space}/tables/create`, { name: 'Companies', fields: [{ name: 'Name', type: 'text' }] })
const [acme, berg, gone] = (
  await make(`/api/table/${companies.id}/records/create_batch`, { records: ['acme', 'Berg', 'Gone'].map((name) => ({ data: { name } })) })
).map(({ id }: { id: number }) => id)
const fields = [
  { name: 'Name', type: 'text' },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
  { name: 'Amount', type: 'number' },
  { name: 'Paid', type: 'checkbox' },
  { name: 'Owner', type: 'user' },
  { name: 'Company', type: 'lookup', table: companies.id },
  { name: 'Tags', type: 'multi_select', options: ['Red'] },
  { name: 'Team', type: 'multi_user' },
  { name: 'Others', type: 'multi_lookup', table: companies.id },
  { name: 'Due', type: 'date' },
]
const table = await make(`/api/space/${account.space}/tables/create`, { name: 'Deals', fields })
const path = `/api/table/${table.id}`
const [max, olga] = [account.member.email, account.owner.email]
const records = [
  { name: 'a', stage: 'Won', amount: 3, paid: true, owner: max, company: berg },
  { name: 'B', stage: 'Lead', amount: 1, owner: olga, company: acme, others: [acme] },
  { name: 'c', stage: 'Lead', amount: 3, paid: true, owner: olga, tags: ['Red'] },
  { name: 'd', stage: 'Lead', paid: false, owner: max, company: gone },
  { name: 'e', amount: 2 },
]
await make(`${path}/records/create_batch`, { records: records.map((data) => ({ data })) })
await owner.post(`/api/table/${companies.id}/record/${gone}/delete`)

const ask = (body: object, caller: Caller = account.viewer, at = path) => app.as(caller).post(`${at}/records/board`, body)

interface Column {
  value: unknown
  count: number
  rows: { id: number }[]
  next_cursor?: string
}

async function board(body: object, at = path): Promise<Column[]> {
  const answer = await ask(body, account.viewer, at)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

/** Returns the columns as `value count: ids`, with `-` for what is empty, and `…` where more rows follow. */
async function shown(body: object): Promise<string> {
  const columns = await board(body)
  const name = (value: unknown) => Object(value).title ?? Object(value).name ?? value ?? '-'
  const one = ({ value, count, rows, next_cursor }: Column) =>
    `${name(value)} ${count}: ${rows.map(({ id }) => id).join(' ')}${next_cursor === undefined ? '' : ' …'}`.trim()
  return columns.map(one).join(', ')
}

const problem = ({ status, body }: Answer) => [status, body.issues?.[0]?.path.join('.')]

describe('a board', () => {
  test('has every option of a select, and the empty column where records have no option', async () => {
    expect(await shown({ by: 'stage' })).toBe('- 1: 5, Lead 3: 2 3 4, Won 1: 1, Lost 0:')
    expect(await shown({ by: 'stage', where: { paid: true } })).toBe('Lead 1: 3, Won 1: 1, Lost 0:')
    expect(await shown({ by: 'stage', search: 'nothing' })).toBe('Lead 0:, Won 0:, Lost 0:')
  })

  test('has both values of a checkbox, and the users and records of lookups that records have', async () => {
    expect(await shown({ by: 'paid' })).toBe('false 3: 2 4 5, true 2: 1 3')
    expect(await shown({ by: 'paid', search: 'nothing' })).toBe('false 0:, true 0:')
    expect(await shown({ by: 'owner' })).toBe('- 1: 5, Max Member 2: 1 4, Olga Owner 2: 2 3')
    expect(await shown({ by: 'created_by' })).toBe('Olga Owner 5: 1 2 3 4 5')
    // A link to a deleted record is no link.
    expect(await shown({ by: 'company' })).toBe('- 3: 3 4 5, acme 1: 2, Berg 1: 1')
    expect(await shown({ by: 'company', search: 'nothing' })).toBe('')
    expect((await board({ by: 'company' }))[1]?.value).toEqual({ id: acme, title: 'acme' })
    expect((await board({ by: 'owner' }))[1]?.value).toEqual({ id: account.member.id, email: max, name: 'Max Member' })
  })

  test('has columns by a field of linked records', async () => {
    expect(await shown({ by: 'company.created_by', order_by: 'company.name', fields: ['company.name'] })).toBe(
      '- 3: 3 4 5, Olga Owner 2: 2 1',
    )
    expect(problem(await ask({ by: 'company.name' }))).toEqual([400, 'by'])
    expect(problem(await ask({ by: 'others.created_by' }))).toEqual([400, 'by'])
  })

  test('has the rows of records/query, in the order asked, with the same fields and what is included', async () => {
    const more = { order_by: 'amount', order_dir: 'D', include: ['version', 'badges'] }
    for (const fields of [undefined, ['owner', 'company'], []])
      for (const { value, rows } of await board({ by: 'stage', fields, ...more })) {
        const where = { stage: value === null ? ['is_empty'] : value }
        expect(rows).toEqual((await app.as(account.viewer).post(`${path}/records/query`, { ...more, fields, where })).body)
      }
    expect(await shown({ by: 'stage', order_by: 'amount', order_dir: 'D' })).toBe('- 1: 5, Lead 3: 3 2 4, Won 1: 1, Lost 0:')
    expect(await shown({ by: 'paid', order: [{ field: 'stage', dir: 'D' }, { field: 'name' }] })).toBe('false 3: 2 4 5, true 2: 1 3')
    expect(await shown({ by: 'paid', order: [{ field: 'owner' }] })).toBe('false 3: 5 4 2, true 2: 1 3')
    expect(await shown({ by: 'paid', order: [{ field: 'paid' }] })).toBe('false 3: 2 4 5, true 2: 1 3')
  })

  test('follows a view with what a request appends, and says what is ignored', async () => {
    const filters = [{ column: 'amount', compare: 'is_not_empty' }]
    const { id: view_id } = await makeView(app, account, table.id, { type: 'grid', filters, order_by: 'name', order_dir: 'D' })
    const where = { paid: true }
    expect(await shown({ by: 'stage', view_id })).toBe('- 1: 5, Lead 2: 3 2, Won 1: 1, Lost 0:')
    expect(await shown({ by: 'stage', view_id, append_filters: true, where })).toBe('Lead 1: 3, Won 1: 1, Lost 0:')
    const answer = await ask({ by: 'stage', view_id, where, order_by: 'nope' })
    expect(answer.headers.get('x-ignored')).toBe('where, order_by')
    expect((await ask({ by: 'stage', where: { stage: 'Wonn' } })).headers.get('x-unknown-options')).toBe('stage=Wonn')
    for (const unknown of [2_000_000_000, -1, 'x']) {
      const { status, body } = await ask({ by: 'stage', view_id: unknown })
      expect([status, body.message]).toEqual([404, 'View not found'])
    }
  })

  test('is the same by RPC for every reader, and refused to strangers', async () => {
    const { body } = await ask({ by: 'stage', per_group: 1 })
    for (const caller of [account.owner, account.keys.accountReadOnly, account.keys.personalViewer]) {
      const { rows } = await app.as(caller).rpc.records.board.query({ table_id: table.id, by: 'stage', per_group: 1 })
      expect(rows.map(({ next_cursor: _, ...column }) => column)).toEqual(body.map(({ next_cursor: _, ...column }: Column) => column))
    }
    const refusals = [account.outsider, account.keys.accountOutsider, account.keys.accountOtherSpace, null].map(
      async (caller) => (await ask({ by: 'stage' }, caller)).status,
    )
    expect(await Promise.all(refusals)).toEqual([404, 404, 403, 401])
  })

  test('has the 100 records of a lookup that most records have, in the order of their titles', async () => {
    const names = Array.from({ length: 102 }, (_, index) => `n${String(101 - index).padStart(3, '0')}`)
    const targets = await make(`/api/space/${account.space}/tables/create`, { name: 'Targets', fields: [{ name: 'Name', type: 'text' }] })
    const made = await make(`/api/table/${targets.id}/records/create_batch`, { records: names.map((name) => ({ data: { name } })) })
    const ids: number[] = made.map(({ id }: { id: number }) => id)
    const many = await make(`/api/space/${account.space}/tables/create`, {
      name: 'Many',
      fields: [{ name: 'Target', type: 'lookup', table: targets.id }],
    })
    // All but n003 and n050 have two records; the empty value has one.
    const once = [98, 51].map((index) => ids[index])
    const cells = [...ids, ...ids.filter((id) => !once.includes(id)), null]
    await make(`/api/table/${many.id}/records/create_batch`, { records: cells.map((target) => ({ data: { target } })) })
    const columns = await board({ by: 'target', per_group: 1, fields: ['target'] }, `/api/table/${many.id}`)
    const expected = names.filter((name) => name !== 'n003' && name !== 'n050').sort()
    expect(columns.map(({ value, count }) => `${Object(value).title} ${count}`)).toEqual(expected.map((name) => `${name} 2`))
    expect(columns.every(({ value, rows: [row] }) => JSON.stringify(Object(row).target) === JSON.stringify(value))).toBe(true)
  })
})

describe('the cursor of a column', () => {
  const query = { by: 'stage', order_by: 'amount', order_dir: 'D', per_group: 1, fields: ['name'] }

  /** The rows of a column from the board on, one page after the other. */
  async function walk(body: object, of: unknown): Promise<number[]> {
    let column = (await board(body)).find(({ value }) => value === of)
    const ids = column?.rows.map(({ id }) => id) ?? []
    while (column?.next_cursor !== undefined) {
      const columns = await board({ ...body, cursor: column.next_cursor })
      expect(columns).toEqual([expect.objectContaining({ value: of, count: column.count })])
      column = columns[0]
      ids.push(...(column?.rows.map(({ id }) => id) ?? []))
    }
    return ids
  }

  test('answers this column alone, from where it ended to its end', async () => {
    expect(await shown(query)).toBe('- 1: 5, Lead 3: 3 …, Won 1: 1, Lost 0:')
    expect(await walk(query, 'Lead')).toEqual([3, 2, 4])
    expect(await walk({ ...query, order_dir: 'A' }, 'Lead')).toEqual([4, 2, 3])
    expect(await walk({ by: 'paid', per_group: 2 }, false)).toEqual([2, 4, 5])
    expect(await walk({ by: 'company', per_group: 1, order_by: 'name', order_dir: 'D' }, null)).toEqual([5, 4, 3])
    expect(await shown({ ...query, cursor: '' })).toBe(await shown(query))
  })

  test('continues an order of several keys, also of a view, of linked fields and with empty values last', async () => {
    const keys = (...texts: string[]) => texts.map((text) => Object.fromEntries(text.split(' ').map((part, at) => [NAMES[at], part])))
    const NAMES = ['field', 'dir', 'nulls']
    expect(await walk({ ...query, order_by: null, order_dir: null, order: keys('paid D', 'amount A last') }, 'Lead')).toEqual([3, 2, 4])
    const linked = keys('company.name A last', 'owner D', 'amount')
    for (const body of [{ order: linked }, { view_id: (await makeView(app, account, table.id, { order: linked })).id }]) {
      expect(await walk({ by: 'paid', per_group: 1, ...body }, false)).toEqual([2, 4, 5])
      expect(await walk({ by: 'paid', per_group: 1, ...body }, true)).toEqual([1, 3])
    }
    const [, column] = await board({ by: 'paid', per_group: 1, order: linked })
    for (const order of [linked.slice(0, 2), linked.toReversed(), keys('company.name', 'owner D', 'amount'), keys('company.created_at')])
      expect(problem(await ask({ by: 'paid', order, cursor: column?.next_cursor }))).toEqual([400, 'cursor'])
  })

  test('continues with other fields, more rows, and after changes of records and options', async () => {
    const own = await make(`/api/space/${account.space}/tables/create`, { name: 'Moved', fields })
    const at = `/api/table/${own.id}`
    const stages = ['Lead', 'Lead', 'Lead', 'Lead', 'Won']
    await make(`${at}/records/create_batch`, { records: stages.map((stage) => ({ data: { stage } })) })
    const [{ next_cursor: cursor }] = (await board({ by: 'stage', per_group: 2 }, at)) as [Column]
    const next = async () => (await board({ by: 'stage', cursor, include: ['version'], fields: ['stage'] }, at))[0]
    expect((await next())?.rows).toEqual([3, 4].map((id) => ({ id, stage: 'Lead', _version: 1 })))
    // A record that leaves the column, or comes into it, moves no other.
    await owner.post(`${at}/record/1/update`, { data: { stage: 'Won' } })
    await owner.post(`${at}/record/2/delete`)
    await owner.post(`${at}/record/5/update`, { data: { stage: 'Lead' } })
    expect((await next())?.rows.map(({ id }) => id)).toEqual([3, 4, 5])
    expect((await next())?.count).toBe(3)
    const options = async (body: object) => expect((await owner.post(`${at}/field/stage/update`, body)).status).toBe(200)
    await options({ options: ['Won', { title: 'Open', was: 'Lead' }, 'New'] })
    expect(await next()).toMatchObject({ value: 'Open', count: 3 })
    await options({ options: ['Won', 'New'], force: true })
    expect(problem(await ask({ by: 'stage', cursor }, account.viewer, at))).toEqual([400, 'cursor'])
  })

  test('goes with no other column, board, query or caller', async () => {
    const cursor = (await board(query))[1]?.next_cursor as string
    const { headers } = await app.as(account.viewer).post(`${path}/records/query`, { cursor: '', limit: 1 })
    const page = headers.get('x-next-cursor') as string
    const end = cursor.split('.')[1] as string
    const forged = [page, `1.${page}`, '1.', '.', 'x', `2.${end}`, `.${end}`, end, `${cursor}A`, `${cursor}.`, 'false.AAAA']
    for (const other of forged) expect(problem(await ask({ ...query, cursor: other })), other).toEqual([400, 'cursor'])
    for (const other of [{ by: 'paid' }, { order_dir: 'A' }, { order_by: 'name' }, { where: { paid: true } }, { search: 'a' }])
      expect(problem(await ask({ ...query, ...other, cursor })), JSON.stringify(other)).toEqual([400, 'cursor'])
    expect(problem(await ask({ ...query, cursor }, account.owner))).toEqual([400, 'cursor'])
    const ordered = { order_by: 'amount', order_dir: 'D', where: { stage: 'Lead' } }
    for (const other of [cursor, end])
      expect(problem(await app.as(account.viewer).post(`${path}/records/query`, { ...ordered, cursor: other }))).toEqual([400, 'cursor'])
  })
})

describe('a wrong input', () => {
  test.each<[string, object, string]>([
    ['no field', {}, 'by'],
    ['an unknown field', { by: 'nope' }, 'by'],
    ['a list', { by: 'tags' }, 'by'],
    ['several users', { by: 'team' }, 'by'],
    ['several records', { by: 'others' }, 'by'],
    ['a text', { by: 'name' }, 'by'],
    ['a number', { by: 'amount' }, 'by'],
    ['a date', { by: 'due' }, 'by'],
    ['two fields', { by: ['stage'] }, 'by'],
    ['101 rows', { by: 'stage', per_group: 101 }, 'per_group'],
    ['no rows', { by: 'stage', per_group: 0 }, 'per_group'],
    ['half a row', { by: 'stage', per_group: 1.5 }, 'per_group'],
    ['a text of rows', { by: 'stage', per_group: '5' }, 'per_group'],
    ['an unknown field of rows', { by: 'stage', fields: ['name', 'nope'] }, 'fields.1'],
    ['an unknown thing to include', { by: 'stage', include: ['nope'] }, 'include.0'],
    ['a wrong condition', { by: 'stage', where: { amount: 'x' } }, 'where.amount'],
    ['an order by a list', { by: 'stage', order: [{ field: 'tags' }] }, 'order.0.field'],
    ['a number as a cursor', { by: 'stage', cursor: 1 }, 'cursor'],
    ['a limit', { by: 'stage', limit: 5 }, 'limit'],
    ['an offset', { by: 'stage', offset: 5 }, 'offset'],
  ])('%s: 400 naming it', async (_, body, name) => {
    expect(problem(await ask(body))).toEqual([400, name])
  })

  test('is a board of more than 32 MB', async () => {
    const texts = ['A', 'B', 'C', 'D'].map((name) => ({ name, type: 'long_text' }))
    const wide = [{ name: 'Paid', type: 'checkbox' }, ...texts]
    const large = await make(`/api/space/${account.space}/tables/create`, { name: 'Large', fields: wide })
    await app.db.write(sql`
      insert into ${recordsOf(large.id)} (paid, a, b, c, d, created_at, updated_at)
      select i % 2 = 0, t, t, t, t, now(), now() from generate_series(1, 200) i, repeat('x', 100000) t`)
    const at = `/api/table/${large.id}`
    const tooLarge = async (body: object) => {
      const { status, body: answered } = await ask({ by: 'paid', per_group: 100, ...body }, account.viewer, at)
      return [status, answered.message ?? answered.map(({ rows }: Column) => rows.length)]
    }
    expect(await tooLarge({ fields: ['a'] })).toEqual([200, [100, 100]])
    expect(await tooLarge({ fields: ['a', 'b'], per_group: 50 })).toEqual([200, [50, 50]])
    const advice = 'ask for fewer records with per_group, or for fewer fields with fields'
    expect(await tooLarge({ fields: ['a', 'b'] })).toEqual([400, `The answer has more than 32 MB; ${advice}`])
    // One column alone has as much.
    expect(await tooLarge({})).toEqual([400, expect.stringMatching(/^The page has more than 32 MB; /)])
  })
})
