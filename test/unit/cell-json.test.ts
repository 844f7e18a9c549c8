import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CellJson, type JsonById, jsonPiece, numberJson, textJson, writeList, writeOne } from '../../src/fields/cell-json.ts'
import { roundedDecimal } from '../../src/fields/decimal.ts'
import { PrintedRows } from '../../src/platform/database/statements/printed-rows.ts'
import { JsonWriter } from '../../src/platform/writers/json-writer.ts'

/** Rows as a connection receives them. */
function printed(...rows: (string | null)[][]): PrintedRows {
  const received = new PrintedRows()
  for (const row of rows) {
    const values = row.map((text) => {
      const length = Buffer.alloc(4)
      length.writeInt32BE(text === null ? -1 : Buffer.byteLength(text))
      return Buffer.concat([length, Buffer.from(text ?? '')])
    })
    // The bytes of a message follow those of another.
    const bytes = Buffer.concat([Buffer.from('before'), ...values, Buffer.from('after')])
    received.add(bytes, 6, bytes.length - 5)
  }
  return received
}

function written(write: CellJson, text: string | null, named: JsonById = new Map()): string {
  const json = new JsonWriter()
  printed([text]).eachRow((cell) => write(cell, json, named))
  return json.finish().toString()
}

describe('a number', () => {
  test.each([
    '0',
    '12',
    '100',
    '-1250.5',
    '1250.50',
    '1250.00',
    '0.00000001',
    '-0.0000001',
    '0.000001',
    '0.00000123',
    '123456789012345',
    '1234567890123456',
    '-123456789012345',
    '-1000000000000000',
    'NaN',
    'Infinity',
    '-Infinity',
    '',
    '007',
    '-007',
    '00',
    '0.50',
    '00.5',
  ])('%s is written as JSON.stringify writes it', (text) => {
    expect(written(numberJson, text)).toBe(JSON.stringify(Number(text)))
  })

  test.each([
    ['1234567890.12345678', '1234567890.12345678'],
    ['-999999999999999.99999999', '-999999999999999.99999999'],
    ['99999999999.99999999', '99999999999.99999999'],
    ['1234567890.123456780', '1234567890.12345678'],
    ['001234567890.12345678', '1234567890.12345678'],
    ['100000000000000.00000000', '100000000000000'],
    ['0.3000000000000000', '0.3'],
  ])('%s is written with all its digits', (text, json) => {
    expect(written(numberJson, text)).toBe(json)
  })

  test('that a cell accepts is written as JSON.stringify writes it, or with more digits', () => {
    const digits = (max: number) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max }).map((all) => all.join(''))
    const decimals = fc.tuple(fc.constantFrom('', '-'), digits(16), fc.constantFrom('', '.'), digits(8))
    fc.assert(
      fc.property(decimals, ([sign, whole, point, fraction]) => {
        const rounded = roundedDecimal(`${sign}${whole}${point}${point && fraction}`, null)
        if (typeof rounded === 'string') return
        const isExact = rounded.text.replaceAll(/[-.]/g, '').length <= 15
        expect(written(numberJson, rounded.text)).toBe(isExact ? JSON.stringify(Number(rounded.text)) : rounded.text)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a text', () => {
  test('is written as JSON.stringify writes it, whatever it contains', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        expect(written(textJson, text.toWellFormed())).toBe(JSON.stringify(text.toWellFormed()))
      }),
    )
    for (let code = 0; code < 0x3000; code++) {
      const text = `a${String.fromCharCode(code)}"`
      expect(written(textJson, text)).toBe(JSON.stringify(text))
    }
    expect(written(textJson, null)).toBe('null')
  })

  test('may be longer than any buffer, and need more bytes than it has', () => {
    for (const text of ['x'.repeat(3_000_000), '\u0001'.repeat(1_000_000), '"ü🙂'.repeat(300_000)])
      expect(written(textJson, text)).toBe(JSON.stringify(text))
  })

  test('does not change what was written before', () => {
    const [json, other] = [new JsonWriter(), new JsonWriter()]
    json.text('"one"')
    other.text('"two"')
    const [one, two] = [json.finish(), other.finish()]
    const later = new JsonWriter()
    later.text('"three"')
    expect([one, two, later.finish()].map(String)).toEqual(['"one"', '"two"', '"three"'])
  })
})

describe('ids', () => {
  const values: JsonById = new Map([
    [7, jsonPiece({ id: 7 })],
    [12, jsonPiece('half a pair \ud83d')],
  ])

  test('become their values, and those of deleted values nothing', () => {
    expect([null, '7', '8', '-7', '2147483647', 'G'].map((text) => written(writeOne, text, values))).toEqual([
      'null',
      '{"id":7}',
      'null',
      'null',
      'null',
      'null',
    ])
    const [one, half] = ['{"id":7}', '"half a pair \\ud83d"']
    expect([null, '{}', '{12,7}', '{8}', '{8,12,9,7,NULL}'].map((text) => written(writeList, text, values))).toEqual([
      '[]',
      '[]',
      `[${half},${one}]`,
      '[]',
      `[${half},${one}]`,
    ])
  })
})

describe('rows', () => {
  test('keep their values until they are dropped', () => {
    const rows = printed(...Array.from({ length: 2_000 }, (_, index) => [String(index), null, '', 'ü'.repeat(index)]))
    expect([rows.length, rows.textOf(1_999, 0), rows.textOf(1_999, 1), rows.textOf(3, 2), rows.textOf(3, 3)]).toEqual([
      2_000,
      '1999',
      null,
      '',
      'üüü',
    ])
    rows.cutTo(2)
    const seen: unknown[] = []
    rows.eachRow((cell, index) => {
      const id = cell.int()
      cell.next()
      seen.push([index, id, cell.isNull, cell.ints()])
    })
    expect(seen).toEqual([
      [0, 0, true, []],
      [1, 1, true, []],
    ])
  })
})
