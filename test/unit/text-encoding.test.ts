import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EncodedText, encodeText } from '../../src/email/composing/text-encoding.ts'

const OFFER = 'We have an offer for you, and hope to hear from you soon. '

describe('a text goes out', () => {
  test.each<[string, string, EncodedText['encoding'], string]>([
    ['of short lines as it is', 'One = 1,\ntwo \r\nthree\t\rend', '7bit', 'One = 1,\r\ntwo \r\nthree\t\r\nend'],
    ['with 76 characters in a line as it is', 'x'.repeat(76), '7bit', 'x'.repeat(76)],
    ['with a longer line in parts', 'x'.repeat(77), 'quoted-printable', `${'x'.repeat(75)}=\r\nxx`],
    ['with an umlaut quoted', 'Grüße = 1 \nan alle', 'quoted-printable', 'Gr=C3=BC=C3=9Fe =3D 1=20\r\nan alle'],
    ['with a control character quoted', 'a\u0000b', 'quoted-printable', 'a=00b'],
    ['with letters outside of Latin as base64', 'Привет, мир', 'base64', Buffer.from('Привет, мир').toString('base64')],
    ['that is empty as it is', '', '7bit', ''],
  ])('%s', (_, text, encoding, expected) => {
    expect(encodeText(text)).toEqual({ encoding, text: expected })
  })

  test('with no letter in two lines', () => {
    const { encoding, text } = encodeText(`${OFFER.repeat(20)}${'x🙂'.repeat(3)}${OFFER}`.repeat(5))
    expect(encoding).toBe('quoted-printable')
    expect(text.split('\r\n').filter((line) => /=$/.test(line)).length).toBeGreaterThan(50)
    for (const line of text.split('=\r\n')) expect(decoded(line)).not.toContain('\uFFFD')
  })

  test('so that it can be read again, whatever its letters', () => {
    const letters = fc.constantFrom('a', 'Z', ' ', '\t', '\n', '\r', '\r\n', '=', '.', 'é', 'ж', '日', '🙂', '\u0001', '\u007f')
    const texts = fc
      .tuple(fc.array(letters, { maxLength: 400 }), fc.nat(200))
      .map(([parts, ascii]) => parts.join('') + 'text '.repeat(ascii))
    fc.assert(
      fc.property(texts, (text) => {
        const encoded = encodeText(text)
        expect(readAgain(encoded)).toBe(text.replace(/\r\n?|\n/g, '\r\n'))
        expect(encoded.text).toMatch(/^[\t\r\n -~]*$/)
        for (const line of encoded.text.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76)
      }),
      { seed: 12, numRuns: 500 },
    )
  })

  test('in time that grows with its length, whatever its lines', () => {
    for (const line of ['x\n', `${'x'.repeat(59)}\n`, 'é\n', '=', 'é', ' ']) {
      const { text } = encodeText(`${'Latin'.repeat(20_000)}${line.repeat(100_000 / line.length)}`)
      expect(text.length).toBeGreaterThan(200_000)
    }
  })
})

function readAgain({ encoding, text }: EncodedText): string {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString()
  return encoding === '7bit' ? text : decoded(text.replaceAll('=\r\n', ''))
}

const decoded = (quoted: string): string =>
  Buffer.from(
    quoted.replace(/=([\dA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()
