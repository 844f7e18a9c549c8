/** What the console offers as another type of a field is what the service converts. */
import { expect, test } from 'vitest'
import { TYPES } from '../../console/src/manage/fields/field-draft.ts'
import { countedOf, typesAfter } from '../../console/src/manage/fields/type-changes.ts'
import { isConvertible } from '../../src/conversions/rules.ts'
import { FIELD_TYPES } from '../../src/fields/registry.ts'

test('the types of the console are those of the service', () => {
  expect([...TYPES].sort()).toEqual([...FIELD_TYPES].sort())
})

test.each(FIELD_TYPES)('a field of type %s can become what the service converts it to', (from) => {
  const [own, ...others] = typesAfter(from)
  expect(own).toBe(from)
  expect([...others].sort()).toEqual(FIELD_TYPES.filter((to) => isConvertible(from, to)).sort())
})

test('different values that do not fit are examples, five of them', () => {
  const fails = ['a', 'a', 'b', 'c', 'd', 'e', 'f'].map((value, at) => ({ record_id: at + 1, value }))
  const job = { state: 'done' as const, done: 9, total: 9, error: null, converts: 2, failing: 7, fails }
  expect(countedOf(job)).toEqual({ converts: 2, failing: 7, examples: ['a', 'b', 'c', 'd', 'e'] })
  expect(countedOf({ state: 'done', done: 0, total: 0, error: null })).toEqual({ converts: 0, failing: 0, examples: [] })
})
