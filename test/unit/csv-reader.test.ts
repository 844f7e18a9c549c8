import { describe, expect, test } from 'vitest'
import { readFile } from '../../src/csv/reading/reader.ts'
import type { AppError } from '../../src/platform/errors.ts'

async function rowsOf(chunks: readonly Uint8Array[]) {
  async function* bytes() {
    yield* chunks
  }
  const rows = []
  for await (const part of (await readFile(bytes(), { maxBytes: 1_000_000 })).rows) rows.push(...part)
  return rows
}

/** Reads a file as a whole, in two parts cut at every byte, and byte by byte. @returns the rows, which must all be the same */
async function rowsHoweverItComes(text: string) {
  const file = Buffer.from(text)
  const whole = await rowsOf([file])
  const parts = Array.from(file.keys(), (cut) => [file.subarray(0, cut), file.subarray(cut)])
  for (const chunks of [...parts, Array.from(file, (byte) => Uint8Array.of(byte))]) expect(await rowsOf(chunks)).toEqual(whole)
  return whole
}

const cellsOf = async (text: string) => (await rowsHoweverItComes(text)).map(({ cells }) => cells)
const linesOf = async (text: string) => (await rowsHoweverItComes(text)).map(({ number, cells }) => [number, cells.at(-1)])

const ENDS = ['\r\n', '\n', '\r']

describe('rows end with CRLF, LF or CR', () => {
  const mixes = ENDS.flatMap((first) => ENDS.flatMap((second) => ENDS.concat('').map((last) => [first, second, last] as const)))
  test.each(mixes.map((mix) => [JSON.stringify(mix), mix] as const))('mixed as they come: %s', async (_, [first, second, last]) => {
    expect(await cellsOf(`text,é${first}a,"b"${second}"",c${last}`)).toEqual([
      ['text', 'é'],
      ['a', 'b'],
      ['', 'c'],
    ])
    // An empty last cell, with or without quotes, a row of separators, which is none, and a file of one column.
    expect(await cellsOf(`a,${first}b,""${second},${last}`)).toEqual([
      ['a', ''],
      ['b', ''],
    ])
    expect(await cellsOf(`\uFEFFtext${first}a${second}""${last}`)).toEqual([['text'], ['a'], ['']])
  })

  test.each(ENDS.flatMap((inside) => ENDS.map((end) => [JSON.stringify([inside, end]), inside, end] as const)))(
    'but are kept within quotes: %s',
    async (_, inside, end) => {
      const kept = `${inside}x${inside}${inside}""y""${inside}`
      expect(await cellsOf(`h,i${end}"${kept}","${kept}"${end}"${inside}",z${end}`)).toEqual([
        ['h', 'i'],
        [kept.replaceAll('""', '"'), kept.replaceAll('""', '"')],
        [inside, 'z'],
      ])
    },
  )

  test.each(ENDS.map((end) => [JSON.stringify(end), end] as const))('and empty lines are none: %s', async (_, end) => {
    expect(await cellsOf(`${end}h\r\n${end}${end}a\n${end}b${end}${end}`)).toEqual([['h'], ['a'], ['b']])
  })
})

describe('the number of a row is the line where it begins', () => {
  test.each(ENDS.map((end) => [JSON.stringify(end), end] as const))('with empty lines, and lines within quotes: %s', async (_, end) => {
    const lines = ['a,b', '', '', 'x,y', '"1', '', '3",z', '"",""', '', '"""', '"', 'w']
    expect(await linesOf(lines.join(end))).toEqual([
      [1, 'b'],
      [4, 'y'],
      [5, 'z'],
      [8, ''],
      [10, `"${end}`],
      [12, 'w'],
    ])
    expect(await linesOf(`${end}${end}h\r\n${end}"\n\r\n\r"\na${end}${end}`)).toEqual([
      [3, 'h'],
      [5, '\n\r\n\r'],
      [9, 'a'],
    ])
  })

  test('also of a row that is not valid CSV', async () => {
    const issuesOf = (text: string) => rowsOf([Buffer.from(text)]).catch((error: AppError) => error.cellIssues)
    expect(await issuesOf('h\n\n"a\r\nb"\n\n\nx\n"open\n\n')).toEqual([{ row: 8, column: null, message: 'a quote is not closed' }])
    expect(await issuesOf('h\r\r"a\rb"\r\r"x"y\r')).toEqual([
      { row: 6, column: null, message: 'unexpected quote; enclose the cell in quotes and double the quotes within it' },
    ])
  })
})

describe('a row has at most 1,000 cells', () => {
  const issuesOf = (text: string) => rowsOf([Buffer.from(text)]).catch((error: AppError) => error.cellIssues)

  test('and one with more is reported', async () => {
    expect(await cellsOf(`a${',a'.repeat(999)}`)).toEqual([Array(1_000).fill('a')])
    const issue = { column: null, message: 'has more than 1000 cells' }
    expect(await issuesOf(`h\n\n"a\nb"\n${','.repeat(1_000)}\n`)).toEqual([{ row: 5, ...issue }])
  })

  // A row of commas has no size that the limit on row bytes could catch.
  test('or it is not read to its end', async () => {
    let given = 0
    async function* endless() {
      for (; given < 100; given++) yield Buffer.from('"",'.repeat(100_000))
    }
    const error = await (await readFile(endless(), { maxBytes: 1e9 })).rows.next().catch((thrown: AppError) => thrown)
    expect((error as AppError).cellIssues).toEqual([{ row: 1, column: null, message: 'has more than 1000 cells' }])
    expect(given).toBeLessThan(50)
  })
})

test('parses a large chunk in many turns of the event loop, so that requests go between', async () => {
  let [turns, isDone] = [0, false]
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  async function* bytes() {
    yield Buffer.from('x\n'.repeat(200_000))
  }
  let [most, inTurn, turn, rows] = [0, 0, 0, 0]
  for await (const part of (await readFile(bytes(), { maxBytes: 1_000_000 })).rows) {
    inTurn = turn === turns ? inTurn + part.length : part.length
    turn = turns
    most = Math.max(most, inTurn)
    rows += part.length
  }
  isDone = true
  expect(rows).toBe(200_000)
  expect(most).toBeLessThan(20_000)
})

test('tells the lines of rows after cells with line ends of all kinds', async () => {
  expect(await linesOf('a\n"1\r2\r\n3\n4\r\r\n\n"\nb')).toEqual([
    [1, 'a'],
    [2, '1\r2\r\n3\n4\r\r\n\n'],
    [9, 'b'],
  ])
})
