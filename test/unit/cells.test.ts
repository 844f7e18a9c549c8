import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Cell } from '../../src/fields/cell.ts'
import { roundedDecimal } from '../../src/fields/decimal.ts'
import { type FieldDef, parseCell } from '../../src/fields/definition.ts'
import type { FieldType } from '../../src/fields/registry.ts'

const field = (type: FieldType, more: Partial<FieldDef> = {}): FieldDef => ({
  id: type,
  name: type,
  type,
  required: false,
  always_hidden: false,
  admin_only: false,
  options: [
    { id: 1, title: 'Open' },
    { id: 4, title: 'Done' },
  ],
  option_colors: {},
  removed_options: [],
  is_rounding: false,
  narrowing: null,
  decimals: null,
  lookup_table_id: 9,
  key: false,
  calc: false,
  is_normalized: true,
  version: 1,
  ...more,
})
const ME = 7
const kept = (type: FieldType, value: unknown, more?: Partial<FieldDef>) => parseCell(field(type, more), value, ME)

describe('a cell', () => {
  const cases: [FieldType, unknown, Cell][] = [
    ['text', 'Acme', 'Acme'],
    ['text', ' spaces stay ', ' spaces stay '],
    ['text', '', null],
    ['text', 'x'.repeat(500), 'x'.repeat(500)],
    ['url', 'u'.repeat(2_000), 'u'.repeat(2_000)],
    ['long_text', 'l'.repeat(100_000), 'l'.repeat(100_000)],
    ['email', 'not checked', 'not checked'],
    ['phone', '', null],
    ['number', 12, '12'],
    ['number', '12.50', '12.5'],
    ['number', 0, '0'],
    ['checkbox', false, false],
    ['checkbox', true, true],
    ['date', '2024-02-29', '2024-02-29'],
    ['datetime', '2026-03-31 09:30:00', '2026-03-31 09:30:00'],
    ['datetime', '2026-03-31 09:30', '2026-03-31 09:30:00'],
    ['datetime', '2026-03-31T09:30:00.999+02:00', '2026-03-31 07:30:00'],
    ['datetime', '2026-01-01T00:00:00+14:00', '2025-12-31 10:00:00'],
    ['time', '09:30', '09:30:00'],
    ['time', '23:59:59', '23:59:59'],
    ['select', 'Done', 4],
    ['multi_select', ['Done', 'Open', 'Done'], [4, 1]],
    ['multi_select', [], null],
    ['multi_user', [], null],
    ['multi_lookup', [], null],
    ['file', [], null],
  ]
  test.each(cases)('of type %s takes %j', (type, value, cell) => {
    expect(kept(type, value)).toEqual({ kind: 'cell', cell })
  })

  test.each(cases)('of type %s is empty for null', (type) => {
    expect(kept(type, null)).toEqual({ kind: 'cell', cell: null })
  })

  test.each<[FieldType, unknown]>([
    ['text', 1],
    ['text', ['a']],
    ['text', 'x'.repeat(501)],
    ['url', 'u'.repeat(2_001)],
    ['long_text', 'l'.repeat(100_001)],
    ['number', ''],
    ['number', 'twelve'],
    ['number', '1,5'],
    ['number', '0x10'],
    ['number', 'NaN'],
    ['number', true],
    ['number', 1_000_000_000_000_001],
    ['number', '1e400'],
    ['checkbox', 'true'],
    ['checkbox', 1],
    ['date', '2026-02-30'],
    ['date', '2026-03-31 09:30:00'],
    ['date', 'today'],
    ['date', 20260331],
    ['datetime', '2026-03-31'],
    ['datetime', '2026-03-31 25:00:00'],
    ['datetime', 1774949400],
    ['time', '9:30'],
    ['time', '24:00'],
    ['select', 'done'],
    ['select', ''],
    ['select', 4],
    ['select', ['Done']],
    ['multi_select', 'Done'],
    ['multi_select', ['Done', 'Lost']],
    ['multi_select', [4]],
    ['user', ''],
    ['user', 1.5],
    ['user', {}],
    ['user', ['@me']],
    ['multi_user', '@me'],
    ['multi_user', [null]],
    ['lookup', '12'],
    ['lookup', {}],
    ['lookup', [12]],
    ['multi_lookup', 12],
    ['multi_lookup', [{ title: 'x' }]],
    ['file', 'path'],
    ['file', ['path']],
    ['file', [{ path: '' }]],
    ['file', { path: 'p' }],
    ['multi_lookup', Array.from({ length: 1_001 }, (_, index) => index + 1)],
  ])('of type %s refuses %j', (type, value) => {
    expect(kept(type, value)).toEqual({ kind: 'wrong', reason: expect.any(String) })
  })

  test.each<[FieldType, unknown, object]>([
    ['user', '@me', { kind: 'users', users: [ME] }],
    ['user', 12, { kind: 'users', users: [12] }],
    ['user', ' Ann@Example.com ', { kind: 'users', users: ['ann@example.com'] }],
    ['user', { id: 3, email: 'ann@example.com', name: 'Ann' }, { kind: 'users', users: [3] }],
    ['user', { email: 'Ann@example.com' }, { kind: 'users', users: ['ann@example.com'] }],
    ['multi_user', ['@me', ME, { id: 3 }], { kind: 'users', users: [ME, 3] }],
    ['lookup', 5, { kind: 'records', ids: [5] }],
    ['lookup', { id: 5, title: 'Acme' }, { kind: 'records', ids: [5] }],
    ['multi_lookup', [5, { id: 5 }, 2], { kind: 'records', ids: [5, 2] }],
    ['file', [{ path: '1-2-a', name: 'forged' }], { kind: 'files', paths: ['1-2-a'] }],
  ])('of type %s with %j refers to the users, records or files to look up', (type, value, parsed) => {
    expect(kept(type, value)).toEqual(parsed)
  })

  test('accepts or refuses a value of any form without an exception', () => {
    fc.assert(
      fc.property(fc.constantFrom(...new Set(cases.map(([type]) => type))), fc.jsonValue(), (type, value) => {
        expect(['cell', 'wrong', 'users', 'records', 'files']).toContain(kept(type, value).kind)
      }),
    )
  })

  test('reads own properties only', () => {
    expect(kept('lookup', Object.create({ id: 5 })).kind).toBe('wrong')
    expect(kept('user', JSON.parse('{"__proto__": {"id": 5}}')).kind).toBe('wrong')
  })
})

describe('a decimal number', () => {
  test.each([
    ['1.005', 2, '1.01'],
    ['-1.005', 2, '-1.01'],
    ['2.5', 0, '3'],
    ['-2.5', 0, '-3'],
    ['0.5', 0, '1'],
    ['0.49999999', 0, '0'],
    ['-0.4', 0, '0'],
    ['-0', 2, '0'],
    ['1e3', 2, '1000'],
    ['1.5E-3', 3, '0.002'],
    ['1e-300', 2, '0'],
    ['0e99', 2, '0'],
    ['.5', null, '0.5'],
    ['5.', null, '5'],
    ['+7', null, '7'],
    [' 7 ', null, '7'],
    ['007.10', null, '7.1'],
    ['0.123456789', null, '0.12345679'],
    ['999999999999999.99', 1, '1000000000000000'],
    ['1000000000000000', 8, '1000000000000000'],
    ['-1000000000000000', 0, '-1000000000000000'],
    ['9.995', 2, '10'],
    ['0.1', 2, '0.1'],
  ])('%s to %s digits is %s', (text, decimals, rounded) => {
    expect(roundedDecimal(text, decimals)).toEqual({ text: rounded })
  })

  test.each(['', '.', '-', 'e5', '1e', '1 000', '1_000', '١', 'Infinity', '1e9999'])('%j is malformed', (text) => {
    expect(roundedDecimal(text, 2)).toBe('malformed')
  })

  test.each(['1000000000000001', '-1000000000000000.1', '1e16', '1e999', '9'.repeat(5_000)])('%s is out of range', (text) => {
    expect(roundedDecimal(text, 2)).toBe('out of range')
  })

  test('is within half of the last digit, and does not change when it is rounded again', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e14, max: 1e14, noNaN: true }), fc.integer({ min: 0, max: 8 }), (value, decimals) => {
        const rounded = roundedDecimal(String(value), decimals)
        if (typeof rounded === 'string') throw new Error(rounded)
        expect(Math.abs(Number(rounded.text) - value)).toBeLessThanOrEqual(0.5 * 10 ** -decimals + Math.abs(value) * 1e-15)
        expect(roundedDecimal(rounded.text, decimals)).toEqual(rounded)
      }),
    )
  })
})

describe('options', () => {
  test.each(['select', 'multi_select'] as const)('of a %s field are read once, however many cells name them', (type) => {
    let reads = 0
    const options = Array.from({ length: 500 }, (_, index) => ({
      id: index + 1,
      get title() {
        reads++
        return `Option ${index}`
      },
    }))
    const many = field(type, { options })
    const value = type === 'select' ? 'Option 499' : Array(1_000).fill('Option 499')
    for (let cell = 0; cell < 100; cell++)
      expect(parseCell(many, value, ME)).toEqual({ kind: 'cell', cell: type === 'select' ? 500 : [500] })
    expect(reads).toBe(500)
  })
})
