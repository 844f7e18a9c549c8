import { readdir, readlink } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { namedRecords } from '../src/csv/lookups.ts'
import { sweepStaging } from '../src/csv/staging.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { tableDefinitions } from '../src/tables/definition-cache.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { everyType, makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'
import { until } from './support/until.ts'

const app = await testApp({ IMPORT_MAX_MB: '12' })

const TEXT = { name: 'Name', type: 'text' } as const
const tableOf = async (account: TestAccount, fields: readonly object[] = [TEXT], name?: string) =>
  (await makeTable(app, account, { fields, ...(name !== undefined && { name }) })).id

const importCsv = (caller: Caller, table: number, body: string | Buffer, headers: Record<string, string> = {}) =>
  app
    .as(caller)
    .send(`/api/table/${table}/import`, { method: 'POST', body: body as string, headers: { 'content-type': 'text/csv', ...headers } })
const exportCsv = (caller: Caller, table: number, query = '') => app.as(caller).get(`/api/table/${table}/export.csv${query}`)
const rowsOf = async (account: TestAccount, table: number, fields?: string[]) =>
  (await app.as(account.keys.account).post(`/api/table/${table}/records/query`, { limit: 1_000, ...(fields && { fields }) })).body
const countOf = async (table: number) => {
  const [row] = await app.db.read<{ count: number }>(sql`select count(*) from ${recordsOf(table)}`)
  return row?.count
}
const temporaryFolder = join(app.settings.dataDir, 'tmp')
/** The temporary files that this process has open; their names have been removed. */
async function openTemporaryFiles(): Promise<string[]> {
  const fds = await readdir('/proc/self/fd')
  const targets = await Promise.all(fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(temporaryFolder))
}
const stagingOf = async (table: number) =>
  (await app.db.read<{ name: string | null }>(sql`select to_regclass(${`t${table}.import`})::text as name`))[0]

describe('an export', () => {
  test('writes every type of cell in a form that an import reads back unchanged', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const [file] = (
      await as.post(`${table.path}/record/${(await as.post(`${table.path}/records/create`, { data: {} })).body.id}/files/create`, {
        field_id: 'file',
        name: 'a, "b".txt',
        data: 'aGk=',
      })
    ).body
    const twin = await as.rpc.records.create.mutate({ table_id: table.other, data: { name: 'Target' } })
    const odd = await as.rpc.records.create.mutate({ table_id: table.other, data: { name: ' a, "b" (7)' } })
    const untitled = await as.rpc.records.create.mutate({ table_id: table.other, data: {} })
    const full = {
      text: '=1+1',
      long_text: ' two\r\nlines, "quoted"\n',
      email: '@x',
      url: "'=x",
      phone: '+49 30 1',
      number: '-1234567890.12',
      checkbox: true,
      date: '2024-02-29',
      datetime: '2026-03-31 07:30:00',
      time: '09:30:00',
      select: 'Done',
      multi_select: ['Done', 'Open'],
      user: account.member.id,
      multi_user: [account.viewer.id, account.owner.id],
      lookup: twin.id,
      multi_lookup: [odd.id, untitled.id, table.target],
      file: [file],
    }
    await as.post(`${table.path}/records/create_batch`, { records: [{ data: full }, { data: { text: "'", number: 0 } }, { data: {} }] })
    const before = await rowsOf(account, table.id)

    const file_ = await exportCsv(account.viewer, table.id)
    expect(file_.status).toBe(200)
    expect(file_.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(file_.headers.get('content-disposition')).toBe(`attachment; filename="Everything.csv"; filename*=UTF-8''Everything.csv`)
    const text = file_.body as unknown as string
    expect(text).toContain(`'=1+1," two\r\nlines, ""quoted""\n",'@x,''=x,'+49 30 1,-1234567890.12,true,2024-02-29`)
    const imported = await importCsv(account.member, table.id, text)
    expect(imported.body).toEqual({ created: before.length, change_id: expect.any(Number) })
    expect(imported.headers.get('x-ignored')).toBe('ID, Created at, Created by, Updated at, Updated by')
    const after = (await rowsOf(account, table.id)).slice(before.length)
    const cells = ({ id: _, created_by: _by, updated_by: _who, created_at: _at, updated_at: _when, ...own }: Record<string, unknown>) => own
    expect(after.map(cells)).toEqual(before.map(cells))
    expect(after.map(({ created_by }: { created_by: { id: number } }) => created_by.id)).toEqual(before.map(() => account.member.id))
    expect(await stagingOf(table.id)).toEqual({ name: null })
  })

  test('applies a view: its filters, its order, and for a grid its columns in their order', async () => {
    const account = await app.account()
    const as = app.as(account.owner)
    const table = await tableOf(account, [TEXT, { name: 'Amount', type: 'number' }, { name: 'Secret', type: 'text', always_hidden: true }])
    const records = Array.from({ length: 1_500 }, (_, index) => ({ data: { name: `N${index}`, amount: index } }))
    for (const part of [records.slice(0, 1_000), records.slice(1_000)])
      await as.post(`/api/table/${table}/records/create_batch`, { records: part })
    const view = async (config: object, more: object = {}) =>
      (await as.post(`/api/table/${table}/views/create`, { name: `V${JSON.stringify(config)}`, type: 'grid', config, ...more })).body.id
    const sorted = await view(
      { columns: ['amount', 'name'] },
      { filters: [{ column: 'amount', compare: '>=', value: 100 }], order_by: 'amount', order_dir: 'D' },
    )
    const lines = ((await exportCsv(account.viewer, table, `?view_id=${sorted}`)).body as unknown as string).trimEnd().split('\r\n')
    expect(lines).toEqual(['Amount,Name', ...Array.from({ length: 1_400 }, (_, index) => `${1_499 - index},N${1_499 - index}`)])
    const plain = ((await exportCsv(account.viewer, table, `?view_id=${await view({})}`)).body as unknown as string).split('\r\n')
    expect(plain[0]).toBe('ID,Name,Amount,Created at,Created by,Updated at,Updated by')
    expect(plain.slice(1, -1).map((line) => line.split(',')[1])).toEqual(records.map(({ data }) => data.name))
    const all = ((await exportCsv(account.viewer, table, '?view_id=0')).body as unknown as string).split('\r\n')
    expect(all[0]).toBe('ID,Name,Amount,Secret,Created at,Created by,Updated at,Updated by')
  })

  test('is allowed for readers, and names bad input', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    for (const caller of [account.keys.accountReadOnly, account.keys.personalViewer, account.viewer]) {
      expect((await exportCsv(caller, table)).status).toBe(200)
    }
    expect((await exportCsv(null, table)).status).toBe(401)
    expect((await exportCsv(account.keys.accountOtherSpace, table)).status).toBe(403)
    expect((await exportCsv(account.keys.accountOutsider, table)).status).toBe(404)
    expect((await exportCsv(account.viewer, 2_000_000_000)).body.message).toBe('Table not found')
    for (const id of [999999, -1, 9_999_999_999, -9_999_999_999, '9'.repeat(30)])
      expect((await exportCsv(account.viewer, table, `?view_id=${id}`)).body.message).toBe('View not found')
    expect((await exportCsv(account.viewer, table, '?limit=5')).status).toBe(200)
    for (const query of ['?view_id=x', '?view_id=1.5', '?view_id=1&view_id=2']) {
      expect((await exportCsv(account.viewer, table, query)).status, query).toBe(400)
    }
    expect((await app.as(account.viewer).get('/api/table/x/export.csv')).status).toBe(400)
  })

  test('takes conditions and an order as a query does, beside those of a view', async () => {
    const account = await app.account()
    const as = app.as(account.member)
    const { rpc } = app.as(account.owner)
    const fields = [
      { id: 'name', name: 'Name', type: 'text' as const },
      { id: 'amount', name: 'Amount', type: 'number' as const },
    ]
    const { id } = await rpc.tables.create.mutate({ space_id: account.space, name: 'Narrowed', fields })
    const amounts = { Acme: 1, Bolt: 2, Cord: 3, Dart: 4 }
    await rpc.records.createBatch.mutate({
      table_id: id,
      records: Object.entries(amounts).map(([name, amount]) => ({ data: { name, amount } })),
    })
    const filters = [{ column: 'amount', compare: '>', value: 1 }]
    const config = { columns: ['name'] }
    const view = await rpc.views.create.mutate({ table_id: id, name: 'Large', type: 'grid', filters, config, order_by: 'name' } as never)
    const exported = async (conditions: unknown, viewId?: number) => {
      const query = new URLSearchParams({ conditions: JSON.stringify(conditions), ...(viewId && { view_id: String(viewId) }) })
      const { status, body } = await exportCsv(account.viewer, id, `?${query}`)
      return status === 200 ? body.trim().split('\r\n') : body.message
    }
    const condition = { column: 'amount', compare: '<', value: 4 }
    expect(await exported({ filter: condition }, view.id)).toEqual(['Name', 'Bolt', 'Cord'])
    expect(await exported({ filters: [condition], order: [{ field: 'name', dir: 'D' }] }, view.id)).toEqual(['Name', 'Cord', 'Bolt'])
    const column = (lines: string[]) => lines.map((line) => line.split(',')[1])
    expect(column(await exported({ where: { amount: 3 } }))).toEqual(['Name', 'Cord'])
    expect(column(await exported({ order_by: 'amount', order_dir: 'D' }))).toEqual(['Name', 'Dart', 'Cord', 'Bolt', 'Acme'])
    expect(column(await exported({ search: 'acme' }))).toEqual(['Name', 'Acme'])
    expect(await exported({ search: 'acme' }, view.id)).toEqual(['Name'])
    expect(await exported({})).toHaveLength(5)
    const typed = await as.rpc.exportCsv({ table_id: id, view_id: view.id, conditions: { filter: condition as never } })
    expect((await typed.text()).trim().split('\r\n')).toEqual(['Name', 'Bolt', 'Cord'])
    for (const wrong of [{ filter: { column: 'nothing', compare: '=', value: 1 } }, { limit: 5 }, [], null, 'x', { search: 7 }]) {
      const query = new URLSearchParams({ conditions: JSON.stringify(wrong) })
      expect((await exportCsv(account.viewer, id, `?${query}`)).status, JSON.stringify(wrong)).toBe(400)
    }
    for (const text of ['', '{', '{}&conditions={}', encodeURIComponent(`{"search":"${'x'.repeat(16_000)}"}`)]) {
      expect((await exportCsv(account.viewer, id, `?conditions=${text}`)).status, text).toBe(400)
    }
  })

  test('names columns by their ids if their names are ambiguous, and gives the file a safe name', async () => {
    const account = await app.account()
    const fields = [
      { id: 'a', name: 'Created At', type: 'text' },
      { id: 'c', name: 'd', type: 'text' },
      { id: 'd', name: '=SUM(A1)', type: 'text' },
    ] as const
    const table = await tableOf(account, [...fields], 'a/b "c"\\é')
    const file = await exportCsv(account.viewer, table)
    expect((file.body as unknown as string).split('\r\n')[0]).toBe("ID,a,c,'=SUM(A1),created_at,Created by,Updated at,Updated by")
    expect(file.headers.get('content-disposition')).toBe(
      `attachment; filename="a/b _c___.csv"; filename*=UTF-8''a%2Fb%20%22c%22%5C%C3%A9.csv`,
    )
    const reversed = await tableOf(account, [...fields], 'a\u202Egpj.\u2066exe\u2069\u061C')
    expect((await exportCsv(account.viewer, reversed)).headers.get('content-disposition')).toBe(
      `attachment; filename="agpj.exe.csv"; filename*=UTF-8''agpj.exe.csv`,
    )
    expect((await importCsv(account.member, table, "a,c,'=SUM(A1)\n1,2,3\n")).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect((await rowsOf(account, table, ['a', 'c', 'd']))[0]).toMatchObject({ a: '1', c: '2', d: '3' })
    expect((await importCsv(account.member, table, 'created at\nx\n')).body.issues).toEqual([
      { row: 1, column: 'created at', message: 'is the name of several fields: use the id of one' },
    ])
  })

  test('is complete for a slow reader, who blocks no change of the fields', async () => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Notes', type: 'long_text' }])
    // This is more than the buffers of both ends hold.
    await app.db.write(sql`
      insert into ${recordsOf(table)} (name, notes, created_at, updated_at)
      select 'N' || i, repeat('x', 5000), now(), now() from generate_series(1, 8000) i`)
    const as = app.as(account.owner)
    const open = async () => {
      const answer = await fetch(`${app.url}/api/table/${table}/export.csv`, {
        headers: { authorization: `Bearer ${account.keys.account}` },
      })
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
      const first = await reader.read()
      return { length: Number(answer.headers.get('content-length')), read: first.value?.length ?? 0, reader }
    }
    const slow = await open()
    expect(slow.length).toBeGreaterThan(30_000_000)
    expect((await as.post(`/api/table/${table}/field/notes/delete`)).status).toBe(200)
    expect((await as.post(`/api/table/${table}/fields/create`, { name: 'Late', type: 'text' })).status).toBe(200)
    let bytes = slow.read
    for (let part = await slow.reader.read(); !part.done; part = await slow.reader.read()) bytes += part.value.length
    expect(bytes).toBe(slow.length)
    expect((await exportCsv(account.viewer, table)).body).toMatch(/^ID,Name,Late,/)
  })

  test('leaves no file behind, neither at its end nor when the reader hangs up', async () => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Notes', type: 'long_text' }])
    await app.db.write(sql`
      insert into ${recordsOf(table)} (name, notes, created_at, updated_at)
      select 'N' || i, repeat('x', 5000), now(), now() from generate_series(1, 4000) i`)
    const hangsUp = await fetch(`${app.url}/api/table/${table}/export.csv`, {
      headers: { authorization: `Bearer ${account.keys.account}` },
    })
    const reader = (hangsUp.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    expect(await openTemporaryFiles()).toHaveLength(1)
    await reader.cancel()
    await expect.poll(() => openTemporaryFiles()).toEqual([])
    expect((await exportCsv(account.viewer, table)).status).toBe(200)
    expect((await app.as(account.viewer).send(`/api/table/${table}/export.csv`, { method: 'HEAD' })).status).toBe(200)
    await expect.poll(() => openTemporaryFiles()).toEqual([])
    expect(await readdir(temporaryFolder)).toEqual([])
  })
})

describe('an import', () => {
  test('accepts columns by name or id in any order, quotes, both line ends and a byte order mark', async () => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Amount', type: 'number', decimals: 2 }, { name: 'Done', type: 'checkbox' }])
    const file = '\uFEFFDONE,"name",amount\r\nyes,"a ""b"",\nc",-1.005\r\n\r\nno,,\r\n,é,1e3'
    expect((await importCsv(account.keys.personal, table, file)).body).toEqual({ created: 3, change_id: expect.any(Number) })
    expect(await rowsOf(account, table, ['name', 'amount', 'done'])).toEqual([
      { id: 1, name: 'a "b",\nc', amount: -1.01, done: true },
      { id: 2, name: null, amount: null, done: false },
      { id: 3, name: 'é', amount: 1000, done: false },
    ])
    expect((await importCsv(account.member, table, 'name\n')).body).toEqual({ created: 0, change_id: null })
    expect((await importCsv(account.member, table, 'name\rx\r')).body).toEqual({ created: 1, change_id: expect.any(Number) })
  })

  test.each<[string, string, object[]]>([
    ['CRLF, then LF', 'name\r\nmixA\nmixB\r\n', [{ name: 'mixA' }, { name: 'mixB' }]],
    ['LF, then CRLF', 'name\nmixE\r\nmixF\n', [{ name: 'mixE' }, { name: 'mixF' }]],
    ['CR, then LF', 'name\rmixG\n"mix\r\nH"\r', [{ name: 'mixG' }, { name: 'mix\r\nH' }]],
    [
      'several columns',
      'name,amount\r\nmixC,1\nmixD,2\r\n\n',
      [
        { name: 'mixC', amount: 1 },
        { name: 'mixD', amount: 2 },
      ],
    ],
  ])('accepts mixed line ends: %s', async (_, file, records) => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Amount', type: 'number' }])
    expect((await importCsv(account.member, table, file)).body).toEqual({ created: records.length, change_id: expect.any(Number) })
    expect(await rowsOf(account, table, ['name', 'amount'])).toMatchObject(records)
  })

  test('resolves users by address or id, and records by id, by title and id, or by a unique title', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const twins = [1, 2].map(() => as.rpc.records.create.mutate({ table_id: table.other, data: { name: 'Twin, "T"' } }))
    const [, second] = await Promise.all(twins)
    const file = [
      'user,multi_user,lookup,multi_lookup',
      `${account.member.email.toUpperCase()},"${account.viewer.id}, ${account.owner.email}",Target,"Target (${table.target}), ""Twin, """"T"""" (${second?.id})"""`,
    ]
    expect((await importCsv(account.member, table.id, file.join('\n'))).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect((await rowsOf(account, table.id))[0]).toMatchObject({
      user: { id: account.member.id },
      multi_user: [{ id: account.viewer.id }, { id: account.owner.id }],
      lookup: { id: table.target },
      multi_lookup: [{ id: table.target }, { id: second?.id }],
    })
    const wrong = `lookup,user\n"Twin, ""T""",\nTarget (999),\n999999,\nNo one,nobody@example.com\n`
    expect((await importCsv(account.member, table.id, wrong)).body.issues).toEqual([
      { row: 2, column: 'lookup', message: `several records of table ${table.other} have this title; use the id of one` },
      { row: 3, column: 'lookup', message: `there is no such record in table ${table.other}` },
      { row: 4, column: 'lookup', message: `there is no record 999999 in table ${table.other}` },
      { row: 5, column: 'lookup', message: `there is no such record in table ${table.other}` },
      { row: 5, column: 'user', message: 'nobody@example.com is not a member of this space' },
    ])
    expect(await countOf(table.id)).toBe(1)
  })

  test('reads none of the many records with an ambiguous title, looks up each title once, and uses the index on titles', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    await app.db.write(sql`
      insert into ${recordsOf(table.other)} (name, created_at, updated_at)
      select case when i % 2 = 0 then 'Acme' else 'N' || i end, now(), now() from generate_series(1, 20000) i
      union all select 'İstanbul', now(), now() union all select 'acme', now(), now() order by 1`)
    await app.db.write(sql`create index on ${recordsOf(table.other)} (lower(name) nulls first, id)`)
    await app.db.write(sql`analyze ${recordsOf(table.other)}`)
    const asked: { rows: number; plan: string }[] = []
    const read: typeof app.db.read = async (statement) => {
      const plan = await app.db.read<Record<string, string>>(sql`explain ${statement}`)
      const rows = await app.db.read(statement)
      asked.push({ rows: rows.length, plan: plan.map((line) => Object.values(line)[0]).join('\n') })
      return rows as never
    }
    const lookup = (await tableDefinitions(app.db, [table.id])).get(table.id)?.fields.find(({ id }) => id === 'lookup') ?? null
    const namedBy = namedRecords({ records: () => ({ ...app.db, read }) }, [null, lookup])
    const rows = ['Acme', 'acme', 'İstanbul', 'istanbul', 'N7', `Target (${table.target})`].map((name) => ({ cells: ['x', name] }))
    const first = (await namedBy(rows)).get(table.other)
    expect(first?.titles).toEqual(new Map([[table.target, 'Target']]))
    expect(['Acme', 'acme', 'İstanbul', 'N7', 'istanbul'].map((name) => first?.ids.get(name)?.length)).toEqual([2, 1, 1, 1, 0])
    expect(asked.map((one) => one.rows)).toEqual([1, 4])
    for (const { plan } of asked) expect(plan).not.toContain('Seq Scan')
    const second = (await namedBy(rows.slice(0, 5))).get(table.other)
    expect([...(second?.ids ?? [])]).toEqual([...(first?.ids ?? [])].slice(0, 5))
    expect(asked).toHaveLength(2)
    const file = `lookup\nN7\n${'acme\n'.repeat(1_500)}`
    expect((await importCsv(account.member, table.id, file)).body).toEqual({ created: 1_501, change_id: expect.any(Number) })
  })

  test('creates no record if a cell is wrong, in the first row or the last of thousands, and reports a hundred errors', async () => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Amount', type: 'number' }])
    const good = Array.from({ length: 2_500 }, (_, index) => `N${index},${index}`)
    const late = await importCsv(account.member, table, ['Name,Amount', ...good, 'x,ten'].join('\n'))
    expect(late.status).toBe(400)
    expect(late.body).toMatchObject({
      message: 'row 2502, Amount: must be a number',
      code: 'BAD_REQUEST',
      issues: [{ row: 2_502, column: 'Amount', message: 'must be a number' }],
    })
    const many = await importCsv(account.member, table, ['Name,Amount', ...good.map(() => 'x,ten'), 'a,b,c'].join('\n'))
    expect(many.body.issues.map(({ row }: { row: number }) => row)).toEqual(Array.from({ length: 100 }, (_, index) => index + 2))
    expect(await countOf(table)).toBe(0)
    expect(await stagingOf(table)).toEqual({ name: null })
    const refused = await importCsv(account.member, table, 'Name,Amount\na\nb,1,2\n\u0000,1\n')
    expect(refused.body.issues).toEqual([
      { row: 3, column: null, message: 'has 3 cells, the header has 2' },
      { row: 4, column: 'Name', message: 'must not contain NUL' },
    ])
  })

  test('reports a row by the line of the file where it begins', async () => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Amount', type: 'number' }])
    const message = 'must be a number'
    const issuesOf = async (file: string) => (await importCsv(account.member, table, file)).body.issues
    expect(await issuesOf('name,amount\n\n\n\nx,abc')).toEqual([{ row: 5, column: 'amount', message }])
    expect(await issuesOf('name,amount\r\n"two\r\nlines",1\r\n"three\n\nlines",abc\r\nx,abc\r\n')).toEqual([
      { row: 4, column: 'amount', message },
      { row: 7, column: 'amount', message },
    ])
    const many = 'x,1\n\n'.repeat(2_500)
    expect(await issuesOf(`name,amount\n${many}x,abc\n`)).toEqual([{ row: 5_002, column: 'amount', message }])
    expect(await issuesOf('\n\nname,nope\n')).toEqual([{ row: 3, column: 'nope', message: "'nope' is not a field of this table" }])
    expect(await issuesOf('name,amount\n\n"x')).toEqual([{ row: 3, column: null, message: 'a quote is not closed' }])
  })

  test.each<[string, string, object[]]>([
    [
      'unknown columns',
      'Name,Nope,\nx,y,z',
      [
        { row: 1, column: 'Nope', message: "'Nope' is not a field of this table" },
        { row: 1, column: null, message: 'column 3 has no name' },
      ],
    ],
    [
      'a repeated column',
      'Name,name\nx,y',
      [
        { row: 1, column: 'name', message: 'is listed twice' },
        { row: 1, column: 'stage', message: 'is required' },
      ],
    ],
    ['no column that can be written', 'ID,Created at\n1,2', [{ row: 1, column: 'stage', message: 'is required' }]],
    ['an unclosed quote', 'Name,Stage\n"x,Lead\n', [{ row: 2, column: null, message: 'a quote is not closed' }]],
    [
      'a quote within a cell in quotes',
      'Name,Stage\nx,Lead\n"a"b",Lead\n',
      [{ row: 3, column: null, message: 'unexpected quote; enclose the cell in quotes and double the quotes within it' }],
    ],
    ['an empty required cell', 'Name,Stage\nx,\n', [{ row: 2, column: 'Stage', message: 'is required' }]],
    ['an unknown option', 'Stage\nlead\n', [{ row: 2, column: 'Stage', message: 'unknown option "lead"' }]],
  ])('is refused with %s', async (_, file, issues) => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Stage', type: 'select', options: ['Lead', 'Won'], required: true }])
    const answer = await importCsv(account.member, table, file)
    expect(answer.status).toBe(400)
    expect(answer.body.issues.slice(0, 2)).toEqual(issues)
    expect(await countOf(table)).toBe(0)
  })

  test('is read as windows-1252 if it is not UTF-8, whatever the request says and however it arrives', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    const file = Buffer.from('Name\nM\xfcller \x80\n', 'latin1')
    for (const type of ['text/csv', 'text/csv; charset=windows-1252', 'text/csv; charset=ISO-8859-1'])
      expect((await importCsv(account.member, table, file, { 'content-type': type })).body).toEqual({
        created: 1,
        change_id: expect.any(Number),
      })
    const trickled = new ReadableStream({
      start(body) {
        for (const byte of file) body.enqueue(Uint8Array.of(byte))
        body.close()
      },
    })
    const sent = { method: 'POST', headers: { 'content-type': 'text/csv' }, body: trickled, duplex: 'half' } as RequestInit
    expect((await app.as(account.member).send(`/api/table/${table}/import`, sent)).body).toEqual({
      created: 1,
      change_id: expect.any(Number),
    })
    expect((await rowsOf(account, table)).map(({ name }: { name: string }) => name)).toEqual(Array(4).fill('Müller €'))
  })

  test('is refused when it is empty, not text, not of a CSV type, compressed or too large, or has too large a row', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    const refused = async (body: string | Buffer, headers: Record<string, string> = {}) => {
      const { status, body: told } = await importCsv(account.member, table, body, headers)
      return `${status} ${told.message}`
    }
    expect(await refused('')).toBe('400 The file is empty: its first row must name the fields')
    expect(await refused(Buffer.from('Name\n\xe9\x81', 'latin1'))).toBe('400 The file is not valid UTF-8 or windows-1252')
    expect(await refused(Buffer.from('\uFEFFName\nx', 'utf16le').subarray(0, -1))).toBe('400 The file is not valid UTF-16')
    for (const [headers, sent] of [
      [{ 'content-type': 'application/json' }, 'application/json'],
      [{ 'content-type': 'text/csv; charset=ebcdic' }, 'text/csv; charset=ebcdic'],
      [{ 'content-encoding': 'gzip' }, 'text/csv with the Content-Encoding gzip'],
    ] as const)
      expect(await refused('Name\nx', headers)).toBe(
        `415 The body must be text/csv in an encoding that is known, not compressed; ${sent} was sent`,
      )
    expect(await refused(`Name\n${'x'.repeat(11 * 1_048_576)}`)).toBe('400 row 2: is larger than 10 MB')
    expect(await refused(`Name\n${'x\n'.repeat(7 * 1_048_576)}`)).toBe('413 The file is larger than 12 MB')
    expect(await refused(',Name\nx,y')).toBe('400 row 1: column 1 has no name')
    const long = `Name\n${'x'.repeat(501)}`
    expect(await refused(long)).toBe('400 row 2, Name: must have at most 500 characters')
    const wide = Array.from({ length: 301 }, (_, index) => `c${index}`).join(',')
    expect(await refused(`${wide}\n`)).toBe("400 row 1, c0: 'c0' is not a field of this table")
    expect(await countOf(table)).toBe(0)
  })

  test('is allowed for writers, and a column that only admins write is allowed for admins', async () => {
    const account = await app.account()
    const table = await tableOf(account, [TEXT, { name: 'Score', type: 'number', admin_only: true, required: true }])
    const file = 'Name,Score\nx,1\n'
    const statusOf = async (caller: Caller, body = file) => (await importCsv(caller, table, body)).status
    expect(await statusOf(null)).toBe(401)
    expect(await statusOf(account.viewer)).toBe(403)
    expect(await statusOf(account.keys.personalViewer)).toBe(403)
    expect((await importCsv(account.keys.accountReadOnly, table, file)).body.message).toBe('API key is read-only')
    expect(await statusOf(account.keys.accountOtherSpace)).toBe(403)
    expect(await statusOf(account.keys.accountOutsider)).toBe(404)
    expect(await statusOf(account.member)).toBe(403)
    expect(await statusOf(account.member, 'Name\nx\n')).toBe(200)
    expect(await statusOf(account.admin, 'Name\nx\n')).toBe(400)
    expect(await statusOf(account.admin)).toBe(200)
    const keyed = await importCsv(account.admin, table, file, { 'idempotency-key': 'once' })
    expect(keyed.headers.get('x-ignored')).toBe('Idempotency-Key')
    const crossSite = await importCsv(account.admin, table, file, { 'sec-fetch-site': 'cross-site' })
    expect(crossSite.status).toBe(403)
  })
})

describe('while a file is sent', () => {
  /** An import whose file is sent in parts; `answer` comes once it is ended, or fails when it is broken off. */
  function sending(account: TestAccount, table: number, { key = account.keys.account, query = '' } = {}) {
    const { promise: answer, resolve, reject } = Promise.withResolvers<{ status: number | undefined; text: string }>()
    const outgoing = request(`${app.url}/api/table/${table}/import${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
    })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      response.on('data', (part) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode, text }))
    })
    return { outgoing, answer }
  }
  /** Sends more than a thousand rows, so that the first of them are staged. */
  const START = `Name\n${'x\n'.repeat(1_200)}`
  const isStaged = (table: number) => async () => (await stagingOf(table))?.name !== null
  const begun = (table: number) => until(isStaged(table), 'for the first rows to be staged')

  test('its records are invisible, other records can be created, and a second file is refused', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    const { outgoing, answer } = sending(account, table)
    outgoing.write(START)
    await begun(table)
    expect(await countOf(table)).toBe(0)
    const second = await importCsv(account.member, table, 'Name\ny\n')
    expect([second.status, second.body.message]).toEqual([409, 'Another import into this table is running'])
    expect((await app.as(account.member).post(`/api/table/${table}/records/create`, { data: { name: 'y' } })).status).toBe(200)
    await sweepStaging(systemContext(app.deps))
    expect(await isStaged(table)()).toBe(true)
    // A view is no field: the import goes on.
    await app.as(account.owner).post(`/api/table/${table}/views/create`, { name: 'New', type: 'grid', config: {} })
    outgoing.end('z\n')
    expect(await answer).toEqual({ status: 200, text: expect.stringMatching(/^\{"created":1201,"change_id":\d+\}$/) })
    expect(await countOf(table)).toBe(1_202)
  })

  test('one that has published its records, and only tidies up, does not refuse the next one', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    const release = await taskSupport(app).holding(sql`select pg_advisory_xact_lock(${0x637376}::int, ${table}::int)`)
    const next = importCsv(account.member, table, 'Name\ny\n')
    const looks = () => app.db.read(sql`select from pg_stat_activity where query like '%pg_try_advisory_lock%' and pid <> pg_backend_pid()`)
    await until(async () => (await looks()).length > 0, 'for the next import to find the lock')
    await release()
    expect((await next).body).toEqual({ created: 1, change_id: expect.any(Number) })
  })

  test('a change of the fields or a deletion of the table is answered, and nothing is left behind', async () => {
    const account = await app.account()
    const as = app.as(account.owner)
    const changes: [(table: number) => Promise<unknown>, number][] = [
      [(table) => as.post(`/api/table/${table}/fields/create`, { name: 'Late', type: 'text', required: true }), 409],
      [(table) => as.post(`/api/table/${table}/field/other/delete`), 409],
      [(table) => as.post(`/api/table/${table}/delete`), 404],
    ]
    for (const [change, status] of changes) {
      const table = await tableOf(account, [TEXT, { name: 'Other', type: 'text' }], `Changed ${status} ${Math.random()}`)
      const { outgoing, answer } = sending(account, table)
      outgoing.write(START)
      await begun(table)
      await change(table)
      outgoing.end()
      expect((await answer).status).toBe(status)
      expect(await countOf(table)).toBe(0)
      expect(await stagingOf(table)).toEqual({ name: null })
    }
  })

  test('its sender may lose the right to write, and has then imported nothing', async () => {
    const account = await app.account()
    const isUsed = (key: string) => async () =>
      (await app.db.read(sql`select from api_keys where token_hash = ${tokenHash(key)} and last_used_at is not null`)).length > 0
    const asMember = (role: string) => `/api/space/${account.space}/member/${account.member.id}/${role}`
    const asOwner = app.as(account.owner)
    const losses: [(key: string) => Promise<unknown>, number, string][] = [
      [(key) => app.db.write(sql`delete from api_keys where token_hash = ${tokenHash(key)}`), 401, 'The API key is not valid'],
      [(key) => app.db.write(sql`update api_keys set read_only = true where token_hash = ${tokenHash(key)}`), 403, 'API key is read-only'],
      [() => asOwner.post(asMember('update'), { role: 'viewer' }), 403, 'Not authorized'],
      [() => asOwner.post(asMember('remove')), 403, 'Not authorized'],
    ]
    for (const [lose, status, message] of losses)
      for (const query of ['', '?async=true']) {
        await app.db.write(sql`
          insert into space_members (space_id, user_id, account_id, role) values (${account.space}, ${account.member.id}, ${account.id}, 'member')
          on conflict (space_id, user_id) do update set role = 'member'`)
        const table = await tableOf(account, [TEXT], `Lost ${message} ${status} ${Math.random()}`)
        const key = await account.keyOf({ accountId: account.id, userId: account.member.id }, { kind: 'personal' })
        const { outgoing, answer } = sending(account, table, { key, query })
        outgoing.write(START)
        await (query ? until(isUsed(key), 'for the answer to be under way') : begun(table))
        await lose(key)
        outgoing.end('z\n')
        const { status: refused, text } = await answer
        expect([refused, JSON.parse(text).message]).toEqual([status, message])
        expect(await countOf(table)).toBe(0)
        expect(await stagingOf(table)).toEqual({ name: null })
      }
    expect(await app.db.read(sql`select from record_imports where account_id = ${account.id}`)).toEqual([])
    expect(await app.db.read(sql`select from audit_entries where account_id = ${account.id} and action = 'records.imported'`)).toEqual([])
  })

  test('a client that disconnects has imported nothing, and the next import may begin at once', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    const { outgoing, answer } = sending(account, table)
    outgoing.write(START)
    await begun(table)
    outgoing.destroy()
    await expect(answer).rejects.toThrow()
    await expect.poll(isStaged(table)).toBe(false)
    await expect.poll(async () => (await importCsv(account.member, table, 'Name\ny\n')).status).toBe(200)
    expect(await countOf(table)).toBe(1)
  })

  test('an account sends at most four files at once, because each of them holds a connection', async () => {
    const [account, other] = [await app.account(), await app.account()]
    const tables = await Promise.all(Array.from({ length: 5 }, (_, index) => tableOf(account, [TEXT], `Held ${index}`)))
    const sent = tables.slice(1).map((table) => sending(account, table))
    for (const { outgoing, answer } of sent) {
      outgoing.write(START)
      answer.catch(() => {})
    }
    await Promise.all(tables.slice(1).map(begun))
    const { status, body, headers } = await importCsv(account.member, tables[0] as number, 'Name\ny\n')
    expect([status, body.message, headers.get('retry-after')]).toEqual([503, 'The account sends 4 files at once; retry', '5'])
    expect((await importCsv(other.member, await tableOf(other), 'Name\ny\n')).status).toBe(200)
    for (const { outgoing } of sent) outgoing.end()
    await Promise.all(sent.map(async ({ answer }) => expect((await answer).status).toBe(200)))
    expect((await importCsv(account.member, tables[0] as number, 'Name\ny\n')).status).toBe(200)
  })

  test('the staged rows of a crashed process are swept', async () => {
    const account = await app.account()
    const table = await tableOf(account)
    await app.db.write({ text: `create unlogged table "t${table}"."import" ("#" int)`, values: [] } as never)
    await sweepStaging(systemContext(app.deps))
    expect(await stagingOf(table)).toEqual({ name: null })
  })
})
