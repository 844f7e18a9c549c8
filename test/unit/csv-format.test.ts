import { describe, expect, test } from 'vitest'
import { joinList, splitList } from '../../src/platform/writers/csv-format.ts'

describe('a list in a cell', () => {
  test.each([
    ['a, b', ['a', 'b']],
    [' a b ,\t"c, d" , ', ['a b', 'c, d']],
    ['"say ""hi""","","a\nb"', ['say "hi"', '', 'a\nb']],
    [',,', []],
    ['', []],
    ['   ', []],
    ['a\u00a0,\u3000b', ['a', 'b']],
  ])('%j has the values %j', (text, values) => {
    expect(splitList(text)).toEqual(values)
  })

  test.each(['"', 'a"b', '"a', '"a" b', 'a, "b""', '"a"b"', 'a "b"'])('%j is refused: a quote stands alone', (text) => {
    expect(splitList(text)).toBeNull()
  })

  test.each([[['a', ' b', 'c,d', '"', '', '\n', 'e"f']], [['x'.repeat(10), '""']]])('%j comes back as it was written', (values) => {
    expect(splitList(joinList(values))).toEqual(values)
  })

  // Each has a megabyte: an algorithm of quadratic time takes hours.
  test.each([
    ['blanks before a lone quote', `${' '.repeat(1_000_000)}"`, null],
    ['blanks after a value', `a${' '.repeat(1_000_000)}"`, null],
    ['blanks after quotes', `"a"${' '.repeat(1_000_000)}b`, null],
    ['blanks within a value', `a${' '.repeat(1_000_000)}b`, [`a${' '.repeat(1_000_000)}b`]],
    ['doubled quotes that are never closed', '"'.repeat(1_000_001), null],
    ['a long value in quotes', `"${'a'.repeat(9_000_000)}"`, ['a'.repeat(9_000_000)]],
    ['only commas', ','.repeat(1_000_000), []],
  ])('is read in linear time: %s', (_, text, values) => {
    expect(splitList(text)).toEqual(values)
  })
})
