/** What the form of a field sends. */
import { describe, expect, test } from 'vitest'
import type { Field } from '../../console/src/cells/kind.ts'
import { changesOf, draftOf, movedUp, newFieldOf, problemsOf, withOption } from '../../console/src/manage/fields/field-draft.ts'

const STAGE = {
  ...{ id: 'stage', name: 'Stage', type: 'select', required: false, always_hidden: false, admin_only: false },
  ...{ options: ['Lead', 'Won'], colors: { Won: 'green' } },
} as unknown as Field

describe('a new field', () => {
  test('has what its type has, without blanks around names', () => {
    const draft = { ...draftOf(null), name: ' Amount ', type: 'number' as const, decimals: 2, table: 4 }
    expect(newFieldOf(draft)).toEqual({
      ...{ name: 'Amount', type: 'number', decimals: 2 },
      ...{ required: false, always_hidden: false, admin_only: false },
    })
    expect(newFieldOf({ ...draft, type: 'lookup' })).toMatchObject({ type: 'lookup', table: 4 })
  })

  test('names what it lacks', () => {
    expect(problemsOf({ ...draftOf(null), type: 'lookup' })).toEqual({
      name: 'The field needs a name.',
      table: 'Choose the table whose records are linked.',
    })
    const options = withOption(withOption([]))
    expect(problemsOf({ ...draftOf(null), name: 'x', type: 'select', options })).toEqual({ options: 'An option needs a name.' })
    const twice = options.map((option) => ({ ...option, title: ' Red' }))
    expect(problemsOf({ ...draftOf(null), name: 'x', type: 'select', options: twice })).toEqual({ options: 'There are two options "Red".' })
  })

  test('gives each new option a color of its own, as long as there are colors', () => {
    let options = withOption([])
    for (let count = 1; count < 11; count++) options = withOption(options)
    expect(new Set(options.map(({ color }) => color)).size).toBe(11)
    expect(options.at(-1)?.color).toBeNull()
  })
})

describe('a field that is changed', () => {
  test('sends nothing if nothing is changed', () => {
    expect(changesOf(STAGE, draftOf(STAGE))).toBeNull()
  })

  test('sends names and rights that differ', () => {
    expect(changesOf(STAGE, { ...draftOf(STAGE), name: 'Step', admin_only: true })).toEqual({ name: 'Step', admin_only: true })
  })

  test('sends the whole list of its options, renamed ones with the title that they had', () => {
    const draft = draftOf(STAGE)
    const options = draft.options.map((option) => (option.title === 'Won' ? { ...option, title: 'Closed' } : option))
    expect(changesOf(STAGE, { ...draft, options: [...options, { key: 7, was: null, title: 'Lost', color: 'red' }] })).toEqual({
      options: ['Lead', { title: 'Closed', was: 'Won' }, 'Lost'],
      colors: { Closed: 'green', Lost: 'red' },
    })
    expect(changesOf(STAGE, { ...draft, options: movedUp(draft.options, 1) })).toEqual({
      options: ['Won', 'Lead'],
      colors: { Won: 'green' },
    })
  })

  test('sends two options whose titles are exchanged as renamed', () => {
    const draft = draftOf(STAGE)
    const [lead, won] = draft.options
    if (!lead || !won) return expect.fail()
    const options = [
      { ...lead, title: 'Won' },
      { ...won, title: 'Lead' },
    ]
    expect(changesOf(STAGE, { ...draft, options })).toMatchObject({
      options: [
        { title: 'Won', was: 'Lead' },
        { title: 'Lead', was: 'Won' },
      ],
    })
  })
})
