import { describe, expect, test } from 'vitest'
import { refuseCostlyJson } from '../../src/platform/http/bodies/json-limits.ts'

const list = (count: number, item: (index: number) => string) => Array.from({ length: count }, (_, index) => item(index)).join(',')
const object = (keys: number) => `{${list(keys, (index) => `"k${index}":1`)}}`
/** Bodies of less than 64 KB are parsed in any case. */
const padded = (json: string) => Buffer.from(json.padEnd(65_536))

describe('is accepted', () => {
  const fields = Array.from({ length: 300 }, (_, index) => [`field_${index}`, 'a text with "quotes", [brackets] and {braces}:']).slice(
    0,
    280,
  )
  test.each([
    ['a batch of 1,000 records of a wide table', JSON.stringify({ records: Array(600).fill({ data: Object.fromEntries(fields) }) })],
    ['10 MB of the shortest references', `[${list(1_165_000, () => '{"id":1}')}]`],
    ['10 MB of numbers', `[${list(5_000_000, () => '1')}]`],
    ['a long text of brackets and keys', JSON.stringify(['[{"a":'.repeat(1_000_000)])],
    ['a list of many texts with colons', JSON.stringify(Array.from({ length: 100_000 }, (_, index) => `"${index}":`))],
    ['2,000 different keys', object(2_000)],
    ['100 levels', `${'['.repeat(100)}${']'.repeat(100)}`],
    ['the same few keys, many times', `[${list(100_000, () => '{"name":"x","ty\\"pe":1}')}]`],
    ['a string that is not closed', '{"a'],
    ['nothing but a quote and a backslash', '"\\'],
  ])('%s', (_, json) => {
    expect(() => refuseCostlyJson(padded(json))).not.toThrow()
  })
})

describe('is refused', () => {
  test.each([
    ['many keys in one object', object(2_100), 'The body must have at most 2000 different keys'],
    ['many keys in many objects', `[${list(2_100, (index) => `{"k${index}" : 1}`)}]`, 'The body must have at most 2000 different keys'],
    ['101 levels', '['.repeat(101), 'The body must not be nested deeper than 100'],
    ['101 levels of objects', '{"a":'.repeat(101), 'The body must not be nested deeper than 100'],
    ['many objects', `[${list(1_200_000, () => '{}')}]`, 'The body must have at most 1200000 arrays and objects'],
  ])('%s', (_, json, message) => {
    expect(() => refuseCostlyJson(padded(json))).toThrow(message)
  })
})

test('takes as many keys as the caller says', () => {
  expect(() => refuseCostlyJson(padded(object(10_000)), 20_000)).not.toThrow()
  expect(() => refuseCostlyJson(padded(object(21_000)), 20_000)).toThrow('20000 different keys')
})
