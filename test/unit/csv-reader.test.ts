import { describe, expect, it } from 'vitest'
import { readRows } from '../../src/csv/reader.ts'

async function rowsOf(chunks: readonly Uint8Array[]) {
  async function* bytes() {
    yield* chunks
  }
  const rows = []
  for await (const part of readRows(bytes(), 1_000_000)) rows.push(...part)
  return rows
}

/** The cells of a file that comes whole, in two parts cut at every byte, and byte by byte: they must all be the same. */
async function cellsOf(text: string): Promise<string[][]> {
  const file = Buffer.from(text)
  const whole = (await rowsOf([file])).map(({ cells }) => cells)
  const parts = Array.from(file.keys(), (cut) => [file.subarray(0, cut), file.subarray(cut)])
  for (const chunks of [...parts, Array.from(file, (byte) => Uint8Array.of(byte))]) {
    expect((await rowsOf(chunks)).map(({ cells }) => cells)).toEqual(whole)
  }
  return whole
}

const ENDS = ['\r\n', '\n', '\r']

describe('rows end with CRLF, LF or CR', () => {
  const mixes = ENDS.flatMap((first) => ENDS.flatMap((second) => ENDS.concat('').map((last) => [first, second, last] as const)))
  it.each(mixes.map((mix) => [JSON.stringify(mix), mix] as const))('mixed as they come: %s', async (_, [first, second, last]) => {
    expect(await cellsOf(`text,é${first}a,"b"${second}"",c${last}`)).toEqual([
      ['text', 'é'],
      ['a', 'b'],
      ['', 'c'],
    ])
    // A last cell that is empty, in quotes or not, and a file of one column.
    expect(await cellsOf(`a,${first}b,""${second},${last}`)).toEqual([
      ['a', ''],
      ['b', ''],
      ['', ''],
    ])
    expect(await cellsOf(`\uFEFFtext${first}a${second}""${last}`)).toEqual([['text'], ['a'], ['']])
  })

  it.each(ENDS.flatMap((inside) => ENDS.map((end) => [JSON.stringify([inside, end]), inside, end] as const)))(
    'and are kept as they are within quotes: %s',
    async (_, inside, end) => {
      const kept = `${inside}x${inside}${inside}""y""${inside}`
      expect(await cellsOf(`h,i${end}"${kept}","${kept}"${end}"${inside}",z${end}`)).toEqual([
        ['h', 'i'],
        [kept.replaceAll('""', '"'), kept.replaceAll('""', '"')],
        [inside, 'z'],
      ])
    },
  )

  it.each(ENDS.map((end) => [JSON.stringify(end), end] as const))('and empty lines are none: %s', async (_, end) => {
    expect(await cellsOf(`${end}h\r\n${end}${end}a\n${end}b${end}${end}`)).toEqual([['h'], ['a'], ['b']])
  })
})
