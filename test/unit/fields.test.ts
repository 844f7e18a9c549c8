import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isReserved, SLUG, slugOf } from '../../src/fields/slug.ts'
import { changeOptions } from '../../src/tables/fields/select-options.ts'

describe('the id of a field', () => {
  test.each([
    ['Email Address', 'email_address'],
    ['  Größe (cm) ', 'grosse_cm'],
    ['Ærø Łódź', 'aero_lodz'],
    ['İstanbul ıl', 'istanbul_il'],
    ['ﬁnal Ⅳ', 'final_iv'],
    ['Prénom', 'prenom'],
    ['2nd address', 'f_2nd_address'],
    ['住所', 'field_3'],
    ['№ 7', 'no_7'],
    ['123', 'field_3'],
    ['🙂', 'field_3'],
    ['___', 'field_3'],
    ['xmin', 'xmin_2'],
    ['Constructor', 'constructor_2'],
    ['__proto__', 'proto'],
    ['ID', 'id_2'],
    ['Created at', 'created_at_2'],
    ['version', 'version_2'],
    ['Taken', 'taken_3'],
    ['select', 'select'],
    ['user', 'user'],
    ["Robert'); drop table", 'robert_drop_table'],
  ])('of %s is %s', (name, id) => {
    expect(slugOf(name, new Set(['taken', 'taken_2']), 3)).toBe(id)
  })

  test('gets the first free number', () => {
    expect(slugOf('住所', new Set(['field_3', 'field_4']), 3)).toBe('field_5')
  })

  test('is cut to 48 characters, suffix included', () => {
    const long = 'a'.repeat(60)
    expect(slugOf(long, new Set(), 1)).toBe('a'.repeat(48))
    expect(slugOf(long, new Set(['a'.repeat(48)]), 1)).toBe(`${'a'.repeat(46)}_2`)
  })

  test('is always a free column name', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 100 }), { maxLength: 20 }), (names) => {
        const taken = new Set<string>()
        for (const [index, name] of names.entries()) {
          const id = slugOf(name, taken, index + 1)
          expect(id).toMatch(SLUG)
          expect(taken.has(id) || isReserved(id)).toBe(false)
          taken.add(id)
        }
      }),
    )
  })
})

describe('changed options', () => {
  const present = [
    { id: 1, title: 'Lead' },
    { id: 2, title: 'Won' },
    { id: 5, title: 'Lost' },
  ]

  test('keep their ids by title, in the new order', () => {
    expect(changeOptions(present, ['Lost', 'Lead', 'Won'])).toEqual({
      options: [present[2], present[0], present[1]],
      removed: [],
      problem: null,
    })
  })

  test('get ids that no option has, and report the removed ones', () => {
    expect(changeOptions(present, ['Lead', 'New', 'Newer'])).toEqual({
      options: [present[0], { id: 6, title: 'New' }, { id: 7, title: 'Newer' }],
      removed: [present[1], present[2]],
      problem: null,
    })
  })

  test('keep their ids through a rename, also when titles are exchanged', () => {
    expect(changeOptions(present, ['Lead', { title: 'Lost', was: 'Won' }, { title: 'Won', was: 'Lost' }]).options).toEqual([
      { id: 1, title: 'Lead' },
      { id: 2, title: 'Lost' },
      { id: 5, title: 'Won' },
    ])
  })

  test('are new if the title that they had was given to another option', () => {
    expect(changeOptions(present, [{ title: 'Prospect', was: 'Lead' }, 'Lead', 'Won', 'Lost']).options).toEqual([
      { id: 1, title: 'Prospect' },
      { id: 6, title: 'Lead' },
      { id: 2, title: 'Won' },
      { id: 5, title: 'Lost' },
    ])
  })

  test.each([
    [['Lead', 'Lead'], '"Lead" is listed twice'],
    [[{ title: 'A', was: 'Gone' }], 'unknown option "Gone"'],
    [
      [
        { title: 'A', was: 'Won' },
        { title: 'B', was: 'Won' },
      ],
      '"Won" is listed twice',
    ],
    [['Lost', { title: 'Lost', was: 'Won' }], '"Lost" is listed twice'],
  ])('are refused as %j', (wanted, problem) => {
    expect(changeOptions(present, wanted).problem).toBe(problem)
  })
})
