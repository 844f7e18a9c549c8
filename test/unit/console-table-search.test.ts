/** What the address of a table says. */
import { expect, test } from 'vitest'
import { conditionsOf, tableSearch } from '../../console/src/grid/table-search.ts'

const condition = (value: string) => ({ column: 'name', compare: '!=', value })

test.each([
  ['nothing', {}, {}],
  ['a record', { record: '12' }, { record: 12 }],
  ['no record', { record: '-1' }, {}],
  ['conditions as the router reads them', { tried: { search: 'x' } }, { tried: '{"search":"x"}' }],
  ['conditions as text', { tried: '{"search":"x"}', record: 3 }, { tried: '{"search":"x"}', record: 3 }],
  ['conditions that were cut off on their way', { tried: '{"search":"x', record: 3 }, { record: 3, cut: true }],
  ['no object', { tried: '[1]' }, { cut: true }],
])('an address with %s', (_, raw, read) => {
  expect(tableSearch(raw)).toEqual(read)
})

test('of conditions with more than 4,000 characters those stay that fit, and it is said', () => {
  const all = Array.from({ length: 9 }, (_, index) => condition(`${index}`.repeat(600)))
  const order = [{ field: 'name' }]
  const read = tableSearch({ tried: JSON.stringify({ filter: { all }, search: 'x', order }), record: 3 })
  expect(read).toMatchObject({ cut: true, record: 3 })
  expect(read.tried?.length).toBeLessThanOrEqual(4_000)
  expect(conditionsOf(read)).toEqual({ search: 'x', order, filter: { all: all.slice(0, 6) } })
  expect(tableSearch({ tried: JSON.stringify({ filter: condition('x'.repeat(5_000)) }) })).toEqual({ cut: true })
  expect(tableSearch({ tried: JSON.stringify({ filters: all, search: 'x' }) })).toEqual({ tried: '{"search":"x"}', cut: true })
  expect(tableSearch({ tried: '{"search":"x"}', cut: true })).toEqual({ tried: '{"search":"x"}', cut: true })
})
