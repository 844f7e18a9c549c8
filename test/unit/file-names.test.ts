import { describe, expect, test } from 'vitest'
import { mendedName, uploadName } from '../../src/files/file-names.ts'

const FAMILY = '👨‍👩‍👧'

describe('the name of an upload', () => {
  test.each([
    // Folders.
    ['offer.pdf', 'offer.pdf'],
    ['a/b/offer.pdf', 'offer.pdf'],
    ['/offer.pdf', 'offer.pdf'],
    ['C:\\fakepath\\offer.pdf', 'offer.pdf'],
    ['a\\b/c\\offer.pdf', 'offer.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['a\n/offer.pdf', 'offer.pdf'],
    // Dots and spaces.
    ['.env', '.env'],
    ['...', '...'],
    ['  a  b.txt ', 'a  b.txt'],
    // Control characters and marks of direction.
    ['a\r\nb\t.txt', 'ab.txt'],
    ['a\x7f\x85\u2028\u2029b', 'ab'],
    ['invoice\u202Egpj.exe', 'invoicegpj.exe'],
    ['\u200F\u200E\u061C\u2066\u2067\u2068\u2069\u202A\u202B\u202C\u202Da', 'a'],
    ['\u206A\u206B\u206C\u206D\u206E\u206Fa.pdf', 'a.pdf'],
    ['a\u202Efdp.\u2067exe\u2069', 'afdp.exe'],
    // Every script, and what joins its letters.
    ['Angebot für Ä.txt', 'Angebot für Ä.txt'],
    ['見積書.pdf', '見積書.pdf'],
    ['عرض سعر.pdf', 'عرض سعر.pdf'],
    ['הצעה.pdf', 'הצעה.pdf'],
    ['نامه\u200Cها.txt', 'نامه\u200Cها.txt'],
    [`${FAMILY}.png`, `${FAMILY}.png`],
    ['e\u0301.txt', 'e\u0301.txt'],
    ['<a> & "b" \'c\' ;?*|:.txt', '<a> & "b" \'c\' ;?*|:.txt'],
    // Lengths.
    ['x'.repeat(255), 'x'.repeat(255)],
    ['ä'.repeat(127), 'ä'.repeat(127)],
    [`${'folder/'.repeat(1_000)}a`, 'a'],
  ])('%j is %j', (given, name) => {
    expect(uploadName(given)).toEqual({ name })
    expect(uploadName(name)).toEqual({ name })
    expect(mendedName(given, 'other')).toBe(name)
  })

  test.each([
    ['', 'must not be empty'],
    [' \t\n', 'must not be empty'],
    ['/', 'must name a file'],
    ['folder/', 'must name a file'],
    ['folder\\', 'must name a file'],
    ['.', 'must name a file'],
    ['..', 'must name a file'],
    ['a/..', 'must name a file'],
    ['\u202E.\u202C.', 'must name a file'],
    ['\u200F\x01', 'must name a file'],
    ['x'.repeat(256), 'must have at most 255 bytes of UTF-8'],
    ['ä'.repeat(128), 'must have at most 255 bytes of UTF-8'],
    ['x'.repeat(10_000), 'must have at most 255 bytes of UTF-8'],
    ['a\0.txt', 'must not contain NUL'],
    ['\0/a.txt', 'must not contain NUL'],
    ['a\ud83d.txt', 'must not contain half a surrogate pair'],
    ['\udc00', 'must not contain half a surrogate pair'],
  ])('%j is refused: %s', (given, problem) => {
    expect(uploadName(given)).toEqual({ problem })
  })
})

describe('the name of a file out of a mail', () => {
  test.each([
    ['', 'attachment-1'],
    ['..', 'attachment-1'],
    ['a/', 'attachment-1'],
    ['\0', 'attachment-1'],
    ['a\0b', 'ab'],
    ['a\ud83d', 'a\ufffd'],
    [`${'x'.repeat(300)}.tar.gz`, `${'x'.repeat(252)}.gz`],
    [`${'見'.repeat(200)}.pdf`, `${'見'.repeat(83)}.pdf`],
    [`${'x'.repeat(240)}${FAMILY}.txt`, `${'x'.repeat(240)}.txt`],
    ['y'.repeat(300), 'y'.repeat(255)],
    [`${'x'.repeat(254)}👍`, 'x'.repeat(254)],
    [`e${'\u0301'.repeat(300)}`, 'attachment-1'],
  ])('%j is mended to %j', (given, name) => {
    expect(mendedName(given, 'attachment-1')).toBe(name)
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
  })
})
