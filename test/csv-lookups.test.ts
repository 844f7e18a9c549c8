/** A number in a column of lookups may be a title or an id, in files and in changes of a type. */
import { beforeAll, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)

const TITLES = ['Acme', '2024', '3', 'Twin', '77', '77', '7', null, '12345678901', '007', 'x (2)', '999', '']
/** The ids of the records, by their titles; the last one of a title counts. */
const IDS = new Map(TITLES.map((title, index) => [title, index + 1]))

let linked: TestTable
let untitled: TestTable
beforeAll(async () => {
  linked = await makeTable(app, account, { records: TITLES.map((name) => ({ name })) })
  const amounts = Array.from({ length: 5 }, (_, amount) => ({ amount }))
  untitled = await makeTable(app, account, { fields: [{ name: 'Amount', type: 'number' }], records: amounts })
})

const pointing = (type: 'lookup' | 'multi_lookup', table: number, records: object[] = []) =>
  makeTable(app, account, { fields: [{ name: 'Link', type, table }], records })
const importCsv = (table: number, body: string) =>
  as.send(`/api/table/${table}/import`, { method: 'POST', body, headers: { 'content-type': 'text/csv' } })
const linksOf = async ({ path }: TestTable) =>
  (await as.post(`${path}/records/query`, {})).body.map(({ link, cell = link }: { link: unknown; cell: unknown }) => cell)

/** A number, and the id of the record that it names; or a part of the reason why it names none. */
const NUMBERS: [string, number | string][] = [
  ['5', 5],
  ['2024', 2],
  ['1', 1],
  ['3', 3],
  ['7', 7],
  ['8', 8],
  ['999', 12],
  ['007', 'is ambiguous: it may mean "7 (7)" or "007 (10)"'],
  ['77', 'is ambiguous: it may mean "77 (5)" or "77 (6)"'],
  ['6', 6],
  ['888888', 'there is no record 888888'],
  ['12345678901', 9],
]

describe('a number', () => {
  test.each(NUMBERS)('%s in a file is the title of a record, or else its id', async (text, expected) => {
    for (const type of ['lookup', 'multi_lookup'] as const) {
      const table = await pointing(type, linked.id)
      const { status, body } = await importCsv(table.id, `link\n${text}\n`)
      if (typeof expected === 'string') {
        expect([status, body.issues[0].message]).toEqual([400, expect.stringContaining(expected)])
        expect(body.issues[0]).toMatchObject({ row: 2, column: 'link' })
      } else {
        expect(body).toEqual({ created: 1, change_id: expect.any(Number) })
        expect([(await linksOf(table)).flat()[0].id, type]).toEqual([expected, type])
      }
    }
  })

  test('that is the id of one record and the title of another is refused, in the first row or the last of thousands', async () => {
    const other = await makeTable(app, account, { records: ['Acme', '1', null, '3'].map((name) => ({ name })) })
    const table = await pointing('lookup', other.id)
    const message = 'is ambiguous: it may mean "Acme (1)" or "1 (2)"'
    const rows = 'Acme\n'.repeat(2_500)
    expect((await importCsv(table.id, `link\n${rows}1\n`)).body.issues).toEqual([{ row: 2_502, column: 'link', message }])
    const file = 'link\n3\n" (3)"\n3 (4)\nAcme (1)\n1 (2)\n'
    expect((await importCsv(table.id, file)).body.issues).toEqual([
      { row: 2, column: 'link', message: 'is ambiguous: it may mean " (3)" or "3 (4)"' },
    ])
    expect((await importCsv(table.id, file.replace('3\n', ''))).body).toEqual({ created: 4, change_id: expect.any(Number) })
    expect((await linksOf(table)).map(({ id }: { id: number }) => id)).toEqual([3, 4, 1, 2])
  })

  test('is an id in the API, whatever the titles are', async () => {
    const table = await pointing('lookup', linked.id)
    const { body } = await as.post(`${table.path}/records/create`, { data: { link: 2 } })
    expect(body.data.link).toEqual({ id: 2, title: '2024' })
    expect((await as.post(`${table.path}/records/create`, { data: { link: 2024 } })).status).toBe(400)
    const found = await as.post(`${table.path}/records/query`, { filters: [{ column: 'link', compare: '=', value: 2 }] })
    expect(found.body).toHaveLength(1)
  })

  test('in a table without titles is an id', async () => {
    const table = await pointing('multi_lookup', untitled.id)
    expect((await importCsv(table.id, 'link\n"4, "" (5)"""\n')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect((await linksOf(table))[0]).toEqual([
      { id: 4, title: null },
      { id: 5, title: null },
    ])
    expect((await importCsv(table.id, 'link\n""" (6)"""\n')).body.issues[0].message).toContain('there is no record 6')
    expect((await importCsv(table.id, 'link\nx (4)\n')).body.issues[0].message).toContain('there is no such record')
  })
})

test.each(['lookup', 'multi_lookup'] as const)('an import reads the %s of every record as an export wrote it', async (type) => {
  for (const target of [linked, untitled]) {
    const links = type === 'lookup' ? target.records : [target.records, ...target.records.map((id) => [id]), []]
    const from = await pointing(type, target.id, [...links.map((link) => ({ link })), {}])
    const to = await pointing(type, target.id)
    const { body } = await as.get(`${from.path}/export.csv`)
    expect((await importCsv(to.id, body)).body).toEqual({ created: links.length + 1, change_id: expect.any(Number) })
    expect(await linksOf(to)).toEqual(await linksOf(from))
  }
})

test('an export writes the id of a record without a title behind a blank', async () => {
  const from = await pointing('lookup', linked.id, [{ link: IDS.get(null) }])
  expect((await as.get(`${from.path}/export.csv`)).body.split('\r\n')[1]).toContain('" (8)"')
})

describe.each(['text', 'number'])('a change of %s to lookups', (type) => {
  const numbers = NUMBERS.filter(([text]) => type === 'text' || text !== '007')

  test.each(['lookup', 'multi_lookup'])('reads numbers as an import does: %s', async (to) => {
    const records = numbers.map(([text]) => ({ cell: text }))
    const table = await makeTable(app, account, { fields: [{ name: 'Cell', type }], records })
    const { body } = await as.post(`${table.path}/field/cell/changeType`, { type: to, table: linked.id, drop_failing: true })
    await runConversion(systemContext(app.deps), body.job_id)
    const failing = numbers.filter(([, expected]) => typeof expected === 'string')
    const job = (await as.get(`/api/job/${body.job_id}`)).body
    expect(job).toMatchObject({ state: 'done', failing: failing.length })
    expect(job.fails.map(({ value }: { value: string }) => value)).toEqual(failing.map(([text]) => text))
    const ids = (await linksOf(table)).map((cell: { id: number } | { id: number }[] | null) => [cell].flat()[0]?.id ?? null)
    expect(ids).toEqual(numbers.map(([, expected]) => (typeof expected === 'string' ? null : expected)))
  })
})
