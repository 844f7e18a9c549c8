/** Holds CSV written as bytes against csv-format.ts, which makes it of texts. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PrintedRows } from '../../src/platform/database/statements/printed-rows.ts'
import { csvCell, csvLine, joinList, shielded } from '../../src/platform/writers/csv-format.ts'
import { CsvValue, CsvWriter } from '../../src/platform/writers/csv-writer.ts'

/** The first value of a row as a connection receives it, among other bytes. */
function written(text: string, write = (cell: Parameters<CsvWriter['string']>[0], csv: CsvWriter) => csv.string(cell)): string {
  const length = Buffer.alloc(4)
  length.writeInt32BE(Buffer.byteLength(text))
  const rows = new PrintedRows()
  const bytes = Buffer.concat([Buffer.from('"'), length, Buffer.from(text), Buffer.from('"')])
  rows.add(bytes, 1, bytes.length - 1)
  const csv = new CsvWriter()
  rows.eachRow((cell) => write(cell, csv))
  return csv.finish().toString()
}

const BLANKS =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
const NO_BLANKS = '\'=+-@",;|\u0001\u001f\u007f\u0080\u0085é\u00e0\u1681\u180e\u200b\u2030\u2060\u3001\uffef日🙂a0'
const CHARACTERS = [...BLANKS, ...NO_BLANKS]
const text = fc.oneof(
  fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 9 }).map((all) => all.join('')),
  fc.string({ unit: 'binary', maxLength: 30 }).map((any) => any.replaceAll('\0', '').toWellFormed()),
)

describe('a text as a cell', () => {
  test('equals what is made of the string, whatever it begins with, ends with, or has in between', () => {
    for (const one of CHARACTERS)
      for (const around of [one, `${one}a`, `a${one}`, `a${one}b`, `'${one}`, `abcdefg${one}hijk`, `éé${one}`, `${one}日`])
        expect(written(around), JSON.stringify(around)).toBe(csvCell(shielded(around)))
    fc.assert(
      fc.property(text, (any) => void expect(written(any)).toBe(csvCell(shielded(any)))),
      { seed: 14, numRuns: 3_000 },
    )
  })

  test('may be longer than any buffer, and need more bytes than it has', () => {
    for (const long of ['x'.repeat(3_000_000), '"'.repeat(1_000_000), `=${'ü🙂,'.repeat(300_000)}`])
      expect(written(long) === csvCell(shielded(long))).toBe(true)
  })
})

test('values of a list equal the list that is made of strings', () => {
  const list = fc.array(text, { maxLength: 4 })
  fc.assert(
    fc.property(list, (values) => {
      const made = new Map(values.map((value, id) => [id, new CsvValue(value)]))
      // Of a deleted value there is only the id.
      const ids = [-1, ...made.keys(), -1]
      expect(written('', (_, csv) => csv.list(ids, made))).toBe(csvCell(shielded(joinList(values))))
      for (const [id, { cell }] of made) expect(written('', (_, csv) => csv.piece(cell))).toBe(csvCell(shielded(values[id] ?? '')))
    }),
    { seed: 14, numRuns: 3_000 },
  )
})

test('lines equal those that are made of strings: one empty cell is quoted, several are not', () => {
  const csv = new CsvWriter()
  csv.endLine()
  csv.comma()
  csv.endLine()
  csv.text('a')
  csv.endLine()
  csv.endLine()
  expect(csv.finish().toString()).toBe([[''], ['', ''], ['a'], ['']].map(csvLine).join(''))
})

test('rows that were freed are empty, can be filled again, and leave others their values', () => {
  const rowOf = (text: string) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(Buffer.byteLength(text))
    return Buffer.concat([length, Buffer.from(text)])
  }
  const add = (rows: PrintedRows, text: string) => rows.add(rowOf(text), 0, Buffer.byteLength(text) + 4)
  const first = new PrintedRows()
  for (const text of ['1', 'x'.repeat(200_000), '3']) add(first, text)
  first.free()
  expect([first.length, first.ids()]).toEqual([0, []])
  const [second, third] = [new PrintedRows(), new PrintedRows()]
  for (const number of [21, 22, 23]) {
    add(second, String(number))
    add(third, String(number + 10))
    add(first, String(number + 20))
  }
  expect([second, third, first].map((rows) => rows.ids())).toEqual([
    [21, 22, 23],
    [31, 32, 33],
    [41, 42, 43],
  ])
})

test('lines that were flushed are followed by new ones, in the same bytes', () => {
  const csv = new CsvWriter()
  csv.text('a')
  csv.endLine()
  const first = csv.flush()
  expect(first.toString()).toBe('a\r\n')
  csv.endLine()
  expect(csv.flush().toString()).toBe('""\r\n')
  expect(first.toString()).toBe('""\r')
})
