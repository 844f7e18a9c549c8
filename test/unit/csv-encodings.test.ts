import { describe, expect, test } from 'vitest'
import { asUtf8 } from '../../src/csv/reading/encodings.ts'

async function decoded(chunks: Iterable<Uint8Array>): Promise<{ text: string; encoding: string | undefined; longest: number }> {
  const [parts, encodings]: [Uint8Array[], string[]] = [[], []]
  async function* bytes() {
    yield* chunks
  }
  for await (const part of asUtf8(bytes(), (found) => void encodings.push(found))) parts.push(part)
  expect(encodings.length).toBeLessThanOrEqual(1)
  return { text: Buffer.concat(parts).toString(), encoding: encodings[0], longest: Math.max(0, ...parts.map(({ length }) => length)) }
}

/** Decodes a file as a whole, in two parts cut at every byte, and byte by byte, all with the same result. */
async function decodedHoweverItComes(file: Buffer) {
  const { text, encoding } = await decoded([file])
  for (let cut = 0; cut <= file.length; cut++)
    expect(await decoded([file.subarray(0, cut), file.subarray(cut)])).toMatchObject({ text, encoding })
  expect(await decoded(Array.from(file, (byte) => Uint8Array.of(byte)))).toMatchObject({ text, encoding })
  return { text, encoding }
}

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const refusal = (file: Buffer) =>
  decoded([file]).then(
    ({ text }) => text,
    ({ message }) => message,
  )

describe('a file without a byte order mark', () => {
  test('is windows-1252 if it is not valid UTF-8', async () => {
    expect(await decodedHoweverItComes(latin1('Name;Preis\nM\xfcller;5 \x80\n\x84Caf\xe9\x93 \x96 \xa0\xff'))).toEqual({
      text: 'Name;Preis\nMüller;5 €\n„Café“ – \u00a0ÿ',
      encoding: 'windows-1252',
    })
    // The last letter alone decides, even if it begins a character of UTF-8, and even if earlier bytes happen to be UTF-8.
    expect(await decodedHoweverItComes(latin1('Name\nRen\xe9'))).toEqual({ text: 'Name\nRené', encoding: 'windows-1252' })
    expect(await decodedHoweverItComes(latin1('CAF\xc9\xa0: \x93CAF\xc9\x94\ncaf\xe9\n'))).toEqual({
      text: 'CAFÉ\u00a0: “CAFÉ”\ncafé\n',
      encoding: 'windows-1252',
    })
  })

  test('is UTF-8 whenever it can be', async () => {
    for (const text of ['Name\nMüller\n', 'é', '€', '😀 Ünï', '\u0080\u0093', ''])
      expect(await decodedHoweverItComes(Buffer.from(text))).toEqual({ text, encoding: text === '' ? undefined : 'UTF-8' })
    expect(await decodedHoweverItComes(Buffer.from('Name\nBolt\n'))).toEqual({ text: 'Name\nBolt\n', encoding: undefined })
  })

  test('is decided by the first MB from its first letter beyond ASCII on, wherever that is', async () => {
    const ascii = 'x'.repeat(2_500_000)
    const late = await decoded([latin1(`${ascii}\xe9`)])
    expect([late.text === `${ascii}é`, late.encoding]).toEqual([true, 'windows-1252'])
    const many = latin1(`\xc3\xa9${ascii.slice(0, 1_000_000)}\xe9${ascii}\xfc`)
    expect(await decoded([many])).toMatchObject({ encoding: 'windows-1252' })
    const broken = latin1(`\xc3\xa9${ascii}\xe9`)
    expect(await refusal(broken)).toBe('The file is not valid UTF-8')
    // A character at the border of the MB is not taken for an invalid one.
    for (const filled of [1_048_573, 1_048_574, 1_048_575, 1_048_576])
      expect(await decoded([Buffer.from(`é${'x'.repeat(filled)}é`)])).toMatchObject({ encoding: 'UTF-8' })
    expect((await decoded([latin1(`\xe9${ascii}`)])).longest).toBeLessThan(1_500_000)
  })

  test('is refused if it is neither', async () => {
    const neither = 'The file is not valid UTF-8 or windows-1252'
    for (const text of ['a\xe9\x81', 'a\xe9\x8d', 'a\xe9\0', 'a\xe9\x01', '\x89PNG\r\n\x1a\n\0\0'])
      expect(await refusal(latin1(text))).toBe(neither)
    // An undefined byte far behind the decision.
    expect(await refusal(latin1(`\xe9${'x'.repeat(1_100_000)}\x9d`))).toBe(neither)
    expect(await refusal(Buffer.from('Name\nö\n', 'utf16le'))).toBe(neither)
  })
})

test('a byte order mark is believed', async () => {
  expect(await decodedHoweverItComes(Buffer.from('\uFEFFName\nZoë', 'utf16le'))).toEqual({ text: 'Name\nZoë', encoding: 'UTF-16' })
  expect(await decodedHoweverItComes(Buffer.from('\uFEFFName\nZoë'))).toEqual({ text: '\uFEFFName\nZoë', encoding: 'UTF-8' })
  expect(await refusal(latin1('\xef\xbb\xbfa\xe9'))).toBe('The file is not valid UTF-8')
})
