/** Lists come back as they were after a way through text, whatever their values are. */
import { expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { joinList } from '../src/platform/writers/csv-format.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)

/** Titles that a list has to keep apart, with blanks and letters beyond ASCII. */
const TITLES = [
  'a',
  'b',
  'a, b',
  '"',
  '""',
  '"a"',
  'a"b',
  '"a, b',
  ',',
  ', ,',
  'line\nbreak',
  'x\u00a0y',
  'é',
  '😀, 😀',
  "'=1",
  '\\',
  '{a}',
  'a,b',
]
const LISTS = [
  TITLES,
  [...TITLES].reverse(),
  ...TITLES.map((title) => [title]),
  ...TITLES.map((title) => [title, 'a, b', '"'].filter((one, index, all) => all.indexOf(one) === index)),
  [],
]

async function change({ path }: TestTable, body: object): Promise<void> {
  const { body: started, status } = await as.post(`${path}/field/list/changeType`, body)
  expect(status, JSON.stringify(started)).toBe(200)
  await runConversion(systemContext(app.deps), started.job_id)
  expect((await as.get(`/api/job/${started.job_id}`)).body).toMatchObject({ state: 'done' })
}
const cellsOf = async ({ path }: TestTable) => (await as.post(`${path}/records/query`, {})).body.map(({ list }: { list: unknown }) => list)

test('options come back from a text, with and without the options in the request', async () => {
  const fields = [{ name: 'List', type: 'multi_select', options: TITLES }]
  const table = await makeTable(app, account, { fields, records: LISTS.map((list) => ({ list })) })
  await change(table, { type: 'long_text' })
  expect(await cellsOf(table)).toEqual(LISTS.map((list) => (list.length ? joinList(list) : null)))
  await change(table, { type: 'multi_select' })
  expect(await cellsOf(table)).toEqual(LISTS)
  await change(table, { type: 'long_text' })
  await change(table, { type: 'multi_select', options: TITLES })
  expect(await cellsOf(table)).toEqual(LISTS)
})

test('the text of a list is what an export writes and an import reads', async () => {
  const fields = [{ name: 'List', type: 'multi_select', options: TITLES }]
  const table = await makeTable(app, account, { fields, records: LISTS.map((list) => ({ list })) })
  const exported = (await as.get(`${table.path}/export.csv`)).body
  await change(table, { type: 'long_text' })
  const texts = await makeTable(app, account, { fields: [{ name: 'List', type: 'long_text' }] })
  const send = { method: 'POST', body: exported, headers: { 'content-type': 'text/csv' } }
  expect((await as.send(`${texts.path}/import`, send)).body).toEqual({ created: LISTS.length, change_id: expect.any(Number) })
  expect(await cellsOf(texts)).toEqual(await cellsOf(table))
})

test('titles of records are quoted where they have a comma', async () => {
  const people = await makeTable(app, account, { records: ['Doe, John', 'Eve', 'Eve', null].map((name) => ({ name })) })
  const records = [people.records, [people.records[1]], [people.records[0]], []].map((list) => ({ list }))
  const table = await makeTable(app, account, { fields: [{ name: 'List', type: 'multi_lookup', table: people.id }], records })
  await change(table, { type: 'text' })
  expect(await cellsOf(table)).toEqual(['"Doe, John", Eve, Eve, 4', 'Eve', '"Doe, John"', null])
})

test('a long text of quotes is read in time that grows with its length', async () => {
  const hostile = ['"'.repeat(99_999), '"a,""b,'.repeat(14_000), '",'.repeat(49_999), `"${'a,'.repeat(49_000)}`, `${' '.repeat(99_990)}"x`]
  const records = hostile.map((list) => ({ list }))
  const table = await makeTable(app, account, { fields: [{ name: 'List', type: 'long_text' }], records })
  await change(table, { type: 'multi_select', options: ['a'], drop_failing: true })
  expect(await cellsOf(table)).toEqual(hostile.map(() => []))
})
