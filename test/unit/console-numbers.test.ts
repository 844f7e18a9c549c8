/** Numbers as people type and paste them into the console, in their language and with all their digits. */
import { describe, expect, test } from 'vitest'
import { numberText, plainNumberText, readNumber } from '../../console/src/ui/locale/number-text.ts'

const NUMBERS: [locale: string, text: string, number: number | string | null][] = [
  ['en-US', '1234.5', 1234.5],
  ['en-US', '1,234.5', 1234.5],
  ['de', '1.234,5', 1234.5],
  ['de', '1.234', 1234],
  ['en-US', '1.234', 1.234],
  ['fr', '1 234,5', 1234.5],
  ['fr', '1\u202f234,5', 1234.5],
  ['de-CH', '1’234.50', 1234.5],
  ['en-IN', '12,34,567', 1234567],
  ['ar-EG', '١٬٢٣٤٫٥', 1234.5],
  ['fa', '۱۲۳', 123],
  // In these the language's own reading makes no number.
  ['en-US', '1,5', 1.5],
  ['de', '1.5', 1.5],
  ['en-US', '1.234.567,5', 1234567.5],
  ['en-US', '$ 1,234.50', 1234.5],
  ['de', '1.234,50 €', 1234.5],
  ['en-US', '(12.50)', -12.5],
  ['en-US', '−3', -3],
  ['en-US', '-0', 0],
  ['en-US', '+7', 7],
  ['en-US', '.5', 0.5],
  ['en-US', '1e3', 1000],
  ['en-US', '1E-3', 0.001],
  ['en-US', '123456789012345.6', '123456789012345.6'.length > 15 ? 123456789012345.6 : null],
  ['en-US', '123456789012345.12345678', '123456789012345.12345678'],
  ['de', '-999.999.999.999.999,99999999', '-999999999999999.99999999'],
  ['en-US', '1000000000000000', 1e15],
  ['en-US', '1000000000000001', null],
  ['en-US', '9007199254740993', null],
  ['en-US', '1e999', null],
  ['en-US', '12 apples', null],
  ['en-US', '1,2,3', null],
  ['en-US', '1.2.3', null],
  ['en-US', '12%', null],
  ['en-US', '', null],
  ['en-US', '-', null],
  ['en-US', 'NaN', null],
  ['en-US', 'Infinity', null],
  ['en-US', '0x10', null],
  ['en-US', '9'.repeat(100_000), null],
]

describe('a number', () => {
  test.each(NUMBERS)('in %s, %s is %s', (locale, text, number) => {
    const read = readNumber(text, locale)
    if (number === null) expect(read).toHaveProperty('problem')
    else expect(read).toEqual({ value: number })
  })

  test.each([
    ['1.005', 2, 1.01],
    ['-1.005', 2, -1.01],
    ['2.5', 0, 3],
    ['0.004', 2, 0],
    ['-0.004', 2, 0],
    ['99999999999.999999995', 8, 100000000000],
    ['99999999999.99999999', 8, '99999999999.99999999'],
  ])('%s with %i decimals is %s', (text, decimals, number) => expect(readNumber(text, 'en-US', decimals)).toEqual({ value: number }))

  test('is shown by the language, with the decimals of its field and every digit', () => {
    expect(numberText(1234.5, 'de', 2)).toBe('1.234,50')
    expect(numberText(1234.5, 'en-US')).toBe('1,234.5')
    expect(numberText('123456789012345.12345678', 'de')).toBe('123.456.789.012.345,12345678')
    expect(plainNumberText('-999999999999999.99999999', 'de')).toBe('-999999999999999,99999999')
  })

  test.each(['en-US', 'de', 'de-CH', 'fr', 'en-IN', 'ar-EG', 'fa', 'hi', 'sv', 'pt-BR', 'pl', 'bn'])(
    'is read again as %s shows it',
    (locale) => {
      for (const number of [0, -1.5, 1234.5, 12345678.25, '-123456789012345.12345678', 0.00000001]) {
        expect(readNumber(numberText(number, locale), locale)).toEqual({ value: number })
        expect(readNumber(plainNumberText(number, locale), locale)).toEqual({ value: number })
      }
    },
  )
})
