/** What is sent of the corrections of a file's columns, and which names are refused before. */
import { describe, expect, test } from 'vitest'
import { changedFields, correctionsOf, nameProblems } from '../../console/src/manage/import/corrections.ts'
import type { Guess } from '../../console/src/manage/import/guess.ts'

const guess = {
  fields: [
    { id: 'company', name: 'Company', type: 'text' },
    { id: 'size', name: 'Size', type: 'number', decimals: 0 },
    { id: 'notes', name: 'Notes', type: 'text' },
  ],
} as unknown as Guess

describe('the columns of a file', () => {
  test('are sent as far as they differ from the guess', () => {
    expect(correctionsOf(guess, {})).toEqual([])
    const changes = {
      company: { name: ' Client ' },
      size: { type: 'text', name: 'Size' },
      notes: { isLeftOut: true, name: '' },
      gone: { type: 'date' },
    }
    expect(correctionsOf(guess, changes)).toEqual([
      { field: 'company', name: 'Client' },
      { field: 'size', type: 'text' },
      { field: 'notes', leave_out: true },
    ])
    expect(correctionsOf(guess, { size: { type: 'number' }, notes: { isLeftOut: false } })).toEqual([])
    expect(changedFields(guess, changes).map(({ name, type }) => [name, type])).toEqual([
      [' Client ', 'text'],
      ['Size', 'text'],
      ['', 'text'],
    ])
  })

  test.each([
    [{}, {}],
    [{ company: { name: ' ' } }, { company: 'The field needs a name.' }],
    [{ notes: { name: 'size ' } }, { notes: 'There are two fields "size".' }],
    [{ notes: { name: 'size', isLeftOut: true } }, {}],
    [{ size: { isLeftOut: true }, notes: { name: 'Size' } }, {}],
  ])('with the changes %j have the problems %j', (changes, problems) => {
    expect(nameProblems(guess, changes)).toEqual(problems)
  })
})
