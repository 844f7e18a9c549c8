import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CALC_FIELDS, type FieldDef, KEY_FIELD, type TableDef } from '../../src/fields/definition.ts'
import type { FieldType } from '../../src/fields/registry.ts'
import { readConfig, VIEW_TYPES, withoutFields } from '../../src/views/config.ts'

const field = (id: string, type: FieldType, more: Partial<FieldDef> = {}): FieldDef => ({
  ...KEY_FIELD,
  key: false,
  decimals: null,
  id,
  name: id,
  type,
  ...more,
})
const table: TableDef = {
  id: 1,
  space_id: 1,
  account_id: 1,
  name: 'Deals',
  version: 1,
  hasHistory: true,
  isConverting: false,
  fields: [
    KEY_FIELD,
    field('company', 'text'),
    field('secret', 'text', { always_hidden: true }),
    field('due', 'date'),
    field('hidden_due', 'date', { always_hidden: true }),
    field('starts_at', 'datetime'),
    field('stage', 'select', { options: [] }),
    field('hidden_stage', 'select', { options: [], always_hidden: true }),
    field('tags', 'multi_select', { options: [] }),
    field('photo', 'file'),
    field('hidden_photo', 'file', { always_hidden: true }),
    ...CALC_FIELDS,
  ],
}
const all = table.fields.map(({ id }) => id)
const paths = (type: (typeof VIEW_TYPES)[number], config: unknown) =>
  readConfig(type, config, table).issues.map(({ path }) => path.join('.'))

describe('a grid accepts any config', () => {
  test.each<[string, unknown, object]>([
    ['no config', undefined, { columns: [] }],
    ['null', null, { columns: [] }],
    ['a text', 'x', { columns: [] }],
    ['columns in order', { columns: ['due', 'company', 'id'] }, { columns: ['due', 'company', 'id'] }],
    ['unknown, hidden and repeated ids', { columns: ['due', 'gone', 'secret', 'due', 7, null] }, { columns: ['due'] }],
    ['columns that are not an array', { columns: 'due' }, { columns: [] }],
    ['hidden ids with showHidden', { columns: ['secret'], showHidden: true }, { columns: ['secret'], showHidden: true }],
    ['showHidden without columns: all of them, written out', { showHidden: true }, { columns: all, showHidden: true }],
    ['showHidden with none that exist', { columns: ['gone'], showHidden: true }, { columns: all, showHidden: true }],
    ['showHidden false is omitted', { columns: ['due'], showHidden: false }, { columns: ['due'] }],
    ['showHidden that is not a boolean is omitted', { columns: ['secret'], showHidden: 'true' }, { columns: [] }],
    [
      'widths of fields that may be shown',
      { columns: [], widths: { due: 120, secret: 80, gone: 50, company: '9', stage: -4, starts_at: Number.POSITIVE_INFINITY } },
      { columns: [], widths: { due: 120 } },
    ],
    [
      'widths of hidden fields with showHidden',
      { columns: ['secret'], widths: { secret: 80 }, showHidden: true },
      { columns: ['secret'], widths: { secret: 80 }, showHidden: true },
    ],
    ['unknown keys', { columns: ['due'], rowHeight: 3, constructor: 1 }, { columns: ['due'] }],
  ])('%s', (_, sent, kept) => {
    expect(readConfig('grid', sent, table)).toMatchObject({ config: kept, issues: [] })
    expect(readConfig('grid', sent, table).config).toEqual(kept)
  })

  test('for any input', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (sent) => {
        const { config, issues } = readConfig('grid', sent, table)
        expect(issues).toEqual([])
        // The stored config does not change when it is saved again.
        expect(readConfig('grid', config, table).config).toEqual(config)
      }),
      { seed: 20261120 },
    )
  })

  test('and names the omitted properties', () => {
    expect(readConfig('grid', { columns: ['due', 'gone'], widths: { secret: 1 }, other: 1 }, table).dropped).toEqual([
      'config.other',
      'config.columns.1',
      'config.widths.secret',
    ])
  })
})

describe('a calendar', () => {
  test('needs a date to start from; mode and weekStart have defaults', () => {
    expect(readConfig('calendar', { startField: 'due' }, table).config).toEqual({ startField: 'due', mode: 'month', weekStart: 'monday' })
    expect(paths('calendar', {})).toEqual(['config.startField'])
    expect(paths('calendar', undefined)).toEqual(['config.startField'])
    expect(paths('calendar', 'x')).toEqual(['config'])
  })

  test('accepts every known key, and omits null', () => {
    const config = {
      startField: 'due',
      endField: 'starts_at',
      colorField: 'tags',
      secondaryField: 'company',
      mode: 'week',
      weekStart: 'sunday',
    }
    expect(readConfig('calendar', config, table)).toEqual({ config, issues: [], dropped: [] })
    expect(readConfig('calendar', { startField: 'created_at', endField: null, colorField: null }, table).config).toEqual({
      startField: 'created_at',
      mode: 'month',
      weekStart: 'monday',
    })
  })

  test.each<[string, object, string[]]>([
    ['a start that is not a date', { startField: 'company' }, ['config.startField']],
    ['an always-hidden start, with or without showHidden', { startField: 'hidden_due', showHidden: true }, ['config.startField']],
    ['an unknown start', { startField: 'gone' }, ['config.startField']],
    ['an end that is not a date', { startField: 'due', endField: 'stage' }, ['config.endField']],
    ['a colour that is not a select', { startField: 'due', colorField: 'company' }, ['config.colorField']],
    ['an always-hidden colour', { startField: 'due', colorField: 'hidden_stage' }, ['config.colorField']],
    ['an unknown mode and week', { startField: 'due', mode: 'year', weekStart: 'friday' }, ['config.mode', 'config.weekStart']],
    ['an unknown key', { startField: 'due', columns: [] }, ['config.columns']],
    ['a field that is not a text', { startField: 7 }, ['config.startField']],
  ])('refuses %s', (_, config, expected) => {
    expect(paths('calendar', config)).toEqual(expected)
  })

  test('never stores showHidden, and so shows no hidden field', () => {
    const { config, dropped } = readConfig('calendar', { startField: 'due', secondaryField: 'secret', showHidden: true }, table)
    expect(config).toEqual({ startField: 'due', mode: 'month', weekStart: 'monday' })
    expect(dropped).toEqual(['config.showHidden', 'config.secondaryField'])
  })
})

describe.each([
  { type: 'gallery', key: 'imageField', good: 'photo', hidden: 'hidden_photo', wrong: 'company' },
  { type: 'kanban', key: 'categoryField', good: 'stage', hidden: 'hidden_stage', wrong: 'tags' },
] as const)('a $type', ({ type, key, good, hidden, wrong }) => {
  test('needs its field', () => {
    expect(paths(type, {})).toEqual([`config.${key}`])
    expect(paths(type, { [key]: wrong })).toEqual([`config.${key}`])
    expect(paths(type, { [key]: hidden, showHidden: true })).toEqual([`config.${key}`])
    expect(readConfig(type, { [key]: good }, table).config).toEqual({ [key]: good })
  })

  test('shows an always-hidden second field only with showHidden', () => {
    expect(readConfig(type, { [key]: good, secondaryField: 'secret' }, table)).toEqual({
      config: { [key]: good },
      issues: [],
      dropped: ['config.secondaryField'],
    })
    const config = { [key]: good, secondaryField: 'secret', showHidden: true }
    expect(readConfig(type, config, table).config).toEqual(config)
    expect(readConfig(type, { [key]: good, showHidden: false }, table).config).toEqual({ [key]: good })
  })

  test('refuses an unknown second field, unknown keys and an invalid showHidden', () => {
    expect(paths(type, { [key]: good, secondaryField: 'gone' })).toEqual(['config.secondaryField'])
    expect(paths(type, { [key]: good, mode: 'month' })).toEqual(['config.mode'])
    expect(paths(type, { [key]: good, showHidden: 1 })).toEqual(['config.showHidden'])
  })
})

test('a deleted field is dropped from the properties that only display it', () => {
  expect(withoutFields({ columns: ['due', 'company'], widths: { due: 9 } }, (id) => id === 'due', table)).toEqual({ columns: ['company'] })
  expect(withoutFields({ columns: ['company'], widths: { due: 9, company: 8 } }, (id) => id === 'due', table)).toEqual({
    columns: ['company'],
    widths: { company: 8 },
  })
  expect(withoutFields({ imageField: 'photo', secondaryField: 'company' }, (id) => id === 'company', table)).toEqual({
    imageField: 'photo',
  })
})

test('no type of view fails on any input', () => {
  fc.assert(
    fc.property(fc.constantFrom(...VIEW_TYPES), fc.jsonValue(), (type, sent) => {
      readConfig(type, sent, table)
    }),
    { seed: 20261120 },
  )
})
