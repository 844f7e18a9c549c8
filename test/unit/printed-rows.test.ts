import { expect, test } from 'vitest'
import { PrintedRows } from '../../src/platform/database/printed-rows.ts'

function rowsWith(...texts: string[]): PrintedRows {
  const rows = new PrintedRows()
  for (const text of texts) add(rows, text)
  return rows
}

/** Adds a row of one value, which follows its length. */
function add(rows: PrintedRows, text: string): void {
  const row = Buffer.alloc(4 + Buffer.byteLength(text))
  row.writeInt32BE(Buffer.byteLength(text))
  row.write(text, 4)
  rows.add(row, 0, row.length)
}

test('bytes that were freed become those of one other page, not of two', () => {
  const first = rowsWith('first')
  first.free()
  expect([first.length, first.bytes]).toEqual([0, 0])
  // Freed again, they are not given to two others.
  first.free()
  const [second, third] = [rowsWith('x'), rowsWith('y')]
  add(second, 'second')
  add(third, 'third')
  expect([second.textOf(0, 0), second.textOf(1, 0), third.textOf(0, 0), third.textOf(1, 0)]).toEqual(['x', 'second', 'y', 'third'])
})
